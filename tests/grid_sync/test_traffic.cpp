// What a run in segments moves between host and device, and what it counts.
#include "felsite/grid_sync.h"
#include "felsite/telemetry.h"
#include "felsite/vulkan.h"
#include "grid_sync/forms.h"
#include "support/skip.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// Three segments and a loop of more; `x` is only read, `y` goes both ways, `o` comes back.
const char* const kSegments = R"(program segments workgroup(8) {
  readonly x: u32[];
  readwrite y: u32[];
  output o: u32[64];
  readonly trips: u32[1];
  let i = invocation.x;
  let mine = y[i];
  gridsync;
  loop k in 0..trips[0] {
    y[len(y) - 1 - i] = mine + x[i];
    gridsync;
  }
  o[i] = o[i] + mine;
})";
constexpr std::uint64_t kInputBytes = 64 * 4 + 64 * 4 + 4;
constexpr std::uint64_t kOutputBytes = 64 * 4 + 64 * 4;

template <class Work>
Telemetry counted(Work work) {
  must(tested().flush());
  const Telemetry before = telemetry_snapshot();
  work();
  return difference(telemetry_snapshot(), before);
}

}  // namespace

TEST_CASE("a resident run moves its inputs once and its outputs once, however long it is") {
  FELSITE_SKIP_IF(!on_vulkan(), "the reference moves no bytes to a device");
  const ir::Program program = valid_program(kSegments);
  for (const std::uint32_t trips : {0u, 3u, 40u}) {
    for (const std::uint32_t iterations : {1u, 2u, 50u}) {
      CAPTURE(trips);
      CAPTURE(iterations);
      const std::vector<Bytes> inputs{bytes_of(counting(64)), zero_words(64),
                                      bytes_of(Words{trips})};
      DispatchConfig config = fixpoint(on_grid(8), iterations, never());
      config.grid_sync = GridSync::Resident;
      std::vector<Bytes> slots;
      const Telemetry counts = counted(
          [&] { must(tested().dispatch_borrowed_into(program, spans_of(inputs), slots, config)); });
      CHECK(counts[Counter::InputBytes] == kInputBytes);
      CHECK(counts[Counter::OutputBytes] == kOutputBytes);
      CHECK(counts[Counter::UploadBytes] == kInputBytes);
      CHECK(counts[Counter::DownloadBytes] == kOutputBytes);
    }
  }
}

TEST_CASE("a fixpoint moves its inputs once and its outputs once, in every form on the device") {
  FELSITE_SKIP_IF(!on_vulkan(), "the reference moves no bytes to a device");
  const ir::Program program = valid_program(R"(program p workgroup(4) {
    readwrite x: u32[];
    readonly y: u32[];
    output changed: u32[1];
    let mine = x[invocation.x];
    gridsync;
    if mine < y[0] { x[invocation.x] = mine + 1; changed[0] = 1; }
  })");
  const std::vector<Bytes> inputs{zero_words(4), bytes_of(Words{30})};
  for (const Convergence& convergence : {Convergence{}, by_flag("changed"), never()}) {
    for (const GridSync form : {GridSync::Resident, GridSync::OneWorkgroup}) {
      DispatchConfig config = fixpoint(on_grid(1), 300, convergence);
      config.grid_sync = form;
      std::vector<Bytes> slots;
      const Telemetry counts = counted(
          [&] { must(tested().dispatch_borrowed_into(program, spans_of(inputs), slots, config)); });
      CHECK(counts[Counter::UploadBytes] == 16 + 4);
      CHECK(counts[Counter::DownloadBytes] == 16 + 4);
    }
  }
}

TEST_CASE("what lives across barriers takes memory on the device, and is no traffic") {
  FELSITE_SKIP_IF(!on_vulkan(), "the reference moves no bytes to a device");
  const ir::Program program = valid_program(R"(program p workgroup(64) {
    readwrite x: u32[];
    let mine = x[invocation.x];
    gridsync;
    x[len(x) - 1 - invocation.x] = mine;
  })");
  constexpr std::uint32_t kCount = 64 * 64;
  const GridSyncPlan plan = must(plan_grid_sync(valid(program)));
  CHECK(kept_bytes(plan, {64, 1, 1}) == kCount * 4);
  const auto backend = must(make_vulkan_backend());  // with nothing on the device yet
  const std::uint64_t before = backend->metric_snapshot().device_bytes;
  const Bytes x = bytes_of(counting(kCount));
  DispatchConfig config = on_grid(64);
  config.grid_sync = GridSync::Resident;
  std::vector<Bytes> slots;
  const Telemetry counts = counted([&] {
    must(backend->dispatch_borrowed_into(program, std::vector<ByteSpan>{x}, slots, config));
  });
  CHECK(words_of(slots[0])[0] == kCount - 1);
  CHECK(backend->metric_snapshot().device_bytes >= before + x.size() + kCount * 4);
  CHECK(counts[Counter::UploadBytes] == x.size());
  CHECK(counts[Counter::DownloadBytes] == x.size());
}

TEST_CASE("iterations that ran and iterations that were spared are counted in every form") {
  const ir::Program program = valid_program(
      "program p workgroup(4) { readwrite x: u32[]; let mine = x[local.x]; gridsync;"
      " x[local.x] = mine - min(mine, 1); }");
  const Bytes x = bytes_of(Words{1, 6, 0, 0});
  for (const Form& form : forms()) {
    CAPTURE(form.name);
    const DispatchConfig config = in_form(fixpoint(on_grid(1), 100), form);
    std::vector<Bytes> slots;
    const Telemetry counts = counted([&] {
      must(form.backend->dispatch_borrowed_into(program, std::vector<ByteSpan>{x}, slots, config));
    });
    CHECK(counts[Counter::IterationsRun] == 7);
    CHECK(counts[Counter::IterationsSkipped] == 93);
    CHECK(counts[Counter::InputBytes] == 16);
    CHECK(counts[Counter::OutputBytes] == 16);
  }
}

TEST_CASE("a run that fails frees all it took, also after many that did not") {
  const ir::Program program = valid_program(R"(program p workgroup(4) {
    readwrite x: u32[];
    let mine = x[invocation.x];
    gridsync;
    if mine == 3 { trap(mine, three); }
    gridsync;
    x[invocation.x] = mine + 1;
  })");
  for (const Form& form : forms()) {
    CAPTURE(form.name);
    const DispatchConfig config = in_form(fixpoint(on_grid(1), 9), form);
    const auto run = [&](const Words& words) {
      std::vector<Bytes> slots;
      const Bytes x = bytes_of(words);
      return form.backend->dispatch_borrowed_into(program, std::vector<ByteSpan>{x}, slots, config)
          .has_value();
    };
    CHECK(run({9, 9, 9, 9}));
    CHECK_FALSE(run({0, 9, 9, 9}));
    must(form.backend->flush());
    const MetricSnapshot before = form.backend->metric_snapshot();
    for (int k = 0; k < 10; ++k) {
      CHECK(run({9, 9, 9, 9}));
      CHECK_FALSE(run({0, 9, 9, 9}));
    }
    must(form.backend->flush());
    const MetricSnapshot after = form.backend->metric_snapshot();
    CHECK(after.resident_buffers == before.resident_buffers);
    CHECK(after.resident_bytes == before.resident_bytes);
    CHECK(after.in_flight == 0);
    // What is kept to be fast is kept once.
    CHECK(after.device_bytes <= before.device_bytes);
  }
}
