// What a kernel sees of the outside: ids, parameters, buffer lengths, the status buffer. Each is
// declared in the module when it is first used.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "codegen/emitter.h"
#include "felsite/kernel.h"

namespace felsite::codegen {

class Interface {
 public:
  Interface(Emitter& emitter, const Segment& segment);

  Word invocation(std::uint32_t axis);
  Word workgroup(std::uint32_t axis);
  Word local(std::uint32_t axis) { return builtin(Slot::Local, axis); }
  // The place in the workgroup, counted along x, then y, then z.
  Word local_index() { return builtin(Slot::LocalIndex, 0); }
  Word grid(std::uint32_t axis);
  Word workgroup_size(std::uint32_t axis);
  Word workgroup_invocations();
  Word length(ir::BufferId buffer);
  Word supplied(ir::VarId variable) { return parameter({ParameterKind::Variable, variable}); }

  // The descriptor of a buffer of the program.
  std::uint32_t binding(ir::BufferId buffer) const { return bindings_[buffer]; }
  // Writes the status, unless something was reported before.
  void report(Status::State state, Word tag, Word address);

  // The declarations that must know everything that was used. Fills in the kernel's plain data.
  void finish(Kernel& kernel);

 private:
  enum class Slot : std::uint8_t { Invocation, Workgroup, Local, LocalIndex, Grid, Size };

  Word builtin(Slot slot, std::uint32_t axis);
  Id builtin_variable(Slot slot);
  Word parameter(Parameter parameter);
  Id size_constant();
  Id status_word(std::uint32_t index);

  Emitter& e_;
  const ir::Program& program_;
  const bool grid_in_parts_;
  std::vector<std::uint32_t> bindings_;  // by BufferId
  std::uint32_t next_binding_ = 0;
  std::array<Id, 8> builtins_{};
  std::array<Id, 3> size_parts_{};
  Id size_ = 0;
  std::vector<Parameter> parameters_;
  spv::StorageClass parameter_storage_;
  Id parameter_block_ = 0;
  Id status_ = 0;
  Id status_function_ = 0;
};

}  // namespace felsite::codegen
