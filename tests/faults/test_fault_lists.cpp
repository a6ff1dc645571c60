// Lists that Vulkan gives in parts: asked for again, and not for ever.
#include <doctest/doctest.h>

#include <algorithm>

#include "faults/fault_injection.h"
#include "faults/fault_walk.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// A list that is never complete, as long as this object lives.
class EndlessList {
 public:
  explicit EndlessList(const char* function) {
    begin_faults(-1, FaultKind::HostMemory);
    fault_state().never_complete = function;
  }
  ~EndlessList() {
    fault_state().never_complete = nullptr;
    end_faults();
  }
  EndlessList(const EndlessList&) = delete;
  EndlessList& operator=(const EndlessList&) = delete;

  static std::ptrdiff_t times_asked(std::string_view function) {
    return std::ranges::count(fault_state().log, function);
  }
};

}  // namespace

TEST_CASE("a driver whose lists are never complete is refused after a few tries") {
  const FaultyInstance instance;
  for (const char* const function :
       {"vkEnumeratePhysicalDevices", "vkEnumerateDeviceExtensionProperties"}) {
    CAPTURE(function);
    const EndlessList list(function);
    const auto backend = open_with_faults("", {});
    REQUIRE_FALSE(backend);
    CHECK_MESSAGE(backend.error().code == ErrorCode::UnsupportedFeature,
                  to_string(backend.error()));
    CHECK_FALSE(backend.error().fix.empty());
    CHECK(EndlessList::times_asked(function) > 1);
    CHECK(EndlessList::times_asked(function) < 100);
  }
  CHECK(open_with_faults("", {}).has_value());
}

TEST_CASE("a loader whose list of extensions is never complete is used without them") {
  REQUIRE(vk::open_loader().has_value());
  const LoaderFaults faults;
  const EndlessList list("vkEnumerateInstanceExtensionProperties");
  const auto backend =
      vk::make_backend({.open = [] { return vk::open_device(); }, .cache_folder = {}});
  REQUIRE_MESSAGE(backend.has_value(), to_string(backend.error()));
  CHECK(EndlessList::times_asked("vkEnumerateInstanceExtensionProperties") < 100);
  CHECK(run_small_dispatch(**backend).has_value());
}
