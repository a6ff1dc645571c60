#include "codegen/values/emitter.h"

namespace felsite::codegen {

Emitter::Emitter(const Capabilities& mask, bool exact, bool names)
    : mask_(mask), exact_(exact), module_(mask.spirv_version, names) {
  types_.boolean = module_.type_bool();
  types_.word = module_.type_uint(32);
  module_.need(spv::Capability::Shader);
}

Id Emitter::type_double() {
  module_.need(spv::Capability::Float64);
  return module_.type_float(64);
}

Id Emitter::type_wide() {
  module_.need(spv::Capability::Int64);
  return module_.type_uint(64);
}

Id Emitter::type_word_pair() { return module_.type_vector(type_word(), 2); }

Id Emitter::type_of(ir::Type type) {
  switch (type) {
    case ir::Type::Bool:
      return type_bool();
    case ir::Type::U8:
    case ir::Type::I8:
    case ir::Type::U16:
    case ir::Type::I16:
    case ir::Type::U32:
    case ir::Type::I32:
      return type_word();
    case ir::Type::U64:
    case ir::Type::I64:
      return has(Feature::Int64) ? type_wide() : type_word_pair();
    case ir::Type::F16:
    case ir::Type::BF16:
    case ir::Type::F32:
      return type_float();
    case ir::Type::F64:
      return type_double();
    case ir::Type::None:
      break;
  }
  return type_void();
}

// In Vulkan's memory model the queue family is enough, and device scope would need another feature.
Word Emitter::grid_scope() {
  return word(as_operand(has(Feature::MemoryModel) ? spv::Scope::QueueFamily : spv::Scope::Device));
}

Wide Emitter::wide(std::uint64_t value) {
  if (has(Feature::Int64)) return {this, module_.constant(type_wide(), value), {}, {}, value};
  return {this,
          0,
          word(static_cast<std::uint32_t>(value)),
          word(static_cast<std::uint32_t>(value >> 32)),
          {}};
}

Id Emitter::emit_float(InstructionWriter::Instruction what, Id type,
                       std::initializer_list<Id> operands) {
  const Id id = emit(what, type, operands);
  if (exact_) module_.decorate(id, spv::Decoration::NoContraction);
  return id;
}

Id Emitter::glsl(GLSLstd450 instruction, Id type, std::initializer_list<Id> operands) {
  return function_->extended(type, as_operand(instruction), operands);
}

}  // namespace felsite::codegen
