// Barriers between the segments, iterations and ways of programs with grid barriers: the oracle
// finds nothing unordered, and misses none that is taken away.
#include <fmt/format.h>

#include <array>

#include "dispatch/contract/caller_memory.h"
#include "dispatch/facade/placed_step.h"
#include "dispatch/schedule/step_accesses.h"
#include "support/hazard_oracle.h"
#include "vk/backend_on_device.h"
#include "vk/record/sequence_layout.h"
#include "vk/schedule/materialize.h"

using namespace felsite;
using namespace felsite::test;

namespace {

const char* const kClosure = R"(program closure workgroup(8) {
  readwrite v: u32[]; output e: u32[64]; output f: u32[64]; output n: u32[64]; output changed: u32[1];
  let i = invocation.x;
  f[i] = v[i] & ~e[i]; e[i] = e[i] | f[i];
  gridsync;
  n[i] = f[i] | select(i % 8 != 0, f[max(i, 1) - 1], 0);
  gridsync;
  if (v[i] | n[i]) != v[i] { v[i] = v[i] | n[i]; changed[0] = 1; }
})";
const char* const kScatter = R"(program scatter workgroup(8) {
  readwrite v: u32[]; output seen: u32[64]; output changed: u32[1];
  let mine = v[invocation.x];
  gridsync;
  atomic_max(v[mine % len(v)], mine);
  loop k in 0..3 { seen[(invocation.x + k) % 64] = v[k]; gridsync; }
  changed[0] = 1;
})";
const char* const kWay = R"(program way workgroup(8) {
  readwrite v: u32[]; output o: u32[64]; output changed: u32[1];
  let mine = v[invocation.x];
  let end = v[0];
  let turn = v[1];
  gridsync;
  loop k in 0..end {
    o[invocation.x] = o[invocation.x] + mine + k;
    gridsync;
    if turn == k { v[invocation.x] = k; gridsync; }
  }
})";

struct Laid {
  dispatch::Schedule schedule;
  vk::Sequence sequence;
  vk::SequenceLayout layout;
};

Laid lay_out(const Backend& backend, const char* text, const DispatchConfig& config) {
  const auto open = device_of(backend);
  const auto engine = vulkan_engine(backend);
  const Bytes v(64 * 4);
  const std::vector<ByteSpan> inputs{v};
  dispatch::PlacedStep step{.program = valid_program(text), .config = config};
  step.bindings = must(dispatch::plan_inputs(step.program, inputs, config));
  dispatch::Submission submission{.name = "grid"};
  std::vector<dispatch::MemoryRange> memory;
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> bytes;
  for (const dispatch::BoundBuffer& buffer : step.bindings.buffers) {
    const dispatch::MemoryRange range{must(open->service->allocate(buffer.bytes, "grid", "buffer")),
                                      0, buffer.bytes};
    if (buffer.input != ir::kNone) {
      submission.uploads.push_back(range);
    } else {
      submission.fills.push_back({range, std::byte{0}});
    }
    submission.reads.push_back(range);
    memory.push_back(range);
    counts.push_back(buffer.count);
    bytes.push_back(buffer.bytes);
  }
  Laid laid;
  laid.schedule = must(dispatch::make_schedule({.program = step.program,
                                                .config = config,
                                                .counts = counts,
                                                .bytes = bytes,
                                                .grid = Extent3{8, 1, 1},
                                                .name = "grid"},
                                               open->profile()));
  submission.stages.push_back({.stage = {.schedule = laid.schedule},
                               .kernels = must(dispatch::compile_kernels(*open, laid.schedule)),
                               .memory = std::move(memory)});
  laid.sequence = must(vk::make_sequence(*engine, submission, 0));
  laid.layout = vk::lay_out(laid.sequence, engine->device());
  return laid;
}

// "prologue 3, block 0, …": barriers that stand between two steps of kernels, and in a block also
// those from one run to the next, by the kernel that waits.
std::string between_kernels(const std::vector<dispatch::PlannedBarrier>& barriers,
                            std::size_t before_prologue, std::size_t prologue) {
  std::string text;
  for (const dispatch::PlannedBarrier& barrier : barriers) {
    if (barrier.section == dispatch::Section::Epilogue) continue;
    const bool in_block = barrier.section == dispatch::Section::Block;
    if (!in_block && (barrier.before <= before_prologue || barrier.before >= prologue)) continue;
    text += fmt::format("{} {}, ", in_block ? "block" : "prologue",
                        barrier.before - (in_block ? 0 : before_prologue));
  }
  return text;
}

}  // namespace

TEST_CASE("grid sequences: the barriers between kernels are those that an explanation shows") {
  for (const char* const mask : {"", "none", "-conditional_rendering", "-in_place_memory"}) {
    const auto backend = open_backend(mask);
    for (const char* const text : {kClosure, kScatter, kWay}) {
      for (const std::uint32_t bound : {1u, 5u, 1000u}) {
        for (const auto form : {GridSync::Resident, GridSync::OneWorkgroup}) {
          CAPTURE(mask);
          CAPTURE(text);
          CAPTURE(bound);
          DispatchConfig config;
          config.fixpoint_iterations = bound;
          config.grid_sync = form;
          const Laid laid = lay_out(*backend, text, config);
          const dispatch::SequencePlan plan = dispatch::sequence_of(laid.schedule);
          const std::size_t surrounding =
              laid.layout.plan.prologue.size() - laid.schedule.prefix.size();
          CHECK(laid.layout.plan.block.size() == plan.block.size());
          CHECK(between_kernels(laid.layout.barriers.barriers, surrounding,
                                laid.layout.plan.prologue.size()) ==
                between_kernels(dispatch::plan_barriers(plan).barriers, 0, plan.prologue.size()));
        }
      }
    }
  }
}

TEST_CASE("grid sequences: every hazard is ordered, and every barrier is needed for one") {
  std::size_t barriers = 0;
  for (const char* const mask : {"", "none", "-conditional_rendering", "-in_place_memory"}) {
    const auto backend = open_backend(mask);
    for (const char* const text : {kClosure, kScatter, kWay}) {
      for (const std::uint32_t bound : {1u, 5u, 1000u}) {
        for (const auto kind :
             {Convergence::Kind::Automatic, Convergence::Kind::Flag, Convergence::Kind::None}) {
          for (const auto form : {GridSync::Resident, GridSync::OneWorkgroup}) {
            CAPTURE(mask);
            CAPTURE(text);
            CAPTURE(bound);
            CAPTURE(static_cast<int>(kind));
            CAPTURE(static_cast<int>(form));
            DispatchConfig config;
            config.fixpoint_iterations = bound;
            config.convergence = {kind, kind == Convergence::Kind::Flag ? "changed" : ""};
            config.grid_sync = form;
            const Laid laid = lay_out(*backend, text, config);
            const vk::SequenceLayout& layout = laid.layout;
            const auto hazards = dispatch::find_hazards(layout.plan, layout.barriers);
            if (!hazards.empty()) FAIL(dispatch::to_string(hazards.front(), layout.plan));
            // A long block has the same barriers again and again.
            const std::size_t step = layout.barriers.barriers.size() / 40 + 1;
            for (std::size_t i = 0; i < layout.barriers.barriers.size(); i += step) {
              dispatch::BarrierPlan without = layout.barriers;
              without.barriers.erase(without.barriers.begin() + static_cast<std::ptrdiff_t>(i));
              CAPTURE(i);
              CHECK_FALSE(dispatch::find_hazards(layout.plan, without).empty());
              ++barriers;
            }
          }
        }
      }
    }
  }
  MESSAGE("barriers taken away, each noticed: " << barriers);
}
