// Inputs that are large enough for a device to work on the caller's own memory, and just too small
// for that: the bytes are right on every path, whatever the program does with them.
#include "conformance/conformance.h"
#include "support/difference.h"
#include "support/dispatch_paths.h"
#include "vk/plan/memory_strategy.h"

using namespace felsite;
using namespace felsite::test;

namespace {

constexpr std::uint64_t kLeast = vk::kMinImportedBytes;

// The program sees the last byte and one in between, so a wrong place or size shows; the word
// beside it is a neighbour that must not come out in its place.
struct Use {
  const char* name;
  const char* text;
  bool writes;
};
const Use kUses[] = {
    {"read-only",
     "program p workgroup(1) { readonly a: u8[]; readwrite beside: u32[]; output o: u32[3];"
     " o[0] = u32(a[5]); o[1] = u32(a[len(a) - 1]); o[2] = len(a); beside[0] = beside[0] + 1; }",
     false},
    {"read-write, only read",
     "program p workgroup(1) { readwrite a: u8[]; readwrite beside: u32[]; output o: u32[3];"
     " o[0] = u32(a[5]); o[1] = u32(a[len(a) - 1]); o[2] = len(a); beside[0] = beside[0] + 1; }",
     false},
    {"read-write, not even read",
     "program p workgroup(1) { readwrite a: u8[]; readwrite beside: u32[]; output o: u32[3];"
     " o[2] = len(a); beside[0] = beside[0] + 1; }",
     false},
    {"read-write, written",
     "program p workgroup(1) { readwrite a: u8[]; readwrite beside: u32[]; output o: u32[3];"
     " o[0] = u32(a[5]); o[1] = u32(a[len(a) - 1]); o[2] = len(a); beside[0] = beside[0] + 1;"
     " a[len(a) - 1] = u8(7); }",
     true},
};

Bytes noise(std::uint64_t size) {
  Bytes bytes(size);
  std::uint32_t state = 12345;
  for (std::byte& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

std::vector<Bytes> expected(const Use& use, const ir::Program& program, ByteSpan a) {
  std::vector<Bytes> results;
  const bool looks = std::string_view(use.name) != "read-write, not even read";
  for (const ir::BufferDecl& buffer : program.buffers()) {
    if (!ir::gives_result(ir::role_of(buffer))) continue;
    if (buffer.name == "a") {
      results.emplace_back(a.begin(), a.end());
      if (use.writes) results.back().back() = std::byte{7};
    } else if (buffer.name == "beside") {
      results.push_back(bytes_of(Words{42}));
    } else {
      const auto at = [&](std::size_t i) {
        return looks ? std::to_integer<std::uint32_t>(a[i]) : 0;
      };
      results.push_back(
          bytes_of(Words{at(5), at(a.size() - 1), static_cast<std::uint32_t>(a.size())}));
    }
  }
  return results;
}

void check_on_every_path(std::uint64_t size, std::size_t offset) {
  CAPTURE(size);
  CAPTURE(offset);
  const Bytes memory = noise(size + offset);
  const ByteSpan a = ByteSpan(memory).subspan(offset);
  const Bytes beside = bytes_of(Words{41});
  const std::vector<ByteSpan> inputs{a, beside};
  for (const Use& use : kUses) {
    CAPTURE(use.name);
    const ir::Program program = valid_program(use.text);
    for (const PathName& path : kPaths) {
      CAPTURE(path.name);
      const auto run = run_path(path.path, tested(), program, inputs, on_grid(1));
      REQUIRE_MESSAGE(run.has_value(), to_string(run.error()));
      CHECK(difference(program, expected(use, program, a), run->outputs) == "");
    }
    CHECK(memory == noise(size + offset));
  }
}

}  // namespace

TEST_CASE("large inputs give the right bytes on every path, at both sides of what is borrowed") {
  for (const std::uint64_t size : {kLeast - 1, kLeast, kLeast + 1, kLeast + 4096}) {
    check_on_every_path(size, 0);
  }
}

TEST_CASE("large inputs that begin anywhere give the right bytes on every path") {
  for (const std::size_t offset : {1u, 4u, 16u, 64u, 4095u}) {
    check_on_every_path(kLeast + 7, offset);
  }
}
