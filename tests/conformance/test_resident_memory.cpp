// Resident buffers: taken, written, read and freed; sizes and ranges that lie.
#include <algorithm>

#include "conformance/conformance.h"

using namespace felsite;
using namespace felsite::test;

namespace {

Bytes pattern(std::size_t count, unsigned first = 0) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(first + 7 * i);
  return bytes;
}

Bytes part(const Bytes& bytes, std::size_t offset, std::size_t length) {
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
  return {begin, begin + static_cast<std::ptrdiff_t>(length)};
}

Result<void> fill(const ResidentFill& fill) {
  std::vector<Bytes> outputs;
  auto done = tested().submit_resident({.fills = {&fill, 1}}, outputs);
  if (!done) return std::unexpected(done.error());
  return {};
}

}  // namespace

TEST_CASE("a buffer has its size, and is counted while it lives") {
  const MetricSnapshot before = tested().metric_snapshot();
  const ResidentHandle handle = must(tested().allocate_resident(1000));
  CHECK(must(tested().resident_size(handle)) == 1000);
  const MetricSnapshot with = tested().metric_snapshot();
  CHECK(with.resident_buffers == before.resident_buffers + 1);
  CHECK(with.resident_bytes == before.resident_bytes + 1000);
  CHECK(with.device_bytes >= with.resident_bytes);
  must(tested().free_resident(handle));
  const MetricSnapshot after = tested().metric_snapshot();
  CHECK(after.resident_buffers == before.resident_buffers);
  CHECK(after.resident_bytes == before.resident_bytes);
}

TEST_CASE("many at once, each with its own size and contents") {
  const std::vector<std::uint64_t> sizes{16, 1, 0, 5000, 3, 16};
  const auto handles = must(tested().allocate_resident_many(sizes));
  REQUIRE(handles.size() == sizes.size());
  std::vector<Bytes> contents;
  std::vector<ResidentUpload> uploads;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    CHECK(must(tested().resident_size(handles[i])) == sizes[i]);
    contents.push_back(pattern(sizes[i], static_cast<unsigned>(i)));
    for (std::size_t other = 0; other < i; ++other) CHECK(handles[i] != handles[other]);
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    uploads.push_back({.buffer = handles[i], .bytes = contents[i]});
  }
  must(tested().upload_resident_many(uploads));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    CHECK(must(tested().download_resident(handles[i])) == contents[i]);
    must(tested().free_resident(handles[i]));
  }
  CHECK(must(tested().allocate_resident_many({})).empty());
}

TEST_CASE("a grouped allocation that fails leaves nothing behind") {
  const MetricSnapshot before = tested().metric_snapshot();
  for (const std::uint64_t huge : {std::uint64_t{1} << 60, UINT64_MAX, UINT64_MAX - 15}) {
    const std::vector<std::uint64_t> sizes{64, 4096, 1, huge};
    const Error error = error_of(tested().allocate_resident_many(sizes));
    CHECK(error.code == ErrorCode::DeviceOutOfMemory);
    REQUIRE(error.context.requested.has_value());
    REQUIRE(error.context.available.has_value());
    CHECK(*error.context.requested >= huge);
    CHECK(*error.context.available < huge);
    CHECK(code_of(tested().allocate_resident(huge)) == ErrorCode::DeviceOutOfMemory);
  }
  const std::vector<std::uint64_t> two{UINT64_MAX, UINT64_MAX};
  CHECK(code_of(tested().allocate_resident_many(two)) == ErrorCode::DeviceOutOfMemory);
  const MetricSnapshot after = tested().metric_snapshot();
  CHECK(after.resident_buffers == before.resident_buffers);
  CHECK(after.resident_bytes == before.resident_bytes);
  must(tested().free_resident(must(tested().allocate_resident(64))));
}

TEST_CASE("a buffer of no bytes") {
  const OnDevice empty{Bytes{}};
  CHECK(must(tested().resident_size(empty.handle())) == 0);
  CHECK(empty.bytes().empty());
  must(tested().upload_resident_at(empty.handle(), 0, {}));
  must(tested().fill_resident(empty.handle(), std::byte{1}));
  CHECK(must(tested().download_resident_range(empty.handle(), 0, 0)).empty());
  CHECK(must(tested().download_resident_range(empty.handle(), 0, kWholeSize)).empty());
  CHECK(code_of(tested().download_resident_range(empty.handle(), 1, 0)) == ErrorCode::BadInputs);
  CHECK(code_of(tested().upload_resident(empty.handle(), Bytes(1))) == ErrorCode::BadInputs);
}

TEST_CASE("uploads of whole buffers have their size, and all are checked before one is written") {
  const OnDevice a(pattern(10));
  const OnDevice b(pattern(4, 50));
  const Bytes fresh = pattern(10, 99);
  CHECK(code_of(tested().upload_resident(a.handle(), ByteSpan(fresh).first(9))) ==
        ErrorCode::BadInputs);
  CHECK(code_of(tested().upload_resident(b.handle(), ByteSpan(fresh).first(5))) ==
        ErrorCode::BadInputs);
  std::vector<ResidentUpload> uploads{{.buffer = a.handle(), .bytes = fresh},
                                      {.buffer = b.handle(), .bytes = ByteSpan(fresh).first(3)}};
  const Error error = error_of(tested().upload_resident_many(uploads));
  CHECK(error.code == ErrorCode::BadInputs);
  CHECK(error.context.requested == 3);
  CHECK(error.context.available == 4);
  uploads[1] = {.buffer = b.handle(), .offset = 1, .bytes = ByteSpan(fresh).first(3)};
  CHECK(code_of(tested().upload_resident_many(uploads)) == ErrorCode::BadInputs);
  uploads[1] = {.buffer = b.handle(), .offset = 2, .bytes = ByteSpan(fresh).first(3)};
  CHECK(code_of(tested().upload_resident_at_many(uploads)) == ErrorCode::BadInputs);
  uploads[1].buffer.generation += 1;
  CHECK(code_of(tested().upload_resident_at_many(uploads)) == ErrorCode::InvalidHandle);
  CHECK(a.bytes() == pattern(10));
  CHECK(b.bytes() == pattern(4, 50));
}

TEST_CASE("uploads into the middle, at any byte, in order") {
  Bytes expected = pattern(23);
  const OnDevice buffer(expected);
  const Bytes fresh = pattern(23, 150);
  std::vector<ResidentUpload> uploads;
  const auto add = [&](std::size_t offset, std::size_t length) {
    uploads.push_back(
        {.buffer = buffer.handle(), .offset = offset, .bytes = ByteSpan(fresh).first(length)});
    std::copy_n(fresh.begin(), length, expected.begin() + static_cast<std::ptrdiff_t>(offset));
  };
  add(1, 1);
  add(5, 7);
  add(9, 6);  // over the end of the one before: the later one counts
  add(22, 1);
  add(23, 0);
  must(tested().upload_resident_at_many(uploads));
  CHECK(buffer.bytes() == expected);
  must(tested().upload_resident_at(buffer.handle(), 3, ByteSpan(fresh).first(2)));
  std::copy_n(fresh.begin(), 2, expected.begin() + 3);
  CHECK(buffer.bytes() == expected);
  must(tested().upload_resident_at_many({}));
}

TEST_CASE("offsets and lengths near the end of all numbers do not wrap around") {
  const OnDevice buffer(pattern(16));
  const ResidentHandle handle = buffer.handle();
  const Bytes fresh = pattern(16, 99);
  for (const std::uint64_t offset :
       {std::uint64_t{16}, std::uint64_t{17}, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 15}) {
    CHECK(code_of(tested().upload_resident_at(handle, offset, fresh)) == ErrorCode::BadInputs);
    CHECK(code_of(tested().upload_resident_at(handle, offset, ByteSpan(fresh).first(1))) ==
          ErrorCode::BadInputs);
    CHECK(code_of(tested().download_resident_range(handle, offset, 1)) == ErrorCode::BadInputs);
    CHECK(code_of(tested().download_resident_range(handle, offset, 16)) == ErrorCode::BadInputs);
    CHECK(code_of(fill({.buffer = handle, .offset = offset, .length = 16})) ==
          ErrorCode::BadInputs);
    if (offset != 16) {
      CHECK(code_of(tested().download_resident_range(handle, offset, kWholeSize)) ==
            ErrorCode::BadInputs);
    }
  }
  for (const std::uint64_t length :
       {std::uint64_t{17}, UINT64_MAX - 1, UINT64_MAX - 15, UINT64_MAX - 16}) {
    CHECK(code_of(tested().download_resident_range(handle, 0, length)) == ErrorCode::BadInputs);
    CHECK(code_of(tested().download_resident_range(handle, 16, length)) == ErrorCode::BadInputs);
    CHECK(code_of(fill({.buffer = handle, .offset = 8, .length = length})) == ErrorCode::BadInputs);
  }
  CHECK(buffer.bytes() == pattern(16));
  CHECK(must(tested().download_resident_range(handle, 16, kWholeSize)).empty());
}

TEST_CASE("fills: whole buffers of any size, and ranges of whole words") {
  for (const std::size_t size : {1u, 2u, 3u, 4u, 5u, 17u, 64u}) {
    INFO(size);
    const OnDevice before(pattern(size, 1));
    const OnDevice buffer(pattern(size));
    const OnDevice after(pattern(size, 2));
    must(tested().fill_resident(buffer.handle(), std::byte{0xC3}));
    CHECK(buffer.bytes() == Bytes(size, std::byte{0xC3}));
    CHECK(before.bytes() == pattern(size, 1));
    CHECK(after.bytes() == pattern(size, 2));
  }
  Bytes expected = pattern(21);
  const OnDevice buffer(expected);
  const auto fills = [&](std::uint64_t offset, std::uint64_t length, std::size_t filled) {
    must(fill(
        {.buffer = buffer.handle(), .value = std::byte{0x5A}, .offset = offset, .length = length}));
    std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(offset), filled, std::byte{0x5A});
    CHECK(buffer.bytes() == expected);
  };
  fills(4, 0, 0);
  fills(4, 4, 4);
  fills(12, 9, 9);  // to the end
  fills(20, kWholeSize, 1);
  fills(0, kWholeSize, 21);
}

TEST_CASE("fills that begin or end within a word are refused") {
  const OnDevice buffer(pattern(21));
  for (const auto& [offset, length] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {1, 4}, {2, kWholeSize}, {4, 3}, {0, 2}, {18, 3}, {3, 0}}) {
    INFO(offset);
    INFO(length);
    CHECK(code_of(fill({.buffer = buffer.handle(), .offset = offset, .length = length})) ==
          ErrorCode::BadInputs);
  }
  CHECK(buffer.bytes() == pattern(21));
}

TEST_CASE("downloads: whole, a range, into an allocation that is there") {
  const Bytes contents = pattern(37);
  const OnDevice buffer(contents);
  CHECK(must(tested().download_resident(buffer.handle())) == contents);
  CHECK(must(tested().download_resident_range(buffer.handle(), 3, 7)) == part(contents, 3, 7));
  CHECK(must(tested().download_resident_range(buffer.handle(), 30, kWholeSize)) ==
        part(contents, 30, 7));
  Bytes out(100, std::byte{1});
  const std::byte* const memory = out.data();
  must(tested().download_resident_into(buffer.handle(), out));
  CHECK(out == contents);
  must(tested().download_resident_range_into(buffer.handle(), 5, 1, out));
  CHECK(out == part(contents, 5, 1));
  CHECK(out.data() == memory);
}

TEST_CASE("ranges come in the caller's order, repeated and overlapping, of several buffers") {
  const Bytes first = pattern(40);
  const Bytes second = pattern(9, 120);
  const OnDevice a(first);
  const OnDevice b(second);
  const std::vector<ResidentRange> ranges{
      {a.handle(), 30, 10}, {b.handle(), 0, kWholeSize}, {a.handle(), 1, 20}, {a.handle(), 30, 10},
      {a.handle(), 10, 21}, {b.handle(), 9, 0},          {a.handle()},        {b.handle(), 8, 1}};
  const std::vector<Bytes> expected{part(first, 30, 10),
                                    second,
                                    part(first, 1, 20),
                                    part(first, 30, 10),
                                    part(first, 10, 21),
                                    {},
                                    first,
                                    part(second, 8, 1)};
  std::vector<Bytes> slots(2, Bytes(64, std::byte{1}));
  const std::byte* const memory = slots[0].data();
  must(tested().download_resident_ranges_into(ranges, slots));
  CHECK(slots == expected);
  CHECK(slots[0].data() == memory);
  must(tested().download_resident_ranges_into({}, slots));
  CHECK(slots.empty());
}

TEST_CASE("one bad range among good ones is an error") {
  const OnDevice a(pattern(8));
  std::vector<ResidentRange> ranges{{a.handle(), 0, 4}, {a.handle(), 5, 4}};
  std::vector<Bytes> slots;
  CHECK(code_of(tested().download_resident_ranges_into(ranges, slots)) == ErrorCode::BadInputs);
  ranges[1] = {{}, 0, 4};
  CHECK(code_of(tested().download_resident_ranges_into(ranges, slots)) == ErrorCode::InvalidHandle);
}
