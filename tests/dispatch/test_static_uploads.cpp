// The cache of static uploads in a memory that is too small; the conformance suite has the rest.
#include <atomic>
#include <thread>

#include "dispatch/state/static_uploads.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;
using dispatch::StaticUploadCache;

namespace {

Bytes filled(std::size_t count, unsigned value) {
  return Bytes(count, static_cast<std::byte>(value));
}

// A cache beside the backend's own: the backend does not know its buffers.
const StaticUploadCache::Protect kUnprotected = [](const ResidentHandle&, bool) {};

Result<StaticUploads> acquire(StaticUploadCache& cache, const std::vector<Bytes>& payloads) {
  const std::vector<ByteSpan> spans(payloads.begin(), payloads.end());
  return cache.acquire("test", spans);
}

}  // namespace

TEST_CASE("an acquisition that fails holds nothing, not even what was there") {
  const auto backend = reference_with_memory(1000);
  StaticUploadCache cache(*backend, 500, kUnprotected);
  const auto first = acquire(cache, {filled(100, 1)});
  REQUIRE(first.has_value());
  REQUIRE(cache.release(*first).has_value());
  const auto failed = acquire(cache, {filled(100, 1), filled(100, 2), filled(2000, 3)});
  REQUIRE(!failed.has_value());
  CHECK(failed.error().code == ErrorCode::DeviceOutOfMemory);
  CHECK(backend->metric_snapshot().resident_bytes <= 100);
  CHECK(cache.figures().bytes <= 100);
  CHECK(cache.figures().misses == 1);
  cache.free_unused();
  CHECK(cache.figures().bytes == 0);
  CHECK(backend->metric_snapshot().resident_bytes == 0);
}

TEST_CASE("what nobody holds makes room for what is asked for") {
  const auto backend = reference_with_memory(1000);
  StaticUploadCache cache(*backend, 1000, kUnprotected);
  const auto held = acquire(cache, {filled(300, 1)});
  const auto kept = acquire(cache, {filled(300, 2), filled(300, 3)});
  REQUIRE(held.has_value());
  REQUIRE(kept.has_value());
  REQUIRE(cache.release(*kept).has_value());
  const auto large = acquire(cache, {filled(600, 4)});
  REQUIRE(large.has_value());
  CHECK(*backend->download_resident(held->handles[0]) == filled(300, 1));
  CHECK(*backend->download_resident(large->handles[0]) == filled(600, 4));
  CHECK(!backend->resident_size(kept->handles[0]).has_value());
}

TEST_CASE("the backend's own static uploads make room for other buffers too") {
  const auto backend = reference_with_memory(1000);
  const Bytes payload = filled(600, 1);
  const std::vector<ByteSpan> payloads{payload};
  const auto uploads = backend->acquire_static_uploads("d", payloads);
  REQUIRE(uploads.has_value());
  CHECK(!backend->allocate_resident(500).has_value());
  REQUIRE(backend->release_static_uploads(*uploads).has_value());
  CHECK(backend->metric_snapshot().static_bytes == 600);
  REQUIRE(backend->allocate_resident(500).has_value());
  CHECK(backend->metric_snapshot().static_bytes == 0);
  // Room is also made for a static upload, by an allocation inside the acquisition.
  const Bytes other = filled(500, 2);
  const std::vector<ByteSpan> others{other};
  const auto more = backend->acquire_static_uploads("d", others);
  REQUIRE(more.has_value());
  REQUIRE(backend->release_static_uploads(*more).has_value());
  const Bytes third = filled(400, 3);
  const std::vector<ByteSpan> thirds{third};
  CHECK(backend->acquire_static_uploads("d", thirds).has_value());
}

TEST_CASE("what is forgotten is neither found nor freed") {
  const auto backend = make_reference_backend();
  StaticUploadCache cache(*backend, 1000, kUnprotected);
  const auto held = acquire(cache, {filled(10, 1), filled(10, 2)});
  REQUIRE(held.has_value());
  cache.forget();
  CHECK(cache.figures().bytes == 0);
  CHECK(backend->metric_snapshot().resident_buffers == 2);
  const auto released = cache.release(*held);
  REQUIRE(!released.has_value());
  CHECK(released.error().code == ErrorCode::InvalidHandle);
  const auto again = acquire(cache, {filled(10, 1)});
  REQUIRE(again.has_value());
  CHECK(!again->cache_hit);
}

TEST_CASE("bytes of one size that differ in the last bit are different") {
  const auto backend = make_reference_backend();
  StaticUploadCache cache(*backend, 1 << 20, kUnprotected);
  for (const std::size_t size : {1u, 16u, 17u, 240u, 241u, 5000u}) {
    Bytes a = filled(size, 7);
    Bytes b = a;
    b.at(size - 1) = std::byte{6};
    const auto both = acquire(cache, {a, b, a});
    REQUIRE(both.has_value());
    CHECK(both->handles[0] != both->handles[1]);
    CHECK(both->handles[0] == both->handles[2]);
    CHECK(*backend->download_resident(both->handles[1]) == b);
  }
}

TEST_CASE("no budget keeps nothing") {
  const auto backend = make_reference_backend();
  StaticUploadCache cache(*backend, 0, kUnprotected);
  const auto uploads = acquire(cache, {filled(1, 1)});
  REQUIRE(uploads.has_value());
  CHECK(!uploads->retained);
  REQUIRE(cache.release(*uploads).has_value());
  CHECK(backend->metric_snapshot().resident_buffers == 0);
}

TEST_CASE("threads acquire and release the same few payloads") {
  const auto backend = make_reference_backend();
  StaticUploadCache cache(*backend, 64, kUnprotected);
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (unsigned i = 0; i < 100; ++i) {
          const std::vector<Bytes> payloads{filled(32, (t + i) % 5), filled(40, i % 3)};
          const auto uploads = acquire(cache, payloads);
          if (!uploads) {
            ++wrong;
            continue;
          }
          for (std::size_t p = 0; p < 2; ++p) {
            const auto found = backend->download_resident(uploads->handles[p]);
            if (!found || *found != payloads[p]) ++wrong;
          }
          if (!cache.release(*uploads)) ++wrong;
        }
      });
    }
  }
  CHECK(wrong == 0);
  CHECK(cache.figures().bytes <= 64);
  CHECK(cache.figures().hits + cache.figures().misses == 8 * 100 * 2);
  CHECK(backend->metric_snapshot().resident_bytes == cache.figures().bytes);
}
