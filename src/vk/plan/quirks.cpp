#include "vk/plan/quirks.h"

#include <array>
#include <charconv>
#include <optional>

namespace felsite::vk {
namespace {

using codegen::Capabilities;
using codegen::Feature;

// The major version behind a word of the driver info, "Mesa 25.0.7 (LLVM 19.1.7)": lavapipe's
// driverVersion is 1 in all releases.
std::optional<int> major_of(std::string_view word, const DeviceSnapshot& device) {
  const std::size_t at = device.driver_info.find(word);
  if (at == std::string::npos) return std::nullopt;
  const char* const first = device.driver_info.data() + at + word.size();
  int major = 0;
  const auto parsed =
      std::from_chars(first, device.driver_info.data() + device.driver_info.size(), major);
  return parsed.ec == std::errc{} ? std::optional(major) : std::nullopt;
}

bool is_lavapipe(const DeviceSnapshot& device) {
  return device.driver == VK_DRIVER_ID_MESA_LLVMPIPE;
}

bool is_swiftshader(const DeviceSnapshot& device) {
  return device.driver == VK_DRIVER_ID_GOOGLE_SWIFTSHADER;
}

bool has_loop_limiter(const DeviceSnapshot& device) {
  return is_lavapipe(device) && major_of("Mesa ", device).value_or(0) < 25;
}

bool may_abort_with_avx512(const DeviceSnapshot& device) {
  return is_lavapipe(device) && major_of("LLVM ", device).value_or(0) >= 19;
}

void change_nothing(Capabilities&) {}

void add_linear_subgroups(Capabilities& capabilities) {
  capabilities.features.set(static_cast<std::size_t>(Feature::LinearSubgroups));
}

constexpr std::array kQuirks{
    Quirk{"lavapipe-loop-limiter",
          "The shader compiler stops every loop of an invocation, in silence, once it has done "
          "65535 trips in all its loops together. Measured: 22.3.6 does it, 25.0.7 does not. Its "
          "sources still have the limit after 22.3, so releases between the two count as limited, "
          "and so does one of unknown version: a limit that is not there costs some "
          "checks, a limit that is overlooked costs the result.",
          has_loop_limiter, [](Capabilities& capabilities) { capabilities.loop_budget = 65535; }},
    Quirk{"lavapipe-float-zeros",
          "The code generator behind the driver gives the other operand for an addition of a "
          "constant zero, and zero for a multiplication by one, regardless of signs, "
          "infinities and NaNs, and in spite of NoContraction. Measured on 22.3.6 and 25.0.7.",
          is_lavapipe, [](Capabilities& capabilities) { capabilities.folds_float_zeros = true; }},
    Quirk{"lavapipe-linear-subgroups",
          "Fills its vectors with invocations in the order of the local index. Measured: 25.0.7 "
          "does so for every shape of workgroup; 22.3.6 begins a new vector with every row, so "
          "there only one row, or rows of whole subgroups, are in linear order, and lowering "
          "counts on no more. Vulkan alone does not promise any order.",
          is_lavapipe, add_linear_subgroups},
    Quirk{"swiftshader-linear-subgroups",
          "Runs a workgroup as groups of four invocations in the order of the local index, "
          "measured for many shapes. Vulkan alone does not promise any order.",
          is_swiftshader, add_linear_subgroups},
    Quirk{"lavapipe-push-descriptors",
          "Replaying a command buffer with pushed descriptors takes 12 us more than with a "
          "descriptor set. Measured: 25.0.7 does so, 22.3.6 does not.",
          is_lavapipe_25, change_nothing, RuntimeFeature::PushDescriptors},
    Quirk{"lavapipe-llvm-avx512",
          "LLVM 19 ends the process (\"Cannot emit physreg copy instruction\") while it compiles "
          "some large kernels for processors with AVX-512. Nothing here can avoid that; "
          "LP_NATIVE_VECTOR_WIDTH=128 in the environment does. Measured: 19.1.7 does it, 15.0.6 "
          "does not; later releases were not measured.",
          may_abort_with_avx512, change_nothing},
    Quirk{
        "lavapipe-not-co-resident",
        "Each worker thread runs a workgroup to its end before it begins another one, so a "
        "workgroup that waits for one of a higher number may wait in vain; where the loop limiter "
        "ends the wait, what follows runs too early. Measured on 22.3.6 and 25.0.7. Felsite "
        "itself never lets workgroups wait for each other.",
        is_lavapipe, change_nothing, std::nullopt, &DeviceProfile::persistent_threads},
    Quirk{"swiftshader-not-co-resident",
          "As lavapipe: of 1024 workgroups that wait for all others only the last one sees them. "
          "Measured.",
          is_swiftshader, change_nothing, std::nullopt, &DeviceProfile::persistent_threads},
};

}  // namespace

std::span<const Quirk> quirks() { return kQuirks; }

bool is_lavapipe_25(const DeviceSnapshot& device) {
  return is_lavapipe(device) && major_of("Mesa ", device).value_or(0) >= 25;
}

void note_quirks(const DeviceSnapshot& device, DeviceProfile& profile) {
  for (const Quirk& quirk : quirks()) {
    if (!quirk.applies(device)) continue;
    profile.quirks.emplace_back(quirk.name);
    if (quirk.denies != nullptr) profile.*quirk.denies = false;
  }
}

}  // namespace felsite::vk
