// What resident work costs: bytes moved, launches, submissions, recordings, allocations.
#include "conformance/conformance.h"
#include "felsite/trace.h"
#include "support/skip.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// Copies between queues are separate submissions.
bool on_one_queue() {
  return tested_choice().mask.find("transfer_queue") == std::string::npos ||
         tested_choice().mask.find("-transfer_queue") != std::string::npos;
}

}  // namespace

TEST_CASE("a resident run moves its uploads and its reads, and not a byte more") {
  const OnDevice x(Words(40, 1));
  const OnDevice y(Words(40, 2));
  const Bytes odd(13, std::byte{1});
  const Bytes whole = bytes_of(Words(40, 3));
  const std::vector<ResidentFill> fills{{.buffer = y.handle(), .value = std::byte{9}}};
  const std::vector<ResidentUpload> uploads{{x.handle(), 3, odd}, {y.handle(), 0, whole}};
  const std::vector<ResidentStep> prefix{step(kAdd, {x.handle(), y.handle()})};
  const std::vector<ResidentStep> repeated{step(kGrow, {x.handle()}), step(kGrow, {y.handle()})};
  const std::vector<ResidentRange> reads{{y.handle(), 5, 7}, {y.handle(), 5, 7}, {x.handle()}};
  std::vector<Bytes> slots(1, Bytes(7));
  const Telemetry counts = counted([&] {
    must(tested().submit_resident({.fills = fills,
                                   .uploads = uploads,
                                   .prefix = prefix,
                                   .repeated = repeated,
                                   .count = 3,
                                   .reads = reads},
                                  slots));
  });
  CHECK(counts[Counter::UploadBytes] == 13 + 160);
  CHECK(counts[Counter::DownloadBytes] == 7 + 7 + 160);
  CHECK(counts[Counter::InputBytes] == 0);
  CHECK(counts[Counter::OutputBytes] == 0);
  CHECK(counts[Counter::Launches] == 1 + 2 * 3);
  CHECK(counts[Counter::SlotsReused] == 1);
  CHECK(counts[Counter::SlotsMoved] == 0);
  CHECK(counts[Counter::SlotsAppended] == 2);
}

TEST_CASE("steps alone move nothing, and neither do fills") {
  const OnDevice x(Words(20, 1));
  const OnDevice y(Words(20, 2));
  std::vector<Bytes> slots;
  const std::vector<ResidentStep> steps{step(kAdd, {x.handle(), y.handle()}),
                                        step(kGrow, {x.handle()})};
  const Telemetry counts = counted([&] {
    must(tested().dispatch_resident_sequence_read_ranges_into(steps, {}, slots));
    must(tested().dispatch_resident(valid_program(kGrow), std::vector{y.handle()}));
    must(tested().fill_resident(y.handle(), std::byte{3}));
  });
  CHECK(counts[Counter::UploadBytes] == 0);
  CHECK(counts[Counter::DownloadBytes] == 0);
  CHECK(counts[Counter::Launches] == 3);
}

TEST_CASE("uploads and downloads are counted byte by byte") {
  const ResidentHandle handle = must(tested().allocate_resident(11));
  const Bytes bytes(11, std::byte{4});
  Bytes out(11);
  const Telemetry counts = counted([&] {
    must(tested().upload_resident(handle, bytes));
    must(tested().upload_resident_at(handle, 2, ByteSpan(bytes).first(3)));
    must(tested().download_resident_range_into(handle, 1, 5, out));
    must(tested().download_resident_range_into(handle, 1, 0, out));
  });
  CHECK(counts[Counter::UploadBytes] == 14);
  CHECK(counts[Counter::DownloadBytes] == 5);
  CHECK(counts[Counter::Launches] == 0);
  CHECK(counts[Counter::SlotsReused] == 2);
  must(tested().free_resident(handle));
}

TEST_CASE("a sequence is one submission") {
  const OnDevice x(Words(20, 1));
  const OnDevice y(Words(20, 2));
  const Bytes bytes(80);
  const ResidentFill fill{.buffer = y.handle()};
  const ResidentUpload upload{.buffer = x.handle(), .bytes = bytes};
  const std::vector<ResidentStep> steps{step(kAdd, {x.handle(), y.handle()}),
                                        step(kGrow, {x.handle()}), step(kGrow, {y.handle()})};
  const std::vector<ResidentRange> reads{{x.handle()}, {y.handle(), 4, 4}};
  std::vector<Bytes> slots;
  const Telemetry counts = counted([&] {
    must(tested().submit_resident(
        {.fills = {&fill, 1}, .uploads = {&upload, 1}, .prefix = steps, .reads = reads}, slots));
  });
  if (on_one_queue()) CHECK(counts[Counter::Submissions] == 1);
}

TEST_CASE("the same submission again records nothing and allocates nothing") {
  const OnDevice x(counting(20));
  const OnDevice y(Words(20, 2));
  const std::vector<ResidentStep> prefix{step(kAdd, {x.handle(), y.handle()})};
  const std::vector<ResidentStep> repeated{step(kGrow, {y.handle()}),
                                           step(kAdd, {x.handle(), y.handle()})};
  const ResidentFill fill{.buffer = y.handle(), .value = std::byte{0}};
  const std::vector<ResidentRange> reads{{y.handle()}, {x.handle(), 4, 8}};
  std::vector<Bytes> slots;
  Bytes bytes = bytes_of(counting(20));
  const auto submit = [&] {
    const ResidentUpload upload{.buffer = x.handle(), .bytes = bytes};
    must(tested().submit_resident({.fills = {&fill, 1},
                                   .uploads = {&upload, 1},
                                   .prefix = prefix,
                                   .repeated = repeated,
                                   .count = 2,
                                   .reads = reads},
                                  slots));
  };
  submit();
  for (std::uint32_t round = 0; round < 3; ++round) {
    // Other bytes of the same size, from another place.
    Bytes fresh = bytes_of(counting(20, round));
    bytes.swap(fresh);
    const MetricSnapshot before = tested().metric_snapshot();
    const Telemetry counts = counted(submit);
    const MetricSnapshot after = tested().metric_snapshot();
    CHECK(counts[Counter::Recordings] == 0);
    CHECK(counts[Counter::PipelinesCompiled] == 0);
    CHECK(counts[Counter::SlotsReused] == 2);
    CHECK(after.recordings == before.recordings);
    CHECK(after.allocations == before.allocations);
    CHECK(after.device_bytes == before.device_bytes);
    Words expected(20);
    for (std::uint32_t i = 0; i < 20; ++i) {
      const std::uint32_t v = i + round;
      expected[i] = (v * 2 + 1 + v) * 2 + 1 + v;
    }
    CHECK(words_of(slots[0]) == expected);
  }
}

TEST_CASE("running a recording records nothing and allocates nothing") {
  const OnDevice x(Words(20, 1));
  const OnDevice y(Words(20, 2));
  const Bytes bytes = bytes_of(Words(20, 3));
  const ResidentUpload upload{.buffer = x.handle(), .bytes = bytes};
  const std::vector<ResidentStep> repeated{step(kAdd, {x.handle(), y.handle()})};
  const ResidentRange read{.buffer = y.handle(), .offset = 8, .length = 12};
  std::unique_ptr<RecordedSequence> recorded;
  const Telemetry recording = counted([&] {
    recorded = must(tested().record_resident(
        {.uploads = {&upload, 1}, .repeated = repeated, .count = 4, .reads = {&read, 1}}));
  });
  CHECK(recording[Counter::Recordings] >= 1);
  CHECK(recording[Counter::Launches] == 0);
  CHECK(recording[Counter::UploadBytes] == 0);
  std::vector<Bytes> slots{Bytes(12)};
  must(recorded->run_into(slots));
  for (int round = 0; round < 3; ++round) {
    const MetricSnapshot before = tested().metric_snapshot();
    const std::vector<ByteSpan> fresh{bytes};
    const Telemetry counts = counted([&] { must(recorded->run_into(slots, fresh)); });
    const MetricSnapshot after = tested().metric_snapshot();
    CHECK(counts[Counter::Recordings] == 0);
    CHECK(counts[Counter::Launches] == 4);
    CHECK(counts[Counter::UploadBytes] == 80);
    CHECK(counts[Counter::DownloadBytes] == 12);
    CHECK(counts[Counter::SlotsReused] == 1);
    CHECK(after.recordings == before.recordings);
    CHECK(after.allocations == before.allocations);
  }
}

TEST_CASE("a trace of resident work has a slice for each step") {
  const OnDevice y(Words{1, 2});
  std::vector<ResidentStep> steps{step(kGrow, {y.handle()}), step(kGrow, {y.handle()})};
  steps[1].label = "the second step";
  std::vector<Bytes> slots;
  start_trace();
  must(tested().dispatch_resident_sequence_read_ranges_into(steps, {}, slots));
  const std::string trace = stop_trace();
  CHECK(trace.find("\"traceEvents\"") != std::string::npos);
  CHECK(trace.find("submit_resident") != std::string::npos);
  // What the host runs itself has rows without a device's clock.
  const bool has_rows = has_device_clock() || has_grid_barriers();
  FELSITE_SKIP_IF(!has_rows, "a device without a clock has no row");
  CHECK(trace.find("\"grow\"") != std::string::npos);
  CHECK(trace.find("\"the second step\"") != std::string::npos);
}
