#include "dispatch/schedule/grid_kernels.h"

#include <fmt/format.h>

#include <array>

#include "felsite/text.h"
#include "felsite/validate.h"

namespace felsite::dispatch {
namespace {

Result<ir::Program> parsed(const std::string& text) {
  auto program = ir::parse(text);
  if (!program) return std::unexpected(ir::to_error(program.error(), "felsite"));
  return std::move(*program);
}

// Which of the parameters a word of the text stands for.
std::string p(WayParameters::Word word) { return fmt::format("p[{}]", static_cast<int>(word)); }

std::string close_own_gate() {
  using enum WayParameters::Word;
  return fmt::format("loop i in 0..{} {{ c[{} + i] = 0; }} c[{}] = c[{}] + {};", p(SelfWords),
                     p(SelfAt), WayWords::kLaunches, WayWords::kLaunches, p(Launches));
}

}  // namespace

const Result<ir::Program>& compare_program() {
  static const Result<ir::Program> program = parsed(fmt::format(
      "program felsite_compare workgroup({}) {{ readonly now: u32[]; readwrite before: u32[];"
      " readwrite changed: u32[1]; let i = invocation.x; if i < len(now) {{"
      " let word = now[i]; if word != before[i] {{ before[i] = word; changed[0] = 1; }} }} }}",
      kGridKernelSize));
  return program;
}

const Result<ir::Program>& any_program() {
  static const Result<ir::Program> program = parsed(fmt::format(
      "program felsite_any workgroup({}) {{ readonly words: u32[]; readwrite any: u32[1];"
      " let i = invocation.x; if i < len(words) {{ if words[i] != 0 {{ any[0] = 1; }} }} }}",
      kGridKernelSize));
  return program;
}

const Result<ir::Program>& clear_program() {
  static const Result<ir::Program> program = parsed(fmt::format(
      "program felsite_clear workgroup({}) {{ readwrite words: u32[]; let i = invocation.x;"
      " if i < len(words) {{ words[i] = 0; }} }}",
      kGridKernelSize));
  return program;
}

const Result<ir::Program>& gate_program() {
  static const Result<ir::Program> program = parsed(fmt::format(
      "program felsite_gate workgroup({}) {{ readonly word: u32[1]; readonly shapes: u32[];"
      " readwrite gates: u32[]; let i = invocation.x; if i < len(shapes) {{"
      " gates[i] = select(word[0] != 0, shapes[i], 0); }} }}",
      kGridKernelSize));
  return program;
}

const Result<ir::Program>& advance_program() {
  static const Result<ir::Program> program = parsed(
      fmt::format("program felsite_advance workgroup({}) {{ readonly p: u32[2]; readwrite c: u32[];"
                  " let i = local.x; let last = c[p[1]]; let place = (i + 2) * p[1];"
                  " if i < p[0] {{ if c[place] != 0 {{ atomic_add(c[0], 1); }} }} barrier;"
                  " if i < p[0] {{ c[place] = select(i == 0, last, 0); }}"
                  " if i == 0 {{ c[p[1]] = 0; }} }}",
                  kGridKernelSize));
  return program;
}

const Result<ir::Program>& way_program() {
  using enum WayParameters::Word;
  static const Result<ir::Program> program = parsed(fmt::format(
      "program felsite_way workgroup(1) {{ readonly p: u32[{count}]; readonly shapes: u32[];"
      " readwrite c: u32[]; {close} let yes = true;"
      " if {kind} == 1 {{ yes = c[{choice}] != 0; c[{choice}] = 0; }}"
      " if {kind} == 2 {{ let from = c[{choice}]; let to = c[{choice} + 1]; yes = from < to;"
      "   c[{choice}] = 0; c[{choice} + 1] = 0;"
      "   if yes {{ c[{trip}] = from; c[{end}] = to; }} }}"
      " if {kind} == 3 {{ let next = c[{trip}] + 1; yes = next < c[{end}];"
      "   if yes {{ c[{trip}] = next; }} }}"
      " let at = select(yes, {yes_at}, {no_at}); let shape = select(yes, {yes_shape}, {no_shape});"
      " loop i in 0..select(yes, {yes_words}, {no_words}) {{ c[at + i] = shapes[shape + i]; }} }}",
      fmt::arg("count", static_cast<int>(Count)), fmt::arg("close", close_own_gate()),
      fmt::arg("kind", p(Kind)), fmt::arg("choice", p(ChoiceAt)), fmt::arg("trip", p(TripAt)),
      fmt::arg("end", p(EndAt)), fmt::arg("yes_at", p(YesAt)), fmt::arg("no_at", p(NoAt)),
      fmt::arg("yes_shape", p(YesShape)), fmt::arg("no_shape", p(NoShape)),
      fmt::arg("yes_words", p(YesWords)), fmt::arg("no_words", p(NoWords))));
  return program;
}

namespace {

Result<ir::Program> parsed_iteration_end(IterationEnd end) {
  using enum WayParameters::Word;
  const bool flag = end == IterationEnd::Flag;
  std::string test = "let changed = true;";
  if (end == IterationEnd::Changed) {
    test = fmt::format("let changed = c[{0}] != 0; c[{0}] = 0;", p(ChangedAt));
  } else if (flag) {
    test = "let changed = false; loop i in 0..len(flag) { if flag[i] != 0 { changed = true; } }";
  }
  return parsed(fmt::format(
      "program felsite_iteration_end workgroup(1) {{ readonly p: u32[{count}]; readonly shapes: "
      "u32[];"
      " readwrite c: u32[]; {flag_buffer} {close} let run = c[{iterations}] + 1; c[{iterations}] = "
      "run;"
      " {test} if !changed {{ c[{converged}] = 1; }}"
      " if changed && run < {bound} {{ {clear_flag}"
      "   loop i in 0..{yes_words} {{ c[{yes_at} + i] = shapes[{yes_shape} + i]; }}"
      " }} else {{ c[{running}] = 0; }} }}",
      fmt::arg("count", static_cast<int>(Count)), fmt::arg("close", close_own_gate()),
      fmt::arg("flag_buffer", flag ? "readwrite flag: u32[];" : ""), fmt::arg("test", test),
      fmt::arg("clear_flag", flag ? "loop i in 0..len(flag) { flag[i] = 0; }" : ""),
      fmt::arg("iterations", WayWords::kIterations), fmt::arg("converged", WayWords::kConverged),
      fmt::arg("running", WayWords::kRunning), fmt::arg("bound", p(Bound)),
      fmt::arg("yes_words", p(YesWords)), fmt::arg("yes_at", p(YesAt)),
      fmt::arg("yes_shape", p(YesShape))));
}

}  // namespace

const Result<ir::Program>& iteration_end_program(IterationEnd end) {
  static const std::array programs{parsed_iteration_end(IterationEnd::Counted),
                                   parsed_iteration_end(IterationEnd::Changed),
                                   parsed_iteration_end(IterationEnd::Flag)};
  return programs[static_cast<std::size_t>(end)];
}

}  // namespace felsite::dispatch
