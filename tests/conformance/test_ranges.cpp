// Ranges of resident buffers as resources: what a program sees of them, and what stays untouched.
// The paths in support/dispatch_paths.h run every generated program on ranges of one buffer, too.
#include <array>

#include "conformance.h"
#include "support/dispatch_paths.h"

using namespace felsite;
using namespace felsite::test;

namespace {

constexpr std::byte kGuard{0xA5};

// The bytes of a buffer that were not in the range.
void check_untouched(const Bytes& bytes, std::uint64_t offset, std::uint64_t length) {
  for (std::uint64_t i = 0; i < bytes.size(); ++i) {
    if (i >= offset && i < offset + length) continue;
    CAPTURE(i);
    CHECK(bytes[i] == kGuard);
  }
}

ErrorCode refuses(const char* text, const ResidentResources& resources) {
  const ir::Program program = valid_program(text);
  const Error error = refused([&] { return tested().dispatch_resident(program, resources); });
  CHECK(error.context.program == program.name());
  // Bytes that are lent to an earlier step would need memory.
  const Bytes lent(16);
  const OnDevice y(Words(4));
  const std::vector<ResidentStep> steps{step(kAdd, {ResidentResource::of(lent), y.handle()}),
                                        step(text, resources)};
  CHECK(refused([&] { return tested().record_resident({.prefix = steps}); }).code == error.code);
  return error.code;
}

}  // namespace

TEST_CASE("ranges: every alignment and length of every element size") {
  const struct {
    const char* type;
    std::uint64_t bytes;
  } types[] = {{"u8", 1}, {"u16", 2}, {"u32", 4}, {"u64", 8}};
  for (const auto& type : types) {
    const ir::Program program =
        valid_program("program fill workgroup(4) { readwrite y: " + std::string(type.type) +
                      "[]; let i = invocation.x; if i < len(y) { y[i] = ~y[i]; } }");
    for (const std::uint64_t count : {0u, 1u, 3u, 4u, 5u, 9u}) {
      for (std::uint64_t first = 0; first < 20; ++first) {
        const std::uint64_t offset = first * type.bytes;
        const std::uint64_t length = count * type.bytes;
        CAPTURE(type.bytes);
        CAPTURE(offset);
        CAPTURE(length);
        const OnDevice buffer(Bytes(offset + length + 5, kGuard));
        must(tested().dispatch_resident(
            program, std::vector<ResidentResource>{{buffer.handle(), offset, length}},
            {.grid_override = {{3, 1, 1}}}));
        const Bytes bytes = buffer.bytes();
        check_untouched(bytes, offset, length);
        for (std::uint64_t i = 0; i < length; ++i) CHECK(bytes[offset + i] == ~kGuard);
      }
    }
  }
}

TEST_CASE("ranges: both sides of the alignments that devices ask for") {
  // A whole word of a range lies before and behind each offset at which a binding may begin.
  const ir::Program program = valid_program(kAdd);
  for (const std::uint64_t offset : {12u, 16u, 20u, 60u, 64u, 68u, 252u, 256u, 260u, 4096u}) {
    CAPTURE(offset);
    Words words(2000, 7);
    const OnDevice buffer(words);
    const std::uint64_t from = offset + 2048;
    must(tested().dispatch_resident(
        program,
        std::vector<ResidentResource>{{buffer.handle(), from, 40}, {buffer.handle(), offset, 40}}));
    for (std::size_t i = 0; i < 10; ++i) words[offset / 4 + i] = 14;
    CHECK(buffer.words() == words);
  }
}

TEST_CASE("ranges: a load past the end gives zero, and a store there changes nothing") {
  const OnDevice buffer(Words(16, 9));
  const OnDevice seen(Words(4, 1));
  const ir::Program program = valid_program(
      "program past workgroup(1) { readwrite y: u32[]; readwrite seen: u32[4];"
      " seen[0] = y[2]; seen[1] = y[3]; seen[2] = y[4000000000]; seen[3] = len(y);"
      " y[3] = 5; y[4000000000] = 5; }");
  must(tested().dispatch_resident(
      program, std::vector<ResidentResource>{{buffer.handle(), 4, 12}, {seen.handle()}}));
  CHECK(seen.words() == Words{9, 0, 0, 3});
  CHECK(buffer.words() == Words(16, 9));
}

TEST_CASE("ranges: a larger range than declared is seen as declared") {
  const OnDevice buffer(Words(16, 9));
  const OnDevice seen(Words(2, 1));
  const ir::Program program = valid_program(
      "program declared workgroup(1) { readwrite y: u32[3]; readwrite seen: u32[2];"
      " let past = seen[0]; seen[0] = y[2]; seen[1] = y[past + 2]; y[past + 2] = 5; y[1] = len(y); "
      "}");
  for (const ResidentResource& larger :
       {ResidentResource{buffer.handle()}, ResidentResource{buffer.handle(), 0, 40}}) {
    must(tested().upload_resident(buffer.handle(), bytes_of(Words(16, 9))));
    must(tested().upload_resident(seen.handle(), bytes_of(Words(2, 1))));
    must(tested().dispatch_resident(program,
                                    std::vector<ResidentResource>{larger, {seen.handle()}}));
    CHECK(seen.words() == Words{9, 0});
    Words expected(16, 9);
    expected[1] = 3;
    CHECK(buffer.words() == expected);
  }
}

TEST_CASE("ranges: fixpoints converge on a flag in a range, and on ranges alone") {
  const ir::Program flagged = valid_program(
      "program down workgroup(4) { readwrite y: u32[]; readwrite flag: u32[1];"
      " let i = invocation.x;"
      " if i < len(y) { if y[i] > 0 { y[i] = y[i] - 1; flag[0] = 1; } } }");
  for (const std::uint64_t offset : {0u, 4u, 64u, 68u}) {
    CAPTURE(offset);
    for (const bool automatic : {false, true}) {
      const OnDevice buffer(Words(60, 6));
      DispatchConfig config;
      config.fixpoint_iterations = 100;
      if (!automatic) config.convergence = {.kind = Convergence::Kind::Flag, .flag = "flag"};
      const auto timing = must(tested().dispatch_resident_timed(
          flagged,
          std::vector<ResidentResource>{{buffer.handle(), offset + 8, 20},
                                        {buffer.handle(), offset, 4}},
          config));
      CHECK(timing.converged);
      Words expected(60, 6);
      for (std::size_t i = 0; i < 5; ++i) expected[offset / 4 + 2 + i] = 0;
      expected[offset / 4] = automatic ? 1 : 0;  // cleared before each iteration
      CHECK(buffer.words() == expected);
    }
  }
}

TEST_CASE("ranges: a recorded sequence passes bytes from range to range") {
  // Each step reads what the one before wrote, in the same buffer, at offsets of every kind.
  Words words(40, 0);
  words[0] = 3;
  const OnDevice buffer(words);
  std::vector<ResidentStep> steps;
  for (std::uint32_t i = 0; i < 30; ++i) {
    steps.push_back(
        step(kAdd, {{buffer.handle(), i * 4ull, 4}, {buffer.handle(), i * 4ull + 4, 4}}));
    words[i + 1] += words[i];
  }
  std::vector<Bytes> outputs;
  const std::array reads{ResidentRange{buffer.handle()}};
  const auto recorded = must(tested().record_resident({.prefix = steps, .reads = reads}));
  must(recorded->run_into(outputs));
  CHECK(words_of(outputs[0]) == words);
  for (std::uint32_t i = 0; i < 30; ++i) words[i + 1] += words[i];
  must(recorded->run_into(outputs));
  CHECK(words_of(outputs[0]) == words);
}

TEST_CASE("ranges: a count that another step wrote decides an indirect grid") {
  const OnDevice buffer(Words(32, 0));
  const std::array steps{
      step("program decide workgroup(1) { readwrite g: u32[3]; g[0] = 3; g[1] = 1; g[2] = 1; }",
           {{buffer.handle(), 20, 12}}),
      step("program marks workgroup(1) { readonly g: u32[3]; readwrite y: u32[];"
           " indirect_dispatch(g[0]); y[workgroup_id.x] = 8; }",
           {{buffer.handle(), 20, 12}, {buffer.handle(), 36, 40}})};
  std::vector<Bytes> nothing;
  must(tested().submit_resident({.prefix = steps}, nothing));
  Words expected(32, 0);
  expected[5] = 3;
  expected[6] = expected[7] = 1;
  for (std::size_t i = 9; i < 12; ++i) expected[i] = 8;
  CHECK(buffer.words() == expected);
}

TEST_CASE("ranges that a step cannot take are refused before anything runs") {
  const OnDevice x(Words(8, 1));
  const OnDevice y(Words(8, 2));
  const auto at = [&](std::uint64_t offset, std::uint64_t length = kWholeSize) {
    return ResidentResource{x.handle(), offset, length};
  };
  CHECK(refuses(kGrow, {at(36)}) == ErrorCode::BadInputs);
  CHECK(refuses(kGrow, {at(0, 36)}) == ErrorCode::BadInputs);
  CHECK(refuses(kGrow, {at(8, UINT64_MAX - 3)}) == ErrorCode::BadInputs);
  CHECK(refuses(kGrow, {at(2, 4)}) == ErrorCode::BadInputs);
  CHECK(refuses(kGrow, {at(0, 6)}) == ErrorCode::BadInputs);
  CHECK(refuses(kAdd, {at(0, 8), at(4, 8)}) == ErrorCode::BadInputs);
  // And of the step itself: what is lent comes before what is refused.
  const Bytes lent(8);
  const ResidentResource of_caller = ResidentResource::of(lent);
  CHECK(refuses(kSaxpy, {of_caller, at(0, 8), at(4, 8)}) == ErrorCode::BadInputs);
  CHECK(refuses(kSaxpy, {of_caller, of_caller, at(2, 4)}) == ErrorCode::BadInputs);
  CHECK(refuses(kSaxpy, {of_caller, of_caller, at(36)}) == ErrorCode::BadInputs);
  CHECK(refuses(kAdd, {{y.handle()}, {ResidentHandle{}, 0, 4}}) == ErrorCode::InvalidHandle);
  const ResidentHandle freed = must(tested().allocate_resident(16));
  must(tested().free_resident(freed));
  CHECK(refuses(kGrow, {{freed, 4, 4}}) == ErrorCode::InvalidHandle);
  CHECK(x.words() == Words(8, 1));
  CHECK(y.words() == Words(8, 2));
}

TEST_CASE("ranges: no range of a static upload is written") {
  const auto backend = make_tested();
  const Bytes bytes(16);
  const std::array<ByteSpan, 1> payloads{bytes};
  const StaticUploads uploads = must(backend->acquire_static_uploads("ranges", payloads));
  const ResidentResource range{uploads.handles[0], 4, 4};
  CHECK(code_of(backend->dispatch_resident(valid_program(kGrow), std::vector{range})) ==
        ErrorCode::BadInputs);
  const OnDevice y(Words{5}, *backend);
  must(backend->dispatch_resident(valid_program(kAdd),
                                  std::vector<ResidentResource>{range, y.handle()}));
  CHECK(y.words() == Words{5});
  must(backend->release_static_uploads(uploads));
}
