// Properties of the words and of the plain data beside them.
#include <algorithm>
#include <set>

#include "felsite/builder.h"
#include "felsite/kernel.h"
#include "support/program_generator.h"
#include "support/run_program.h"
#include "support/spirv_check.h"

using namespace felsite;
using namespace felsite::test;
using codegen::Feature;

namespace {

codegen::Kernel lowered(std::string_view text,
                        const codegen::Capabilities& mask = codegen::all_capabilities(),
                        const codegen::LowerOptions& options = {}) {
  auto kernel = codegen::lower(codegen::Segment(valid_program(text)), mask, options);
  REQUIRE_MESSAGE(kernel.has_value(), to_string(kernel.error()));
  CHECK(validation_message(kernel->words) == "");
  return *std::move(kernel);
}

std::string assembly(std::string_view text,
                     const codegen::Capabilities& mask = codegen::all_capabilities(),
                     const codegen::LowerOptions& options = {}) {
  return disassembly(lowered(text, mask, options).words);
}

std::size_t occurrences(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

constexpr std::string_view kSaxpy = R"(program saxpy workgroup(64) fast {
  uniform a: f32[1];
  readonly x: f32[];
  readwrite y: f32[];
  let i = invocation.x;
  if i < len(y) {
    y[i] = fma(a[0], x[i], y[i]);
  }
}
)";

}  // namespace

TEST_CASE("the same program and mask give the same words") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    ProgramGenerator generator(seed);
    generator.for_device(true, true, true);
    const std::string text = generator.text();
    INFO("seed " << seed << "\n" << text);
    CHECK(lowered(text).words == lowered(text).words);
  }
}

TEST_CASE("capabilities and extensions are declared only when used") {
  const std::string plain = assembly("program p workgroup(1) fast { output o: u32[1]; o[0] = 1; }",
                                     codegen::all_capabilities().without(Feature::MemoryModel));
  CHECK(occurrences(plain, "OpCapability") == 1);
  CHECK(occurrences(plain, "OpExtension") == 0);
  CHECK(occurrences(plain, "OpExtInstImport") == 0);
  CHECK(occurrences(assembly("program p workgroup(1) { output o: u8[1]; o[0] = 1; }"),
                    "StorageBuffer8BitAccess") == 1);
  CHECK(occurrences(assembly("program p workgroup(1) { output o: u64[1]; o[0] = 1u64; }"),
                    "OpCapability Int64\n") == 1);
}

TEST_CASE("names and lines are kept, and can be stripped") {
  const std::string text = assembly(kSaxpy);
  for (const char* name : {"%x", "%y", "%i ", "%saxpy", "OpLine", "OpString"}) {
    CAPTURE(name);
    CHECK(occurrences(text, name) > 0);
  }
  codegen::LowerOptions stripped;
  stripped.names = false;
  const std::string bare = assembly(kSaxpy, codegen::all_capabilities(), stripped);
  CHECK(occurrences(bare, "OpName") == 0);
  CHECK(occurrences(bare, "OpLine") == 0);
  CHECK(occurrences(bare, "OpString") == 0);
  CHECK(lowered(kSaxpy, codegen::all_capabilities(), stripped).words.size() <
        lowered(kSaxpy).words.size());
}

TEST_CASE("bindings, parameters and the workgroup size come as plain data") {
  const codegen::Kernel kernel = lowered(R"(program data workgroup(8, 4) {
  readonly a: u32[] binding(7);
  workgroup t: u32[4];
  readonly unused: u32[];
  readwrite b: f32[] binding(3);
  output c: u32[16];
  t[0] = a[0];
  c[local.x] = len(b) + num_workgroups.y + t[0];
}
)");
  // Dense, in the order of declaration; what is not accessed is not bound.
  CHECK(kernel.buffers == std::vector<codegen::BufferBinding>{{0, 0, false}, {4, 3, true}});
  using codegen::ParameterKind;
  std::vector<codegen::Parameter> parameters = kernel.parameters;
  std::ranges::sort(parameters, {}, [](const auto& p) { return std::pair(p.kind, p.ref); });
  CHECK(parameters ==
        std::vector<codegen::Parameter>{{ParameterKind::Grid, 1}, {ParameterKind::Length, 3}});
  CHECK(kernel.workgroup_size == Extent3{8, 4, 1});
  CHECK(kernel.shared_bytes == 16);
  CHECK(!kernel.status_binding.has_value());
  CHECK(!kernel.parameter_binding.has_value());
}

TEST_CASE("parameters of a segment are no memory") {
  codegen::Segment segment(valid_program(R"(program p workgroup(8) {
  readonly a: u32[];
  readonly given: u32[3];
  output o: u32[16];
  o[local.x] = a[0] + given[2] + given[0] + given[2] + given[3] + len(given);
}
)"));
  segment.parameters = 1;
  const auto kernel = codegen::lower(segment, codegen::no_capabilities());
  REQUIRE_MESSAGE(kernel.has_value(), to_string(kernel.error()));
  CHECK(validation_message(kernel->words) == "");
  CHECK(kernel->buffers == std::vector<codegen::BufferBinding>{{0, 0, false}, {2, 1, true}});
  using codegen::ParameterKind;
  CHECK(kernel->parameters == std::vector<codegen::Parameter>{{ParameterKind::Length, 0},
                                                              {ParameterKind::Variable, 2},
                                                              {ParameterKind::Variable, 0}});
}

TEST_CASE("proven indices need no check") {
  const codegen::Capabilities mask = codegen::no_capabilities();
  const auto checks = [&](std::string_view body) {
    const std::string text = fmt::format(R"(program p workgroup(64) fast {{
  readonly x: u32[];
  readwrite y: u32[];
  output o: u32[64];
  workgroup t: u32[64];
  let i = invocation.x;
  let l = local.x;
  {}
}}
)",
                                         body);
    // A checked load selects twice, the index and the value; a checked store branches.
    const std::string code = assembly(text, mask);
    return occurrences(code, "OpSelect ") + occurrences(code, "OpSelectionMerge");
  };
  CHECK(checks("o[63] = t[0] + t[l] + o[l & 31];") == 0);
  CHECK(checks("o[l] = x[i];") == 2);
  CHECK(checks("if i < len(y) { y[i] = y[i]; }") == 1);  // the program's own
  CHECK(checks("if i < len(x) { y[i] = x[i]; }") == 2);
  CHECK(checks("if i >= len(y) { return; } y[i] = y[i] + 1;") == 1);
  CHECK(checks("if i > 0 && i + 1 < len(y) { y[i] = y[i - 1] + y[i] + y[i + 1]; }") == 1);
  CHECK(checks("if i + 1 < len(y) { y[i] = y[i - 1]; }") == 3);
  CHECK(checks("loop k in 0..len(x) { t[l] = t[l] + x[k]; }") == 0);
  CHECK(checks("loop k in 0..64 { t[k] = t[63 - k]; }") == 0);
  CHECK(checks("let ok = i < len(y); if ok { y[i] = 1; }") == 1);
  // Both sides are evaluated, so the first does not guard the second.
  CHECK(checks("if i < len(y) && y[i] > 3 { y[i] = 1; }") == 3);
  // An assigned variable is never known.
  CHECK(checks("let j = 0; if j < len(y) { j = j + 5; y[j] = 1; }") == 2);
  // What wraps around is not below anything.
  CHECK(checks("let j = x[l & 1]; if j + 1 < len(y) { y[j] = 1; }") > 1);
}

TEST_CASE("workgroup memory is zeroed unless the program fills it before anything sees it") {
  const auto zeroes = [](std::string_view body, std::string_view size = "64") {
    const codegen::Kernel kernel = lowered(fmt::format(R"(program p workgroup({}) {{
  readwrite x: u32[];
  workgroup t: u32[64];
  {}
  barrier;
  x[invocation.x] = t[63 - local.x];
}}
)",
                                                       size, body));
    const bool zeroed = occurrences(disassembly(kernel.words), "OpLoopMerge") != 0;
    CHECK(kernel.workgroup_size_is_fixed == !zeroed);
    return zeroed;
  };
  CHECK(!zeroes("t[local.x] = x[0];"));
  CHECK(!zeroes("let l = local.x; { let m = l; t[m] = x[0]; }"));
  CHECK(zeroes(""));
  CHECK(zeroes("t[local.x] = t[0];"));
  CHECK(zeroes("t[local.x + 1] = 3;"));
  CHECK(zeroes("t[local.x] = 3;", "32"));
  CHECK(zeroes("t[local.x] = 3;", "64, 2"));
  CHECK(zeroes("if x[0] > 3 { t[local.x] = 3; }"));
  CHECK(zeroes("if x[0] > 3 { return; } t[local.x] = 3;"));
  CHECK(zeroes("let y = t[5]; t[local.x] = y;"));
  CHECK(zeroes("let l = local.x; l = l / 2; t[l] = 3;"));
}

TEST_CASE("lets are values, and only assigned locals are variables") {
  const std::string code = assembly(R"(program p workgroup(1) {
  output o: u32[4];
  let a = o[0] + 1;
  let b = a * 2;
  let c = b;
  if b > 3 {
    c = c + a;
  }
  o[1] = c;
}
)");
  CHECK(occurrences(code, "OpVariable %_ptr_Function_uint") == 1);
}

TEST_CASE("built programs, without lines, lower too") {
  ir::Builder builder("built", {64});
  ir::Buffer x = builder.readwrite("x", ir::Type::U32);
  x[builder.invocation(0)] = x[builder.invocation(0)] + 1u;
  const auto program = builder.build();
  REQUIRE(program.has_value());
  const auto kernel =
      codegen::lower(codegen::Segment(valid(*program)), codegen::all_capabilities());
  REQUIRE(kernel.has_value());
  CHECK(validation_message(kernel->words) == "");
  CHECK(occurrences(disassembly(kernel->words), "OpLine") == 0);
}

TEST_CASE("deep and long programs are lowered without recursion and in linear space") {
  std::string deep = "a[0]";
  for (int i = 0; i < 1000; ++i) deep = "(" + deep + " + 1)";
  CHECK(
      lowered("program p workgroup(1) { readwrite a: u32[]; a[0] = " + deep + "; }").words.size() >
      3000);
  std::string nested = "a[0] = a[0] + 1;";
  for (int i = 0; i < 250; ++i) nested = "if a[0] > " + std::to_string(i) + " { " + nested + " }";
  CHECK(lowered("program p workgroup(1) { readwrite a: u32[]; " + nested + " }").words.size() >
        3000);
  const auto size = [](int statements) {
    std::string text = "program p workgroup(1) { readwrite a: f32[]; let x = a[0];\n";
    for (int i = 0; i < statements; ++i) text += "x = x / (a[1] + sin(x));\n";
    return lowered(text + "a[2] = x; }").words.size();
  };
  // Long expansions are functions of the module, so that a use is a call.
  CHECK(size(400) < size(200) + 200 * 150);
}
