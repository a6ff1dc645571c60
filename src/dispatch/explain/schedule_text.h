// A schedule as text, for goldens and for people.
#pragma once

#include "dispatch/barriers/barrier_plan.h"
#include "dispatch/schedule/schedule.h"

namespace felsite::dispatch {

// One line for each buffer, kernel and step, and every field of the schedule. Only the programs of
// the kernels are given by name alone. A buffer is `b` and its number, with a range of bytes where
// it is not the whole buffer; its elements follow the colon. Equal words in a row, and steps that
// repeat as a whole, are written once with their number. An uncounted step is no launch of the
// telemetry by itself: the outcome says how many there were. Barriers are those between the steps.
std::string to_string(const Schedule& schedule, const BarrierPlan& barriers = {});

}  // namespace felsite::dispatch
