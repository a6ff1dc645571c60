// Bytes of the caller as resources of steps, and submissions that nobody waits for at once.
#include <thread>

#include "conformance/conformance.h"
#include "support/skip.h"

using namespace felsite;
using namespace felsite::test;

TEST_CASE("lent bytes: a step reads them, on every path, and they count as traffic") {
  const Bytes a = bytes_of(Words{3});
  const Bytes x = bytes_of(counting(19));
  const OnDevice y(Words(19, 1));
  const ResidentStep saxpy =
      step(kSaxpy, {ResidentResource::of(a), ResidentResource::of(x), y.handle()});
  Words expected(19, 1);
  const auto add = [&](std::uint32_t times) {
    for (std::uint32_t i = 0; i < 19; ++i) expected[i] += 3 * i * times;
  };
  std::vector<Bytes> nothing;
  const Telemetry counts = counted([&] {
    must(tested().submit_resident({.prefix = {&saxpy, 1}}, nothing));
  });
  CHECK(counts[Counter::UploadBytes] == a.size() + x.size());
  add(1);
  CHECK(y.words() == expected);
  must(tested().dispatch_resident(saxpy.program, saxpy.resources));
  add(1);
  CHECK(y.words() == expected);
  const auto pipeline = must(tested().compile(saxpy.program));
  must(pipeline->dispatch_resident(saxpy.resources));
  add(1);
  CHECK(y.words() == expected);
  const ResidentBlock block{.steps = {&saxpy, 1}, .repeat = Repeat::times(4)};
  must(must(tested().submit_resident_async(
                {.repeated = {&saxpy, 1}, .count = 2, .blocks = {&block, 1}}))
           ->wait_into(nothing));
  add(6);
  CHECK(y.words() == expected);
}

TEST_CASE("lent bytes: a recording runs with others, or with those it was recorded with") {
  const Bytes one = bytes_of(Words{1});
  const Bytes x = bytes_of(Words{1, 10, 100});
  const OnDevice y(Words(3));
  const ResidentStep saxpy =
      step(kSaxpy, {ResidentResource::of(one), ResidentResource::of(x), y.handle()});
  const auto recorded = must(tested().record_resident({.prefix = {&saxpy, 1}}));
  std::vector<Bytes> nothing;
  must(recorded->run_into(nothing));
  CHECK(y.words() == Words{1, 10, 100});
  const Bytes two = bytes_of(Words{2});
  const std::vector<ByteSpan> fresh{two, x};
  const Telemetry counts = counted([&] { must(recorded->run_into(nothing, {}, fresh)); });
  CHECK(counts[Counter::Recordings] == 0);
  CHECK(y.words() == Words{3, 30, 300});
  must(must(recorded->start({}, fresh))->wait_into(nothing));
  CHECK(y.words() == Words{5, 50, 500});
  must(recorded->run_into(nothing));
  CHECK(y.words() == Words{6, 60, 600});
  // Fewer, more, and of other sizes.
  const Bytes eight(8);
  for (const std::vector<ByteSpan>& wrong :
       {std::vector<ByteSpan>{two}, {two, x, x}, {eight, x}, {two, eight}}) {
    CHECK(code_of(recorded->run_into(nothing, {}, wrong)) == ErrorCode::BadInputs);
    CHECK(code_of(recorded->start({}, wrong)) == ErrorCode::BadInputs);
  }
  must(recorded->run_into(nothing));
  CHECK(y.words() == Words{7, 70, 700});
}

TEST_CASE("lent bytes: only what is read may be lent") {
  const Bytes bytes(16);
  const OnDevice x(Words(4));
  for (const ResidentStep& wrong : {step(kAdd, {x.handle(), ResidentResource::of(bytes)}),
                                    step(kGrow, {ResidentResource::of(bytes)})}) {
    std::vector<Bytes> nothing;
    const Error error = error_of(tested().submit_resident({.prefix = {&wrong, 1}}, nothing));
    CHECK(error.code == ErrorCode::BadInputs);
    CHECK_FALSE(error.fix.empty());
    CHECK(error.context.step == 0);
  }
  // One that is too small for what is declared, and no bytes at all.
  const ResidentStep small = step(kSaxpy, {ResidentResource::of(ByteSpan(bytes).first(2)),
                                           x.handle(), ResidentResource(x.handle(), 16, 0)});
  std::vector<Bytes> nothing;
  CHECK(code_of(tested().submit_resident({.prefix = {&small, 1}}, nothing)) ==
        ErrorCode::BadInputs);
  const OnDevice y(Words(4, 3));
  const ResidentStep none = step(kAdd, {ResidentResource::of({}), y.handle()});
  must(tested().submit_resident({.prefix = {&none, 1}}, nothing));
  CHECK(y.words() == Words(4, 3));
}

TEST_CASE("lent bytes: nothing is allocated for them where reads are refused") {
  const Bytes lent(16);
  const OnDevice y(Words(4));
  const ResidentStep lending = step(kAdd, {ResidentResource::of(lent), y.handle()});
  const ResidentRange outside{.buffer = y.handle(), .offset = 20};
  std::vector<Bytes> nothing;
  CHECK(
      refused([&] {
        return tested().submit_resident({.prefix = {&lending, 1}, .reads = {&outside, 1}}, nothing);
      }).code == ErrorCode::BadInputs);
}

TEST_CASE("lent bytes: nor where a schedule takes more memory than there is") {
  FELSITE_SKIP_IF(has_grid_barriers(), "it needs no memory for them");
  // What each invocation keeps over the barrier takes 128 bytes.
  std::string values;
  std::string uses;
  for (int i = 0; i < 32; ++i) {
    values +=
        "let a" + std::to_string(i) + " = x[(invocation.x + " + std::to_string(i) + ") % 64];";
    uses += " + a" + std::to_string(i);
  }
  const std::string text =
      "program keeps workgroup(64) { readwrite x: u32[64]; readonly y: u32[4]; " + values +
      " gridsync; atomic_add(x[invocation.x % 64], y[0]" + uses + "); }";
  const Bytes lent(16);
  const OnDevice x(Words(64));
  ResidentStep keeps = step(text.c_str(), {x.handle(), ResidentResource::of(lent)});
  keeps.grid_override = {1u << 14, 1, 1};
  // Each takes 128 MiB.
  const std::vector<ResidentStep> steps(1024, keeps);
  std::vector<Bytes> nothing;
  const Error error = refused([&] { return tested().submit_resident({.prefix = steps}, nothing); });
  CHECK(error.code == ErrorCode::DeviceOutOfMemory);
  CHECK(error.context.requested > error.context.available);
}

TEST_CASE("submissions without a wait: polled, waited for, dropped") {
  const OnDevice y(Words{1, 2});
  const std::vector<ResidentStep> steps{step(kGrow, {y.handle()}), step(kGrow, {y.handle()})};
  const ResidentRange read{y.handle()};
  Bytes upload = bytes_of(Words{5, 6});
  const ResidentUpload up{.buffer = y.handle(), .bytes = upload};
  const ResidentSubmission submission{.uploads = {&up, 1}, .prefix = steps, .reads = {&read, 1}};
  std::vector<Bytes> slots;
  auto pending = must(tested().submit_resident_async(submission));
  upload.assign(8, std::byte{0xFF});  // they were read
  while (!pending->is_ready()) std::this_thread::yield();
  must(pending->wait_into(slots));
  CHECK(words_of(slots[0]) == Words{23, 27});
  CHECK(code_of(pending->wait_into(slots)) == ErrorCode::DispatchFailed);
  for (int i = 0; i < 5; ++i) static_cast<void>(must(tested().submit_resident_async(submission)));
  must(tested().flush());
  CHECK(tested().metric_snapshot().in_flight == 0);
  // What the caller did wrong comes at once; a timeout of no time comes with the wait.
  const ResidentStep wrong = step(kAdd, {y.handle()});
  CHECK(code_of(tested().submit_resident_async({.prefix = {&wrong, 1}})) == ErrorCode::BadInputs);
  auto late =
      must(tested().submit_resident_async(submission, {.timeout = std::chrono::seconds(0)}));
  CHECK(code_of(late->wait_into(slots)) == ErrorCode::Timeout);
  const OnDevice limit(Words{0});
  const ResidentStep traps = step(kTrapAt, {limit.handle(), limit.handle()});
  const OnDevice zero(Words{0});
  const ResidentStep trap = step(kTrapAt, {limit.handle(), zero.handle()});
  auto trapping = must(tested().submit_resident_async({.prefix = {&trap, 1}}));
  const Error error = error_of(trapping->wait_into(slots));
  CHECK(error.code == ErrorCode::Trapped);
  CHECK(error.context.step == 0);
}

TEST_CASE("a recording under way is not run again before its end, and works after it") {
  const OnDevice y(Words{1});
  const ResidentStep grow = step(kGrow, {y.handle()});
  const ResidentRange read{y.handle()};
  const auto recorded = must(tested().record_resident({.prefix = {&grow, 1}, .reads = {&read, 1}}));
  std::vector<Bytes> slots;
  auto pending = must(recorded->start());
  CHECK(code_of(recorded->start()) == ErrorCode::DispatchFailed);
  CHECK(code_of(recorded->run_into(slots)) == ErrorCode::DispatchFailed);
  must(pending->wait_into(slots));
  CHECK(words_of(slots[0]) == Words{3});
  must(recorded->run_into(slots));
  CHECK(words_of(slots[0]) == Words{7});
  // Freed while it is under way: the next run says so.
  const OnDevice z(Words{1});
  const ResidentStep other = step(kGrow, {z.handle()});
  const auto doomed = must(tested().record_resident({.prefix = {&other, 1}}));
  auto last = must(doomed->start());
  must(tested().free_resident(z.handle()));
  static_cast<void>(last->wait_into(slots));
  CHECK(code_of(doomed->run_into(slots)) == ErrorCode::InvalidHandle);
}

TEST_CASE("pending submissions do not keep their backend from closing") {
  auto backend = make_tested();
  const ResidentHandle y = must(backend->allocate_resident(4));
  must(backend->fill_resident(y, std::byte{0}));
  const ResidentStep grow = step(kGrow, {y});
  auto pending = must(backend->submit_resident_async({.repeated = {&grow, 1}, .count = 100}));
  const auto recorded = must(backend->record_resident({.prefix = {&grow, 1}}));
  auto started = must(recorded->start());
  must(backend->shutdown());
  std::vector<Bytes> slots;
  for (const auto& one : {pending.get(), started.get()}) {
    const auto done = one->wait_into(slots);
    if (!done) CHECK(done.error().code == ErrorCode::DispatchFailed);
  }
  CHECK(code_of(recorded->start()) == ErrorCode::DispatchFailed);
  backend.reset();
}

TEST_CASE("lent bytes: what else a lent resource says does not count") {
  const OnDevice y(Words{1, 2});
  const Bytes one = bytes_of(Words{10, 20});
  ResidentResource lent = ResidentResource::of(one);
  lent.buffer = y.handle();
  const ResidentStep add = step(kAdd, {lent, y.handle()});
  std::vector<Bytes> nothing;
  must(tested().submit_resident({.prefix = {&add, 1}}, nothing));
  CHECK(y.words() == Words{11, 22});
}

TEST_CASE("a recording whose run was dropped before its end does not run again") {
  // Long enough that nobody sees its end; a drop of one that has ended may leave it usable.
  const OnDevice y(Words(64));
  const ResidentStep slow = step(
      "program slow workgroup(64) { readwrite y: u32[]; let s = y[local.x];"
      " loop k in 0..200000 { s = s * 1664525 + 1013904223; } y[local.x] = s; }",
      {y.handle()});
  const auto recorded = must(tested().record_resident({.repeated = {&slow, 1}, .count = 20}));
  static_cast<void>(must(recorded->start()));
  std::vector<Bytes> nothing;
  CHECK(code_of(recorded->run_into(nothing)) == ErrorCode::DispatchFailed);
  must(tested().flush());
  CHECK(code_of(recorded->run_into(nothing)) == ErrorCode::DispatchFailed);
}
