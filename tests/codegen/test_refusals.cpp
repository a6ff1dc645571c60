// What cannot be lowered is refused before anything is written: by feature, place, limit, request.
#include <fmt/format.h>

#include "felsite/kernel.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;
using codegen::Capabilities;
using codegen::Feature;

namespace {

Error refusal(const ir::Program& program, const Capabilities& mask) {
  const auto kernel = codegen::lower(codegen::Segment(valid(program)), mask);
  REQUIRE(!kernel.has_value());
  CHECK(to_string(kernel.error()).find("Fix: ") != std::string::npos);
  return kernel.error();
}

Error refusal(std::string_view text, const Capabilities& mask) {
  return refusal(valid_program(text), mask);
}

bool says(const Error& error, std::string_view part) {
  return error.message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("codegen takes nothing that was not validated") {
  static_assert(!std::is_constructible_v<codegen::Segment, ir::Program>);
  static_assert(std::is_constructible_v<codegen::Segment, ir::ValidProgram>);
  CHECK(!ir::validated(ir::Program()));
}

TEST_CASE("a missing feature is named, with the place of its use") {
  const Capabilities all = codegen::all_capabilities();
  struct Case {
    Feature feature;
    const char* text;
    const char* place;
  };
  static constexpr Case kCases[] = {
      {Feature::Float64, "program p workgroup(1) {\n  readwrite x: f64[];\n  x[0] = x[1];\n}\n",
       "line 3, column 10"},
      {Feature::Atomics64,
       "program p workgroup(1) {\n  readwrite x: u64[];\n  atomic_add(x[0], 1u64);\n}\n",
       "line 3, column 3"},
      {Feature::SharedAtomics64,
       "program p workgroup(1) {\n  output o: u32[1];\n  workgroup x: i64[1];\n"
       "  o[0] = u32(atomic_or(x[0], 1i64));\n}\n",
       "line 4, column 14"},
      {Feature::FloatAtomicAdd,
       "program p workgroup(1) {\n  readwrite x: f32[];\n  atomic_add(x[0], 1.0);\n}\n",
       "line 3, column 3"},
      {Feature::SharedFloatAtomicAdd,
       "program p workgroup(1) {\n  output o: f32[1];\n  workgroup x: f32[1];\n"
       "  o[0] = atomic_add(x[0], 1.0);\n}\n",
       "line 4, column 10"},
      {Feature::Float64,
       "program p workgroup(1) {\n  readonly x: f64[];\n  output o: u32[1];\n  workgroup t: "
       "f64[4];\n"
       "  async_load(t[0], x[0], 4, fetch);\n  async_wait(fetch);\n  o[0] = 1;\n}\n",
       "line 5, column 3"},
  };
  for (const Case& c : kCases) {
    CAPTURE(c.text);
    CHECK(codegen::lower(codegen::Segment(valid_program(c.text)), all).has_value());
    const Error error = refusal(c.text, all.without(c.feature));
    CHECK(error.code == ErrorCode::UnsupportedFeature);
    CHECK(says(error, codegen::info(c.feature).name));
    CHECK(says(error, c.place));
    CHECK(error.context.program == "p");
  }
}

TEST_CASE("subgroup operations without the features: only where all invocations come together") {
  const Capabilities mask = codegen::all_capabilities().without(Feature::LinearSubgroups);
  CHECK(codegen::lower(codegen::Segment(valid_program(R"(program p workgroup(32) {
  readwrite x: u32[];
  x[local.x] = subgroup_add(x[local.x]);
})")),
                       mask)
            .has_value());
  CHECK(says(refusal(R"(program p workgroup(32) {
  readwrite x: u32[];
  if x[local.x] > 3 {
    x[local.x] = subgroup_add(x[local.x]);
  }
})",
                     mask),
             "divergent"));
  CHECK(says(refusal(R"(program p workgroup(32) {
  readwrite x: u32[];
  if x[local.x] > 3 {
    return;
  }
  x[local.x] = subgroup_add(x[local.x]);
})",
                     mask),
             "divergent"));
}

TEST_CASE("grid barriers and collectives are for the splitter") {
  CHECK(says(refusal("program p workgroup(1) { readwrite x: u32[]; x[0] = 1; gridsync; x[1] = 2; }",
                     codegen::all_capabilities()),
             "grid_sync"));
  CHECK(says(refusal("program p workgroup(1) { readwrite x: u32[]; all_reduce.add(x); }",
                     codegen::all_capabilities()),
             "collectives"));
}

TEST_CASE("a copy that may be issued again before it is waited for is refused") {
  constexpr const char* kText = R"(program p workgroup(1) {{
  readonly x: u32[];
  output o: u32[8];
  workgroup t: u32[8];
  loop k in 0..4 {{
    {}
    async_load(t[k], x[k], 1, fetch);
    {}
  }}
  async_wait(fetch);
  o[0] = t[0];
}}
)";
  const Capabilities all = codegen::all_capabilities();
  const auto lowers = [&](const char* before, const char* behind) {
    const ir::Program program = valid_program(fmt::format(fmt::runtime(kText), before, behind));
    return codegen::lower(codegen::Segment(valid(program)), all).has_value();
  };
  CHECK(!lowers("", ""));
  CHECK(!lowers("", "if k > 1 { async_wait(fetch); }"));
  CHECK(lowers("", "async_wait(fetch);"));
  CHECK(lowers("async_wait(fetch);", ""));
}

TEST_CASE("parameters that are not read as such are refused") {
  const auto refusal_of = [](std::string_view declaration, std::string_view body) -> std::string {
    const ir::Program program = valid_program(
        fmt::format("program p workgroup(1) {{ {}; readwrite x: u32[]; workgroup t: u32[4]; {} }}",
                    declaration, body));
    codegen::Segment segment(valid(program));
    segment.parameters = 0;
    const auto kernel = codegen::lower(segment, codegen::all_capabilities());
    if (kernel) return "";
    CHECK(kernel.error().code == ErrorCode::InvalidProgram);
    CHECK(!kernel.error().fix.empty());
    return kernel.error().message;
  };
  constexpr const char* kGood = "readonly p: u32[4]";
  CHECK(refusal_of(kGood, "x[0] = p[1];") == "");
  CHECK(refusal_of("uniform p: u32[4]", "x[0] = p[1];") == "");
  CHECK(refusal_of(kGood, "let i = 1 + 2; x[0] = p[i - 1] + p[9] + len(p);") == "");
  for (const char* declaration :
       {"readonly p: u32[]", "readonly p: f32[4]", "readwrite p: u32[4]", "output p: u32[4]"}) {
    CAPTURE(declaration);
    CHECK(refusal_of(declaration, "x[0] = len(p);").find("`p` cannot hold") == 0);
  }
  for (const char* body :
       {"x[0] = p[local.x];", "let i = x[1]; x[0] = p[i];", "let i = 1; i = 2; x[0] = p[i];",
        "loop k in 0..2 { x[0] = p[k]; }", "async_load(t[0], p[0], 1, copy); async_wait(copy);"}) {
    CAPTURE(body);
    CHECK(refusal_of(kGood, body).find("literal") != std::string::npos);
  }
  codegen::Segment segment(valid_program("program p workgroup(1) { return; }"));
  segment.parameters = 0;
  CHECK(!codegen::lower(segment, codegen::all_capabilities()).has_value());
}

TEST_CASE("limits of the device: workgroup size, memory and buffers, with limit and request") {
  const auto check = [](const char* text, auto change, std::uint64_t requested,
                        std::uint64_t available) {
    Capabilities mask = codegen::all_capabilities();
    change(mask.limits);
    CAPTURE(text);
    const Error error = refusal(text, mask);
    CHECK(error.code == ErrorCode::UnsupportedFeature);
    CHECK(error.context.requested == requested);
    CHECK(error.context.available == available);
  };
  constexpr const char* kWide = "program p workgroup(300, 2) { output o: u32[1]; o[0] = 1; }";
  check(
      kWide, [](auto& limits) { limits.workgroup_invocations = 512; }, 600, 512);
  check(
      kWide, [](auto& limits) { limits.workgroup_size[0] = 256; }, 300, 256);
  check(
      "program p workgroup(1) { output o: u32[1]; workgroup t: u32[5000]; o[0] = t[0]; }",
      [](auto& limits) { limits.shared_bytes = 16384; }, 20000, 16384);
  check(
      "program p workgroup(1) { readonly a: u32[]; readonly b: u32[]; output o: u32[1]; "
      "o[0] = a[0] + b[0]; }",
      [](auto& limits) { limits.storage_buffers = 2; }, 3, 2);
}

TEST_CASE("the mask's own language") {
  const auto mask = codegen::apply_mask(codegen::all_capabilities(),
                                        "none,int64,storage8,-int64,spirv=1.5,subgroup=8,"
                                        "loop_budget=100,folds_float_zeros");
  REQUIRE(mask.has_value());
  CHECK(mask->features.count() == 1);
  CHECK(mask->has(Feature::Storage8));
  CHECK(mask->spirv_version == 0x0001'0500);
  CHECK(mask->subgroup_size == 8);
  CHECK(mask->loop_budget == 100);
  CHECK(mask->folds_float_zeros);
  for (const char* wrong : {"int65", "spirv=1.2", "spirv=2.0", "subgroup=0", "subgroup=x",
                            "loop_budget=-1", ",", "int64,,float64", "--int64", "-all"}) {
    CAPTURE(wrong);
    const auto refused = codegen::apply_mask(codegen::all_capabilities(), wrong);
    REQUIRE(!refused.has_value());
    CHECK(refused.error().code == ErrorCode::BadInputs);
    CHECK(!refused.error().fix.empty());
  }
}

TEST_CASE("the storage buffers that Felsite adds are counted apart from the program's") {
  Capabilities mask = codegen::all_capabilities();
  mask.limits.storage_buffers = 2;
  const char* const two =
      "program two workgroup(1) { readonly a: u32[1]; readwrite b: u32[1]; b[0] = a[0]; }";
  CHECK(codegen::lower(codegen::Segment(valid_program(two)), mask).has_value());
  const Error status = refusal(
      "program two workgroup(1) { readonly a: u32[1]; readwrite b: u32[1];"
      " if a[0] == 1 { trap(1, bad); } b[0] = a[0]; }",
      mask);
  CHECK(says(status, "3 storage buffers (2 of its own, and Felsite adds 1 for traps"));
  CHECK(status.context.requested == 3);
  CHECK(status.context.available == 2);
  const Error kept = refusal(
      "program cut workgroup(1) { readonly a: u32[1]; readwrite b: u32[1];"
      " readwrite felsite_spill: u32[1]; b[0] = a[0] + felsite_spill[0]; }",
      mask);
  CHECK(says(kept, "2 of its own, and Felsite adds 1 for what lives across grid barriers"));
  CHECK(kept.fix.find("grid barriers") != std::string::npos);
  const Error own = refusal(
      "program three workgroup(1) { readonly a: u32[1]; readonly c: u32[1]; readwrite b: u32[1];"
      " b[0] = a[0] + c[0]; }",
      mask);
  CHECK(says(own, "3 storage buffers, and the device has 2"));
}
