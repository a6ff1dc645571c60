// The tool on the driver that the tests run with.
#pragma once

#include <nlohmann/json.hpp>

#include "tool/tool_runner.h"

namespace felsite::test {

inline Outcome run_device_tool(const Arguments& arguments) {
  // Once the driver is unloaded at the tool's end, its leaks look like the tool's own at the
  // tool's end. Leaks on a device are looked for in test_device and test_vk.
  setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
  return run_tool(arguments);
}

// The profile of the device that a run takes.
inline std::string device_name() {
  const auto body = nlohmann::json::parse(run_device_tool({"devices", "--json"}).out);
  return body.at("devices").at(body.at("chosen").get<std::size_t>()).at("name");
}

}  // namespace felsite::test
