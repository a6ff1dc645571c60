#include "codegen/spirv/spirv_module.h"

#include <algorithm>

namespace felsite::codegen {
namespace {

constexpr std::uint32_t kInterfaceListsAllGlobals = 0x0001'0400;  // from SPIR-V 1.4 on
constexpr std::uint32_t kUnregisteredGenerator = 0;

std::uint32_t word(auto value) { return static_cast<std::uint32_t>(value); }

}  // namespace

std::size_t SpirvModule::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = 0;
  for (const std::uint32_t part : key) {
    hash = (hash ^ part) * 0x9E37'79B9'7F4A'7C15u;
    hash ^= hash >> 29;
  }
  return hash;
}

Id SpirvModule::declare(spv::Op op, std::initializer_list<std::uint32_t> operands, Id type) {
  Key key{word(op), type, word(operands.size())};
  std::ranges::copy(operands, key.begin() + 3);
  const auto [found, is_new] = declared_.try_emplace(key, 0);
  if (is_new) {
    found->second = new_id();
    if (type == 0) {
      globals_.add(op, {found->second}, operands);
    } else {
      globals_.add(op, {type, found->second}, operands);
    }
  }
  return found->second;
}

void SpirvModule::need(spv::Capability capability) {
  if (!needs(capability)) capabilities_.push_back(capability);
}

bool SpirvModule::needs(spv::Capability capability) const {
  return std::ranges::find(capabilities_, capability) != capabilities_.end();
}

void SpirvModule::need_extension(std::string_view name) {
  if (std::ranges::find(extensions_, name) == extensions_.end()) extensions_.emplace_back(name);
}

Id SpirvModule::glsl_instructions() {
  if (glsl_ == 0) glsl_ = new_id();
  return glsl_;
}

Id SpirvModule::type_function(Id result, std::span<const Id> params) {
  // Few functions have more than three parameters; their types are searched one by one.
  if (params.size() <= 3) {
    switch (params.size()) {
      case 0:
        return declare(spv::Op::OpTypeFunction, {result});
      case 1:
        return declare(spv::Op::OpTypeFunction, {result, params[0]});
      case 2:
        return declare(spv::Op::OpTypeFunction, {result, params[0], params[1]});
      default:
        return declare(spv::Op::OpTypeFunction, {result, params[0], params[1], params[2]});
    }
  }
  for (const auto& [id, types] : long_function_types_) {
    if (types.front() == result && std::ranges::equal(std::span(types).subspan(1), params)) {
      return id;
    }
  }
  const Id id = new_id();
  std::vector<Id> types{result};
  types.insert(types.end(), params.begin(), params.end());
  globals_.add(spv::Op::OpTypeFunction, {id}, types);
  long_function_types_.emplace_back(id, std::move(types));
  return id;
}

Id SpirvModule::new_type_struct(std::span<const Id> members) {
  const Id id = new_id();
  globals_.add(spv::Op::OpTypeStruct, {id}, members);
  return id;
}

Id SpirvModule::new_type_runtime_array(Id element) {
  const Id id = new_id();
  globals_.add(spv::Op::OpTypeRuntimeArray, {id, element});
  return id;
}

Id SpirvModule::new_type_array(Id element, Id length) {
  const Id id = new_id();
  globals_.add(spv::Op::OpTypeArray, {id, element, length});
  return id;
}

Id SpirvModule::new_block(Id array, std::uint32_t stride, std::string_view block_name) {
  decorate(array, spv::Decoration::ArrayStride, {stride});
  const Id block = new_type_struct(std::array{array});
  decorate(block, spv::Decoration::Block);
  decorate_member(block, 0, spv::Decoration::Offset, {0});
  name(block, block_name);
  return block;
}

Id SpirvModule::constant(Id type, std::uint64_t bits) {
  return declare(spv::Op::OpConstant, {word(bits), word(bits >> 32)}, type);
}

Id SpirvModule::spec_constant(Id type, std::uint32_t default_value, std::uint32_t spec_id) {
  const Id id = new_id();
  globals_.add(spv::Op::OpSpecConstant, {type, id, default_value});
  decorate(id, spv::Decoration::SpecId, {spec_id});
  return id;
}

Id SpirvModule::spec_composite(Id type, std::span<const Id> parts) {
  const Id id = new_id();
  globals_.add(spv::Op::OpSpecConstantComposite, {type, id}, parts);
  return id;
}

void SpirvModule::variable_as(Id id, spv::StorageClass storage, Id pointer_type) {
  globals_.add(spv::Op::OpVariable, {pointer_type, id, word(storage)});
  if (version_ >= kInterfaceListsAllGlobals || storage == spv::StorageClass::Input) {
    interface_.push_back(id);
  }
}

void SpirvModule::name(Id target, std::string_view text) {
  if (names_kept_) names_.add_text(spv::Op::OpName, {target}, text);
}

Id SpirvModule::source_file(std::string_view text) {
  const Id id = new_id();
  strings_.add_text(spv::Op::OpString, {id}, text);
  return id;
}

void SpirvModule::execution_mode(spv::ExecutionMode mode,
                                 std::initializer_list<std::uint32_t> operands) {
  execution_modes_.add(spv::Op::OpExecutionMode, {entry_, word(mode)}, operands);
}

std::vector<std::uint32_t> SpirvModule::finish() const {
  Instructions head;
  for (const auto capability : capabilities_) {
    head.add(spv::Op::OpCapability, {word(capability)});
  }
  for (const std::string& name : extensions_) head.add_text(spv::Op::OpExtension, {}, name);
  if (glsl_ != 0) head.add_text(spv::Op::OpExtInstImport, {glsl_}, "GLSL.std.450");
  head.add(spv::Op::OpMemoryModel, {word(spv::AddressingModel::Logical), word(memory_model_)});
  head.add_text(spv::Op::OpEntryPoint, {word(spv::ExecutionModel::GLCompute), entry_}, "main",
                interface_);

  std::vector<std::uint32_t> words{spv::MagicNumber, version_, kUnregisteredGenerator, next_id_, 0};
  std::vector<const Instructions*> sections{&head,   &execution_modes_, &strings_,
                                            &names_, &annotations_,     &globals_};
  for (const Instructions& part : functions_) sections.push_back(&part);
  std::size_t size = words.size();
  for (const Instructions* section : sections) size += section->words().size();
  words.reserve(size);
  for (const Instructions* section : sections) {
    words.insert(words.end(), section->words().begin(), section->words().end());
  }
  return words;
}

}  // namespace felsite::codegen
