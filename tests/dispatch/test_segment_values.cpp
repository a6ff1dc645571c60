// Which values a segment takes over from those before it: computed again, or kept in a spill.
#include "dispatch/cut/grid_sync_values.h"
#include "support/cut_text.h"

using namespace felsite;
using namespace felsite::test;

namespace {

std::vector<ir::Effects> effects_by_segment(const ir::Program& program, const dispatch::Cut& cut) {
  std::vector<ir::Effects> effects(cut.segments.size());
  for (std::size_t s = 0; s < effects.size(); ++s) {
    for (const dispatch::CutEvent& event : cut.segments[s].events) {
      if (event.kind != dispatch::CutEvent::Kind::Nodes) continue;
      const ir::Effects part = ir::effects_of(program, event.nodes);
      for (const auto list : {&ir::Effects::reads, &ir::Effects::writes, &ir::Effects::atomics}) {
        (effects[s].*list)
            .insert((effects[s].*list).end(), (part.*list).begin(), (part.*list).end());
      }
    }
  }
  return effects;
}

std::string names_text(const ir::Program& program, std::string_view title,
                       const std::vector<ir::VarId>& variables) {
  std::string text;
  for (const ir::VarId id : variables) text += fmt::format(" {}", program.var_name(id));
  return text.empty() ? "" : fmt::format("; {}{}", title, text);
}

std::string slots_text(const ir::Program& program, const dispatch::Values& values) {
  std::string text;
  for (const SpilledValue& slot : values.slots) {
    const bool runs = slot.variable == SpilledValue::kRunning;
    text += fmt::format("; {} in {}word {}", runs ? "running" : program.var_name(slot.variable),
                        slot.per_workgroup ? "group " : "", slot.word);
    if (slot.bit != ir::kNone) text += fmt::format(" bit {}", slot.bit);
  }
  return text;
}

struct ValueOptions {
  bool forks_decide = false;
  const char* size = "4";
};

// One entry per segment that takes over or leaves something, then what is spilled where: "1: again
// i; loads s | s in word 0". Conditions on which invocations return are "asks", with what they are
// computed from.
std::string values_of(std::string_view statements, const ValueOptions& options = {}) {
  const ir::Program program = valid_program(fmt::format(
      "program p workgroup({}) {{ readwrite x: u32[]; readwrite y: u32[]; readonly r: u32[]; "
      "workgroup t: u32[4]; let i = invocation.x; {} }}",
      options.size, statements));
  const dispatch::Cut cut = dispatch::cut_at_grid_syncs(program);
  const dispatch::Values values =
      dispatch::find_values(program, cut, effects_by_segment(program, cut), options.forks_decide);
  std::string text;
  for (std::size_t s = 0; s < values.segments.size(); ++s) {
    const dispatch::SegmentValues& here = values.segments[s];
    const std::string line =
        names_text(program, "again", here.recomputed) + names_text(program, "loads", here.loaded) +
        names_text(program, "blank", here.blank) + names_text(program, "stores", here.stored);
    if (!line.empty()) text += fmt::format("{}: {}\n", s, line.substr(2));
  }
  for (const dispatch::Values::Guard& guard : values.guards) {
    text += fmt::format("{} asks{}\n", guard.segment, names_text(program, "with", guard.needs));
  }
  CHECK(values.tracks_running ==
        (!values.slots.empty() && values.slots[0].variable == SpilledValue::kRunning));
  const std::string slots = slots_text(program, values);
  return slots.empty() ? text : text + slots.substr(2) + "\n";
}

// The words of an invocation and of a workgroup.
std::string spilled_words(std::string_view statements) {
  const ir::Program program = valid_program(statements);
  const dispatch::Cut cut = dispatch::cut_at_grid_syncs(program);
  const dispatch::Values values =
      dispatch::find_values(program, cut, effects_by_segment(program, cut), false);
  return fmt::format("{} + {}", values.spill_words, values.group_words);
}

}  // namespace

TEST_CASE("values: what depends on ids, lengths and literals alone is computed again") {
  CHECK(values_of("x[i] = 1; gridsync; x[i] = 2;") == "1: again i\n");
  CHECK(values_of("let a = i * 2; let b = a + len(x); gridsync; x[0] = b;") == "1: again i a b\n");
  CHECK(values_of("let a = i * 2; let b = a + len(x); gridsync; x[0] = 1; gridsync; x[a] = 1;") ==
        "2: again i a\n");
  CHECK(values_of("let a = i; gridsync; let b = a; x[b] = 1;") == "1: again i a\n");
  CHECK(values_of("let a = 3; gridsync; x[0] = 1;") == "");
}

TEST_CASE("values: a load is done again while nothing may have changed the buffer") {
  CHECK(values_of("let v = r[i]; x[0] = v; gridsync; x[1] = v;") == "1: again i v\n");
  // Written where it is loaded, or before.
  CHECK(values_of("let v = x[i]; x[0] = 1; gridsync; y[0] = v;") ==
        "0: stores v\n1: loads v\nv in word 0\n");
  CHECK(values_of("x[0] = 1; gridsync; let v = x[i]; gridsync; y[0] = v;") ==
        "1: again i; stores v\n2: loads v\nv in word 0\n");
  // Written later: up to there, but not in the segment that writes it.
  CHECK(values_of("let v = x[i]; gridsync; y[0] = v; gridsync; x[0] = 1; y[1] = v;") ==
        "0: stores v\n1: again i v\n2: loads v\nv in word 0\n");
  CHECK(values_of("let v = x[i]; gridsync; y[0] = v; gridsync; x[0] = 1;") == "1: again i v\n");
  // An atomic writes, too.
  CHECK(values_of("let v = x[i]; gridsync; atomic_add(x[0], 1); y[0] = v;") ==
        "0: stores v\n1: loads v\nv in word 0\n");
  // What is computed from such a load goes with it.
  CHECK(values_of("let v = x[i]; let w = v + 1; gridsync; x[0] = w;") ==
        "0: stores w\n1: loads w\nw in word 0\n");
}

TEST_CASE("values: what must not run twice is spilled") {
  for (const char* value : {"atomic_add(x[i], 1)", "subgroup_add(1)", "t[0]", "t[0] + 1",
                            "subgroup_lane + subgroup_add(i)"}) {
    CAPTURE(value);
    const std::string text =
        values_of(fmt::format("let v = {}; gridsync; gridsync; y[0] = v;", value));
    CHECK(text == "0: stores v\n2: loads v\nv in word 0\n");
  }
}

TEST_CASE("values: a variable that is assigned keeps its current value") {
  CHECK(values_of("let s = 1; s = 2; gridsync; y[0] = s;") ==
        "0: stores s\n1: loads s\ns in word 0\n");
  CHECK(values_of("let s = 1; gridsync; s = s + 1; gridsync; y[0] = s;") ==
        "0: stores s\n1: loads s; stores s\n2: loads s\ns in word 0\n");
  // Assigned as a whole before it is read: what was before does not matter.
  CHECK(values_of("let s = 1; gridsync; s = 2; gridsync; y[0] = s;") ==
        "1: blank s; stores s\n2: loads s\ns in word 0\n");
  CHECK(values_of("let s = 1; gridsync; s = 2; y[0] = s;") == "1: blank s\n");
  // Assigned by some invocations only: the others keep what they have.
  CHECK(values_of("let s = 1; gridsync; if i > 3 { s = 2; } gridsync; y[0] = s;") ==
        "0: stores s\n1: again i; loads s; stores s\n2: loads s\ns in word 0\n");
  CHECK(values_of("let s = 1; gridsync; loop k in 0..i { s = 2; } gridsync; y[0] = s;") ==
        "0: stores s\n1: again i; loads s; stores s\n2: loads s\ns in word 0\n");
  // Nobody reads what is left here.
  CHECK(values_of("let s = 1; y[0] = s; gridsync; if i > 3 { s = 2; }") == "1: again i; blank s\n");
  // In between it is passed on without being touched.
  CHECK(values_of("let s = 1; s = i; gridsync; x[0] = 1; gridsync; y[0] = s;") ==
        "0: stores s\n2: loads s\ns in word 0\n");
}

TEST_CASE("values: memory that a loop changes later is changed when it comes around") {
  // Made before the loop, read at its beginning, changed behind that.
  CHECK(values_of("let v = x[i]; gridsync; loop k in 0..3 { y[0] = v; gridsync; x[0] = 1; "
                  "gridsync; }") == "0: stores v\n2: loads v\nv in word 0\n");
  // Made in the same trip, it is the same still.
  CHECK(values_of("loop k in 0..3 { let v = x[k]; gridsync; y[0] = v; gridsync; x[0] = 1; "
                  "gridsync; }") == "2: again v\n");
  // Changed behind the loop only.
  CHECK(values_of("let v = x[i]; gridsync; loop k in 0..3 { y[0] = v; gridsync; } x[0] = 1;") ==
        "2: again i v\n");
  // Around an inner loop, made in the outer one.
  CHECK(values_of("loop a in 0..2 { let v = x[a]; loop b in 0..2 { y[b] = v; gridsync; } gridsync; "
                  "x[0] = 1; gridsync; }") == "2: again v\n");
  CHECK(values_of("loop a in 0..2 { let v = x[a]; loop b in 0..2 { y[b] = v; gridsync; x[b] = 1; } "
                  "gridsync; }") == "1: stores v\n2: loads v\nv in word 0\n");
}

TEST_CASE("values: the variable of a loop that is cut comes from the plan") {
  CHECK(values_of("loop k in 0..3 { gridsync; x[k] = 1; }") == "");
  CHECK(values_of("loop k in 0..3 { let v = k + i; gridsync; x[v] = 1; }") ==
        "1: again i\n2: again i v\n");
  // A load at it has the value of this trip.
  CHECK(values_of("loop k in 0..3 { let v = y[k]; gridsync; x[v] = 1; gridsync; y[k] = 1; "
                  "gridsync; }") == "2: again v\n");
  // A value that is carried from trip to trip.
  CHECK(values_of("let s = 0; loop k in 0..3 { s = s + k; gridsync; x[0] = s; }") ==
        "0: stores s\n1: loads s; stores s\n2: loads s\ns in word 0\n");
}

TEST_CASE("values: chains of up to 256 variables are computed again") {
  const auto chain = [](int length) {
    std::string text = "let v2 = i + 1;";  // the second variable of the chain
    for (int v = 3; v <= length; ++v) text += fmt::format(" let v{} = v{} + 1;", v, v - 1);
    const std::string values = values_of(fmt::format("{} gridsync; x[0] = v{};", text, length));
    return values.substr(0, values.find(' ', 4));
  };
  CHECK(chain(256) == "1: again");
  CHECK(chain(257) == "0: stores");
  // A variable counts as often as it is named.
  CHECK(values_of("let a = i + i; gridsync; x[0] = a;") == "1: again i a\n");
  std::string sum = "i";
  for (int k = 1; k < 255; ++k) sum += " + i";
  CHECK(values_of(fmt::format("let a = {}; gridsync; x[0] = a;", sum)) == "1: again i a\n");
  CHECK(values_of(fmt::format("let a = {} + i; gridsync; x[0] = a;", sum)) ==
        "0: stores a\n1: loads a\na in word 0\n");
}

TEST_CASE("values: a return on a condition that can be asked again is asked again") {
  CHECK(values_of("if i > 3 { return; } gridsync; x[0] = 1;") == "1: again i\n0 asks; with i\n");
  CHECK(values_of("if i > 3 { x[1] = 1; return; } gridsync; x[0] = 1;") ==
        "1: again i\n0 asks; with i\n");
  CHECK(values_of("if r[0] > 3 { return; } gridsync; x[0] = 1;") == "0 asks\n");
  CHECK(values_of("let c = r[i]; region \"r\" { if c > 3 { return; } gridsync; } x[0] = 1;") ==
        "1: again i c\n0 asks; with i c\n");
  CHECK(values_of("gridsync; if i > 3 { return; } gridsync; x[0] = 1;") ==
        "1: again i\n2: again i\n1 asks; with i\n");
}

TEST_CASE("values: other returns are remembered in a bit") {
  const auto running = [](std::string_view statements) {
    return values_of(statements).ends_with("running in word 0 bit 0\n");
  };
  CHECK(running("if x[i] > 3 { return; } x[i] = 0; gridsync; y[0] = 1;"));
  // Also where the change comes in the last segment only.
  CHECK(running("if x[i] > 3 { return; } gridsync; y[0] = 1; gridsync; x[i] = 0;"));
  CHECK(running("let s = 0; s = i; if s > 3 { return; } gridsync; y[0] = 1;"));
  CHECK(running("if atomic_add(x[0], 1) > 3 { return; } gridsync; y[0] = 1;"));
  CHECK(running("if i > 3 { return; } else { x[0] = 1; } gridsync; y[0] = 1;"));
  CHECK(running("if i > 3 { x[0] = 1; } else { return; } gridsync; y[0] = 1;"));
  CHECK(running("if i > 3 { if i > 5 { return; } } gridsync; y[0] = 1;"));
  CHECK(running("loop k in 0..4 { if i == k { return; } } gridsync; y[0] = 1;"));
  CHECK(running("if len(r) > 3 { if i > 3 { return; } gridsync; } y[0] = 1;"));
  CHECK(running("loop k in 0..2 { if i > 3 { return; } gridsync; } y[0] = 1;"));
  CHECK_FALSE(running("if i > 3 { return; } gridsync; y[0] = 1;"));
  // Nothing follows the last segment.
  CHECK_FALSE(running("gridsync; if y[i] > 3 { return; } y[0] = 1;"));
  // Where one has to be remembered, all are.
  CHECK(values_of("if i > 3 { return; } if x[i] > 3 { return; } x[i] = 0; gridsync; y[0] = 1;") ==
        "running in word 0 bit 0\n");
}

TEST_CASE("values: 64 conditions are asked again, more are remembered") {
  const auto guards = [](int count) {
    std::string text;
    for (int k = 0; k < count; ++k) text += fmt::format("if i == {} {{ return; }} ", k);
    return values_of(text + "gridsync; x[0] = 1;");
  };
  CHECK(guards(64).starts_with("1: again i\n0 asks; with i\n"));
  CHECK(guards(65) == "running in word 0 bit 0\n");
}

TEST_CASE("values: segments evaluate conditions and bounds where they decide") {
  const std::string fork = "let c = x[0]; gridsync; x[0] = 1; if c > 3 { gridsync; }";
  CHECK(values_of(fork) == "");
  CHECK(values_of(fork, {.forks_decide = true}) == "0: stores c\n1: loads c\nc in word 0\n");
  const std::string loop = "let c = x[0]; gridsync; x[0] = 1; loop k in 0..c { gridsync; }";
  CHECK(values_of(loop) == "");
  CHECK(values_of(loop, {.forks_decide = true}) == "0: stores c\n1: loads c\nc in word 0\n");
}

TEST_CASE("values: what a workgroup shares is spilled once for it, where its lanes work together") {
  const std::string uniform = "let v = x[workgroup_id.x]; gridsync; x[0] = v;";
  CHECK(values_of(uniform) == "0: stores v\n1: loads v\nv in word 0\n");
  CHECK(values_of(uniform + " barrier;") == "0: stores v\n1: loads v\nv in group word 0\n");
  CHECK(values_of(uniform + " y[0] = subgroup_add(1);") ==
        "0: stores v\n1: loads v\nv in group word 0\n");
  CHECK(values_of("let v = x[i]; gridsync; x[0] = v; barrier;") ==
        "0: stores v\n1: loads v\nv in word 0\n");
}

TEST_CASE("values: words are counted by type") {
  const auto words_with = [](std::string_view declarations, std::string_view uses) {
    return spilled_words(
        fmt::format("program p workgroup(4) {{ readwrite x: u32[]; readwrite w: u64[]; "
                    "readwrite h: f16[]; let i = invocation.x; {} x[i] = 0; w[i] = 0u64; h[i] = "
                    "0.0f16; gridsync; {} }}",
                    declarations, uses));
  };
  CHECK(words_with("", "") == "0 + 0");
  CHECK(words_with("let a = x[i];", "x[0] = a;") == "1 + 0");
  CHECK(words_with("let a = w[i];", "w[0] = a;") == "2 + 0");
  CHECK(words_with("let a = h[i];", "h[0] = a;") == "1 + 0");
  CHECK(words_with("let a = x[i] > 3; let b = x[i] > 4;", "if a && b { x[0] = 1; }") == "1 + 0");
  CHECK(words_with("let a = x[i]; let b = w[i];", "x[0] = a; w[0] = b;") == "3 + 0");
}
