// What a program does to memory: which buffers it writes, and whether invocations communicate.
#include <fmt/format.h>

#include "codegen/plan/plan.h"
#include "support/parse.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// "writes y; shares t; communicates": the buffers that are written, the workgroup buffers in use.
std::string memory_of(std::string_view statements,
                      std::optional<codegen::IterationLoop> iterations = std::nullopt) {
  codegen::Segment segment(valid_program(fmt::format(
      "program p workgroup(4) {{ readwrite x: u32[4]; readwrite y: u32[]; workgroup t: u32[4]; "
      "workgroup u: u32[4]; {} }}",
      statements)));
  if (iterations) {
    segment.one_workgroup = codegen::OneWorkgroup{.grid = {1, 1, 1}, .iterations = iterations};
  }
  const codegen::MemoryUse use = codegen::memory_use(segment, segment.program.entry());
  std::string text = "writes";
  for (ir::BufferId id = 0; id < use.written.size(); ++id) {
    if (use.written[id]) text += " " + segment.program.buffer(id).name;
  }
  text += "; shares";
  for (const ir::BufferId id : use.workgroup_buffers) text += " " + segment.program.buffer(id).name;
  CHECK(use.workgroup_memory == (!use.workgroup_buffers.empty() || iterations.has_value()));
  return text + (use.invocations_communicate ? "; communicates" : "");
}

}  // namespace

TEST_CASE("memory use: stores, atomics and copies write") {
  CHECK(memory_of("let v = x[0] + y[0];") == "writes; shares");
  CHECK(memory_of("y[0] = x[0];") == "writes y; shares");
  CHECK(memory_of("atomic_add(x[0], 1);") == "writes x; shares; communicates");
  CHECK(memory_of("if x[0] > 3 { y[0] = 1; }") == "writes y; shares");
  CHECK(memory_of("async_store(y[0], t[0], 1, q); async_wait(q);") == "writes y; shares t");
}

TEST_CASE("memory use: workgroup buffers count where they are read or written") {
  CHECK(memory_of("x[0] = t[0];") == "writes x; shares t");
  CHECK(memory_of("u[0] = 1;") == "writes u; shares u");
  CHECK(memory_of("u[0] = t[0];") == "writes u; shares t u");
  CHECK(memory_of("x[0] = len(t);") == "writes x; shares");
}

TEST_CASE("memory use: invocations communicate through barriers and atomics") {
  CHECK(memory_of("x[0] = 1; barrier;") == "writes x; shares; communicates");
  CHECK(memory_of("x[0] = 1; gridsync;") == "writes x; shares; communicates");
}

TEST_CASE("memory use: iterations write their control words, and communicate") {
  codegen::IterationLoop iterations;  // its control is the first buffer
  CHECK(memory_of("y[0] = 1;", iterations) == "writes x y; shares; communicates");
  CHECK(memory_of("let v = y[0];", iterations) == "writes x; shares; communicates");
  iterations.changed = 1;
  CHECK(memory_of("let v = y[0];", iterations) == "writes x y; shares; communicates");
}
