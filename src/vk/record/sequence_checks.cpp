#include "vk/record/sequence_checks.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "base/try.h"
#include "vk/instance/vulkan_error.h"
#include "vk/record/descriptors.h"

namespace felsite::vk {
namespace {

std::unexpected<Error> mistake(std::string message, const Device& device) {
  return std::unexpected(base::with_device(
      base::dispatch_failed(std::move(message), "report this: Felsite made a wrong sequence."),
      device.snapshot().name));
}

bool lies_in_buffer(const BufferSlice& slice) {
  if (slice.buffer == nullptr || slice.offset % 4 != 0) return false;
  const std::uint64_t range = slice.buffer->range();
  return slice.bytes <= range && slice.offset <= range - slice.bytes;
}
bool is_one_word(const BufferSlice& slice) { return slice.bytes == 4 && lies_in_buffer(slice); }

Result<void> check_condition(const KernelStep& step, const Device& device) {
  if (!device.has(RuntimeFeature::ConditionalRendering)) {
    return std::unexpected(unsupported(
        fmt::format("Step `{}` has a condition, which needs conditional rendering.", step.name),
        "leave `conditional_rendering` in the mask, or choose another device.",
        device.snapshot().name));
  }
  if (!is_one_word(*step.condition)) {
    return mistake(fmt::format("The condition of step `{}` is not a word.", step.name), device);
  }
  // No barrier separates the parts, so what the first writes could decide about the next.
  const bool in_parts = !step.indirect && !dispatch::fits_one_dispatch(
                                              step.grid, device.snapshot().limits.workgroup_count);
  if (in_parts && writes_own_condition(step)) {
    return mistake(
        fmt::format("Step `{}` writes its own condition, and runs in several parts.", step.name),
        device);
  }
  return {};
}

Result<void> check_steps(const std::vector<KernelStep>& steps, const Device& device) {
  for (const KernelStep& step : steps) {
    FELSITE_CHECK(check_ranges(device, step));
    if (!step.condition) continue;
    FELSITE_CHECK(check_condition(step, device));
  }
  return {};
}

Result<void> check_words(const Sequence& sequence, const Device& device) {
  if (sequence.watch) {
    FELSITE_CHECK(check_host_words(*sequence.watch, device));
    if (!is_one_word(*sequence.watch)) {
      return mistake("The watched range is not one word.", device);
    }
  }
  for (const HostWords& words : sequence.host_words) {
    FELSITE_CHECK(check_host_words(words.target, device));
    if (words.target.bytes != 4 * words.words.size()) {
      return mistake("Words do not fit where the host is to write them.", device);
    }
  }
  return {};
}

}  // namespace

Result<void> check_host_words(const BufferSlice& words, const Device& device) {
  if (lies_in_buffer(words) && words.bytes % 4 == 0 && words.buffer->is_mapped()) return {};
  return mistake("The host is to use words that it cannot reach.", device);
}

Result<void> check_sequence(const Sequence& sequence, const Device& device) {
  Result<void> done = check_steps(sequence.prefix, device);
  if (done) done = check_steps(sequence.repeated, device);
  if (done) done = check_words(sequence, device);
  return done;
}

}  // namespace felsite::vk
