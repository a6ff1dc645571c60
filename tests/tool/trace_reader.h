// Reads what `felsite trace` writes, and checks what every such trace must keep.
#pragma once

#include <map>
#include <nlohmann/json.hpp>

#include "tool_runner.h"

namespace felsite::test {

struct TraceSlice {
  std::string name;
  std::string row;  // of a thread or of a device
  bool on_device = false;
  double begin = 0;  // in microseconds from the start of the trace
  double end = 0;
};

inline std::vector<TraceSlice> read_trace(const std::string& text) {
  const nlohmann::json trace = nlohmann::json::parse(text);
  std::map<std::pair<int, int>, std::string> rows;
  std::map<int, std::string> groups;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "M") continue;
    const int group = event.at("pid").get<int>();
    const auto name = event.at("args").at("name").get<std::string>();
    if (event.at("name") == "process_name") groups[group] = name;
    if (event.at("name") == "thread_name") rows[{group, event.at("tid").get<int>()}] = name;
  }
  std::vector<TraceSlice> slices;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const int group = event.at("pid").get<int>();
    const double begin = event.at("ts").get<double>();
    REQUIRE(rows.contains({group, event.at("tid").get<int>()}));
    REQUIRE(groups.contains(group));
    slices.push_back({.name = event.at("name").get<std::string>(),
                      .row = rows.at({group, event.at("tid").get<int>()}),
                      .on_device = groups.at(group) == "devices",
                      .begin = begin,
                      .end = begin + event.at("dur").get<double>()});
  }
  return slices;
}

// The slices of a device's row. Checks all of them: times from zero on, and all device work inside
// of a dispatch.
inline std::vector<TraceSlice> device_slices(const std::vector<TraceSlice>& slices,
                                             std::string_view device) {
  constexpr double kRounding = 0.01;
  std::vector<TraceSlice> found;
  for (const TraceSlice& slice : slices) {
    CAPTURE(slice.name);
    CAPTURE(slice.row);
    CHECK(slice.begin >= 0);
    CHECK(slice.end >= slice.begin);
    if (!slice.on_device) {
      CHECK(slice.row.starts_with("thread "));
      continue;
    }
    CHECK(std::ranges::any_of(slices, [&](const TraceSlice& call) {
      return !call.on_device && call.name == "dispatch" && call.begin <= slice.begin + kRounding &&
             slice.end <= call.end + kRounding;
    }));
    if (contains(slice.row, device)) found.push_back(slice);
  }
  return found;
}

}  // namespace felsite::test
