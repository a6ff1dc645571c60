// Static uploads: by the calls of the backend, and with budgets that the tests choose.
#include "conformance/conformance.h"
#include "dispatch/state/static_uploads.h"

using namespace felsite;
using namespace felsite::test;
using dispatch::StaticUploadCache;

namespace {

Bytes filled(std::size_t count, unsigned value) {
  return Bytes(count, static_cast<std::byte>(value));
}

// Releases all that a cache keeps when its test ends.
class OwnCache {
 public:
  // Beside the backend's own: the backend does not know these buffers.
  explicit OwnCache(std::uint64_t budget)
      : cache(tested(), budget, [](const ResidentHandle&, bool) {}) {}
  OwnCache(const OwnCache&) = delete;
  OwnCache& operator=(const OwnCache&) = delete;
  ~OwnCache() { cache.free_unused(); }

  StaticUploads acquire(const Bytes& payload) {
    const ByteSpan span = payload;
    return must(cache.acquire("test", {&span, 1}));
  }
  // Whether it was there; held by nobody afterwards.
  bool has(const Bytes& payload) {
    const StaticUploads uploads = acquire(payload);
    must(cache.release(uploads));
    return uploads.cache_hit;
  }

  StaticUploadCache cache;
};

}  // namespace

TEST_CASE("equal bytes are uploaded once") {
  const Bytes a = bytes_of(counting(10, 4000));
  const Bytes b = bytes_of(counting(5, 5000));
  const std::vector<ByteSpan> payloads{a, b, a};
  StaticUploads first;
  const Telemetry counts =
      counted([&] { first = must(tested().acquire_static_uploads("weights", payloads)); });
  CHECK(counts[Counter::UploadBytes] == 60);
  CHECK(!first.cache_hit);
  CHECK(first.retained);
  REQUIRE(first.handles.size() == 3);
  CHECK(first.handles[0] == first.handles[2]);
  CHECK(first.handles[0] != first.handles[1]);
  CHECK(must(tested().download_resident(first.handles[0])) == a);
  CHECK(must(tested().download_resident(first.handles[1])) == b);

  const Bytes copy = a;  // equal bytes at another place
  const std::vector<ByteSpan> again{b, copy};
  StaticUploads second;
  const MetricSnapshot before = tested().metric_snapshot();
  const Telemetry more =
      counted([&] { second = must(tested().acquire_static_uploads("weights", again)); });
  CHECK(more[Counter::UploadBytes] == 0);
  CHECK(second.cache_hit);
  CHECK(second.handles == std::vector{first.handles[1], first.handles[0]});
  const MetricSnapshot after = tested().metric_snapshot();
  CHECK(after.static_hits == before.static_hits + 2);
  CHECK(after.static_misses == before.static_misses);
  CHECK(after.static_bytes == before.static_bytes);
  CHECK(after.static_bytes >= 60);

  must(tested().release_static_uploads(first));
  must(tested().release_static_uploads(second));
  const StaticUploads third = must(tested().acquire_static_uploads("weights", payloads));
  CHECK(third.cache_hit);
  CHECK(third.handles == first.handles);
  must(tested().release_static_uploads(third));
  CHECK(code_of(tested().release_static_uploads(third)) == ErrorCode::InvalidHandle);
}

TEST_CASE("domains are apart") {
  const Bytes bytes = bytes_of(counting(7, 6000));
  const std::vector<ByteSpan> payloads{bytes};
  const StaticUploads left = must(tested().acquire_static_uploads("left", payloads));
  const StaticUploads right = must(tested().acquire_static_uploads("right", payloads));
  CHECK(!right.cache_hit);
  CHECK(left.handles[0] != right.handles[0]);
  CHECK(must(tested().download_resident(right.handles[0])) == bytes);
  must(tested().release_static_uploads(left));
  must(tested().release_static_uploads(right));
}

TEST_CASE("static uploads are resources like any other") {
  const Bytes bytes = bytes_of(counting(7, 1));
  const std::vector<ByteSpan> payloads{bytes};
  const StaticUploads uploads = must(tested().acquire_static_uploads("resources", payloads));
  const OnDevice y(Words(7, 10));
  must(
      tested().dispatch_resident(valid_program(kAdd), std::vector{uploads.handles[0], y.handle()}));
  CHECK(y.words() == counting(7, 11));
  must(tested().release_static_uploads(uploads));
}

TEST_CASE("nothing, and payloads of no bytes") {
  const StaticUploads nothing = must(tested().acquire_static_uploads("none", {}));
  CHECK(nothing.handles.empty());
  CHECK(nothing.cache_hit);
  must(tested().release_static_uploads(nothing));
  const std::vector<ByteSpan> empty{ByteSpan{}};
  const StaticUploads uploads = must(tested().acquire_static_uploads("none", empty));
  CHECK(must(tested().resident_size(uploads.handles[0])) == 0);
  must(tested().release_static_uploads(uploads));
}

TEST_CASE("what is released stays within the budget, the last used longest") {
  OwnCache own(100);
  const MetricSnapshot before = tested().metric_snapshot();
  CHECK(!own.has(filled(40, 1)));
  CHECK(!own.has(filled(40, 2)));
  CHECK(own.has(filled(40, 1)));   // now 2 is the one used longest ago
  CHECK(!own.has(filled(40, 3)));  // 2 goes
  CHECK(tested().metric_snapshot().resident_bytes == before.resident_bytes + 80);
  CHECK(own.has(filled(40, 1)));
  CHECK(own.has(filled(40, 3)));
  CHECK(!own.has(filled(40, 2)));  // 1 goes
  CHECK(own.has(filled(40, 3)));
  CHECK(!own.has(filled(40, 1)));
  CHECK(own.cache.figures().bytes == 80);
  own.cache.free_unused();
  CHECK(own.cache.figures().bytes == 0);
  CHECK(tested().metric_snapshot().resident_bytes == before.resident_bytes);
}

TEST_CASE("what is held is never evicted, whatever the budget") {
  OwnCache own(50);
  const StaticUploads held = own.acquire(filled(40, 1));
  CHECK(held.retained);
  const StaticUploads large = own.acquire(filled(60, 2));
  CHECK(!large.retained);
  for (unsigned i = 3; i < 20; ++i) CHECK(!own.has(filled(30, i)));
  own.cache.free_unused();
  CHECK(must(tested().download_resident(held.handles[0])) == filled(40, 1));
  CHECK(must(tested().download_resident(large.handles[0])) == filled(60, 2));
  const StaticUploads again = own.acquire(filled(60, 2));
  CHECK(again.cache_hit);
  CHECK(again.handles == large.handles);
  must(own.cache.release(large));
  CHECK(must(tested().download_resident(again.handles[0])) == filled(60, 2));
  must(own.cache.release(again));
  CHECK(code_of(tested().resident_size(again.handles[0])) == ErrorCode::InvalidHandle);
  must(own.cache.release(held));
  CHECK(own.has(filled(40, 1)));
}

TEST_CASE("a group is retained only if all of it fits") {
  OwnCache own(100);
  const Bytes a = filled(60, 1);
  const Bytes b = filled(60, 2);
  const std::vector<ByteSpan> both{a, b};
  const StaticUploads uploads = must(own.cache.acquire("test", both));
  CHECK(!uploads.retained);
  must(own.cache.release(uploads));
  CHECK(own.cache.figures().bytes == 60);
  const std::vector<ByteSpan> twice{a, a};
  const StaticUploads once = must(own.cache.acquire("test", twice));
  CHECK(once.retained);
  must(own.cache.release(once));
}

TEST_CASE("a release that is not whole releases nothing") {
  OwnCache own(1000);
  const StaticUploads held = own.acquire(filled(10, 1));
  CHECK(code_of(own.cache.release({.handles = {held.handles[0], held.handles[0]}})) ==
        ErrorCode::InvalidHandle);
  CHECK(code_of(own.cache.release({.handles = {held.handles[0], ResidentHandle{}}})) ==
        ErrorCode::InvalidHandle);
  must(own.cache.release(held));
  CHECK(code_of(own.cache.release(held)) == ErrorCode::InvalidHandle);
}

TEST_CASE("a static upload can only be read, whoever asks") {
  const Bytes bytes = bytes_of(Words{1, 2, 3, 4});
  const ByteSpan payload = bytes;
  const StaticUploads uploads = must(tested().acquire_static_uploads("protected", {&payload, 1}));
  const ResidentHandle fixed = uploads.handles[0];
  const OnDevice own(Words(4));
  const Bytes other = bytes_of(Words{9, 9, 9, 9});
  std::vector<Bytes> nothing;
  const auto refuse = [](auto&& result) { CHECK(code_of(result) == ErrorCode::BadInputs); };
  const auto refuse_step = [](auto&& result, std::uint32_t position) {
    const Error error = error_of(result);
    CHECK(error.code == ErrorCode::BadInputs);
    CHECK(error.context.step == position);
    CHECK(error.context.program == "grow");
  };

  refuse(tested().upload_resident(fixed, other));
  refuse(tested().upload_resident_at(fixed, 4, ByteSpan(other).first(4)));
  const ResidentUpload mixed[] = {{.buffer = own.handle(), .bytes = other},
                                  {.buffer = fixed, .bytes = other}};
  refuse(tested().upload_resident_at_many(mixed));
  CHECK(own.words() == Words(4));
  refuse(tested().fill_resident(fixed, std::byte{7}));
  refuse(tested().free_resident(fixed));
  refuse(tested().free_device_buffer(
      {.backend = std::string(tested().id()), .bytes = 16, .label = "fixed", .resident = fixed}));

  const ResidentFill fill{.buffer = fixed, .value = std::byte{7}};
  refuse(tested().submit_resident({.fills = {&fill, 1}}, nothing));
  refuse(tested().record_resident({.fills = {&fill, 1}}));
  refuse(tested().submit_resident({.uploads = {&mixed[1], 1}}, nothing));
  refuse(tested().record_resident({.uploads = {&mixed[1], 1}}));

  const std::array steps{step(kGrow, {own.handle()}), step(kGrow, {fixed})};
  refuse_step(tested().submit_resident({.prefix = steps}, nothing), 1);
  refuse_step(tested().submit_resident({.repeated = steps, .count = 2}, nothing), 1);
  refuse_step(tested().record_resident({.prefix = steps}), 1);
  CHECK(own.words() == Words(4));
  const ir::Program grow = valid_program(kGrow);
  refuse(tested().dispatch_resident(grow, std::vector{fixed}));
  DispatchConfig iterations;
  iterations.fixpoint_iterations = 3;
  refuse(tested().dispatch_resident(grow, std::vector{fixed}, iterations));
  refuse(must(tested().compile(grow))->dispatch_resident(std::vector{fixed}));
  const DeviceBuffer named{
      .backend = std::string(tested().id()), .bytes = 16, .label = "fixed", .resident = fixed};
  refuse(tested().dispatch_device_buffers(grow, std::vector{named}));

  // It is read like any other, and what others hold of it is as it was.
  must(tested().dispatch_resident(valid_program(kAdd), std::vector{fixed, own.handle()}));
  CHECK(own.words() == Words{1, 2, 3, 4});
  CHECK(must(tested().download_resident(fixed)) == bytes);
  const StaticUploads again = must(tested().acquire_static_uploads("protected", {&payload, 1}));
  CHECK(again.cache_hit);
  CHECK(again.handles[0] == fixed);
  must(tested().release_static_uploads(again));
  must(tested().release_static_uploads(uploads));
  // Held by nobody it is still shared with whoever asks next.
  refuse(tested().free_resident(fixed));
  const StaticUploads last = must(tested().acquire_static_uploads("protected", {&payload, 1}));
  CHECK(last.cache_hit);
  CHECK(must(tested().download_resident(last.handles[0])) == bytes);
  must(tested().release_static_uploads(last));
}
