// The same program again and again: compiled, in batches, under way together, from many threads.
// Nothing of one run is seen by another.
#include <atomic>
#include <chrono>
#include <thread>

#include "felsite/telemetry.h"
#include "grid_sync/forms.h"
#include "support/difference.h"
#include "support/skip.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// Kept locals, returns, workgroup memory, an atomic and a loop from a buffer: all that a run keeps
// between its segments.
const char* const kKeeper = R"(program keeper workgroup(4) {
  readwrite x: u32[];
  readonly n: u32[2];
  output o: u32[16];
  workgroup t: u32[4];
  let i = invocation.x;
  let mine = x[i];
  t[local.x] = mine;
  if mine % 4 == 3 { return; }
  loop k in 0..n[0] {
    gridsync;
    x[i] = x[i] + k + 1;
    mine = mine + t[local.x];
    if mine > n[1] { return; }
    atomic_add(o[i], mine);
    gridsync;
  }
  o[i] = o[i] * 2;
})";

struct Run {
  std::vector<Bytes> inputs;
  std::vector<Bytes> outputs;
};

Run keeper(const Words& x, std::uint32_t trips, std::uint32_t limit) {
  Words after = x;
  Words o(16);
  for (std::uint32_t i = 0; i < x.size(); ++i) {
    std::uint32_t mine = x[i];
    bool stays = mine % 4 != 3;
    for (std::uint32_t k = 0; k < trips && stays; ++k) {
      after[i] += k + 1;
      mine += x[i];
      stays = mine <= limit;
      if (stays) o[i] += mine;
    }
    if (stays) o[i] *= 2;
  }
  return {{bytes_of(x), bytes_of(Words{trips, limit})}, {bytes_of(after), bytes_of(o)}};
}

std::vector<Run> runs() {
  return {keeper(counting(16), 3, 1000), keeper(Words(16, 3), 5, 1000),
          keeper(counting(16, 5), 0, 1000), keeper(counting(16, 9), 4, 40),
          keeper(Words(16, 0), 2, 0)};
}

DispatchConfig keeper_config() { return on_grid(4); }

}  // namespace

TEST_CASE("plain runs one after the other, with other contents") {
  for (int round = 0; round < 2; ++round) {
    for (const Run& run : runs()) {
      check_all_forms(kKeeper, run.inputs, keeper_config(), {run.outputs});
    }
  }
}

TEST_CASE("other sizes of the same program, larger and smaller in turn") {
  const char* const text = R"(program p workgroup(8) {
    readwrite x: u32[];
    let i = invocation.x;
    if i >= len(x) { return; }
    let mine = x[len(x) - 1 - i];
    gridsync;
    x[i] = mine;
  })";
  for (const std::uint32_t count : {8u, 100u, 3u, 5'000u, 1u, 100u}) {
    CAPTURE(count);
    Words turned(count);
    for (std::uint32_t i = 0; i < count; ++i) turned[i] = count - 1 - i;
    check_all_forms(text, {bytes_of(counting(count))}, {}, {{bytes_of(turned)}});
  }
}

TEST_CASE("a compiled program runs often, and as the plain one does") {
  const ir::Program program = valid_program(kKeeper);
  for (const Form& form : forms()) {
    CAPTURE(form.name);
    const auto compiled = form.backend->compile(program, in_form(keeper_config(), form));
    if (!compiled && is_fair_refusal(form, compiled.error(), keeper_config())) continue;
    REQUIRE_MESSAGE(compiled.has_value(), to_string(compiled.error()));
    std::vector<Bytes> slots;
    for (int round = 0; round < 2; ++round) {
      for (const Run& run : runs()) {
        const auto timing = (*compiled)->dispatch_borrowed_into(spans_of(run.inputs), slots);
        if (!timing && is_fair_refusal(form, timing.error(), keeper_config())) continue;
        REQUIRE_MESSAGE(timing.has_value(), to_string(timing.error()));
        CHECK(difference(program, run.outputs, slots) == "");
        CHECK(timing->iterations_run == 1);
      }
    }
  }
}

TEST_CASE("a compiled fixpoint converges in each of its runs") {
  const ir::Program program = valid_program(R"(program p workgroup(4) {
    readwrite x: u32[];
    output changed: u32[1];
    let mine = x[invocation.x];
    gridsync;
    if mine > 0 { x[invocation.x] = mine - 1; changed[0] = 1; }
  })");
  for (const Convergence& convergence : {Convergence{}, by_flag("changed"), never()}) {
    const DispatchConfig config = fixpoint(on_grid(1), 60, convergence);
    const bool by_bytes = convergence.kind == Convergence::Kind::Automatic;
    const bool ends = convergence.kind != Convergence::Kind::None;
    for (const Form& form : forms()) {
      CAPTURE(form.name);
      const auto compiled = must(form.backend->compile(program, in_form(config, form)));
      for (const std::uint32_t needed : {20u, 0u, 3u, 59u, 20u}) {
        CAPTURE(needed);
        const Bytes x = bytes_of(Words{1, needed, 0, 0});
        const std::uint32_t last = std::max(needed, 1u);
        std::vector<Bytes> slots(2, Bytes(100, std::byte{0xAA}));
        const DispatchTiming timing =
            must(compiled->dispatch_borrowed_into(std::vector<ByteSpan>{x}, slots));
        CHECK(timing.iterations_run == (ends ? last + 1 : 60));
        CHECK(timing.converged == ends);
        CHECK(words_of(slots[0]) == Words(4, 0));
        CHECK(words_of(slots[1]) == Words{by_bytes || !ends ? 1u : 0u});
      }
    }
  }
}

TEST_CASE("the same again plans, compiles, records and allocates nothing") {
  FELSITE_SKIP_IF(!on_vulkan(), "the reference records nothing");
  const ir::Program program = valid_program(R"(program p workgroup(4) {
    readwrite x: u32[];
    readonly trips: u32[1];
    output changed: u32[1];
    let mine = x[invocation.x];
    loop k in 0..trips[0] { gridsync; mine = max(mine, x[(invocation.x + k) % len(x)]); gridsync; }
    if mine > x[invocation.x] { x[invocation.x] = x[invocation.x] + 1; changed[0] = 1; }
  })");
  const Bytes x = bytes_of(Words{1, 5, 0, 30});
  const Bytes trips = bytes_of(Words{4});
  const std::vector<ByteSpan> inputs{x, trips};
  const MetricSnapshot unused = tested().metric_snapshot();
  for (const Convergence& convergence : {Convergence{}, by_flag("changed"), never()}) {
    for (const Form& form : forms()) {
      if (form.sync == GridSync::HostSplit) continue;
      CAPTURE(form.name);
      const DispatchConfig config = in_form(fixpoint(on_grid(1), 60, convergence), form);
      const auto compiled = must(form.backend->compile(program, config));
      std::vector<Bytes> slots;
      must(form.backend->dispatch_borrowed_into(program, inputs, slots, config));
      must(compiled->dispatch_borrowed_into(inputs, slots));
      must(form.backend->flush());
      const MetricSnapshot before = form.backend->metric_snapshot();
      CHECK(before.allocations > unused.allocations);
      const Telemetry counted_before = telemetry_snapshot();
      must(form.backend->dispatch_borrowed_into(program, inputs, slots, config));
      must(compiled->dispatch_borrowed_into(inputs, slots));
      const Telemetry counts = difference(telemetry_snapshot(), counted_before);
      CHECK(counts[Counter::GridSyncPlans] == 0);
      CHECK(counts[Counter::PipelinesCompiled] == 0);
      CHECK(counts[Counter::Recordings] == 0);
      CHECK(form.backend->metric_snapshot().allocations == before.allocations);
      CHECK(form.backend->metric_snapshot().recordings == before.recordings);
    }
  }
}

TEST_CASE("a fixpoint under way is ready when nothing is left to submit, and not before") {
  const ir::Program program = valid_program(R"(program p workgroup(4) {
    readwrite x: u32[];
    let mine = x[invocation.x];
    gridsync;
    x[invocation.x] = mine - min(mine, 1);
  })");
  const Bytes x = bytes_of(Words{1, 3000, 0, 7});
  for (const Form& form : forms()) {
    CAPTURE(form.name);
    const DispatchConfig config = in_form(fixpoint(on_grid(1), 5000), form);
    const auto pending =
        must(form.backend->dispatch_borrowed_async(program, std::vector<ByteSpan>{x}, config));
    // Polling advances it, so polling is enough; on a slow machine it may take its time.
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!pending->is_ready() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    REQUIRE(pending->is_ready());
    const Telemetry before = telemetry_snapshot();
    std::vector<Bytes> slots;
    const DispatchTiming timing = must(pending->wait_into(slots));
    CHECK(difference(telemetry_snapshot(), before)[Counter::Submissions] == 0);
    CHECK(timing.iterations_run == 3001);
    CHECK(timing.converged);
    CHECK(words_of(slots[0]) == Words(4, 0));
  }
}

TEST_CASE("a batch of a compiled program") {
  const ir::Program program = valid_program(kKeeper);
  const std::vector<Run> all = runs();
  std::vector<std::vector<ByteSpan>> inputs;
  for (const Run& run : all) inputs.push_back(spans_of(run.inputs));
  for (const Form& form : forms()) {
    CAPTURE(form.name);
    const auto compiled = form.backend->compile(program, in_form(keeper_config(), form));
    if (!compiled && is_fair_refusal(form, compiled.error(), keeper_config())) continue;
    REQUIRE_MESSAGE(compiled.has_value(), to_string(compiled.error()));
    const auto outputs = (*compiled)->dispatch_batch(inputs);
    if (!outputs && is_fair_refusal(form, outputs.error(), keeper_config())) continue;
    REQUIRE_MESSAGE(outputs.has_value(), to_string(outputs.error()));
    REQUIRE(outputs->size() == all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      CHECK(difference(program, all[i].outputs, (*outputs)[i]) == "");
    }
  }
}

TEST_CASE("several runs under way at once; one of them is dropped") {
  const ir::Program program = valid_program(kKeeper);
  const std::vector<Run> all = runs();
  for (const Form& form : forms()) {
    CAPTURE(form.name);
    const DispatchConfig config = in_form(keeper_config(), form);
    std::vector<std::unique_ptr<PendingDispatch>> pending;
    bool refused = false;
    for (const Run& run : all) {
      auto one = form.backend->dispatch_borrowed_async(program, spans_of(run.inputs), config);
      refused = !one && is_fair_refusal(form, one.error(), keeper_config());
      if (refused) break;
      REQUIRE_MESSAGE(one.has_value(), to_string(one.error()));
      pending.push_back(*std::move(one));
    }
    if (refused) continue;
    pending[1].reset();
    for (const std::size_t i : {4u, 0u, 2u, 3u}) {
      auto outputs = pending[i]->wait();
      if (!outputs && is_fair_refusal(form, outputs.error(), keeper_config())) continue;
      REQUIRE_MESSAGE(outputs.has_value(), to_string(outputs.error()));
      CHECK(difference(program, all[i].outputs, *outputs) == "");
    }
  }
}

TEST_CASE("many threads with the same program, in all forms at once") {
  const ir::Program program = valid_program(kKeeper);
  const std::vector<Run> all = runs();
  const std::vector<Form>& list = forms();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      std::vector<Bytes> slots;
      for (std::size_t k = 0; k < 20; ++k) {
        const Run& run = all[(k + thread) % all.size()];
        const Form& form = list[(k / 2 + thread) % list.size()];
        const auto timing = form.backend->dispatch_borrowed_into(
            program, spans_of(run.inputs), slots, in_form(keeper_config(), form));
        const bool refused = !timing && form.sync == GridSync::OneWorkgroup &&
                             timing.error().code == ErrorCode::UnsupportedFeature;
        const bool right = timing && difference(program, run.outputs, slots).empty();
        if (!refused && !right) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("slots that the caller brings are filled, whatever they held") {
  const ir::Program program = valid_program(kKeeper);
  const Run run = keeper(counting(16), 3, 1000);
  for (const Form& form : forms()) {
    CAPTURE(form.name);
    for (const std::size_t size : {0u, 3u, 64u, 1000u}) {
      std::vector<Bytes> slots(2, Bytes(size, std::byte{0xEE}));
      const auto timing = form.backend->dispatch_borrowed_into(program, spans_of(run.inputs), slots,
                                                               in_form(keeper_config(), form));
      if (!timing && is_fair_refusal(form, timing.error(), keeper_config())) continue;
      REQUIRE_MESSAGE(timing.has_value(), to_string(timing.error()));
      CHECK(difference(program, run.outputs, slots) == "");
    }
  }
}

TEST_CASE("measuring and labels change no byte") {
  DispatchConfig config = fixpoint(keeper_config(), 1);
  config.profile = true;
  config.label = "measured";
  for (const Run& run : runs()) check_all_forms(kKeeper, run.inputs, config, {run.outputs});
}
