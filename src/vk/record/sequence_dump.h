// FELSITE_DUMP for sequences: steps, what they touch, and the barriers between them.
#pragma once

#include <string>

#include "vk/record/sequence_layout.h"

namespace felsite::vk {

// As text.
std::string to_text(const dispatch::SequencePlan& plan, const dispatch::BarrierPlan& barriers);
// sequence-N.plan.
void dump_sequence(const Sequence& sequence, const SequenceLayout& layout);

}  // namespace felsite::vk
