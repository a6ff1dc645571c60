#include "dispatch/contract/resident_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/try.h"
#include "dispatch/schedule/routing.h"

namespace felsite::dispatch {
namespace {

using base::bad_inputs;

Result<void> check_resource_count(const ir::Program& program, std::span<const ir::BufferId> order,
                                  std::size_t given) {
  if (given == order.size()) return {};
  std::string names;
  for (const ir::BufferId id : order) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", program.buffer(id).name);
  }
  return std::unexpected(
      bad_inputs(fmt::format("The program binds {} resources, {} were given.", order.size(), given),
                 fmt::format("give these, in this order: {}.", names.empty() ? "none" : names),
                 program.name()));
}

bool may_change(const ir::BufferDecl& buffer) {
  return buffer.access == ir::Access::ReadWrite || buffer.access == ir::Access::WriteOnly;
}

}  // namespace

Result<void> check_device_buffer(const DeviceBuffer& buffer, std::string_view backend) {
  if (buffer.backend == backend) return {};
  return std::unexpected(base::invalid_handle(
      fmt::format("The device buffer `{}` belongs to the backend `{}`, not to `{}`.", buffer.label,
                  buffer.backend, backend),
      "give a buffer that this backend allocated."));
}

ResidentStep step_of(const ir::Program& program, std::span<const ResidentResource> resources,
                     const DispatchConfig& config) {
  return {.program = program,
          .resources = {resources.begin(), resources.end()},
          .grid_override = config.grid_override,
          .workgroup_override = config.workgroup_override,
          .float_mode = config.float_mode,
          .max_output_bytes = config.max_output_bytes,
          .label = config.label};
}

DispatchConfig config_of(const ResidentStep& step) {
  DispatchConfig config;
  config.grid_override = step.grid_override;
  config.workgroup_override = step.workgroup_override;
  config.float_mode = step.float_mode;
  config.max_output_bytes = step.max_output_bytes;
  config.label = step.label;
  return config;
}

bool manages_iterations(const ir::Program& program, const DispatchConfig& config) {
  return needs_grid_sync_form(program, config) ||
         config.convergence.kind == Convergence::Kind::Flag;
}

Error host_split_on_resident(const ir::Program& program) {
  return base::unsupported(
      "The host split works on the caller's bytes, and these "
      "buffers are on the device.",
      "leave the form to the backend.", program.name());
}

Result<void> check_resident_config(const ir::Program& program, const DispatchConfig& config,
                                   const DeviceProfile& device) {
  FELSITE_CHECK(check_config(program, config));
  // On other devices the route also depends on the grid, which is not known here.
  if (!device.grid_sync && !config.cooperative) return {};
  FELSITE_TRY(const auto route, route_on_any_grid(program, config, device));
  if (route && route->route == Route::HostSplit) {
    return std::unexpected(host_split_on_resident(program));
  }
  return {};
}

Result<ByteRange> resolve_range(std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
  const bool begins_inside = offset <= size;
  const std::uint64_t left = begins_inside ? size - offset : 0;
  if (begins_inside && length == kWholeSize) return ByteRange{offset, left};
  if (begins_inside && length <= left) return ByteRange{offset, length};
  Error error = bad_inputs(
      length == kWholeSize
          ? fmt::format("A range that begins at byte {} does not lie in a buffer of {} bytes.",
                        offset, size)
          : fmt::format("{} bytes from byte {} on do not lie in a buffer of {} bytes.", length,
                        offset, size),
      "give a range inside the buffer.");
  return std::unexpected(base::with_amounts(std::move(error), length, left));
}

Result<ByteRange> resolve_fill(const ResidentFill& fill, std::uint64_t size) {
  const auto range = resolve_range(fill.offset, fill.length, size);
  if (!range) return range;
  const bool ends_evenly = range->length % 4 == 0 || range->offset + range->length == size;
  if (range->offset % 4 == 0 && ends_evenly) return range;
  return std::unexpected(bad_inputs(
      fmt::format("A fill of {} bytes from byte {} on does not begin and end at multiples of four.",
                  range->length, range->offset),
      "fill whole words, or to the end of the buffer; or upload the bytes."));
}

namespace {

Result<void> check_fresh(std::span<const ByteSpan> recorded, std::span<const ByteSpan> fresh,
                         std::string_view what, std::string_view whats) {
  if (fresh.size() != recorded.size()) {
    return std::unexpected(
        bad_inputs(fmt::format("{} {} were recorded, bytes for {} were given.", recorded.size(),
                               whats, fresh.size()),
                   fmt::format("give bytes for each of the recorded {}, or for none.", whats)));
  }
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    if (fresh[i].size() == recorded[i].size()) continue;
    return std::unexpected(
        bad_inputs(fmt::format("{} {} was recorded with {} bytes, {} were given.", what, i,
                               recorded[i].size(), fresh[i].size()),
                   "give as many bytes as were recorded."));
  }
  return {};
}

}  // namespace

Result<void> check_fresh_uploads(std::span<const ResidentUpload> recorded,
                                 std::span<const ByteSpan> fresh) {
  std::vector<ByteSpan> bytes;
  for (const ResidentUpload& upload : recorded) bytes.push_back(upload.bytes);
  return check_fresh(bytes, fresh, "Upload", "uploads");
}

Result<void> check_fresh_lent(std::span<const ByteSpan> recorded, std::span<const ByteSpan> fresh) {
  return check_fresh(recorded, fresh, "Lent resource", "lent resources");
}

Result<void> check_lent(const ir::Program& program, std::span<const ResidentResource> resources) {
  const std::vector<ir::BufferId> order = resource_order(program);
  for (std::size_t i = 0; i < std::min(order.size(), resources.size()); ++i) {
    if (!resources[i].bytes || !may_change(program.buffer(order[i]))) continue;
    return std::unexpected(bad_inputs(
        fmt::format("Bytes of the caller are bound as `{}`, which the program may change.",
                    program.buffer(order[i]).name),
        "bind a resident buffer, or declare the buffer read only.", program.name()));
  }
  return {};
}

std::vector<ByteSpan> lent_bytes(const ResidentSubmission& submission) {
  std::vector<ByteSpan> lent;
  const auto add = [&](std::span<const ResidentStep> steps) {
    for (const ResidentStep& step : steps) {
      for (const ResidentResource& resource : step.resources) {
        if (resource.bytes) lent.push_back(*resource.bytes);
      }
    }
  };
  add(submission.prefix);
  add(submission.repeated);
  for (const ResidentBlock& block : submission.blocks) add(block.steps);
  return lent;
}

Result<void> check_repeat(const Repeat& repeat, std::size_t block) {
  if (repeat.kind > Repeat::Kind::UntilUnchanged) {
    return std::unexpected(bad_inputs(
        fmt::format("Block {} repeats in a way with the number {}, which does not exist.", block,
                    static_cast<unsigned>(repeat.kind)),
        "use one of the values of Repeat::Kind."));
  }
  if (repeat.bound != 0) return {};
  return std::unexpected(bad_inputs(fmt::format("Block {} runs at most 0 times.", block),
                                    "give a bound of at least 1, or leave the block out."));
}

std::vector<ir::BufferId> resource_order(const ir::Program& program) {
  std::vector<ir::BufferId> order;
  for (ir::BufferId id = 0; id < program.buffers().size(); ++id) {
    if (program.buffer(id).access != ir::Access::Workgroup) order.push_back(id);
  }
  std::ranges::stable_sort(order, {}, [&](ir::BufferId id) { return program.buffer(id).binding; });
  return order;
}

Result<std::vector<ByteRange>> resolve_resources(const ir::Program& program,
                                                 std::span<const ResidentResource> resources,
                                                 std::span<const std::uint64_t> sizes) {
  const std::vector<ir::BufferId> order = resource_order(program);
  FELSITE_CHECK(check_resource_count(program, order, resources.size()));
  std::vector<ByteRange> ranges;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const ir::BufferDecl& buffer = program.buffer(order[i]);
    auto range = resolve_range(resources[i].offset, resources[i].length, sizes[i]);
    if (!range)
      return std::unexpected(base::with_program(std::move(range.error()), program.name()));
    const std::uint64_t element = info(buffer.element).bytes;
    if (range->offset % element != 0) {
      return std::unexpected(bad_inputs(
          fmt::format(
              "The range bound as `{}` begins at byte {}, inside of an element of {} bytes.",
              buffer.name, range->offset, element),
          fmt::format("begin at a multiple of {}.", element), program.name()));
    }
    if (buffer.count != 0) range->length = std::min(range->length, buffer.count * element);
    ranges.push_back(*range);
  }
  return ranges;
}

Result<BindingPlan> plan_resources(const ir::Program& program, std::span<const std::uint64_t> sizes,
                                   const DispatchConfig& config) {
  const std::vector<ir::BufferId> order = resource_order(program);
  FELSITE_CHECK(check_resource_count(program, order, sizes.size()));
  std::vector<std::uint64_t> by_buffer(program.buffers().size());
  for (std::size_t i = 0; i < order.size(); ++i) by_buffer[order[i]] = sizes[i];
  std::vector<std::uint64_t> input_sizes;
  for (ir::BufferId id = 0; id < by_buffer.size(); ++id) {
    const ir::BufferDecl& buffer = program.buffer(id);
    const ir::Role role = role_of(buffer);
    if (takes_caller_bytes(role)) input_sizes.push_back(by_buffer[id]);
    const std::uint64_t declared = std::uint64_t{buffer.count} * info(buffer.element).bytes;
    if (role == ir::Role::Output && by_buffer[id] != declared) {
      return std::unexpected(bad_inputs(
          fmt::format("Buffer `{}` takes {} bytes, its resource has {}.", buffer.name, declared,
                      by_buffer[id]),
          fmt::format("bind a resource of at least {} bytes.", declared), program.name()));
    }
  }
  return plan_bindings(program, input_sizes, config);
}

std::vector<ResidentHandle> changed_resources(const ir::Program& program,
                                              std::span<const ResidentResource> resources) {
  const std::vector<ir::BufferId> order = resource_order(program);
  std::vector<ResidentHandle> changed;
  for (std::size_t i = 0; i < std::min(order.size(), resources.size()); ++i) {
    if (may_change(program.buffer(order[i]))) changed.push_back(resources[i].buffer);
  }
  return changed;
}

Result<void> check_aliasing(const ir::Program& program, std::span<const ResidentResource> resources,
                            std::span<const ByteRange> ranges) {
  const std::vector<ir::BufferId> order = resource_order(program);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (!may_change(program.buffer(order[i]))) continue;
    for (std::size_t other = 0; other < ranges.size(); ++other) {
      if (other == i || resources[other].bytes) continue;
      if (!(resources[other].buffer == resources[i].buffer)) continue;
      const ByteRange& a = ranges[i];
      const ByteRange& b = ranges[other];
      const std::uint64_t begin = std::max(a.offset, b.offset);
      const std::uint64_t end = std::min(a.offset + a.length, b.offset + b.length);
      if (begin >= end) continue;
      return std::unexpected(
          bad_inputs(fmt::format("Bytes {} to {} of one resource are bound as `{}` and as `{}`, "
                                 "and the program may change them.",
                                 begin, end - 1, program.buffer(order[i]).name,
                                 program.buffer(order[other]).name),
                     "bind a resource of its own, or a range of its own, to each buffer that the "
                     "program changes.",
                     program.name()));
    }
  }
  return {};
}

}  // namespace felsite::dispatch
