// A record of what ran when, on the host and on the device, for Chrome's and Perfetto's viewers.
#pragma once

#include <string>

namespace felsite {

// From now on everything that backends do is recorded, including device times. Starting again
// begins a new record.
void start_trace();
// Ends the record and returns it as JSON in the trace event format, with one row for each thread
// and each device, and one slice for each call and step.
std::string stop_trace();

}  // namespace felsite
