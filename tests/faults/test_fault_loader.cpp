// Making an instance: the loader's calls fail too, and then nothing of the instance is left.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "faults/fault_injection.h"
#include "faults/fault_walk.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// Opens a separate instance and a device, dispatches once, and closes all of it again.
Result<void> use_instance(int fail_at, FaultKind kind) {
  begin_faults(fail_at, kind);
  auto backend = vk::make_backend({.open = [] { return vk::open_device(); }, .cache_folder = {}});
  if (!backend) return std::unexpected(std::move(backend.error()));
  return run_small_dispatch(**backend);
}

}  // namespace

TEST_CASE("every call to the loader fails once") {
  REQUIRE(vk::open_loader().has_value());
  const LoaderFaults faults;
  const auto clean = use_instance(-1, FaultKind::HostMemory);
  end_faults();
  REQUIRE_MESSAGE(clean.has_value(), to_string(clean.error()));
  REQUIRE_MESSAGE(fault_state().alive == 0, what_is_alive());
  const std::vector<std::string> calls = fault_state().log;
  const std::vector<std::vector<FaultKind>> kinds = fault_state().kinds;
  // Else an instance was open already, and none of this tests anything.
  REQUIRE(std::ranges::find(calls, "vkCreateInstance") != calls.end());
  int errors = 0;
  int overcome = 0;
  for (std::size_t call = 0; call < calls.size(); ++call) {
    for (const FaultKind kind : kinds[call]) {
      CAPTURE(calls[call]);
      CAPTURE(static_cast<int>(kind));
      const auto done = use_instance(static_cast<int>(call), kind);
      CHECK(fault_state().failed);
      end_faults();
      CHECK_MESSAGE(fault_state().alive == 0, what_is_alive());
      // Without a list of extensions there are no names and no labels, without one of layers or
      // without a messenger there is no validation: what is computed needs none of them.
      CHECK(done.has_value() == (calls[call] != "vkCreateInstance"));
      ++(done ? overcome : errors);
      if (!done) check_error(done.error(), kind, calls[call]);
    }
  }
  MESSAGE(fmt::format("loader: {} faults, {} errors, {} overcome", errors + overcome, errors,
                      overcome));
}
