// What a backend made may be used and dropped after the backend is gone.
#include <atomic>
#include <optional>
#include <thread>

#include "conformance/conformance.h"

using namespace felsite;
using namespace felsite::test;
using namespace std::chrono_literals;

namespace {

// Everything a backend makes, on one buffer of eight words.
struct Made {
  explicit Made(Backend& backend)
      : buffer(must(backend.allocate_resident(32))),
        pipeline(must(backend.compile(valid_program(kGrow)))) {
    must(backend.fill_resident(buffer, std::byte{0}));
    const std::vector<ResidentStep> steps{step(kGrow, {buffer})};
    recorded = must(backend.record_resident({.prefix = steps}));
    pending = must(backend.dispatch_async(valid_program(kGrow), {Bytes(32)}));
  }
  ResidentHandle buffer;
  std::unique_ptr<CompiledPipeline> pipeline;
  std::unique_ptr<RecordedSequence> recorded;
  std::unique_ptr<PendingDispatch> pending;
};

void check_gone(const Error& error) {
  CHECK(error.code == ErrorCode::DispatchFailed);
  CHECK(!error.fix.empty());
  CHECK(!error.context.device.empty());
}

// Which of the two is right depends on where the results were when the backend went.
void check_pending(PendingDispatch& pending) {
  const auto results = pending.wait();
  if (results) {
    CHECK(words_of((*results)[0]) == Words(8, 1));
  } else {
    check_gone(results.error());
  }
  CHECK(code_of(pending.wait()) == ErrorCode::DispatchFailed);
}

void check_all_gone(Made& made) {
  const std::vector<ResidentHandle> resources{made.buffer};
  std::vector<Bytes> slots;
  check_gone(error_of(made.recorded->run_into(slots)));
  check_gone(error_of(made.pipeline->dispatch({Bytes(32)})));
  check_gone(error_of(made.pipeline->dispatch_resident(resources)));
  const Bytes input(32);
  const std::vector<std::vector<ByteSpan>> batch{{input}};
  check_gone(error_of(made.pipeline->dispatch_batch(batch)));
  CHECK(made.pipeline->program().name() == "grow");
  CHECK(made.pending->is_ready());
  check_pending(*made.pending);
}

}  // namespace

TEST_CASE("pipelines, recordings and dispatches under way say so once their backend is destroyed") {
  auto backend = make_tested();
  Made fresh(*backend);
  Made used(*backend);
  const std::vector<ResidentHandle> resources{used.buffer};
  std::vector<Bytes> slots;
  must(used.recorded->run_into(slots));
  must(used.pipeline->dispatch({Bytes(32)}));
  must(used.pipeline->dispatch_resident(resources));
  backend.reset();
  check_all_gone(fresh);
  check_all_gone(used);
}

TEST_CASE("pipelines, recordings and dispatches under way say so after a shutdown too") {
  auto backend = make_tested();
  Made made(*backend);
  must(backend->shutdown());
  check_all_gone(made);
  backend.reset();
  check_gone(error_of(made.pipeline->dispatch({Bytes(32)})));
}

TEST_CASE("what a backend made may be dropped before and after it") {
  auto backend = make_tested();
  std::optional<Made> before(*backend);
  std::optional<Made> after(*backend);
  before.reset();
  must(backend->flush());
  backend.reset();
  after.reset();
}

TEST_CASE("a pipeline, a recording and dispatches in use by other threads outlive their backend") {
  for (int round = 0; round < 3; ++round) {
    auto backend = make_tested();
    Made made(*backend);
    const ir::Program program = valid_program(kGrow);
    std::atomic<int> working = 0;
    std::atomic<int> wrong = 0;
    const auto until_gone = [&](auto use) {
      return std::jthread([&, use] {
        for (int i = 0;; ++i) {
          const ErrorCode code = use();
          if (i == 0) ++working;
          if (code == ErrorCode::DispatchFailed) return;
          if (code != ErrorCode::Unknown) ++wrong;
        }
      });
    };
    const auto outcome = [](const auto& result) {
      return result.has_value() ? ErrorCode::Unknown : result.error().code;
    };
    const std::vector<ResidentHandle> resources{made.buffer};
    {
      const std::jthread recorded = until_gone([&] {
        std::vector<Bytes> slots;
        return outcome(made.recorded->run_into(slots));
      });
      const std::jthread compiled =
          until_gone([&] { return outcome(made.pipeline->dispatch({Bytes(32)})); });
      const std::jthread resident =
          until_gone([&] { return outcome(made.pipeline->dispatch_resident(resources)); });
      while (working < 3) std::this_thread::sleep_for(1ms);
      backend.reset();
    }
    CHECK(wrong == 0);
    check_pending(*made.pending);
  }
}

TEST_CASE("a dispatch under way is waited for while its backend goes") {
  auto backend = make_tested();
  std::vector<std::unique_ptr<PendingDispatch>> pending;
  for (int i = 0; i < 8; ++i) {
    pending.push_back(must(backend->dispatch_async(valid_program(kGrow), {Bytes(32)})));
  }
  std::atomic<bool> begun = false;
  std::jthread waiter([&] {
    begun = true;
    for (const auto& dispatch : pending) check_pending(*dispatch);
  });
  while (!begun) std::this_thread::yield();
  backend.reset();
}

TEST_CASE("iterations that somebody waits for do not keep their backend from closing") {
  // More than anybody waits for: what waits for their end hangs.
  DispatchConfig config;
  config.fixpoint_iterations = UINT32_MAX;
  config.convergence.kind = Convergence::Kind::None;
  for (const GridSync form : {GridSync::Automatic, GridSync::Resident, GridSync::HostSplit}) {
    CAPTURE(static_cast<int>(form));
    if (form == GridSync::Resident && has_grid_barriers()) continue;  // there is no such form
    config.grid_sync = form;
    auto backend = make_tested();
    const auto pending = must(backend->dispatch_async(valid_program(kGrow), {Bytes(32)}, config));
    std::atomic<bool> waits = false;
    std::optional<Error> error;
    std::jthread waiter([&] {
      waits = true;
      const auto results = pending->wait();
      if (!results) error = results.error();
    });
    while (!waits) std::this_thread::yield();
    std::this_thread::sleep_for(5ms);
    backend.reset();
    waiter.join();
    REQUIRE(error.has_value());
    check_gone(*error);
  }
}
