// The functions of Vulkan that Felsite calls, those that the fault walks replace, and those that
// they made fail: the same, but for exceptions that are named here.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "dispatch/telemetry/environment.h"
#include "faults/fault_walk.h"
#include "support/final_check.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// Named in src/vk, and never called, or not in a way that could fail.
const FunctionNames& never_called() {
  static const FunctionNames names{
      // Felsite has no images; the allocator wants their functions all the same.
      "vkCreateImage", "vkBindImageMemory", "vkBindImageMemory2", "vkBindImageMemory2KHR",
      // Loaded under both names for other callers; the library submits with vkQueueSubmit.
      "vkSignalSemaphore", "vkSignalSemaphoreKHR", "vkQueueSubmit2", "vkQueueSubmit2KHR",
      // Felsite waits for what it submitted; tests wait for all that a driver does.
      "vkDeviceWaitIdle", "vkQueueWaitIdle",
      // The names of extensions: what is called, and fails, has the name of the core.
      "vkWaitSemaphoresKHR", "vkGetSemaphoreCounterValueKHR", "vkBindBufferMemory2KHR"};
  return names;
}

// Replaced, and not reached on this device.
FunctionNames not_reached() {
  // The allocator calls it only for bindings with extension structs, which nobody asks for.
  FunctionNames names{"vkBindBufferMemory2"};
  // Where validation is not wanted nobody looks for layers, and without it no messenger is made.
  if (dispatch::environment(dispatch::Variable::Validation).value_or("0") == "0") {
    names.insert("vkEnumerateInstanceLayerProperties");
  }
  const auto instance = vk::Instance::shared();
  if (!instance || !(*instance)->validated()) names.insert("vkCreateDebugUtilsMessengerEXT");
  return names;
}

bool can_fail(std::string_view function) {
  for (const std::string_view start : {"vkCmd", "vkDestroy", "vkFree", "vkGetPhysicalDevice"}) {
    if (function.starts_with(start)) return false;
  }
  for (const std::string_view part : {"MemoryRequirements", "ProcAddr"}) {
    if (function.contains(part)) return false;
  }
  return function != "vkGetDeviceQueue" && function != "vkUnmapMemory" &&
         function != "vkUpdateDescriptorSets";
}

// Words that begin with vk and a capital letter.
void add_functions(std::string_view source, FunctionNames& names) {
  const auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = source.find("vk"); at != source.npos; at = source.find("vk", at + 1)) {
    const bool begins = at == 0 || (!in_name(source[at - 1]) && source[at - 1] != '_');
    std::string_view name = source.substr(at);
    name = name.substr(
        0, static_cast<std::size_t>(std::ranges::find_if_not(name, in_name) - name.begin()));
    const bool is_function = name.size() > 2 && std::isupper(static_cast<unsigned char>(name[2]));
    if (begins && is_function && can_fail(name)) names.emplace(name);
  }
}

FunctionNames named_in_sources() {
  FunctionNames names;
  const std::filesystem::path folder = std::filesystem::path(FELSITE_SOURCE_DIR) / "src/vk";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    add_functions(text.str(), names);
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

// After the walks: the functions that they made fail are all that Felsite calls and that can fail.
namespace felsite::test {
namespace {

std::vector<std::string> not_all_failed() {
  if (std::getenv("FELSITE_FAULTS_SCENARIO") != nullptr) return {};  // then most are not reached
  std::vector<std::string> lines;
  const FunctionNames expected = without(fault_state().injectable, not_reached());
  const FunctionNames& failed = fault_state().made_to_fail;
  fmt::print("{} functions can be made to fail, {} did\n", fault_state().injectable.size(),
             failed.size());
  for (const std::string& name : without(expected, failed)) lines.push_back(name + " never failed");
  for (const std::string& name : without(failed, expected)) {
    lines.push_back(name + " failed after all");
  }
  return lines;
}

const FinalCheck all_failed("every function that can be made to fail has failed",
                            FinalCheck::When::WholeRun, not_all_failed);

}  // namespace
}  // namespace felsite::test
