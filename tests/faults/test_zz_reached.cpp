// Runs after the walks, by its name: the functions that they made fail are all that Felsite calls
// and that can fail.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "dispatch/environment.h"
#include "faults/fault_walk.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// Named in src/vk, and never called, or not in a way that could fail.
const FunctionNames& never_called() {
  static const FunctionNames names{
      // Felsite has no images; the allocator wants their functions all the same.
      "vkCreateImage", "vkBindImageMemory", "vkBindImageMemory2", "vkBindImageMemory2KHR",
      // Loaded under both names for callers that there may be; work goes by vkQueueSubmit.
      "vkSignalSemaphore", "vkSignalSemaphoreKHR", "vkQueueSubmit2", "vkQueueSubmit2KHR",
      // The names of extensions: what is called, and fails, has the name of the core.
      "vkWaitSemaphoresKHR", "vkGetSemaphoreCounterValueKHR", "vkBindBufferMemory2KHR"};
  return names;
}

// Replaced, and not reached on this device.
FunctionNames not_reached() {
  // The allocator calls it only for bindings with extensions of their own, which nobody asks for.
  FunctionNames names{"vkBindBufferMemory2"};
  // Where validation is not wanted nobody looks for layers, and without it no messenger is made.
  if (dispatch::environment(dispatch::Variable::Validation).value_or("0") == "0") {
    names.insert("vkEnumerateInstanceLayerProperties");
  }
  const auto instance = vk::Instance::shared();
  REQUIRE(instance.has_value());
  if (!(*instance)->validated()) names.insert("vkCreateDebugUtilsMessengerEXT");
  return names;
}

bool can_fail(const std::string& function) {
  static const std::regex cannot(
      "vk(Cmd|Destroy|Free|GetPhysicalDevice|Get.*MemoryRequirements).*|vkGet.*ProcAddr|"
      "vkGetDeviceQueue|vkUnmapMemory|vkUpdateDescriptorSets");
  return !std::regex_match(function, cannot);
}

FunctionNames named_in_sources() {
  FunctionNames names;
  const std::regex function("\\bvk[A-Z][A-Za-z0-9]+");
  const std::filesystem::path folder = std::filesystem::path(FELSITE_SOURCE_DIR) / "src/vk";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    const std::string source = text.str();
    for (std::sregex_iterator at(source.begin(), source.end(), function), end; at != end; ++at) {
      if (can_fail(at->str())) names.insert(at->str());
    }
  }
  return names;
}

FunctionNames without(FunctionNames from, const FunctionNames& names) {
  for (const std::string& name : names) from.erase(name);
  return from;
}

}  // namespace

TEST_CASE("every function of Vulkan that src/vk calls and that can fail stands behind a stand-in") {
  const FunctionNames named = without(named_in_sources(), never_called());
  REQUIRE(named.contains("vkQueueSubmit"));
  const FunctionNames missing = without(named, fault_state().injectable);
  CHECK_MESSAGE(missing.empty(), fmt::format("{}", fmt::join(missing, ", ")));
}

TEST_CASE("every function that can be made to fail has failed") {
  if (std::getenv("FELSITE_FAULTS_SCENARIO") != nullptr) return;  // then most of them have not
  const FunctionNames expected = without(fault_state().injectable, not_reached());
  const FunctionNames& failed = fault_state().made_to_fail;
  MESSAGE(fmt::format("{} functions can be made to fail, {} did", fault_state().injectable.size(),
                      failed.size()));
  const FunctionNames never = without(expected, failed);
  CHECK_MESSAGE(never.empty(), fmt::format("{} never failed", fmt::join(never, ", ")));
  const FunctionNames surprising = without(failed, expected);
  CHECK_MESSAGE(surprising.empty(),
                fmt::format("{} failed after all", fmt::join(surprising, ", ")));
}
