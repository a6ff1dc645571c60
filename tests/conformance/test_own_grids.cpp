// Iterations each of which has a grid of its own: a frontier costs its own size, on every path.
#include "conformance/conformance.h"
#include "support/dispatch_paths.h"
#include "support/host_memory_backend.h"
#include "support/skip.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// Each workgroup counts; the first one halves the grid of the next iteration.
const char* const kHalve =
    "program halve workgroup(1) { readwrite g: u32[3]; readwrite n: u32[]; readwrite flag: u32[1];"
    " indirect_dispatch(g[0]); atomic_add(n[workgroup_id.x], 1);"
    " if workgroup_id.x == 0 { flag[0] = 1; g[0] = num_workgroups.x / 2; } }";
// The same, and all of them see what the first one does only after a barrier.
const char* const kHalveInSegments =
    "program halve workgroup(1) { readwrite g: u32[3]; readwrite n: u32[]; readwrite flag: u32[1];"
    " indirect_dispatch(g[0]); let width = g[0]; gridsync;"
    " if workgroup_id.x == 0 { flag[0] = 1; g[0] = num_workgroups.x / 2; } gridsync;"
    " if g[0] == width / 2 { atomic_add(n[workgroup_id.x], 1); } }";
constexpr std::uint32_t kFirst = 100;  // then 50, 25, 12, 6, 3, 1 and 0, which changes nothing
constexpr std::uint32_t kAll = 8;

struct Halving {
  Convergence convergence;
  std::uint32_t bound;
  std::uint32_t ran;
  bool converged;
};
std::vector<Halving> halving_cases() {
  const Convergence by_flag{.kind = Convergence::Kind::Flag, .flag = "flag"};
  const Convergence none{.kind = Convergence::Kind::None};
  return {{{}, 2, 2, false},     {{}, kAll - 1, kAll - 1, false}, {{}, kAll, kAll, true},
          {{}, 300, kAll, true}, {by_flag, 7, 7, false},          {by_flag, 300, kAll, true},
          {none, 20, 20, false}};
}

DispatchConfig halving_config(const Halving& c, GridSync form = GridSync::Automatic) {
  DispatchConfig config;
  config.fixpoint_iterations = c.bound;
  config.convergence = c.convergence;
  config.grid_sync = form;
  return config;
}

std::vector<Words> halving_results(const Halving& c, std::uint32_t first = kFirst) {
  Words n(first);
  std::uint32_t grid = first;
  bool last_ran = false;
  for (std::uint32_t i = 0; i < c.ran; ++i) {
    for (std::uint32_t w = 0; w < grid; ++w) ++n[w];
    last_ran = grid != 0;
    grid /= 2;
  }
  const bool by_flag = c.convergence.kind == Convergence::Kind::Flag;
  return {{grid, 1, 1}, n, {by_flag && !last_ran ? 0u : 1u}};
}

std::vector<Bytes> halving_inputs(std::uint32_t first = kFirst) {
  return {bytes_of(Words{first, 1, 1}), Bytes(first * 4), bytes_of(Words{5})};
}

void check_words(const std::vector<Bytes>& outputs, const std::vector<Words>& expected) {
  REQUIRE(outputs.size() == expected.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) CHECK(words_of(outputs[i]) == expected[i]);
}

std::vector<GridSync> forms_on(const PathName& path) {
  std::vector<GridSync> forms{GridSync::Automatic};
  if (!path.on_resident_buffers()) forms.push_back(GridSync::HostSplit);
  if (!has_grid_barriers()) forms.push_back(GridSync::Resident);
  return forms;
}

}  // namespace

TEST_CASE("own grids: each iteration has the one that the iteration before left, on every path") {
  for (const char* const text : {kHalve, kHalveInSegments}) {
    const ir::Program program = valid_program(text);
    CAPTURE(text);
    for (const PathName& path : kPaths) {
      if (path.is_submitted()) continue;
      CAPTURE(path.name);
      for (const GridSync form : forms_on(path)) {
        CAPTURE(static_cast<int>(form));
        for (const Halving& c : halving_cases()) {
          CAPTURE(c.bound);
          CAPTURE(static_cast<int>(c.convergence.kind));
          const std::vector<Bytes> inputs = halving_inputs();
          const PathRun run = must(
              run_path(path.path, tested(), program, spans_of(inputs), halving_config(c, form)));
          check_words(run.outputs, halving_results(c));
          if (path.path == Path::Batched) continue;  // it gives no timing
          CHECK(run.timing.iterations_run == c.ran);
          CHECK(run.timing.converged == c.converged);
          CHECK(run.timing.blocks.empty());
        }
      }
    }
  }
}

TEST_CASE("own grids: what stays on the device is uploaded and read once") {
  const Halving c{{}, 50, kAll, true};
  const std::vector<Bytes> inputs = halving_inputs();
  std::uint64_t bytes = 0;
  for (const Bytes& input : inputs) bytes += input.size();
  std::vector<Bytes> outputs;
  for (const GridSync form : {GridSync::Automatic, GridSync::Resident}) {
    if (form == GridSync::Resident && has_grid_barriers()) continue;
    for (const bool again : {false, true}) {
      CAPTURE(again);
      const Telemetry counts = counted([&] {
        must(tested().dispatch_borrowed_into(valid_program(kHalve), spans_of(inputs), outputs,
                                             halving_config(c, form)));
      });
      check_words(outputs, halving_results(c));
      CHECK(counts[Counter::InputBytes] == bytes);
      CHECK(counts[Counter::OutputBytes] == bytes);
      CHECK(counts[Counter::UploadBytes] == bytes);
      CHECK(counts[Counter::DownloadBytes] == bytes);
      CHECK(counts[Counter::Submissions] >= 1);
      CHECK(counts[Counter::Waits] == 1);
      CHECK(counts[Counter::IterationsRun] == kAll);
      CHECK(counts[Counter::IterationsSkipped] == 50 - kAll);
      CHECK(counts[Counter::GridSyncSplits] == 0);
      if (again) CHECK(counts[Counter::Recordings] == 0);
    }
  }
}

TEST_CASE("own grids: with grid barriers the host reads no more than each grid") {
  FELSITE_SKIP_IF(has_grid_barriers(), "it needs no segments");
  const std::vector<Bytes> inputs = halving_inputs();
  std::uint64_t bytes = 0;
  for (const Bytes& input : inputs) bytes += input.size();
  std::vector<Bytes> outputs;
  const Halving c{{}, 50, kAll, true};
  const Telemetry counts = counted([&] {
    must(tested().dispatch_borrowed_into(valid_program(kHalveInSegments), spans_of(inputs), outputs,
                                         halving_config(c)));
  });
  check_words(outputs, halving_results(c));
  CHECK(counts[Counter::UploadBytes] == bytes);
  CHECK(counts[Counter::DownloadBytes] <= bytes + kAll * 12);
  CHECK(counts[Counter::IterationsRun] == kAll);
  CHECK(counts[Counter::IterationsSkipped] == 50 - kAll);
}

TEST_CASE("own grids: one workgroup is refused, whoever starts the iterations") {
  FELSITE_SKIP_IF(has_grid_barriers(), "it has no such form");
  const std::vector<Bytes> inputs = halving_inputs(1);
  const DispatchConfig config = halving_config({{}, 3, 3, false}, GridSync::OneWorkgroup);
  for (const char* const text : {kHalve, kHalveInSegments}) {
    for (const PathName& path : kPaths) {
      if (path.is_submitted()) continue;
      CAPTURE(path.name);
      const auto run = run_path(path.path, tested(), valid_program(text), spans_of(inputs), config);
      const Error error = error_of(run);
      CHECK(error.code == ErrorCode::UnsupportedFeature);
      CHECK(error.message.find("a grid of its own") != std::string::npos);
    }
  }
}

TEST_CASE("own grids: more workgroups than one dispatch takes, in the first iteration and later") {
  const std::uint32_t most = tested().device_profile().workgroups_per_dispatch[0];
  FELSITE_SKIP_IF(most > 1u << 20, "one dispatch takes any grid");
  for (const char* const text : {kHalve, kHalveInSegments}) {
    CAPTURE(text);
    for (const std::uint32_t first : {most, most + 1}) {
      CAPTURE(first);
      const std::vector<Bytes> inputs = halving_inputs(first);
      const Halving c{{.kind = Convergence::Kind::None}, 3, 3, false};
      std::vector<Bytes> outputs;
      const DispatchTiming timing = must(tested().dispatch_borrowed_into(
          valid_program(text), spans_of(inputs), outputs, halving_config(c)));
      check_words(outputs, halving_results(c, first));
      CHECK(timing.iterations_run == 3);
    }
  }
  // The device finds out what it cannot run; the host can.
  const ir::Program grows = valid_program(
      "program grows workgroup(1) { readwrite g: u32[3]; readwrite n: u32[1];"
      " indirect_dispatch(g[0]); atomic_add(n[0], 1);"
      " if workgroup_id.x == 0 { g[0] = num_workgroups.x * 2; } }");
  const std::vector<Bytes> inputs{bytes_of(Words{most / 2 + 1, 1, 1}), Bytes(4)};
  DispatchConfig config = halving_config({{}, 2, 2, false});
  const Error error = error_of(tested().dispatch(grows, inputs, config));
  CHECK(error.code == ErrorCode::UnsupportedFeature);
  CHECK(error.fix.find("host split") != std::string::npos);
  config.grid_sync = GridSync::HostSplit;
  const auto outputs = must(tested().dispatch(grows, inputs, config));
  CHECK(words_of(outputs[1]) == Words{3 * (most / 2 + 1)});
}

TEST_CASE("own grids: what goes wrong in an iteration, and no time") {
  // The second iteration, on 5 workgroups, traps.
  for (const std::string barrier : {"", "let w = g[0]; gridsync; "}) {
    const std::string head = "workgroup(1) { readwrite g: u32[3]; indirect_dispatch(g[0]); ";
    const ir::Program traps = valid_program("program traps " + head + barrier +
                                            "if num_workgroups.x == 5 { trap(g[0], reached); }"
                                            " if workgroup_id.x == 0 { g[0] = 5; } }");
    const std::vector<Bytes> inputs{bytes_of(Words{10, 1, 1})};
    const std::vector<ByteSpan> spans = spans_of(inputs);
    DispatchConfig config = halving_config({{}, 9, 9, false});
    for (const PathName& path : kPaths) {
      if (path.is_submitted()) continue;
      CAPTURE(path.name);
      const Error error = error_of(run_path(path.path, tested(), traps, spans, config));
      CHECK(error.code == ErrorCode::Trapped);
      CHECK(error.context.program == "traps");
    }
    config.timeout = std::chrono::nanoseconds(0);
    CHECK(code_of(tested().dispatch_borrowed(traps, spans, config)) == ErrorCode::Timeout);
    const auto pending = must(tested().dispatch_borrowed_async(traps, spans, config));
    CHECK(code_of(pending->wait()) == ErrorCode::Timeout);
    // An endless one ends when it is dropped.
    const ir::Program endless =
        valid_program("program endless " + head + barrier +
                      "if workgroup_id.x == 0 { g[0] = num_workgroups.x % 7 + 1; } }");
    DispatchConfig long_one = halving_config({{}, 50'000'000, 0, false});
    auto dropped = must(tested().dispatch_borrowed_async(endless, spans, long_one));
    CHECK(!dropped->is_ready());
    dropped.reset();
    long_one.timeout = std::chrono::milliseconds(50);
    CHECK(code_of(tested().dispatch_borrowed(endless, spans, long_one)) == ErrorCode::Timeout);
    must(tested().flush());
  }
}

TEST_CASE("own grids: a backend that does not allow the host split runs all but that") {
  const auto whole = must(make_host_memory_backend(/*allows_split=*/false));
  const auto split = must(make_host_memory_backend(/*allows_split=*/true));
  CHECK_FALSE(whole->device_profile().allows_host_grid_sync_split);
  CHECK(split->device_profile().allows_host_grid_sync_split);
  const Halving c{{}, 50, kAll, true};
  const std::vector<Bytes> inputs = halving_inputs();
  const std::vector<ByteSpan> spans = spans_of(inputs);
  for (const char* const text : {kHalve, kHalveInSegments}) {
    const ir::Program program = valid_program(text);
    check_words(must(whole->dispatch(program, inputs, halving_config(c))), halving_results(c));
    const DispatchConfig asks = halving_config(c, GridSync::HostSplit);
    check_words(must(split->dispatch(program, inputs, asks)), halving_results(c));
    for (const Error& error :
         {error_of(whole->dispatch(program, inputs, asks)),
          error_of(whole->dispatch_borrowed_async(program, spans, asks)),
          error_of(whole->compile(program, asks)), error_of(whole->prepare(program, asks))}) {
      CHECK(error.code == ErrorCode::UnsupportedFeature);
      CHECK(error.message == "This backend does not allow the host split.");
      CHECK(error.fix == "leave the form to the backend.");
      CHECK(error.context.program == "halve");
    }
    // What the caller did wrong comes before.
    CHECK(code_of(whole->dispatch(program, {}, asks)) == ErrorCode::BadInputs);
  }
  // Without barriers and iterations there is nothing to split.
  DispatchConfig once;
  once.grid_sync = GridSync::HostSplit;
  must(whole->dispatch(valid_program(kHalve), inputs, once));
}
