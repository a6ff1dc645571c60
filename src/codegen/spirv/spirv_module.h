// A SPIR-V module in the making: sections in their order, types and constants declared once,
// capabilities and extensions only when something asks for them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/spirv/spirv_words.h"

namespace felsite::codegen {

class SpirvModule {
 public:
  // `version`: 0x00010300 for SPIR-V 1.3, and so on. `names`: keep OpName and OpString.
  SpirvModule(std::uint32_t version, bool names) : version_(version), names_kept_(names) {}

  Id new_id() { return next_id_++; }
  Id next_id() const { return next_id_; }
  std::uint32_t version() const { return version_; }

  void need(spv::Capability capability);
  bool needs(spv::Capability capability) const;
  void need_extension(std::string_view name);
  Id glsl_instructions();

  Id type_void() { return declare(spv::Op::OpTypeVoid, {}); }
  Id type_bool() { return declare(spv::Op::OpTypeBool, {}); }
  Id type_uint(std::uint32_t width) { return declare(spv::Op::OpTypeInt, {width, 0}); }
  Id type_int(std::uint32_t width) { return declare(spv::Op::OpTypeInt, {width, 1}); }
  Id type_float(std::uint32_t width) { return declare(spv::Op::OpTypeFloat, {width}); }
  Id type_vector(Id element, std::uint32_t count) {
    return declare(spv::Op::OpTypeVector, {element, count});
  }
  Id type_array(Id element, Id length) { return declare(spv::Op::OpTypeArray, {element, length}); }
  Id type_pair(Id member) { return declare(spv::Op::OpTypeStruct, {member, member}); }
  Id type_pointer(spv::StorageClass storage, Id to) {
    return declare(spv::Op::OpTypePointer, {static_cast<std::uint32_t>(storage), to});
  }
  Id type_function(Id result, std::span<const Id> params);
  // New each time, since the caller's decorations are for this one alone.
  Id new_type_struct(std::span<const Id> members);
  Id new_type_runtime_array(Id element);
  Id new_type_array(Id element, Id length);
  // A block whose one member is the array.
  Id new_block(Id array, std::uint32_t stride, std::string_view block_name);

  Id constant(Id type, std::uint32_t word) { return declare(spv::Op::OpConstant, {word}, type); }
  Id constant(Id type, std::uint64_t bits);
  Id constant(bool value) {
    return declare(value ? spv::Op::OpConstantTrue : spv::Op::OpConstantFalse, {}, type_bool());
  }
  Id constant_null(Id type) { return declare(spv::Op::OpConstantNull, {}, type); }
  Id spec_constant(Id type, std::uint32_t default_value, std::uint32_t spec_id);
  Id spec_composite(Id type, std::span<const Id> parts);
  Id spec_product(Id type, Id a, Id b) {
    return declare(spv::Op::OpSpecConstantOp, {as_operand(spv::Op::OpIMul), a, b}, type);
  }

  // A variable outside all functions.
  Id variable(spv::StorageClass storage, Id pointer_type) {
    const Id id = new_id();
    variable_as(id, storage, pointer_type);
    return id;
  }
  // The same, with an id that functions refer to already.
  void variable_as(Id id, spv::StorageClass storage, Id pointer_type);

  void decorate(Id target, spv::Decoration decoration,
                std::initializer_list<std::uint32_t> operands = {}) {
    annotations_.add(spv::Op::OpDecorate, {target, static_cast<std::uint32_t>(decoration)},
                     operands);
  }
  void decorate_member(Id target, std::uint32_t member, spv::Decoration decoration,
                       std::initializer_list<std::uint32_t> operands = {}) {
    annotations_.add(spv::Op::OpMemberDecorate,
                     {target, member, static_cast<std::uint32_t>(decoration)}, operands);
  }
  void bind(Id variable, std::uint32_t binding) {
    decorate(variable, spv::Decoration::DescriptorSet, {0});
    decorate(variable, spv::Decoration::Binding, {binding});
  }
  void name(Id target, std::string_view text);
  bool names_kept() const { return names_kept_; }
  Id source_file(std::string_view text);

  void memory_model(spv::MemoryModel model) { memory_model_ = model; }
  void entry_point(Id function) { entry_ = function; }
  void execution_mode(spv::ExecutionMode mode, std::initializer_list<std::uint32_t> operands);

  // `head`: all before the first block of the body.
  void add_function(Instructions head, Instructions body) {
    functions_.push_back(std::move(head));
    functions_.push_back(std::move(body));
  }

  std::vector<std::uint32_t> finish() const;

 private:
  static constexpr std::size_t kKeyWords = 7;
  using Key = std::array<std::uint32_t, kKeyWords>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  // `type`: the result type of a constant, 0 for a type.
  Id declare(spv::Op op, std::initializer_list<std::uint32_t> operands, Id type = 0);

  std::uint32_t version_;
  bool names_kept_;
  Id next_id_ = 1;
  std::vector<spv::Capability> capabilities_;
  std::vector<std::string> extensions_;
  Id glsl_ = 0;
  spv::MemoryModel memory_model_ = spv::MemoryModel::GLSL450;
  Id entry_ = 0;
  std::vector<Id> interface_;
  Instructions execution_modes_;
  Instructions strings_;
  Instructions names_;
  Instructions annotations_;
  Instructions globals_;
  std::vector<Instructions> functions_;  // not joined before the end: bodies are long
  std::unordered_map<Key, Id, KeyHash> declared_;
  std::vector<std::pair<Id, std::vector<Id>>> long_function_types_;  // result, then parameters
};

}  // namespace felsite::codegen
