// A whole algorithm in one submission with one wait: a search begins at a node, runs until it finds
// no more nodes, and what it found is compacted into a list. The nodes of a level are a list, too,
// whose length is the grid of the next step: a level costs as much as it is large, not as the
// graph. docs/vulkan.md explains the calls.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "felsite/reference.h"
#include "felsite/telemetry.h"
#include "felsite/text.h"
#include "felsite/vulkan.h"

using namespace felsite;

namespace {

// `state`: the grid of the next level, how many nodes it has so far, which half of the lists is the
// current one, and the current distance.
constexpr const char* kSeed = R"(program seed workgroup(1) {
  readwrite distance: u32[]; readwrite lists: u32[]; readwrite state: u32[6];
  distance[0] = 0;
  lists[0] = 0;
  state[0] = 1; state[1] = 1; state[2] = 1; state[3] = 0; state[4] = 0; state[5] = 0;
})";
constexpr const char* kVisit = R"(program visit workgroup(1) {
  readonly first: u32[]; readonly neighbour: u32[];
  readwrite distance: u32[]; readwrite lists: u32[]; readwrite state: u32[6];
  indirect_dispatch(state[0]);
  let half = len(lists) / 2;
  let node = lists[state[4] * half + workgroup_id.x];
  loop k in first[node]..first[node + 1] {
    let next = neighbour[k];
    if atomic_compare_exchange(distance[next], 4294967295, state[5] + 1) == 4294967295 {
      let place = atomic_add(state[3], 1);
      lists[(1 - state[4]) * half + place] = next;
    }
  }
})";
constexpr const char* kLevel = R"(program level workgroup(1) {
  readwrite state: u32[6]; readwrite found: u32[1];
  found[0] = state[3];
  state[0] = state[3];
  state[3] = 0;
  state[4] = 1 - state[4];
  state[5] = state[5] + 1;
})";
// The nodes that were reached, in order.
constexpr const char* kCompact = R"(program compact workgroup(64) {
  readonly distance: u32[]; readwrite rank: u32[]; readwrite reached: u32[]; readwrite count: u32[1];
  let i = invocation.x;
  let is_reached = distance[i] != 4294967295;
  if i < len(rank) { rank[i] = u32(is_reached); }
  gridsync;
  let step = 1;
  loop k in 0..32 {
    let before = select(i >= step, rank[max(i, step) - step], 0);
    gridsync;
    if i < len(rank) { rank[i] = rank[i] + before; }
    gridsync;
    step = step << 1;
  }
  if i < len(rank) {
    if is_reached { reached[rank[i] - 1] = i; }
    if i == len(rank) - 1 { count[0] = rank[i]; }
  }
})";

// A binary tree with some edges across; the last tenth of the nodes is apart from it.
struct Graph {
  explicit Graph(std::uint32_t count) {
    const std::uint32_t tree = count - count / 10;
    for (std::uint32_t i = 0; i < count; ++i) {
      first.push_back(static_cast<std::uint32_t>(neighbour.size()));
      if (i >= tree) continue;
      for (const std::uint32_t next : {2 * i + 1, 2 * i + 2}) {
        if (next < tree) neighbour.push_back(next);
      }
      if (i % 7 == 3) neighbour.push_back(i * 5 % tree);
    }
    first.push_back(static_cast<std::uint32_t>(neighbour.size()));
  }
  std::vector<std::uint32_t> first, neighbour;
};

struct Outcome {
  std::vector<Bytes> outputs;
  DispatchTiming timing;
  Telemetry counts;
};

Result<Outcome> search(Backend& backend, const Graph& graph) {
  std::vector<ir::Program> programs;
  for (const char* const text : {kSeed, kVisit, kLevel, kCompact}) {
    auto program = ir::parse(text);
    if (!program) return std::unexpected(to_error(program.error(), "search"));
    programs.push_back(std::move(*program));
  }
  const std::uint64_t nodes = graph.first.size() - 1;
  const std::vector<std::uint64_t> sizes{nodes * 4, nodes * 8, 24, 4, nodes * 4, nodes * 4, 4};
  const auto buffers = backend.allocate_resident_many(sizes);
  if (!buffers) return std::unexpected(buffers.error());
  const ResidentHandle distance = (*buffers)[0], lists = (*buffers)[1], state = (*buffers)[2],
                       found = (*buffers)[3], rank = (*buffers)[4], reached = (*buffers)[5],
                       count = (*buffers)[6];
  // The graph is lent: it is uploaded with the submission.
  const auto first = ResidentResource::of(std::as_bytes(std::span(graph.first)));
  const auto neighbour = ResidentResource::of(std::as_bytes(std::span(graph.neighbour)));

  const ResidentStep seed{
      .program = programs[0], .resources = {distance, lists, state}, .grid_override = {{1, 1, 1}}};
  const std::vector<ResidentStep> level{
      {.program = programs[1], .resources = {first, neighbour, distance, lists, state}},
      {.program = programs[2], .resources = {state, found}, .grid_override = {{1, 1, 1}}}};
  const ResidentStep compact{.program = programs[3], .resources = {distance, rank, reached, count}};
  const std::vector<ResidentBlock> blocks{{.steps = {&seed, 1}},
                                          {.steps = level, .repeat = Repeat::until_zero(found, 50)},
                                          {.steps = {&compact, 1}}};
  const std::vector<ResidentFill> fills{{.buffer = distance, .value = std::byte{0xFF}},
                                        {.buffer = reached}};
  const std::vector<ResidentRange> reads{{count}, {reached}, {distance}};

  Outcome outcome;
  const Telemetry before = telemetry_snapshot();
  auto timing =
      backend.submit_resident({.fills = fills, .reads = reads, .blocks = blocks}, outcome.outputs);
  if (!timing) return std::unexpected(timing.error());
  outcome.timing = std::move(*timing);
  outcome.counts = difference(telemetry_snapshot(), before);
  for (const ResidentHandle buffer : *buffers) {
    if (auto freed = backend.free_resident(buffer); !freed) return std::unexpected(freed.error());
  }
  return outcome;
}

int fail(const std::string& reason) {
  std::fprintf(stderr, "%s\n", reason.c_str());
  return 1;
}

}  // namespace

int main() {
  const Graph graph(1000);
  const auto device = make_vulkan_backend();
  if (!device) return fail(to_string(device.error()));
  const auto outcome = search(**device, graph);
  if (!outcome) return fail(to_string(outcome.error()));
  const auto expected = search(*make_reference_backend(), graph);
  if (!expected) return fail(to_string(expected.error()));

  std::printf("%s\n", (*device)->device_profile().name.c_str());
  std::uint32_t count = 0;
  std::memcpy(&count, outcome->outputs[0].data(), sizeof count);
  const BlockTiming& levels = outcome->timing.blocks[1];
  std::printf("%u nodes reached in %u levels, %s\n", count, levels.iterations_run,
              levels.converged ? "the last of them empty" : "and more were left");
  const auto counted = [&](Counter counter) {
    return static_cast<unsigned long long>(outcome->counts[counter]);
  };
  std::printf("%llu submissions, %llu waits, %llu launches\n", counted(Counter::Submissions),
              counted(Counter::Waits), counted(Counter::Launches));
  if (outcome->outputs != expected->outputs || outcome->timing.blocks != expected->timing.blocks) {
    return fail("The device differs from the reference.");
  }
  std::puts("equal to the reference");
}
