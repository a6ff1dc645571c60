// From the first call of a backend to those after its end.
#include "conformance/conformance.h"

using namespace felsite;
using namespace felsite::test;

TEST_CASE("prepare and flush, before and between other work") {
  const auto backend = make_tested();
  must(backend->flush());
  must(backend->prepare());
  must(backend->prepare());
  CHECK(words_of(must(backend->dispatch(valid_program(kGrow), {bytes_of(Words{4})}))[0]) ==
        Words{9});
  must(backend->flush());
  CHECK(backend->metric_snapshot().in_flight == 0);
  must(backend->shutdown());
}

TEST_CASE("two backends have nothing in common") {
  const auto backend = make_tested();
  const OnDevice own(Words{1, 2}, *backend);
  CHECK(code_of(tested().resident_size(own.handle())) == ErrorCode::InvalidHandle);
  const OnDevice other(Words{1, 2});
  CHECK(code_of(backend->resident_size(other.handle())) == ErrorCode::InvalidHandle);
  CHECK(backend->metric_snapshot().resident_buffers == 1);
}

TEST_CASE("a shutdown frees everything, and every later call says so") {
  const auto backend = make_tested();
  const ir::Program program = valid_program(kGrow);
  const std::vector<ResidentHandle> handles =
      must(backend->allocate_resident_many(std::vector<std::uint64_t>{8, 100}));
  must(backend->upload_resident(handles[0], bytes_of(Words{1, 2})));
  const std::vector<ResidentHandle> resources{handles[0]};
  const auto pipeline = must(backend->compile(program));
  const std::vector<ResidentStep> steps{step(kGrow, resources)};
  const auto recorded = must(backend->record_resident({.prefix = steps}));
  const Bytes payload(4);
  const std::vector<ByteSpan> payloads{payload};
  const StaticUploads uploads = must(backend->acquire_static_uploads("d", payloads));
  // Work under way ends first.
  std::vector<std::unique_ptr<PendingDispatch>> pending;
  for (int i = 0; i < 4; ++i) pending.push_back(must(backend->dispatch_async(program, {Bytes(4)})));

  must(backend->shutdown());
  CHECK(!backend->device_lost());
  for (const auto& dispatch : pending) CHECK(dispatch->is_ready());
  const MetricSnapshot figures = backend->metric_snapshot();
  CHECK(figures.resident_buffers == 0);
  CHECK(figures.resident_bytes == 0);
  CHECK(figures.static_bytes == 0);
  CHECK(figures.in_flight == 0);

  std::vector<Bytes> slots;
  const auto failed = ErrorCode::DispatchFailed;
  CHECK(code_of(backend->dispatch(program, {Bytes(4)})) == failed);
  CHECK(code_of(backend->dispatch_async(program, {Bytes(4)})) == failed);
  CHECK(code_of(backend->compile(program)) == failed);
  CHECK(code_of(backend->prepare(program)) == failed);
  CHECK(code_of(backend->prepare()) == failed);
  CHECK(code_of(backend->flush()) == failed);
  CHECK(code_of(backend->try_recover()) == failed);
  CHECK(code_of(backend->allocate_resident(8)) == failed);
  CHECK(code_of(backend->resident_size(handles[0])) == failed);
  CHECK(code_of(backend->upload_resident(handles[0], Bytes(8))) == failed);
  CHECK(code_of(backend->upload_resident_at(handles[0], 0, Bytes(8))) == failed);
  CHECK(code_of(backend->fill_resident(handles[0], std::byte{1})) == failed);
  CHECK(code_of(backend->download_resident(handles[0])) == failed);
  CHECK(code_of(backend->free_resident(handles[0])) == failed);
  CHECK(code_of(backend->dispatch_resident(program, resources)) == failed);
  CHECK(code_of(backend->submit_resident({.prefix = steps}, slots)) == failed);
  CHECK(code_of(backend->record_resident({.prefix = steps})) == failed);
  CHECK(code_of(backend->acquire_static_uploads("d", payloads)) == failed);
  CHECK(code_of(backend->release_static_uploads(uploads)) == failed);
  CHECK(code_of(backend->allocate_device_buffer(8, "late")) == failed);
  CHECK(code_of(pipeline->dispatch({Bytes(4)})) == failed);
  CHECK(code_of(pipeline->dispatch_resident(resources)) == failed);
  CHECK(code_of(recorded->run_into(slots)) == failed);
  // A second shutdown succeeds.
  must(backend->shutdown());
  // Its identity can still be queried.
  CHECK(backend->id() == tested_choice().backend);
  CHECK(!backend->device_profile().name.empty());
}

TEST_CASE("a backend goes with buffers, recordings and work that nobody took back") {
  const auto backend = make_tested();
  const ResidentHandle handle = must(backend->allocate_resident(64));
  must(backend->fill_resident(handle, std::byte{1}));
  const std::vector<ResidentStep> steps{step(kGrow, {handle})};
  std::vector<Bytes> slots;
  must(backend->submit_resident({.prefix = steps}, slots));
  const Bytes payload(4);
  const std::vector<ByteSpan> payloads{payload};
  must(backend->acquire_static_uploads("d", payloads));
  must(backend->dispatch_async(valid_program(kGrow), {Bytes(4)})).reset();
}
