#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <mutex>
#include <unordered_map>

#include "dispatch/caller_memory.h"
#include "felsite/kernel.h"
#include "felsite/validate.h"
#include "felsite/vulkan.h"
#include "reference/interpreter.h"
#include "vk/device_capabilities.h"
#include "vk/device_choice.h"
#include "vk/quirks.h"
#include "vk/run_kernel.h"
#include "vk/vulkan_error.h"

namespace felsite {
namespace {

using namespace dispatch;
using codegen::Capabilities;
using codegen::Feature;
using Clock = std::chrono::steady_clock;

// Programs made ready on the device, by fingerprint (which the workgroup size is part of).
class PreparedKernels {
 public:
  std::optional<vk::PreparedKernel> find(const ir::Program& program) {
    const std::lock_guard lock(mutex_);
    const auto found = ready_.find(program.fingerprint());
    return found == ready_.end() ? std::nullopt : std::optional(found->second);
  }

  // Without the lock while it works: a large program must not hold up the others.
  Result<vk::PreparedKernel> make(vk::Device& device, const ir::Program& program) {
    auto kernel = codegen::lower(codegen::Segment(program), device.capabilities());
    if (!kernel) return std::unexpected(std::move(kernel.error()));
    auto prepared = vk::PreparedKernel::prepare(device, std::move(*kernel), program);
    if (!prepared) return prepared;
    const std::lock_guard lock(mutex_);
    if (ready_.size() >= kMost) ready_.clear();
    return ready_.emplace(program.fingerprint(), std::move(*prepared)).first->second;
  }

 private:
  static constexpr std::size_t kMost = 256;
  struct Hash {
    std::size_t operator()(const ir::Fingerprint& f) const { return f.low ^ f.high; }
  };
  std::mutex mutex_;
  std::unordered_map<ir::Fingerprint, vk::PreparedKernel, Hash> ready_;
};

Error not_yet(std::string message) {
  return {.code = ErrorCode::UnsupportedFeature,
          .message = std::move(message),
          .fix = "run the program on the reference backend.",
          .context = {}};
}

Result<void> check_supported(const ir::Program& program, const DispatchConfig& config) {
  if (config.cooperative) {
    Error error = not_yet(
        "A cooperative dispatch needs a barrier of the whole grid, which Vulkan "
        "has not.");
    error.fix = "dispatch without `cooperative`.";
    return std::unexpected(std::move(error));
  }
  if (program.facts().has_grid_sync) {
    return std::unexpected(
        not_yet("The program has a gridsync, and the Vulkan backend runs single kernels."));
  }
  if (program.facts().has_collectives) {
    return std::unexpected(
        not_yet("The program has a collective, and the Vulkan backend runs single kernels."));
  }
  if (config.fixpoint_iterations.value_or(1) > 1) {
    return std::unexpected(
        not_yet(fmt::format("A fixpoint of {} iterations was asked for, and the Vulkan backend "
                            "runs one.",
                            *config.fixpoint_iterations)));
  }
  return {};
}

bool all_zero(ByteSpan bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

class Vulkan final : public Backend {
 public:
  explicit Vulkan(std::unique_ptr<vk::Device> device) : device_(std::move(device)) {}

  std::string_view id() const override { return "vulkan"; }
  std::string_view version() const override { return FELSITE_VERSION; }
  std::vector<std::string> supported_ops() const override;
  DeviceProfile device_profile() const override;
  std::string device_feature_cache_key() const override;
  Result<DispatchTiming> dispatch_borrowed_into(const ir::Program& program,
                                                std::span<const ByteSpan> inputs,
                                                std::vector<Bytes>& outputs,
                                                const DispatchConfig& config) override;

 private:
  Result<DispatchTiming> try_dispatch(const ir::Program& program, std::span<const ByteSpan> inputs,
                                      std::vector<Bytes>& outputs, const DispatchConfig& config);
  Error with_context(Error error, const ir::Program& program) const {
    error.context.program = program.name();
    error.context.device = device_->snapshot().name;
    return error;
  }

  const std::unique_ptr<vk::Device> device_;  // outlives the kernels
  PreparedKernels kernels_;
};

std::vector<std::string> Vulkan::supported_ops() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < ir::kExprKindCount; ++i) {
    names.emplace_back(info(static_cast<ir::ExprKind>(i)).name);
  }
  for (std::size_t i = 0; i < ir::kNodeKindCount; ++i) {
    const ir::NodeKindInfo& row = info(static_cast<ir::NodeKind>(i));
    if (!row.whole_grid) names.emplace_back(row.name);
  }
  return names;
}

// f16 and bf16 are computed in 32 bits, and the host reads the words of an indirect dispatch:
// neither is native.
DeviceProfile Vulkan::device_profile() const {
  const vk::DeviceSnapshot& snapshot = device_->snapshot();
  const Capabilities& mask = device_->capabilities();
  DeviceProfile profile;
  profile.name = snapshot.name;
  profile.subgroup_ops = mask.has(Feature::LinearSubgroups) && mask.has(Feature::SubgroupBallot) &&
                         mask.has(Feature::SubgroupShuffle) && mask.subgroup_size <= 64;
  profile.f64 = mask.has(Feature::Float64);
  profile.int64 = mask.has(Feature::Int64);
  profile.max_workgroup_size = mask.limits.workgroup_size;
  profile.max_workgroup_count = mask.limits.workgroup_count;
  profile.max_workgroup_invocations = mask.limits.workgroup_invocations;
  profile.subgroup_size = mask.subgroup_size;
  profile.max_storage_buffer_bytes =
      std::min(snapshot.limits.storage_buffer_range, snapshot.limits.allocation_bytes);
  profile.shared_memory_bytes = mask.limits.shared_bytes;
  profile.timing_quality = device_->timestamp_bits() != 0 ? "device timestamps" : "host clock";
  for (const vk::Quirk& quirk : vk::quirks()) {
    if (quirk.applies(snapshot)) profile.quirks.emplace_back(quirk.name);
  }
  return profile;
}

std::string Vulkan::device_feature_cache_key() const {
  const vk::DeviceSnapshot& snapshot = device_->snapshot();
  const Capabilities& mask = device_->capabilities();
  const codegen::DeviceLimits& limits = mask.limits;
  std::string key = fmt::format(
      "vulkan-{}/{}/{} {} {:#x}/features {}/spirv {:#x}/subgroup {}/budget {}", FELSITE_VERSION,
      snapshot.name, snapshot.driver_name, snapshot.driver_info, snapshot.driver_version,
      mask.features.to_string(), mask.spirv_version, mask.subgroup_size, mask.loop_budget);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    key += fmt::format("/{} {}", limits.workgroup_size[axis], limits.workgroup_count[axis]);
  }
  key += fmt::format("/{} {} {} {}", limits.workgroup_invocations, limits.shared_bytes,
                     limits.storage_buffers, limits.push_constant_bytes);
  return key;
}

Result<DispatchTiming> Vulkan::try_dispatch(const ir::Program& given,
                                            std::span<const ByteSpan> inputs,
                                            std::vector<Bytes>& outputs,
                                            const DispatchConfig& config) {
  const ir::Program program = configured(given, config);
  auto kernel = kernels_.find(program);
  if (!kernel) {
    if (const ir::Findings findings = ir::validate(program); !findings.empty()) {
      return std::unexpected(ir::to_error(findings, program.name()));
    }
  }
  // What the caller did wrong comes before what the backend cannot do: on every backend the same.
  if (auto sane = check_config(program, config); !sane) return std::unexpected(sane.error());
  const auto plan = plan_inputs(program, inputs, config);
  if (!plan) return std::unexpected(plan.error());
  if (auto fits = check_result_memory(*plan, reference::default_memory_limit()); !fits) {
    return std::unexpected(std::move(fits.error()));
  }
  if (auto apart = check_slots(inputs, outputs); !apart) return std::unexpected(apart.error());

  // A convergence flag is zero before each pass, also before the only one.
  std::vector<ByteSpan> contents(inputs.begin(), inputs.end());
  Bytes clear_flag;
  const BoundBuffer* flag = nullptr;
  if (config.convergence.kind == Convergence::Kind::Flag) {
    flag = &plan->buffers[*program.find_buffer(config.convergence.flag)];
    clear_flag.resize(flag->bytes);
    if (flag->input != ir::kNone) contents[flag->input] = clear_flag;
  }
  // A buffer that the caller gives nothing for holds zeros, as does what lies past an empty span.
  const auto contents_of = [&](ir::BufferId id) {
    const std::uint32_t input = plan->buffers[id].input;
    return input == ir::kNone ? ByteSpan{} : contents[input];
  };
  const auto grid = plan_grid(program, *plan, config, indirect_grid(program, contents_of));
  if (!grid) return std::unexpected(grid.error());
  if (auto can = check_supported(program, config); !can) return std::unexpected(can.error());
  if (config.timeout && config.timeout->count() <= 0) {
    return std::unexpected(device_->error(VK_TIMEOUT, "finish the work in no time"));
  }
  if (!kernel) {
    auto made = kernels_.make(*device_, program);
    if (!made) return std::unexpected(std::move(made.error()));
    kernel = std::move(*made);
  }

  const auto start = Clock::now();
  const vk::Launch launch{.grid = *grid, .measure_device_time = config.profile};
  auto bound = kernel->bind(contents, launch);
  if (!bound) return std::unexpected(std::move(bound.error()));
  const auto submitted = bound->submit_and_wait(1, config.timeout.value_or(vk::kNoTimeout));
  if (!submitted) return std::unexpected(submitted.error());
  const auto results = bound->read_outputs();
  if (!results) return std::unexpected(results.error());
  // Copied, not moved: the caller's allocations are to be used again.
  outputs.resize(results->size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].assign((*results)[i].begin(), (*results)[i].end());
  }
  const auto nanoseconds = [](auto duration) {
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(duration).count());
  };
  DispatchTiming timing;
  timing.wall_ns = nanoseconds(Clock::now() - start);
  if (submitted->device_time) timing.device_ns = nanoseconds(*submitted->device_time);
  timing.passes_run = 1;
  timing.converged = flag != nullptr && all_zero(outputs[flag->output]);
  return timing;
}

Result<DispatchTiming> Vulkan::dispatch_borrowed_into(const ir::Program& program,
                                                      std::span<const ByteSpan> inputs,
                                                      std::vector<Bytes>& outputs,
                                                      const DispatchConfig& config) {
  try {
    auto timing = try_dispatch(program, inputs, outputs, config);
    if (!timing) return std::unexpected(with_context(std::move(timing.error()), program));
    return timing;
  } catch (const std::bad_alloc&) {
    return std::unexpected(with_context(host_out_of_memory(), program));
  }
}

// The device that the options mean.
Result<vk::DeviceSnapshot> find_device(const std::string& wanted) {
  const auto devices = vk::list_devices();
  if (!devices) return std::unexpected(devices.error());
  std::size_t index = 0;
  const char* const end = wanted.data() + wanted.size();
  const auto read = std::from_chars(wanted.data(), end, index);
  // A number that is no position may still be part of a name.
  const bool is_position = read.ec == std::errc{} && read.ptr == end && index < devices->size();
  const auto chosen = vk::choose_device(*devices, is_position ? (*devices)[index].name : wanted);
  if (!chosen) return std::unexpected(chosen.error());
  // Devices are opened by name: a position serves only where the name leads to it.
  if (is_position && *chosen != index) {
    return std::unexpected(vk::unsupported(
        fmt::format("Device {} cannot be told from device {} by its name.", index, *chosen),
        "let VK_ICD_FILENAMES leave only the one driver, or leave the device out.",
        (*devices)[index].name));
  }
  return (*devices)[*chosen];
}

}  // namespace

Result<Capabilities> vulkan_capabilities(const VulkanOptions& options) {
  const auto device = find_device(options.device);
  if (!device) return std::unexpected(device.error());
  return codegen::apply_mask(vk::capabilities_of(*device), options.mask);
}

Result<std::unique_ptr<Backend>> make_vulkan_backend(const VulkanOptions& options) {
  // Held until the device is open, or the loader would load all drivers twice.
  const auto instance = vk::Instance::shared();
  if (!instance) return std::unexpected(instance.error());
  const auto found = find_device(options.device);
  if (!found) return std::unexpected(found.error());
  const auto mask = codegen::apply_mask(vk::capabilities_of(*found), options.mask);
  if (!mask) return std::unexpected(mask.error());
  auto device = vk::open_device({.name_contains = found->name, .mask = *mask});
  if (!device) return std::unexpected(std::move(device.error()));
  return std::make_unique<Vulkan>(std::move(*device));
}

}  // namespace felsite
