#include "codegen/spirv/function_writer.h"

namespace felsite::codegen {

FunctionWriter::FunctionWriter(SpirvModule& module, Id result_type, std::span<const Id> param_types)
    : InstructionWriter(module), id_(module.new_id()) {
  const Id type = module.type_function(result_type, param_types);
  head_.add(spv::Op::OpFunction, {result_type, id_, 0, type});
  for (const Id param_type : param_types) {
    params_.push_back(module.new_id());
    head_.add(spv::Op::OpFunctionParameter, {param_type, params_.back()});
  }
  entry_ = module.new_id();
  // What is read at the start has its own block, which dominates all others.
  first_ = module.new_id();
  block_ = first_;
  body_.add(spv::Op::OpLabel, {block_});
}

Id FunctionWriter::local(Id type) {
  constexpr auto kStorage = spv::StorageClass::Function;
  const Id pointer = module_.type_pointer(kStorage, type);
  const Id id = module_.new_id();
  variables_.add(spv::Op::OpVariable, {pointer, id, static_cast<std::uint32_t>(kStorage)});
  return id;
}

void FunctionWriter::finish() {
  head_.add(spv::Op::OpLabel, {entry_});
  head_.append(variables_);
  head_.append(prologue_);
  head_.add(spv::Op::OpBranch, {first_});
  body_.add(spv::Op::OpFunctionEnd, {});
  module_.add_function(std::move(head_), std::move(body_));
}

}  // namespace felsite::codegen
