// What a kernel sees of the outside: ids, parameters, buffer lengths, the status buffer. Each is
// declared in the module when it is first used.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "codegen/plan/folding.h"
#include "codegen/values/emitter.h"
#include "felsite/kernel.h"

namespace felsite::codegen {

class Interface {
 public:
  Interface(Emitter& emitter, const Segment& segment, const std::optional<GridFolding>& folding);

  Word invocation(std::uint32_t axis);
  Word workgroup(std::uint32_t axis);
  Word local(std::uint32_t axis);
  // The place in the workgroup that runs, counted along x, then y, then z.
  Word local_index() { return builtin(Slot::LocalIndex, 0); }
  // The variable with the turn of the lane, where a lane has several invocations.
  void set_turn(Id variable) { turn_ = variable; }
  Word grid(std::uint32_t axis);
  Word workgroup_size(std::uint32_t axis);
  Word workgroup_invocations();  // of the workgroup that runs
  Word length(ir::BufferId buffer);
  // An element of Segment::parameters.
  Word supplied(std::uint32_t index) { return parameter({ParameterKind::Variable, index}); }

  // The descriptor of a buffer of the program.
  std::uint32_t binding(ir::BufferId buffer) const { return bindings_[buffer]; }
  // Writes the status, where this invocation is the lowest so far. `tag`: in Kernel::trap_tags.
  void report_trap(std::uint32_t tag, Word address);
  void report_loop_budget();
  // Whether this kernel has reported something.
  Flag has_report();
  // The variable of a flag: once it is set, further reports do not count.
  void set_closed(Id variable) { closed_ = variable; }

  // Declares what depends on all that was used, and fills in the kernel's plain data.
  void finish(Kernel& kernel);

 private:
  enum class Slot : std::uint8_t { Invocation, Workgroup, Local, LocalIndex, Grid, Number };

  Word builtin(Slot slot, std::uint32_t axis);
  Word number();
  template <class Compute>
  Word folded(Slot slot, std::uint32_t axis, Compute compute);
  Id builtin_variable(Slot slot);
  Word parameter(Parameter parameter);
  Id size_constant();
  Id status_word(Word index);
  Word status_length();
  Word raise_status(Word index, Word key);
  void set_status(Word index, Word value);
  Word status_key();
  template <class More>
  Id write_report(const char* name, std::span<const Id> params, More more);

  Emitter& e_;
  const ir::Program& program_;
  const bool grid_in_parts_;
  const bool is_one_workgroup_;
  const std::optional<GridFolding> folding_;
  Extent3 size_of_module_;
  std::vector<std::uint32_t> bindings_;  // by BufferId
  std::uint32_t next_binding_ = 0;
  std::array<Id, 8> builtins_{};
  std::array<Id, 3> size_parts_{};
  Id size_ = 0;
  Id turn_ = 0;
  std::vector<Parameter> parameters_;
  spv::StorageClass parameter_storage_;
  Id parameter_block_ = 0;
  Id status_ = 0;
  Id trap_function_ = 0;
  Id budget_function_ = 0;
  Id closed_ = 0;
};

}  // namespace felsite::codegen
