// Inputs that a device may work on where they lie in the caller's memory, and just too small ones:
// in every form, with and without iterations. The spills of the host split are such inputs too.
#include "grid_sync/forms.h"
#include "vk/plan/memory_strategy.h"

using namespace felsite;
using namespace felsite::test;

namespace {

constexpr std::uint32_t kLeast = vk::kMinImportedBytes / 4;  // words

enum class Use : std::uint8_t { ReadOnly, OnlyRead, Written };

// Each word is its opposite plus itself; and where x is written, that is left in x as well.
std::string program_text(Use use) {
  return std::string("program p workgroup(64) { ") +
         (use == Use::ReadOnly ? "readonly" : "readwrite") +
         " x: u32[]; readwrite y: u32[];"
         " let i = invocation.x; let n = len(x); if i >= n { return; }"
         " let mine = x[i]; let other = x[n - 1 - i]; gridsync; y[i] = mine + other;" +
         (use == Use::Written ? " x[i] = mine + other; }" : " }");
}

Words noise(std::uint32_t count) {
  return each(count, [](std::uint32_t i) { return i * 2654435761u; });
}

Words sums(const Words& x) {
  const auto count = static_cast<std::uint32_t>(x.size());
  return each(count, [&](std::uint32_t i) { return x[i] + x[count - 1 - i]; });
}

void check_in_every_form(Use use, std::uint32_t words, std::size_t offset, bool many_iterations) {
  CAPTURE(static_cast<int>(use));
  CAPTURE(words);
  CAPTURE(offset);
  CAPTURE(many_iterations);
  const Words x = noise(words);
  // The sum of opposites is symmetric: a second iteration would double what is written.
  Bytes memory(offset);
  const Bytes bytes = bytes_of(x);
  memory.insert(memory.end(), bytes.begin(), bytes.end());
  const Bytes zeros(bytes.size());
  const std::vector<ByteSpan> inputs{ByteSpan(memory).subspan(offset), zeros};
  std::vector<Bytes> expected;
  if (use != Use::ReadOnly) expected.push_back(bytes_of(use == Use::Written ? sums(x) : x));
  expected.push_back(bytes_of(sums(x)));
  const ir::Program program = valid_program(program_text(use));
  for (const Form& form : forms()) {
    CAPTURE(form.name);
    DispatchConfig config = in_form(on_grid((words + 63) / 64), form);
    // From what is only read, a second iteration computes the same again.
    if (many_iterations) config.fixpoint_iterations = 3;
    std::vector<Bytes> outputs;
    const auto timing = form.backend->dispatch_borrowed_into(program, inputs, outputs, config);
    if (!timing && is_fair_refusal(form, timing.error(), config)) continue;
    REQUIRE_MESSAGE(timing.has_value(), to_string(timing.error()));
    CHECK(timing->iterations_run == (many_iterations ? 2 : 1));
    REQUIRE(outputs.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(outputs[i] == expected[i]);
    CHECK(std::equal(bytes.begin(), bytes.end(), inputs[0].begin()));
  }
}

}  // namespace

TEST_CASE("large inputs give the right bytes in every form, at both sides of what is borrowed") {
  for (const Use use : {Use::ReadOnly, Use::OnlyRead, Use::Written}) {
    check_in_every_form(use, kLeast - 1, 0, false);
    check_in_every_form(use, kLeast + 1, 0, false);
  }
}

TEST_CASE("large inputs that begin anywhere give the right bytes in every form") {
  check_in_every_form(Use::ReadOnly, kLeast, 1, false);
  check_in_every_form(Use::OnlyRead, kLeast, 4, false);
  check_in_every_form(Use::OnlyRead, kLeast, 64, false);
}

TEST_CASE("large inputs give the right bytes in iterations in every form") {
  for (const Use use : {Use::ReadOnly, Use::OnlyRead}) {
    check_in_every_form(use, kLeast - 1, 4, true);
    check_in_every_form(use, kLeast, 0, true);
  }
}

TEST_CASE("large inputs of one workgroup give the right bytes in every form") {
  for (const char* access : {"readonly", "readwrite"}) {
    for (const std::uint32_t words : {kLeast - 1, kLeast, kLeast + 1}) {
      CAPTURE(access);
      CAPTURE(words);
      const ir::Program program =
          valid_program(std::string("program p workgroup(4) { ") + access +
                        " x: u32[]; output o: u32[4]; let i = local.x; let first = x[i]; gridsync;"
                        " o[i] = first + x[len(x) - 1 - i]; }");
      const Words x = noise(words);
      Expected expected;
      if (std::string_view(access) == "readwrite") expected.outputs.push_back(bytes_of(x));
      expected.outputs.push_back(
          bytes_of(each(4, [&](std::uint32_t i) { return x[i] + x[words - 1 - i]; })));
      check_all_forms(program, {bytes_of(x)}, on_grid(1), expected);
      check_all_forms(program, {bytes_of(x)}, fixpoint(on_grid(1), 5), expected);
    }
  }
}

TEST_CASE("bindings up to the last number leave room for what a split adds") {
  for (const char* other : {"4294967292", "4294967294", "0"}) {
    const std::string text = std::string(R"(program p workgroup(2) {
      readwrite x: u32[4] binding(4294967295);
      readwrite y: u32[4] binding()") +
                             other + R"();
      let v = x[invocation.x];
      x[invocation.x] = v + 1;
      gridsync;
      x[invocation.x] = v + 2;
      y[invocation.x] = v;
    })";
    check_all_forms(text, {bytes_of(counting(4, 5)), bytes_of(Words(4))}, on_grid(2),
                    {.outputs = {bytes_of(counting(4, 7)), bytes_of(counting(4, 5))}});
  }
}
