// Handles that name nothing: freed, foreign, forged. None of them ever names another buffer.
#include "conformance/conformance.h"
#include "felsite/reference.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// Every call that takes a handle.
void check_invalid(ResidentHandle bad) {
  Backend& backend = tested();
  const OnDevice good(Words{1, 2, 3});
  const Bytes bytes(12);
  Bytes out;
  std::vector<Bytes> slots;
  CHECK(code_of(backend.resident_size(bad)) == ErrorCode::InvalidHandle);
  CHECK(code_of(backend.upload_resident(bad, bytes)) == ErrorCode::InvalidHandle);
  CHECK(code_of(backend.upload_resident_at(bad, 0, bytes)) == ErrorCode::InvalidHandle);
  CHECK(code_of(backend.fill_resident(bad, std::byte{1})) == ErrorCode::InvalidHandle);
  CHECK(code_of(backend.download_resident(bad)) == ErrorCode::InvalidHandle);
  CHECK(code_of(backend.download_resident_into(bad, out)) == ErrorCode::InvalidHandle);
  CHECK(code_of(backend.download_resident_range(bad, 0, 4)) == ErrorCode::InvalidHandle);
  CHECK(code_of(backend.free_resident(bad)) == ErrorCode::InvalidHandle);

  const std::vector<ResidentStep> steps{step(kGrow, {good.handle()}),
                                        step(kAdd, {bad, good.handle()})};
  const Error error =
      error_of(backend.dispatch_resident_sequence_read_ranges_into(steps, {}, slots));
  CHECK(error.code == ErrorCode::InvalidHandle);
  CHECK(error.context.step == 1);
  const std::vector<ResidentHandle> resources{good.handle(), bad};
  CHECK(code_of(backend.dispatch_resident(valid_program(kAdd), resources)) ==
        ErrorCode::InvalidHandle);
  const ResidentUpload upload{.buffer = bad, .bytes = bytes};
  CHECK(code_of(backend.submit_resident({.uploads = {&upload, 1}}, slots)) ==
        ErrorCode::InvalidHandle);
  const ResidentRange range{.buffer = bad};
  CHECK(code_of(backend.submit_resident({.reads = {&range, 1}}, slots)) ==
        ErrorCode::InvalidHandle);
  CHECK(code_of(backend.record_resident({.reads = {&range, 1}})) == ErrorCode::InvalidHandle);
  CHECK(code_of(backend.release_static_uploads({.handles = {bad}})) == ErrorCode::InvalidHandle);
  // Nothing of what was refused has run.
  CHECK(good.words() == Words{1, 2, 3});
}

}  // namespace

TEST_CASE("a freed handle is invalid, also when its place is taken again") {
  const ResidentHandle freed = must(tested().allocate_resident(12));
  must(tested().free_resident(freed));
  check_invalid(freed);
  std::vector<std::unique_ptr<OnDevice>> others;
  for (std::uint32_t i = 0; i < 20; ++i) {
    others.push_back(std::make_unique<OnDevice>(Words{i, i, i}));
    CHECK(others.back()->handle() != freed);
  }
  check_invalid(freed);
  for (std::uint32_t i = 0; i < 20; ++i) CHECK(others[i]->words() == Words{i, i, i});
}

TEST_CASE("a handle of another backend is invalid") {
  const auto other = make_reference_backend();
  check_invalid(must(other->allocate_resident(12)));
}

TEST_CASE("a handle that was made up is invalid") {
  const OnDevice buffer(Words{1, 2, 3});
  const ResidentHandle handle = buffer.handle();
  check_invalid({});
  check_invalid({handle.backend, handle.slot, handle.generation + 1});
  check_invalid({handle.backend, handle.slot, 0});
  check_invalid({handle.backend, handle.slot + 100'000, handle.generation});
  check_invalid({handle.backend, UINT32_MAX, UINT32_MAX});
  check_invalid({handle.backend + 1000, handle.slot, handle.generation});
  CHECK(buffer.words() == Words{1, 2, 3});
}

TEST_CASE("device buffers carry their name, size and backend") {
  const DeviceBuffer x = must(tested().allocate_device_buffer(40, "left"));
  const DeviceBuffer y = must(tested().allocate_device_buffer(40, "right"));
  CHECK(x.backend == tested().id());
  CHECK(x.bytes == 40);
  CHECK(x.label == "left");
  must(tested().upload_resident(x.resident, bytes_of(counting(10))));
  must(tested().upload_resident(y.resident, bytes_of(counting(10, 50))));
  const std::vector<DeviceBuffer> buffers{x, y};
  const DispatchTiming timing =
      must(tested().dispatch_device_buffers(valid_program(kAdd), buffers));
  CHECK(timing.wall_ns.has_value());
  Words expected(10);
  for (std::uint32_t i = 0; i < 10; ++i) expected[i] = 50 + 2 * i;
  CHECK(words_of(must(tested().download_resident(y.resident))) == expected);
  must(tested().free_device_buffer(x));
  CHECK(code_of(tested().free_device_buffer(x)) == ErrorCode::InvalidHandle);
  CHECK(code_of(tested().dispatch_device_buffers(valid_program(kAdd), buffers)) ==
        ErrorCode::InvalidHandle);
  must(tested().free_device_buffer(y));
}

TEST_CASE("a device buffer of another backend is refused") {
  const DeviceBuffer own = must(tested().allocate_device_buffer(8, "own"));
  DeviceBuffer renamed = own;
  renamed.backend = "another";
  const std::vector<DeviceBuffer> by_name{own, renamed};
  CHECK(code_of(tested().dispatch_device_buffers(valid_program(kAdd), by_name)) ==
        ErrorCode::InvalidHandle);
  CHECK(code_of(tested().free_device_buffer(renamed)) == ErrorCode::InvalidHandle);

  // Even if it claims to be of this kind.
  const auto other = make_reference_backend();
  DeviceBuffer foreign = must(other->allocate_device_buffer(8, "foreign"));
  foreign.backend = own.backend;
  const std::vector<DeviceBuffer> by_handle{own, foreign};
  CHECK(code_of(tested().dispatch_device_buffers(valid_program(kAdd), by_handle)) ==
        ErrorCode::InvalidHandle);
  CHECK(code_of(tested().free_device_buffer(foreign)) == ErrorCode::InvalidHandle);
  must(tested().free_device_buffer(own));
  must(other->free_device_buffer(foreign.backend == "reference"
                                     ? foreign
                                     : DeviceBuffer{"reference", 8, "", foreign.resident}));
}
