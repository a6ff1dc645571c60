// Grid barriers and iterations, in each form that they are run in.
#include <array>

#include "faults/scenario_support.h"
#include "faults/scenarios.h"

namespace felsite::test {
namespace {

// Three segments, over which it keeps two values. The smallest word of the ring goes on by one
// place in each iteration, and `y` rests one iteration after `x`.
const ir::Program& spread() {
  static const ir::Program program = program_of(R"(program spread workgroup(4) {
    readwrite x: u32[];
    readwrite y: u32[];
    let i = invocation.x;
    let mine = x[i];
    let next = x[(i + 1) % len(x)];
    gridsync;
    if next < mine { x[i] = next; }
    gridsync;
    y[i] = x[i] + mine;
  })");
  return program;
}

// The same in two segments, with a word that says whether an iteration has changed something.
const ir::Program& spread_by_flag() {
  static const ir::Program program = program_of(R"(program spread_by_flag workgroup(4) {
    readwrite x: u32[];
    output flag: u32[1];
    let i = invocation.x;
    let mine = x[i];
    let next = x[(i + 1) % len(x)];
    gridsync;
    if next < mine {
      x[i] = next;
      flag[0] = 1;
    }
  })");
  return program;
}

// Only the device knows the loop's trip count.
const ir::Program& rounds_in_buffer() {
  static const ir::Program program = program_of(R"(program rounds_in_buffer workgroup(4) {
    readonly rounds: u32[1];
    readwrite x: u32[];
    let i = invocation.x;
    loop round in 0..rounds[0] {
      let next = x[(i + 1) % len(x)];
      gridsync;
      x[i] = x[i] + next;
      gridsync;
    }
  })");
  return program;
}

// Two iterations change it, and `y` one more.
Words falling() { return {1, 1, 1, 1, 1, 3, 2, 1}; }

DispatchConfig two_workgroups(GridSync form, std::uint32_t iterations) {
  DispatchConfig config;
  config.grid_override = {{2, 1, 1}};
  config.fixpoint_iterations = iterations;
  config.grid_sync = form;
  return config;
}

DispatchConfig until_flag(DispatchConfig config) {
  config.convergence = {.kind = Convergence::Kind::Flag, .flag = "flag"};
  return config;
}

Result<void> run_spread(Backend& backend, GridSync form, std::uint32_t iterations, const Words& x,
                        const Words& y) {
  auto outputs = backend.dispatch(spread(), {bytes_of(falling()), zero_words(8)},
                                  two_workgroups(form, iterations));
  if (!outputs) return plain(std::move(outputs));
  return expect(words_of((*outputs)[0]) == x && words_of((*outputs)[1]) == y);
}

Result<void> resident_form(Backend& backend) {
  return run_spread(backend, GridSync::Resident, 6, Words(8, 1), Words(8, 2));
}

// More iterations than stand one after the other: some, and a block of them that the host watches.
Result<void> resident_form_by_flag(Backend& backend) {
  auto outputs = backend.dispatch(spread_by_flag(), {bytes_of(falling())},
                                  until_flag(two_workgroups(GridSync::Resident, 65)));
  if (!outputs) return plain(std::move(outputs));
  return expect(words_of((*outputs)[0]) == Words(8, 1) && words_of((*outputs)[1]) == Words{0});
}

Result<void> way_on_device(Backend& backend) {
  auto outputs = backend.dispatch(rounds_in_buffer(), {bytes_of(Words{3}), bytes_of(Words(8, 1))},
                                  two_workgroups(GridSync::Resident, 1));
  if (!outputs) return plain(std::move(outputs));
  return expect(words_of((*outputs)[0]) == Words(8, 8));
}

Result<void> one_workgroup(Backend& backend) {
  return run_spread(backend, GridSync::OneWorkgroup, 6, Words(8, 1), Words(8, 2));
}

// In whatever form the backend takes by itself.
Result<void> any_form(Backend& backend) {
  return run_spread(backend, GridSync::Automatic, 6, Words(8, 1), Words(8, 2));
}

Result<void> host_split(Backend& backend) {
  return run_spread(backend, GridSync::HostSplit, 2, Words(8, 1), {2, 2, 2, 2, 2, 3, 2, 2});
}

// The flag's buffer gets what the last iteration left in the words of the recording.
Result<void> resident_iterations(Backend& backend) {
  Buffers buffers(backend);
  if (auto done = buffers.allocate({32, 4}); !done) return done;
  const std::array resources{buffers[0], buffers[1]};
  const auto run = [&](std::uint32_t iterations, bool profile, const Words& x,
                       std::uint32_t flag) -> Result<void> {
    if (auto done = backend.upload_resident(buffers[0], bytes_of(falling())); !done) return done;
    DispatchConfig config = until_flag(two_workgroups(GridSync::Resident, iterations));
    config.profile = profile;
    if (auto done = backend.dispatch_resident(spread_by_flag(), resources, config); !done) {
      return done;
    }
    const std::array ranges{ResidentRange{.buffer = buffers[0]},
                            ResidentRange{.buffer = buffers[1]}};
    std::vector<Bytes> outputs;
    if (auto done = backend.download_resident_ranges_into(ranges, outputs); !done) return done;
    return expect(words_of(outputs[0]) == x && words_of(outputs[1]) == Words{flag});
  };
  if (auto done = run(4, false, Words(8, 1), 0); !done) return done;
  if (auto done = run(2, true, Words(8, 1), 1); !done) return done;
  return run(1, false, {1, 1, 1, 1, 1, 2, 1, 1}, 1);
}

// Five workgroups, and a dispatch takes two: also where the device reads the grids itself.
Result<void> grid_in_parts(Backend& backend) {
  static const ir::Program count = program_of(
      "program count workgroup(1) { readwrite x: u32[]; let i = invocation.x; x[i] = x[i] + i; }");
  auto outputs = backend.dispatch(count, {zero_words(5)});
  if (!outputs) return plain(std::move(outputs));
  if (auto right = expect(words_of((*outputs)[0]) == Words{0, 1, 2, 3, 4}); !right) return right;
  DispatchConfig config = until_flag(two_workgroups(GridSync::Resident, 2));
  config.grid_override = {{5, 1, 1}};
  outputs = backend.dispatch(spread_by_flag(), {bytes_of(counting(20))}, config);
  if (!outputs) return plain(std::move(outputs));
  Words ring = counting(20);
  ring[18] = ring[19] = 0;
  return expect(words_of((*outputs)[0]) == ring && words_of((*outputs)[1]) == Words{1});
}

}  // namespace

std::vector<Scenario> grid_scenarios() {
  return {
      {.name = "grid barriers", .run = resident_form, .needs_device = true},
      {.name = "grid barriers, by flag",
       .run = resident_form_by_flag,
       .needs_device = true,
       .takes_long = true},
      {.name = "way on the device", .run = way_on_device, .needs_device = true, .takes_long = true},
      {.name = "one workgroup", .run = one_workgroup, .needs_device = true, .takes_long = true},
      {.name = "any form", .run = any_form, .takes_long = true},
      {.name = "host split", .run = host_split, .takes_long = true},
      {.name = "resident iterations",
       .run = resident_iterations,
       .needs_device = true,
       .takes_long = true},
      {.name = "grid in parts",
       .run = grid_in_parts,
       .most_workgroups = 2,
       .needs_device = true,
       .takes_long = true},
  };
}

}  // namespace felsite::test
