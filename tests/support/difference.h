// Where the results of two runs of one program differ, in words.
#pragma once

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

#include "felsite/dispatch.h"
#include "felsite/program.h"

namespace felsite::test {

// The first element in which the results differ; empty if there is none.
inline std::string difference(const ir::Program& program, const std::vector<Bytes>& expected,
                              const std::vector<Bytes>& found) {
  if (expected.size() != found.size()) {
    return fmt::format("{} results are expected, {} came", expected.size(), found.size());
  }
  std::size_t result = 0;
  for (const ir::BufferDecl& buffer : program.buffers()) {
    if (!ir::gives_result(ir::role_of(buffer))) continue;
    if (result == expected.size()) return buffer.name + " has no expected value";
    const Bytes& want = expected[result];
    const Bytes& have = found[result++];
    if (want == have) continue;
    if (want.size() != have.size()) {
      return fmt::format("{} should have {} bytes and has {}", buffer.name, want.size(),
                         have.size());
    }
    const std::size_t bytes = ir::info(buffer.element).bytes;
    for (std::size_t at = 0; at < want.size(); at += bytes) {
      if (std::memcmp(&want[at], &have[at], bytes) == 0) continue;
      std::uint64_t a = 0;
      std::uint64_t b = 0;
      std::memcpy(&a, &want[at], bytes);
      std::memcpy(&b, &have[at], bytes);
      return fmt::format("{}[{}] should be {:#x} and is {:#x}", buffer.name, at / bytes, a, b);
    }
  }
  return "";
}

}  // namespace felsite::test
