// Workgroup memory starts as zeros. The kernel writes them unless each invocation stores to its own
// element first, and the invocations cover the buffer.
#include <fmt/format.h>

#include "ir/analysis/workgroup_memory.h"
#include "support/parse.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// The buffers that are zeroed: "t u".
std::string zeroed_of(std::string_view body, std::string_view size = "64") {
  const ir::Program program = valid_program(fmt::format(
      "program p workgroup({}) {{ readwrite x: u32[]; workgroup t: u32[64]; workgroup u: u32[8]; "
      "{} }}",
      size, body));
  const auto used = ir::used_workgroup_buffers(program, ir::effects_of(program, program.entry()));
  std::string text;
  for (const ir::BufferId id : ir::buffers_to_zero(program, program.entry(), used)) {
    text += (text.empty() ? "" : " ") + program.buffer(id).name;
  }
  return text;
}

}  // namespace

TEST_CASE("zeroing: only buffers in use, and those that were not filled") {
  CHECK(zeroed_of("x[0] = 1;") == "");
  CHECK(zeroed_of("x[0] = t[0] + u[0];") == "t u");
  CHECK(zeroed_of("u[0] = 1;") == "u");
  CHECK(zeroed_of("t[local.x] = 1; u[local.x + 1] = 2;") == "u");
  CHECK(zeroed_of("t[local.x] = 1; u[local.x] = 2; barrier; x[0] = t[3] + u[3];") == "");
}

TEST_CASE("zeroing: the invocations of the workgroup must cover the buffer along x") {
  CHECK(zeroed_of("t[local.x] = 1;", "64") == "");
  CHECK(zeroed_of("t[local.x] = 1;", "65") == "");
  CHECK(zeroed_of("t[local.x] = 1;", "63") == "t");
  CHECK(zeroed_of("t[local.x] = 1;", "64, 2") == "t");
  CHECK(zeroed_of("t[local.x] = 1;", "64, 1, 2") == "t");
}

TEST_CASE("zeroing: the index is local.x or a name for it") {
  CHECK(zeroed_of("let l = local.x; t[l] = 1;") == "");
  CHECK(zeroed_of("let l = local.x; let m = l; { t[m] = 1; }") == "");
  CHECK(zeroed_of("let l = local.x; t[l] = 1; l = 3;") == "t");
  CHECK(zeroed_of("let l = local.x + 0; t[l] = 1;") == "t");
  for (const char* index : {"local.y", "local.z", "invocation.x", "workgroup_id.x", "63 - local.x",
                            "0", "subgroup_lane"}) {
    CAPTURE(index);
    CHECK(zeroed_of(fmt::format("t[{}] = 1;", index)) == "t");
  }
}

TEST_CASE("zeroing: a buffer that is read or changed before shows its zeros") {
  CHECK(zeroed_of("t[local.x] = t[0];") == "t");
  CHECK(zeroed_of("let v = t[0]; t[local.x] = v;") == "t");
  CHECK(zeroed_of("x[t[0]] = 1; t[local.x] = 1;") == "t");
  CHECK(zeroed_of("let v = 0; v = t[0]; t[local.x] = v;") == "t");
  CHECK(zeroed_of("let v = atomic_add(t[0], 1); t[local.x] = v;") == "t");
  CHECK(zeroed_of("t[0] = 1; t[local.x] = 1;") == "t");
  CHECK(zeroed_of("t[local.x] = 1; t[0] = 1;") == "");
  CHECK(zeroed_of("t[local.x] = 1; let v = atomic_add(t[0], 1);") == "");
}

TEST_CASE("zeroing: only statements that all invocations run, and run once, fill") {
  CHECK(zeroed_of("let v = 1; v = 2; x[0] = v; { region \"r\" { t[local.x] = 1; } }") == "");
  CHECK(zeroed_of("if x[0] > 3 { t[local.x] = 1; }") == "t");
  CHECK(zeroed_of("loop k in 0..x[0] { t[local.x] = 1; }") == "t");
  CHECK(zeroed_of("if x[0] > 3 { return; } t[local.x] = 1;") == "t");
  CHECK(zeroed_of("if x[0] > 3 { trap(0, stop); } t[local.x] = 1;") == "t");
  CHECK(zeroed_of("{ if x[0] > 3 { return; } } t[local.x] = 1;") == "t");
  CHECK(zeroed_of("loop k in 0..2 { x[k] = u[k]; } t[local.x] = 1;") == "t u");
  CHECK(zeroed_of("async_load(t[0], x[0], 4, copy); async_wait(copy);") == "t");
}
