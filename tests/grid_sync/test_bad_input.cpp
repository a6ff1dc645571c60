// What a caller can do wrong: one typed error that says how to fix it, the same in every form,
// before anything runs.
#include <chrono>

#include "grid_sync/forms.h"
#include "support/skip.h"

using namespace felsite;
using namespace felsite::test;
using namespace std::chrono_literals;

namespace {

const char* const kProgram = R"(program p workgroup(4) {
  readonly x: u32[];
  readwrite y: u32[4];
  output o: f32[8];
  output flag: u32[1];
  y[local.x] = x[local.x];
  gridsync;
  o[invocation.x] = f32(y[3 - local.x]);
})";

void check_fails(const std::vector<Bytes>& inputs, const DispatchConfig& config,
                 ErrorCode code = ErrorCode::BadInputs) {
  check_all_forms_fail(
      valid_program(kProgram), inputs, config, code, false,
      [](const Form&, const Error& error) { CHECK(error.context.program == "p"); });
}

}  // namespace

TEST_CASE("a grid barrier that not all invocations reach is an invalid program") {
  for (const char* body :
       {"if invocation.x > 3 { gridsync; }", "if x[invocation.x] > 3 { gridsync; }",
        "loop k in 0..local.x { gridsync; }", "if workgroup_id.x == 0 { gridsync; }",
        "loop k in 0..x[0] { x[0] = 1; gridsync; }",
        "if atomic_add(x[0], 1) == 0 { gridsync; } else { gridsync; }",
        "let a = 1; if invocation.x > 3 { a = 2; } if a == 1 { gridsync; }"}) {
    CAPTURE(body);
    const auto program = ir::parse(
        "program p workgroup(4) { readwrite x: u32[]; x[invocation.x + 9] = 1; gridsync; " +
        std::string(body) + " }");
    REQUIRE(program.has_value());
    check_all_forms_fail(*program, {bytes_of(counting(8))}, on_grid(2), ErrorCode::InvalidProgram);
    check_all_forms_fail(*program, {bytes_of(counting(8))}, fixpoint(on_grid(2), 5),
                         ErrorCode::InvalidProgram);
  }
}

TEST_CASE("too few inputs, too many, and of the wrong size") {
  const Bytes x = bytes_of(counting(4));
  const Bytes y = zero_words(4);
  check_fails({}, on_grid(2));
  check_fails({x}, on_grid(2));
  check_fails({x, y, y}, on_grid(2));
  check_fails({x, zero_words(3)}, on_grid(2));
  check_fails({x, zero_words(5)}, on_grid(2));
  check_fails({Bytes(7), y}, on_grid(2));
  check_fails({x, {}}, fixpoint(on_grid(2), 9));
}

TEST_CASE("a fixpoint of no iterations") {
  check_fails({bytes_of(counting(4)), zero_words(4)}, fixpoint(on_grid(2), 0));
}

TEST_CASE("a flag that is no u32 buffer which the program can set") {
  const std::vector<Bytes> inputs{bytes_of(counting(4)), zero_words(4)};
  for (const char* name : {"", "nobody", "o", "x", "Flag"}) {
    CAPTURE(name);
    check_fails(inputs, fixpoint(on_grid(2), 9, by_flag(name)));
    DispatchConfig once = on_grid(2);
    once.convergence = by_flag(name);
    check_fails(inputs, once);
  }
  const auto shared = valid_program(
      "program p workgroup(4) { output o: u32[4]; workgroup t: u32[4]; t[local.x] = 1; gridsync;"
      " o[local.x] = t[local.x]; }");
  check_all_forms_fail(shared, {}, fixpoint(on_grid(1), 9, by_flag("t")), ErrorCode::BadInputs);
}

TEST_CASE("results that are larger than allowed, by one byte") {
  DispatchConfig config = on_grid(2);
  config.max_output_bytes = 4 * 4 + 8 * 4 + 4 - 1;
  check_fails({bytes_of(counting(4)), zero_words(4)}, config);
  config.max_output_bytes = *config.max_output_bytes + 1;
  check_all_forms(kProgram, {bytes_of(counting(4)), zero_words(4)}, config,
                  {{bytes_of(counting(4)), bytes_of(std::vector<float>{3, 2, 1, 0, 3, 2, 1, 0}),
                    zero_words(1)}});
}

TEST_CASE("a grid that is given twice, or has ids of more than 32 bits") {
  const auto indirect = valid_program(
      "program p workgroup(4) { readonly g: u32[3]; output o: u32[4]; indirect_dispatch(g[0]);"
      " o[local.x] = 1; gridsync; o[local.x] = 2; }");
  check_all_forms_fail(indirect, {bytes_of(Words{1, 1, 1})}, on_grid(1), ErrorCode::BadInputs);
  check_fails({bytes_of(counting(4)), zero_words(4)}, on_grid(0x4000'0001));
}

TEST_CASE("a native barrier over many workgroups is refused by a device that has none") {
  FELSITE_SKIP_IF(!on_vulkan(), "the reference has a native grid barrier");
  DispatchConfig config = on_grid(2);
  config.cooperative = true;
  check_fails({bytes_of(counting(4)), zero_words(4)}, config, ErrorCode::UnsupportedFeature);
}

TEST_CASE("no time at all") {
  for (const std::chrono::nanoseconds timeout : {0ns, -1ns}) {
    DispatchConfig config = on_grid(2);
    config.timeout = timeout;
    check_all_forms_fail(valid_program(kProgram), {bytes_of(counting(4)), zero_words(4)}, config,
                         ErrorCode::Timeout, true);
  }
}

TEST_CASE("a run that never ends is ended by its timeout, and the next one is right") {
  // One workgroup: no form can say that the grid is too large.
  const char* const endless = R"(program p workgroup(4) {
    readwrite x: u32[];
    let i = invocation.x;
    let next = x[(i + 1) % 4];
    gridsync;
    x[i] = next + 1;
  })";
  const ir::Program program = valid_program(endless);
  for (const Convergence& convergence : {Convergence{}, never()}) {
    DispatchConfig config = fixpoint(on_grid(1), 0xFFFF'FFFF, convergence);
    config.timeout = 100ms;
    check_all_forms_fail(program, {bytes_of(counting(4))}, config, ErrorCode::Timeout);
    check_all_forms(program, {bytes_of(counting(4))}, on_grid(1),
                    {{bytes_of(Words{2, 3, 4, 1})}, 1, std::nullopt});
  }
  const ir::Program loops = valid_program(
      "program p workgroup(4) { readwrite x: u32[]; let end = x[0]; gridsync; loop k in 0..end {"
      " x[invocation.x] = k; gridsync; } }");
  DispatchConfig config = on_grid(1);
  config.timeout = 100ms;
  for (const Form& form : forms()) {
    CAPTURE(form.name);
    // Some drivers end a kernel's loops before any clock does. On others nothing ends them, and
    // nothing that is submitted later would ever run.
    const bool in_one_kernel =
        form.sync == GridSync::OneWorkgroup || form.sync == GridSync::Automatic;
    const DeviceProfile device = form.backend->device_profile();
    if (in_one_kernel && !device.grid_sync && device.loop_budget == 0) {
      note_skip("an endless loop in one kernel would block the driver for ever");
      continue;
    }
    const Bytes x = bytes_of(Words{0xFFFF'FFFF, 1, 2, 3});
    std::vector<Bytes> slots;
    const auto timing = form.backend->dispatch_borrowed_into(loops, std::vector<ByteSpan>{x}, slots,
                                                             in_form(config, form));
    const ErrorCode code = code_of(timing);
    CHECK((code == ErrorCode::Timeout || (in_one_kernel && code == ErrorCode::LoopBudgetExceeded)));
  }
  check_all_forms(loops, {bytes_of(Words{3, 1, 2, 3})}, on_grid(1), {{bytes_of(Words(4, 2))}});
}

TEST_CASE("a timeout that is long enough changes nothing") {
  DispatchConfig config = fixpoint(on_grid(2), 5, never());
  for (const std::chrono::nanoseconds timeout :
       {std::chrono::nanoseconds(60s), std::chrono::nanoseconds::max()}) {
    config.timeout = timeout;
    check_all_forms(kProgram, {bytes_of(counting(4)), zero_words(4)}, config,
                    {{bytes_of(counting(4)), bytes_of(std::vector<float>{3, 2, 1, 0, 3, 2, 1, 0}),
                      zero_words(1)},
                     5,
                     false});
  }
}
