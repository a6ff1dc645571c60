#include "vk/plan/device_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/try.h"
#include "vk/instance/vulkan_error.h"
#include "vk/plan/device_capabilities.h"
#include "vk/plan/device_extensions.h"
#include "vk/plan/device_ranking.h"
#include "vk/plan/quirks.h"

namespace felsite::vk {
namespace {

std::string warning_of(std::span<const DeviceSnapshot> devices,
                       const std::vector<RankedDevice>& ranked, std::size_t chosen) {
  std::string against;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (is_software(devices[i])) continue;
    against += fmt::format("; `{}` cannot be used: {}", devices[i].name, ranked[i].against);
  }
  if (against.empty()) return {};
  return fmt::format(
      "`{}` is taken, which is software{}. Fix: update the driver of the device that you want, or "
      "name the one to take in FELSITE_DEVICE.",
      devices[chosen].name, against);
}

// Reasons are clauses, messages are sentences.
std::string as_clause(std::string sentence) {
  if (sentence.starts_with("The ")) sentence[0] = 't';
  if (sentence.ends_with('.')) sentence.pop_back();
  return sentence;
}

Result<codegen::Capabilities> plan_capabilities(const DeviceSnapshot& device,
                                                const DeviceWish& wish,
                                                const std::string& mask_for_kernels) {
  const codegen::Capabilities found = capabilities_of(device);
  auto capabilities = codegen::apply_mask(wish.capabilities.value_or(found), mask_for_kernels);
  if (!capabilities) {
    return std::unexpected(with_runtime_names(std::move(capabilities.error())));
  }
  if (const auto excess = excess_of(*capabilities, found); !excess.empty()) {
    return std::unexpected(unsupported(
        fmt::format("The mask asks for more than the device has: {}.", fmt::join(excess, ", ")),
        "narrow the mask, or choose another device.", device.name));
  }
  return capabilities;
}

// The features that the list leaves on; an error if it names one that the device lacks.
Result<RuntimeFeatures> plan_runtime(const DeviceSnapshot& device, const SplitMask& mask,
                                     const RuntimeFeatures& found) {
  RuntimeFeatures lacking = mask.asked & ~found;
  lacking.reset(static_cast<std::size_t>(RuntimeFeature::TransferQueue));
  if (lacking.none()) return mask.on;
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kRuntimeFeatureCount; ++i) {
    if (lacking[i]) names.push_back(info(static_cast<RuntimeFeature>(i)).name);
  }
  return std::unexpected(
      unsupported(fmt::format("The mask asks for more than the device has: feature {}.",
                              fmt::join(names, ", feature ")),
                  "leave that out of the mask, or choose another device.", device.name));
}

void plan_memory(const DeviceSnapshot& device, DevicePlan& plan) {
  plan.memory = memory_strategy(device);
  if (!plan.has(RuntimeFeature::InPlaceMemory) &&
      (plan.memory.writes_in_place || plan.memory.reads_in_place)) {
    plan.memory = {.why = "The mask leaves memory in place unused, so bytes are staged."};
  }
  if (!plan.has(RuntimeFeature::InPlaceReads) && plan.memory.reads_in_place) {
    plan.memory = {
        .writes_in_place = true,
        .why =
            "The host writes in place; the mask turns reading in place off, so reads are "
            "staged."};
  }
  plan.runtime.set(static_cast<std::size_t>(RuntimeFeature::InPlaceReads),
                   plan.memory.reads_in_place);
  plan.notes.push_back(plan.memory.why);
}

void plan_queues(const DeviceSnapshot& device, bool transfer_asked, DevicePlan& plan) {
  plan.compute_family = compute_family(device).value_or(0);
  if (!plan.has(RuntimeFeature::TransferQueue)) return;
  const auto own = transfer_family(device);
  const bool staged = !plan.memory.writes_in_place || !plan.memory.reads_in_place;
  const auto leave_alone = [&](const char* why) {
    plan.runtime.reset(static_cast<std::size_t>(RuntimeFeature::TransferQueue));
    plan.notes.emplace_back(why);
  };
  if (!plan.has(RuntimeFeature::TimelineSemaphores)) {
    return leave_alone(
        "Copies run on the compute queue: without timeline semaphores queues cannot wait for "
        "each other.");
  }
  // Sharing buffers between families costs time, and nothing would be copied.
  if (!staged && !transfer_asked) {
    return leave_alone("The queue for copies is not used, as nothing is staged.");
  }
  plan.transfer_family = own.value_or(plan.compute_family);
  plan.notes.emplace_back(
      own ? fmt::format("Copies run beside the kernels, on queue family {}.", *own)
          : "The mask asks for a queue for copies, and the compute queue does the copies.");
}

}  // namespace

Result<DevicePlan> plan_opening(const DeviceSnapshot& device, const DeviceWish& wish) {
  const RuntimeFeatures found = runtime_features_of(device);
  const SplitMask mask = split_mask(wish.mask, found);
  FELSITE_TRY(auto capabilities, plan_capabilities(device, wish, mask.for_kernels));
  FELSITE_TRY(const auto runtime, plan_runtime(device, mask, found));

  DevicePlan plan;
  plan.capabilities = capabilities;
  plan.runtime = runtime;
  for (const Quirk& quirk : quirks()) {
    if (!quirk.applies(device) || !quirk.avoids || has(mask.asked, *quirk.avoids)) continue;
    plan.runtime.reset(static_cast<std::size_t>(*quirk.avoids));
  }
  plan_memory(device, plan);
  plan_queues(device, has(mask.asked, RuntimeFeature::TransferQueue), plan);
  plan.features = features_for(device, plan.capabilities, plan.runtime);
  plan.extensions = extensions_for(device, plan.features, plan.runtime);
  for (const Quirk& quirk : quirks()) {
    if (quirk.applies(device)) plan.quirks.emplace_back(quirk.name);
  }
  return plan;
}

std::vector<DeviceVerdict> judge_devices(std::span<const DeviceSnapshot> devices,
                                         const DeviceWish& wish) {
  std::vector<DeviceVerdict> verdicts;
  const std::vector<RankedDevice> ranked = rank_devices(devices, wish.device);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    DeviceVerdict verdict{ranked[i].against.empty(), ranked[i].chosen, ranked[i].reason};
    if (verdict.usable) {
      // A mask does not change the choice of a device: who asks for a feature wants to know that
      // the device lacks it.
      if (const auto plan = plan_opening(devices[i], wish); !plan) {
        verdict = {false, false, as_clause(plan.error().message)};
      }
    } else {
      verdict.reason = ranked[i].against;
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

Result<DevicePlan> plan_device(std::span<const DeviceSnapshot> devices, const DeviceWish& wish) {
  FELSITE_TRY(const auto chosen, choose_device(devices, wish.device));
  auto plan = plan_opening(devices[chosen], wish);
  if (!plan) return plan;
  plan->device = chosen;
  const std::vector<RankedDevice> ranked = rank_devices(devices, wish.device);
  plan->notes.insert(plan->notes.begin(), fmt::format("`{}` is taken: {}.", devices[chosen].name,
                                                      ranked[chosen].reason));
  if (wish.device.empty() && is_software(devices[chosen])) {
    plan->warning = warning_of(devices, ranked, chosen);
  }
  return plan;
}

}  // namespace felsite::vk
