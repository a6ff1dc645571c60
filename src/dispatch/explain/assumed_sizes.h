// What is assumed where the sizes of a dispatch are not known.
#pragma once

#include "base/try.h"
#include "dispatch/schedule/binding_plan.h"
#include "dispatch/schedule/grid.h"
#include "dispatch/schedule/schedule.h"
#include "felsite/explain.h"
#include "felsite/validate.h"

namespace felsite::dispatch {

// An unknown grid is assumed to be for this many elements: too many for one workgroup of any
// device.
inline constexpr std::uint64_t kAssumedElements = std::uint64_t{1} << 20;

// A grid that the device reads may extend along any axes.
inline Extent3 assumed_grid(const Extent3& workgroup_size) {
  const std::uint32_t lanes = workgroup_size[0] * workgroup_size[1] * workgroup_size[2];
  return infer_grid(kAssumedElements, workgroup_size)
      .value_or(*infer_grid(kAssumedElements, {lanes, 1, 1}));
}

// The sizes of the inputs, with what is assumed for those that are missing.
struct AssumedInputs {
  std::vector<std::uint64_t> bytes;
  std::vector<std::string> missing;  // names, quoted
};
inline AssumedInputs assumed_inputs(const ir::Program& program, const ExplainInputs& inputs) {
  AssumedInputs assumed;
  for (const ir::BufferDecl& buffer : program.buffers()) {
    if (!ir::takes_caller_bytes(ir::role_of(buffer))) continue;
    const std::size_t place = assumed.bytes.size();
    const auto given =
        place < inputs.bytes.size() ? inputs.bytes[place] : std::optional<std::uint64_t>();
    const std::uint64_t count = buffer.count != 0 ? buffer.count : kAssumedElements;
    assumed.bytes.push_back(given.value_or(count * ir::info(buffer.element).bytes));
    if (!given && buffer.count == 0) assumed.missing.push_back("`" + buffer.name + "`");
  }
  return assumed;
}

// What a plain dispatch with these bindings does; of iterations that the host starts one by one,
// what each of them does.
inline Result<Schedule> schedule_with(const ir::ValidProgram& program, const DispatchConfig& config,
                                      const BindingPlan& bindings, const Extent3& grid,
                                      const DeviceProfile& device, const ExplainInputs& inputs) {
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> bytes;
  std::vector<ByteSpan> contents;
  for (const BoundBuffer& buffer : bindings.buffers) {
    const bool is_known = buffer.input < inputs.contents.size();
    contents.push_back(is_known ? ByteSpan(inputs.contents[buffer.input]) : ByteSpan());
    counts.push_back(buffer.count);
    bytes.push_back(buffer.role == ir::Role::Shared ? 0 : buffer.bytes);
  }
  FELSITE_TRY(const auto route,
              choose_route(program, config, grid, device,
                           {.lengths = counts, .contents = contents, .can_try = true}));
  const bool one_by_one = changes_own_grid(program, config) && needs_known_grid(program) &&
                          route.route == Route::Resident;
  return make_schedule({.program = program,
                        .config = one_by_one ? one_iteration(config) : config,
                        .counts = counts,
                        .bytes = bytes,
                        .grid = grid,
                        .fresh_outputs = true,
                        .route = route,
                        .name = std::string(program.name())},
                       device);
}

inline Result<ir::ValidProgram> valid_configured(const ir::Program& program,
                                                 const DispatchConfig& config) {
  FELSITE_CHECK(check_choices(program, config));
  return ir::require_valid(configured(program, config));
}

}  // namespace felsite::dispatch
