// What transforms are written with: a copy of a valid program, with its buffers, the operations it
// calls and its positions in the text, in which a transform replaces statements and expressions.
#pragma once

#include "felsite/validate.h"
#include "ir/copier.h"

namespace felsite::ir {

class Rewriter {
 public:
  explicit Rewriter(const ValidProgram& program);

  Assembler& to() { return to_; }
  // The transform sets what it replaces before `rewrite`.
  Copier& copier() { return copier_; }

  // The copy counts as valid and is not validated again, since lowering would pay for that at run
  // time. So each transform has a test that validates what it makes of generated programs.
  ValidProgram rewrite();

 private:
  const ValidProgram& program_;
  Assembler to_;
  Copier copier_;
};

}  // namespace felsite::ir
