#include "ir/transform/rewriter.h"

namespace felsite::ir {

Rewriter::Rewriter(const ValidProgram& program)
    : program_(program),
      to_(program.source().empty() ? Assembler::Positions::None : Assembler::Positions::Rows),
      copier_(program) {
  copier_.write_to(to_);
  if (!program.source().empty()) to_.keep_positions(program.source());
  for (BufferId id = 0; id < program.buffers().size(); ++id) {
    copier_.map_buffer(id, to_.add_buffer(program.buffer(id)));
  }
}

ValidProgram Rewriter::rewrite() {
  copier_.collect_ops(program_.entry());
  copier_.copy_ops();
  copier_.nodes(program_.entry());
  return ValidProgram(
      to_.finish(program_.name(), program_.workgroup_size(), program_.float_mode()));
}

}  // namespace felsite::ir
