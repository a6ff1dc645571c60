// A record of what ran when, on the host and on the device, for Chrome's and Perfetto's viewers.
#pragma once

#include <string>

namespace felsite {

// From now on everything that backends do is noted, device times included. Starting again begins a
// new record.
void start_trace();
// Ends the record and gives it as JSON in the trace event format: one row for each thread and one
// for each device, one slice for each call and step.
std::string stop_trace();

}  // namespace felsite
