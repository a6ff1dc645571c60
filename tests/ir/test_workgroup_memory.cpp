// Which workgroup buffers are used, and whose zeros at the start a program can see.
#include <fmt/format.h>

#include "ir/analysis/workgroup_memory.h"
#include "support/parse.h"

using namespace felsite::ir;
using felsite::test::parsed;

namespace {

// "used: st zeroed: t", of two buffers of four and eight elements in a workgroup of four.
std::string fate(std::string_view body, std::string_view size = "4") {
  const Program program = parsed(fmt::format(R"(program p workgroup({}) {{
    readwrite a: u32[]; workgroup s: u32[4]; workgroup t: u32[8];
    {} }})",
                                             size, body));
  const auto names = [&](const std::vector<BufferId>& buffers) {
    std::string text;
    for (const BufferId id : buffers) text += program.buffer(id).name;
    return text.empty() ? "none" : text;
  };
  const auto used = used_workgroup_buffers(program, effects_of(program, program.entry()));
  return fmt::format("used: {} zeroed: {}", names(used),
                     names(buffers_to_zero(program, program.entry(), used)));
}

}  // namespace

TEST_CASE("workgroup buffers that are stored to, loaded or changed atomically are used") {
  CHECK(fate("a[0] = 1;") == "used: none zeroed: none");
  CHECK(fate("a[0] = t[1];") == "used: t zeroed: t");
  CHECK(fate("s[1] = 1;") == "used: s zeroed: s");
  CHECK(fate("atomic_add(s[0], 1);") == "used: s zeroed: s");
}

TEST_CASE("a buffer that every invocation fills before anybody looks needs no zeros") {
  const char* const rest = " barrier; a[0] = s[3];";
  const auto filled = [&](std::string_view before) {
    return fate(std::string(before) + rest) == "used: s zeroed: none";
  };
  CHECK(filled("s[local.x] = 1;"));
  CHECK(filled("let i = local.x; s[i] = i;"));
  CHECK(filled("{ s[local.x] = a[0]; }"));
  CHECK_FALSE(filled("s[local.x + 1] = 1;"));
  CHECK_FALSE(filled("s[local.y] = 1;"));
  CHECK_FALSE(filled("if a[0] == 0 { s[local.x] = 1; }"));
  CHECK_FALSE(filled("if a[0] == 0 { return; } s[local.x] = 1;"));
  CHECK_FALSE(filled("s[local.x] = s[0];"));
  CHECK_FALSE(filled("let i = local.x; i = 0; s[i] = 1;"));
}

TEST_CASE("whether a store fills a buffer depends on the workgroup's size") {
  CHECK(fate("t[local.x] = 1;", "8") == "used: t zeroed: none");
  CHECK(fate("t[local.x] = 1;", "4") == "used: t zeroed: t");
  CHECK(fate("t[local.x] = 1;", "8, 2") == "used: t zeroed: t");
}
