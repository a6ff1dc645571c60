// The one-submission form, and submissions recorded once and run often.
#include "conformance/conformance.h"

using namespace felsite;
using namespace felsite::test;
using namespace std::chrono_literals;

TEST_CASE("fills come first, then uploads, then the prefix, the repeated steps, and the reads") {
  const OnDevice x(Words(6, 0x1111'1111));
  const OnDevice y(Words(6, 0x2222'2222));
  const Bytes two = bytes_of(Words{2, 2});
  const Bytes seven = bytes_of(Words{7});
  // All of x is filled with 1, then four words of it uploaded, the last of them twice.
  const std::vector<ResidentFill> fills{
      {.buffer = x.handle(), .value = std::byte{1}},
      {.buffer = y.handle(), .value = std::byte{0}, .offset = 4, .length = 12}};
  const std::vector<ResidentUpload> uploads{
      {x.handle(), 0, two}, {x.handle(), 8, two}, {x.handle(), 12, seven}, {y.handle(), 20, seven}};
  const std::vector<ResidentStep> prefix{step(kAdd, {x.handle(), y.handle()})};
  const std::vector<ResidentStep> repeated{step(kGrow, {y.handle()})};
  const std::vector<ResidentRange> reads{{y.handle()}, {x.handle()}, {y.handle(), 4, 4}};
  std::vector<Bytes> slots{Bytes(32), Bytes(32), Bytes(32)};
  const std::byte* const memory = slots[1].data();
  must(tested().submit_resident({.fills = fills,
                                 .uploads = uploads,
                                 .prefix = prefix,
                                 .repeated = repeated,
                                 .count = 2,
                                 .reads = reads},
                                slots, {.label = "all of it"}));
  const Words expected_x{2, 2, 2, 7, 0x0101'0101, 0x0101'0101};
  Words expected_y{0x2222'2222, 0, 0, 0, 0x2222'2222, 7};
  for (std::size_t i = 0; i < 6; ++i) {
    expected_y[i] = (expected_y[i] + expected_x[i]) * 4 + 3;
  }
  REQUIRE(slots.size() == 3);
  CHECK(words_of(slots[0]) == expected_y);
  CHECK(words_of(slots[1]) == expected_x);
  CHECK(slots[1].data() == memory);
  CHECK(words_of(slots[2]) == Words{expected_y[1]});
}

TEST_CASE("every part may be missing") {
  std::vector<Bytes> slots(3, Bytes(3));
  must(tested().submit_resident({}, slots));
  CHECK(slots.empty());
  const OnDevice y(Words{1, 2});
  const ResidentRange read{.buffer = y.handle()};
  must(tested().submit_resident({.reads = {&read, 1}}, slots));
  CHECK(words_of(slots[0]) == Words{1, 2});
  const Bytes fresh = bytes_of(Words{5, 6});
  const ResidentUpload upload{.buffer = y.handle(), .bytes = fresh};
  must(tested().submit_resident({.uploads = {&upload, 1}}, slots));
  CHECK(y.words() == Words{5, 6});
  const ResidentFill fill{.buffer = y.handle(), .value = std::byte{0xFF}};
  must(tested().submit_resident({.fills = {&fill, 1}, .reads = {&read, 1}}, slots));
  CHECK(words_of(slots[0]) == Words{UINT32_MAX, UINT32_MAX});
  must(tested().submit_resident({.count = UINT32_MAX}, slots));
}

TEST_CASE("no time at all is a timeout, and leaves the backend usable") {
  const OnDevice y(Words{1});
  const std::vector<ResidentStep> steps{step(kGrow, {y.handle()})};
  std::vector<Bytes> slots;
  for (const std::chrono::nanoseconds timeout : {0ns, -5ns}) {
    CHECK(code_of(tested().submit_resident({.prefix = steps}, slots, {.timeout = timeout})) ==
          ErrorCode::Timeout);
  }
  const OnDevice z(Words{1});
  const std::vector<ResidentStep> again{step(kGrow, {z.handle()})};
  must(tested().submit_resident({.prefix = again}, slots,
                                {.timeout = std::chrono::nanoseconds::max()}));
  CHECK(z.words() == Words{3});
}

TEST_CASE("a buffer may be freed as soon as the submission is back") {
  for (std::uint32_t i = 0; i < 5; ++i) {
    const ResidentHandle handle = must(tested().allocate_resident(4));
    const Bytes value = bytes_of(Words{i});
    const ResidentUpload upload{.buffer = handle, .bytes = value};
    const std::vector<ResidentStep> steps{step(kGrow, {handle})};
    const ResidentRange read{.buffer = handle};
    std::vector<Bytes> slots;
    must(tested().submit_resident({.uploads = {&upload, 1}, .prefix = steps, .reads = {&read, 1}},
                                  slots));
    must(tested().free_resident(handle));
    CHECK(words_of(slots[0]) == Words{2 * i + 1});
  }
}

TEST_CASE("a recording runs often, with fresh bytes or those it was recorded with") {
  const OnDevice x(Words(4, 0));
  const OnDevice y(Words(4, 0));
  const Bytes first = bytes_of(Words{1, 2, 3, 4});
  const Bytes start = bytes_of(Words{10});
  const std::vector<ResidentUpload> uploads{{x.handle(), 0, first}, {y.handle(), 4, start}};
  const ResidentFill fill{.buffer = y.handle(), .value = std::byte{0}};
  const std::vector<ResidentStep> repeated{step(kAdd, {x.handle(), y.handle()})};
  const ResidentRange read{.buffer = y.handle()};
  const auto recorded = must(tested().record_resident({.fills = {&fill, 1},
                                                       .uploads = uploads,
                                                       .repeated = repeated,
                                                       .count = 3,
                                                       .reads = {&read, 1}}));
  // Nothing has run yet.
  CHECK(y.words() == Words(4, 0));
  std::vector<Bytes> slots{Bytes(16)};
  const std::byte* const memory = slots[0].data();
  for (int round = 0; round < 3; ++round) {
    must(recorded->run_into(slots));
    CHECK(words_of(slots[0]) == Words{3, 16, 9, 12});
    CHECK(slots[0].data() == memory);
  }
  for (std::uint32_t round = 1; round < 6; ++round) {
    const Bytes a = bytes_of(Words(4, round));
    const Bytes b = bytes_of(Words{round * 100});
    const std::vector<ByteSpan> fresh{a, b};
    const DispatchTiming timing = must(recorded->run_into(slots, fresh));
    CHECK(timing.wall_ns.has_value());
    CHECK(words_of(slots[0]) == Words{3 * round, 103 * round, 3 * round, 3 * round});
  }
}

// A backend may put several runs together, and what is left over elsewhere.
TEST_CASE("a block runs as often as its count says, also where that is often") {
  for (const std::uint32_t count : {2u, 85u, 86u, 255u, 256u, 257u, 300u, 513u, 1000u}) {
    CAPTURE(count);
    const OnDevice x(Words(4, 1));
    const OnDevice y(Words(4, 0));
    const OnDevice z(Words{5, 6});
    const std::vector<ResidentStep> add{step(kAdd, {x.handle(), y.handle()})};
    const std::vector<ResidentStep> block{step(kAdd, {x.handle(), y.handle()}),
                                          step(kGrow, {z.handle()}),
                                          step(kAdd, {y.handle(), x.handle()})};
    const ResidentRange read{.buffer = y.handle()};
    std::vector<Bytes> slots;
    const Telemetry counts = counted([&] {
      must(tested().submit_resident({.repeated = add, .count = count, .reads = {&read, 1}}, slots));
    });
    CHECK(counts[Counter::Launches] == count);
    CHECK(words_of(slots[0]) == Words(4, count));
    const auto recorded = must(tested().record_resident(
        {.prefix = add, .repeated = block, .count = count, .reads = {&read, 1}}));
    std::uint32_t one = 1;
    std::uint32_t other = count;
    for (int round = 0; round < 2; ++round) {
      must(recorded->run_into(slots));
      other += one;
      for (std::uint32_t run = 0; run < count; ++run) {
        other += one;
        one += other;
      }
      CHECK(words_of(slots[0]) == Words(4, other));
      CHECK(x.words() == Words(4, one));
    }
  }
}

TEST_CASE("a recording and other calls work on the same buffers in turn") {
  const OnDevice y(Words{1, 1});
  const std::vector<ResidentStep> steps{step(kGrow, {y.handle()})};
  const auto recorded = must(tested().record_resident({.prefix = steps}));
  std::vector<Bytes> slots;
  must(recorded->run_into(slots));
  CHECK(y.words() == Words{3, 3});
  must(tested().upload_resident_at(y.handle(), 4, bytes_of(Words{10})));
  must(recorded->run_into(slots));
  CHECK(y.words() == Words{7, 21});
  must(tested().dispatch_resident(valid_program(kGrow), std::vector{y.handle()}));
  must(recorded->run_into(slots));
  CHECK(y.words() == Words{31, 87});
}

TEST_CASE("fresh bytes of other numbers or sizes are refused") {
  const OnDevice y(Words{1, 2});
  const Bytes four = bytes_of(Words{9});
  const std::vector<ResidentUpload> uploads{{y.handle(), 0, four}, {y.handle(), 4, four}};
  const auto recorded = must(tested().record_resident({.uploads = uploads}));
  std::vector<Bytes> slots;
  const Bytes eight(8);
  for (const std::vector<ByteSpan>& fresh : {std::vector<ByteSpan>{four},
                                             {four, four, four},
                                             {four, eight},
                                             {four, ByteSpan(four).first(3)}}) {
    CHECK(code_of(recorded->run_into(slots, fresh)) == ErrorCode::BadInputs);
  }
  CHECK(y.words() == Words{1, 2});
  must(recorded->run_into(slots, std::vector<ByteSpan>{four, four}));
  CHECK(y.words() == Words{9, 9});
}

TEST_CASE("a recording whose buffer is gone does not run, nor on another in its place") {
  const OnDevice x(Words{1, 1});
  const ResidentHandle y = must(tested().allocate_resident(8));
  must(tested().upload_resident(y, bytes_of(Words{5, 5})));
  const std::vector<ResidentStep> steps{step(kGrow, {x.handle()}), step(kAdd, {x.handle(), y})};
  const auto recorded = must(tested().record_resident({.prefix = steps}));
  std::vector<Bytes> slots;
  must(recorded->run_into(slots));
  CHECK(words_of(must(tested().download_resident(y))) == Words{8, 8});
  must(tested().free_resident(y));
  CHECK(code_of(recorded->run_into(slots)) == ErrorCode::InvalidHandle);
  const OnDevice next(Words{0, 0});
  const OnDevice after(Words{0, 0});
  CHECK(code_of(recorded->run_into(slots)) == ErrorCode::InvalidHandle);
  CHECK(x.words() == Words{3, 3});
  CHECK(next.words() == Words{0, 0});
  CHECK(after.words() == Words{0, 0});
}

TEST_CASE("what is wrong with a submission is found when it is recorded") {
  const OnDevice y(Words{1, 2});
  const std::vector<ResidentStep> steps{step(kGrow, {y.handle()}), step(kAdd, {y.handle()})};
  const Error error = error_of(tested().record_resident({.prefix = steps}));
  CHECK(error.code == ErrorCode::BadInputs);
  CHECK(error.context.step == 1);
  const ResidentRange range{.buffer = y.handle(), .offset = 9};
  CHECK(code_of(tested().record_resident({.reads = {&range, 1}})) == ErrorCode::BadInputs);
  const ResidentFill fill{.buffer = y.handle(), .offset = 2, .length = 4};
  CHECK(code_of(tested().record_resident({.fills = {&fill, 1}})) == ErrorCode::BadInputs);
}

TEST_CASE("a trap in a recording names the step, at the run where it happens") {
  const OnDevice limit(Words{3});
  const OnDevice y(Words{1});
  const std::vector<ResidentStep> repeated{step(kGrow, {limit.handle()}),
                                           step(kTrapAt, {limit.handle(), y.handle()})};
  const Bytes three = bytes_of(Words{1});
  const ResidentUpload upload{.buffer = limit.handle(), .bytes = three};
  const auto recorded =
      must(tested().record_resident({.uploads = {&upload, 1}, .repeated = repeated}));
  std::vector<Bytes> slots;
  must(recorded->run_into(slots));
  must(recorded->run_into(slots));
  const Error error = error_of(recorded->run_into(slots));
  CHECK(error.code == ErrorCode::Trapped);
  CHECK(error.context.step == 1);
  CHECK(error.context.program == "trap_at");
  const Bytes other = bytes_of(Words{7});
  const std::vector<ByteSpan> fresh{other};
  must(tested().upload_resident(y.handle(), bytes_of(Words{1})));
  must(recorded->run_into(slots, fresh));
  CHECK(y.words() == Words{2});
}
