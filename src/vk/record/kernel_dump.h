// FELSITE_DUMP: writes what is made of each program into a folder, for a look at it.
#pragma once

#include <string>

#include "felsite/kernel.h"
#include "vk/record/sequence_layout.h"

namespace felsite::vk {

// NAME-FINGERPRINT.fels, .spv and .plan: the program, its module, and what is bound and passed. A
// kernel for grids in parts has NAME-FINGERPRINT-in-parts instead.
void dump_kernel(const ir::Program& program, const codegen::Kernel& kernel);
// Steps, what they touch, and the barriers between them, as lines to read.
std::string to_text(const dispatch::SequencePlan& plan, const dispatch::BarrierPlan& barriers);
// sequence-N.plan: steps, accesses and barriers.
void dump_sequence(const Sequence& sequence, const SequenceLayout& layout);

}  // namespace felsite::vk
