#include "run_program.h"

#include "base/try.h"
#include "felsite/reference.h"
#include "felsite/vulkan.h"
#include "output.h"
#include "run_inputs.h"
#include "run_results.h"

namespace felsite::tool {
namespace {

constexpr std::chrono::milliseconds kClosingGrace{300};

Result<Ran> dispatch(Backend& backend, const ir::Program& program, const std::vector<Bytes>& inputs,
                     const RunArguments& args) {
  const std::vector<ByteSpan> spans(inputs.begin(), inputs.end());
  const DispatchConfig config = make_config(args, program);
  const Telemetry before = telemetry_snapshot();
  FELSITE_TRY(auto results, backend.dispatch_borrowed_timed(program, spans, config));
  const Telemetry counted = difference(telemetry_snapshot(), before);
  std::vector<std::uint64_t> sizes;
  for (const Bytes& input : inputs) sizes.push_back(input.size());
  FELSITE_TRY(auto grid, choose_grid(program, config, sizes));
  return Ran{.results = std::move(results),
             .backend = std::string(backend.id()),
             .device = backend.device_profile().name,
             .grid = std::move(grid),
             .counted = counted,
             .checked = false,
             .difference = {}};
}

// Compares the device's results with the reference's.
void check_against_reference(const ir::Program& program, const std::vector<Bytes>& inputs,
                             const RunArguments& args, std::uint32_t subgroup_width, Ran& ran) {
  // The form is the device's; the reference runs grid barriers natively.
  RunArguments natively = args;
  natively.grid_sync = "auto";
  const auto expected = run_on_reference(program, inputs, natively, subgroup_width);
  ran.checked = true;
  if (!expected) {
    ran.difference = expected.error();
    ran.difference->message = "The device gave results, and the reference could not: " +
                              std::move(ran.difference->message);
    return;
  }
  ran.difference = first_difference(program, expected->results.outputs, ran.results.outputs);
  if (!ran.difference) write_err("checked: equal to the reference\n");
}

// Names the option of this tool where the fix is the reference backend.
Error cannot_open(Error error) {
  constexpr std::string_view kWayOut = "use the reference backend";
  if (const std::size_t at = error.fix.find(kWayOut); at != std::string::npos) {
    error.fix.replace(at, kWayOut.size(), "use --backend reference");
  }
  return error;
}

}  // namespace

Result<Ran> run_on_device(const ir::Program& program, const std::vector<Bytes>& inputs,
                          const RunArguments& args, const std::string& device) {
  // Work that goes on after a timeout must not delay the command: it ends with the process.
  auto backend =
      make_vulkan_backend({.device = device, .mask = args.mask, .close_timeout = kClosingGrace});
  if (!backend) return std::unexpected(cannot_open(std::move(backend.error())));
  auto ran = dispatch(**backend, program, inputs, args);
  // Uses the words of the reference instead of Vulkan's.
  if (!ran && ran.error().code == ErrorCode::Timeout) {
    ran.error().message = "The program did not finish within the timeout.";
  }
  if (ran && args.check) {
    const std::uint32_t width = (*backend)->device_profile().subgroup_size;
    check_against_reference(program, inputs, args, width, *ran);
  }
  return ran;
}

Result<Ran> run_on_reference(const ir::Program& program, const std::vector<Bytes>& inputs,
                             const RunArguments& args, std::uint32_t subgroup_width) {
  ReferenceOptions options;
  options.seed = args.seed;
  options.subgroup_width = subgroup_width;
  if (args.order == "reversed") options.order = WorkgroupOrder::Reversed;
  if (args.order == "shuffled") options.order = WorkgroupOrder::Shuffled;
  const auto backend = make_reference_backend(options);
  auto ran = dispatch(*backend, program, inputs, args);
  if (ran && args.count_out_of_bounds) {
    const OutOfBoundsCounts counts = backend->out_of_bounds();
    print_err("out of bounds: {} loads, {} stores, {} atomics\n", counts.loads, counts.stores,
              counts.atomics);
  }
  return ran;
}

}  // namespace felsite::tool
