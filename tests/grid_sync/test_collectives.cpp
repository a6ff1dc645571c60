// Collectives of one rank, in every form and on every path: those without a source are the
// identity, the others copy. They are acts of the whole grid: they see all writes before them, and
// happen though invocations have returned.
#include "grid_sync/forms.h"
#include "support/difference.h"
#include "support/dispatch_paths.h"

using namespace felsite;
using namespace felsite::test;

namespace {

struct Case {
  const char* name;
  const char* text;
  std::vector<Bytes> inputs;
  DispatchConfig config;
  std::vector<Bytes> outputs;
  bool copies = true;  // one workgroup does not copy for those that have returned
  std::uint32_t iterations = 1;
};

std::vector<Case> cases() {
  // A NaN with a payload, a subnormal, one below zero: a copy keeps their bits.
  const Words odd_floats{0x7FC0'0001, 1, 0x3F80'0000, 0x8000'0001, 0xFF80'0001};
  std::vector<Case> all;
  for (const char* op : {"all_reduce.add(a);", "all_reduce.max(a);", "broadcast(a, 0);"}) {
    static std::vector<std::string> texts;
    texts.reserve(8);
    texts.push_back(std::string("program p workgroup(4) { readwrite a: u32[]; output o: u32[8];"
                                " let i = invocation.x; a[i] = a[i] * 3; ") +
                    op + " o[i] = a[7 - i]; }");
    all.push_back({"identity",
                   texts.back().c_str(),
                   {bytes_of(counting(8))},
                   on_grid(2),
                   {bytes_of(each(8, [](std::uint32_t i) { return 3 * i; })),
                    bytes_of(each(8, [](std::uint32_t i) { return 3 * (7 - i); }))},
                   /*copies=*/false});
  }
  all.push_back({"a copy sees every write before it",
                 R"(program p workgroup(4) {
    output a: u32[16]; output b: u32[16]; output c: u32[16];
    a[15 - invocation.x] = invocation.x;
    all_gather(b, a);
    c[invocation.x] = b[(invocation.x + 5) % 16];
  })",
                 {},
                 on_grid(4),
                 {bytes_of(each(16, [](std::uint32_t i) { return 15 - i; })),
                  bytes_of(each(16, [](std::uint32_t i) { return 15 - i; })),
                  bytes_of(each(16, [](std::uint32_t i) { return 15 - (i + 5) % 16; }))}});
  all.push_back({"a copy happens though all have returned",
                 R"(program p workgroup(2) {
    readonly a: u32[]; output b: u32[4];
    if local.x < 5 { return; }
    all_gather(b, a);
  })",
                 {bytes_of(counting(4, 3))},
                 on_grid(1),
                 {bytes_of(counting(4, 3))}});
  all.push_back({"who returned stays returned behind a copy",
                 R"(program p workgroup(4) {
    readwrite a: u32[8]; output b: u32[8]; output c: u32[8];
    let i = invocation.x;
    let mine = a[i];
    a[i] = mine + 1;
    if mine % 2 == 1 { return; }
    reduce_scatter.add(b, a);
    c[i] = mine + b[7 - i];
  })",
                 {bytes_of(counting(8))},
                 on_grid(2),
                 {bytes_of(counting(8, 1)), bytes_of(counting(8, 1)),
                  bytes_of(Words{8, 0, 8, 0, 8, 0, 8, 0})}});
  all.push_back({"a shorter source leaves the rest",
                 R"(program p workgroup(2) {
    readonly a: u32[]; readwrite b: u32[];
    all_gather(b, a);
  })",
                 {bytes_of(counting(3, 1)), bytes_of(Words(5, 9))},
                 on_grid(1),
                 {bytes_of(Words{1, 2, 3, 9, 9})}});
  all.push_back({"a longer source is cut",
                 R"(program p workgroup(2) {
    readonly a: u32[]; output b: u32[3];
    all_gather(b, a);
  })",
                 {bytes_of(counting(5, 1))},
                 on_grid(1),
                 {bytes_of(Words{1, 2, 3})}});
  all.push_back({"a copy keeps the bits of floats",
                 R"(program p workgroup(2) {
    readonly a: f32[]; output b: f32[5];
    all_gather(b, a);
  })",
                 {bytes_of(odd_floats)},
                 on_grid(1),
                 {bytes_of(odd_floats)}});
  all.push_back({"to itself",
                 R"(program p workgroup(1) {
    readwrite a: u32[4];
    a[invocation.x] = a[invocation.x] + 1;
    gridsync;
    broadcast(a, 0);
    all_gather(a, a);
  })",
                 {bytes_of(counting(4))},
                 on_grid(4),
                 {bytes_of(counting(4, 1))},
                 /*copies=*/false});
  all.push_back(
      {"narrow and wide elements",
       R"(program p workgroup(4) {
    readonly a: u8[]; output b: u8[7]; readonly c: u64[]; output d: u64[3];
    readonly e: f16[]; output f: f16[3];
    all_gather(b, a); all_gather(d, c); all_gather(f, e);
  })",
       {Bytes(7, std::byte{0xA7}), Bytes(24, std::byte{0xB3}), Bytes(6, std::byte{0xFD})},
       on_grid(1),
       {Bytes(7, std::byte{0xA7}), Bytes(24, std::byte{0xB3}), Bytes(6, std::byte{0xFD})}});
  DispatchConfig iterations = on_grid(1);
  iterations.fixpoint_iterations = 9;
  all.push_back({"changes of a fixpoint",
                 R"(program p workgroup(1) {
    output a: u32[1]; output b: u32[1]; output c: u32[1];
    if b[0] < 4 { c[0] = b[0] + 1; }
    all_gather(b, a);
    all_gather(a, c);
  })",
                 {},
                 iterations,
                 {bytes_of(Words{4}), bytes_of(Words{4}), bytes_of(Words{4})},
                 true,
                 9});
  return all;
}

}  // namespace

TEST_CASE("collectives of one rank give the same in every form") {
  for (const Case& one : cases()) {
    CAPTURE(one.name);
    const ir::Program program = valid_program(one.text);
    for (const Form& form : forms()) {
      CAPTURE(form.name);
      std::vector<Bytes> outputs;
      const auto timing = form.backend->dispatch_borrowed_into(program, spans_of(one.inputs),
                                                               outputs, in_form(one.config, form));
      if (form.sync == GridSync::OneWorkgroup && one.copies) {
        CHECK(code_of(timing) == ErrorCode::UnsupportedFeature);
        continue;
      }
      CHECK_MESSAGE(timing.has_value(), to_string(timing.error()));
      if (!timing) continue;
      CHECK(difference(program, one.outputs, outputs) == "");
      if (one.iterations == 1) CHECK(timing->iterations_run == 1);
    }
  }
}

TEST_CASE("collectives of one rank give the same on every path") {
  for (const Case& one : cases()) {
    CAPTURE(one.name);
    const ir::Program program = valid_program(one.text);
    for (const PathName& path : kPaths) {
      if (path.takes == Takes::Step && one.iterations > 1) continue;
      CAPTURE(path.name);
      const auto run = run_path(path.path, tested(), program, spans_of(one.inputs), one.config);
      CHECK_MESSAGE(run.has_value(), to_string(run.error()));
      if (run) CHECK(difference(program, one.outputs, run->outputs) == "");
    }
  }
}

TEST_CASE("a broadcast from a rank that does not exist is refused before anything runs") {
  const ir::Program program = valid_program(
      "program c workgroup(1) { readwrite a: u32[4]; a[invocation.x] = 9; broadcast(a, 7); }");
  const Bytes a = bytes_of(counting(4));
  const std::vector<ByteSpan> inputs{a};
  check_all_forms_fail(program, {a}, on_grid(4), ErrorCode::BadInputs);
  for (const PathName& path : kPaths) {
    CAPTURE(path.name);
    const Error error = error_of(run_path(path.path, tested(), program, inputs, on_grid(4)));
    CHECK(error.code == ErrorCode::BadInputs);
    CHECK(error.message.find("rank 7") != std::string::npos);
  }
}
