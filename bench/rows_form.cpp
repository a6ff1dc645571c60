// The row about the form that Automatic chooses: each shape runs as a user runs it, and in each
// form that can be forced. The figure is the time of Automatic beside the best of those.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>

#include "base/try.h"
#include "felsite/backend.h"
#include "form_shapes.h"
#include "give_up.h"
#include "harness.h"
#include "kernels.h"
#include "report.h"

namespace felsite::bench {
namespace {

constexpr double kMeanGoal = 1.2;
constexpr double kWorstGoal = 1.6;

// A form that takes this many times as long as the best is left out of the rounds.
constexpr double kHopeless = 4;

// How long the rounds of a shape may take, and how many there are at least and at most.
struct Effort {
  double nanoseconds = 0;
  std::size_t least = 1;
  std::size_t most = 1;
};
Effort effort_of(Extent extent) {
  return by_extent(extent, Effort{}, Effort{30e6, 3, 15}, Effort{400e6, 9, 41});
}

std::string_view name_of(GridSync form) {
  switch (form) {
    case GridSync::Automatic:
      return "automatic";
    case GridSync::HostSplit:
      return "host split";
    case GridSync::Resident:
      return "resident";
    case GridSync::OneWorkgroup:
      return "one workgroup";
  }
  return "";
}

// One shape in one form, ready to run over and over.
class FormRun {
 public:
  FormRun(const FormShape& shape, GridSync form)
      : form_(form), inputs_(shape.inputs.begin(), shape.inputs.end()) {}

  // Its first run; false where the form is impossible for this shape on this device.
  bool start(Backend& backend, const FormShape& shape, const ir::Program& program) {
    DispatchConfig config = shape.config;
    config.grid_sync = form_;
    auto compiled = backend.compile(program, config);
    const auto ran = compiled ? (*compiled)->dispatch_borrowed_into(inputs_, outputs_)
                              : Result<DispatchTiming>(std::unexpected(compiled.error()));
    if (ran) {
      compiled_ = std::move(*compiled);
      return true;
    }
    const ErrorCode code = ran.error().code;
    const bool is_refused =
        code == ErrorCode::UnsupportedFeature || code == ErrorCode::LoopBudgetExceeded;
    if (form_ != GridSync::Automatic && is_refused) return false;
    give_up(fmt::format("{}, {}: {}", shape.name, name_of(form_), to_string(ran.error())));
  }
  double run() {
    return time_ns([&] { must(compiled_->dispatch_borrowed_into(inputs_, outputs_)); });
  }
  void round() { times_.push_back(run()); }

  GridSync form() const { return form_; }
  const std::vector<Bytes>& outputs() const { return outputs_; }
  const std::vector<double>& times() const { return times_; }
  double median() const {
    std::vector<double> sorted = times_;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }

 private:
  GridSync form_;
  std::vector<ByteSpan> inputs_;
  std::unique_ptr<CompiledPipeline> compiled_;
  std::vector<Bytes> outputs_;
  std::vector<double> times_;
};

std::string cost_of(GridSync form, double nanoseconds) {
  return fmt::format("{} {}", name_of(form), cost_text(Unit::Nanoseconds, nanoseconds));
}

// Runs that are far from the best take no part in the rounds, apart from Automatic. Gives what they
// took once.
std::vector<std::string> drop_hopeless(std::vector<FormRun>& runs) {
  std::vector<std::string> dropped;
  std::vector<double> once;
  double best = 0;
  for (FormRun& run : runs) {
    // Of two, since now and then one takes long for no reason of its own.
    once.push_back(std::min(run.run(), run.run()));
    // Automatic does not count: one of the others has to remain, however long it took this time.
    if (once.size() > 1 && (best == 0 || once.back() < best)) best = once.back();
  }
  for (std::size_t i = runs.size() - 1; i != 0; --i) {
    if (once[i] <= best * kHopeless) continue;
    dropped.push_back(cost_of(runs[i].form(), once[i]));
    runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return dropped;
}

// None where Automatic has nothing to choose from.
std::optional<Measurement> measure_shape(Backend& backend, const FormShape& shape, Extent extent) {
  const ir::Program program = parsed_program(shape.text);
  std::vector<GridSync> forms{GridSync::Automatic, GridSync::Resident, GridSync::OneWorkgroup};
  if (extent == Extent::Whole) forms.push_back(GridSync::HostSplit);
  std::vector<FormRun> runs;
  std::size_t on_device = 0;
  for (const GridSync form : forms) {
    FormRun run(shape, form);
    if (!run.start(backend, shape, program)) continue;
    on_device += form == GridSync::Resident || form == GridSync::OneWorkgroup ? 1 : 0;
    if (!runs.empty() && run.outputs() != runs.front().outputs()) {
      give_up(fmt::format("{} gives other results as {}", shape.name, name_of(form)));
    }
    runs.push_back(std::move(run));
  }
  if (on_device < 2) return std::nullopt;
  std::vector<std::string> others;
  if (extent != Extent::Check) others = drop_hopeless(runs);

  const Effort effort = effort_of(extent);
  double spent = 0;
  for (std::size_t round = 0;
       round < effort.least || (round < effort.most && spent < effort.nanoseconds); ++round) {
    // Who goes first alternates, so that a drift of the machine falls on all, and so does who
    // follows whom: a run on one core leaves the worker threads asleep.
    spent += time_ns([&] {
      for (std::size_t i = 0; i < runs.size(); ++i) {
        const std::size_t place = round % 2 == 0 ? i : runs.size() - 1 - i;
        runs[(round / 2 + place) % runs.size()].round();
      }
    });
  }
  const auto best = std::ranges::min_element(runs.begin() + 1, runs.end(), {}, &FormRun::median);
  Measurement result;
  result.size = shape.name;
  result.peer = name_of(best->form());
  result.compared = kSameBytes;
  result.bound = kWorstGoal;
  judge(result, runs.front().times(), best->times());
  for (const FormRun& run : runs) {
    if (&run == &runs.front() || &run == &*best) continue;
    others.push_back(cost_of(run.form(), run.median()));
  }
  result.note = fmt::format("{}", fmt::join(others, ", "));
  // The form is the same more often than not, so the ratio of medians is what a user would see.
  result.felsite = runs.front().median();
  result.peer_cost = best->median();
  result.ratio = result.felsite / result.peer_cost;
  hold_to(result, kWorstGoal);
  return result;
}

// The geometric mean over all shapes: the quotient of the geometric means of both sides.
Measurement mean_of(const std::vector<Measurement>& shapes) {
  double felsite = 0;
  double best = 0;
  for (const Measurement& shape : shapes) {
    felsite += std::log(shape.felsite);
    best += std::log(shape.peer_cost);
  }
  const auto count = static_cast<double>(std::max<std::size_t>(shapes.size(), 1));
  Measurement mean;
  mean.size = fmt::format("mean of {} shapes", shapes.size());
  mean.peer = "the best form of each";
  mean.compared = kSameBytes;
  mean.felsite = std::exp(felsite / count);
  mean.peer_cost = std::exp(best / count);
  mean.ratio = mean.felsite / mean.peer_cost;
  hold_to(mean, kMeanGoal);
  return mean;
}

// The mean and the worst first, then the shapes that are off; a whole run lists them all.
Result<std::vector<Measurement>> automatic_form(Extent extent) {
  FELSITE_TRY(const auto backend, make_backend("vulkan"));
  std::vector<Measurement> shapes;
  std::size_t number = 0;
  for (const FormShape& shape : form_shapes()) {
    // A check covers the programs, not their sizes.
    if (extent == Extent::Check && number++ % 8 != 0) continue;
    if (auto measured = measure_shape(*backend, shape, extent)) {
      shapes.push_back(std::move(*measured));
    }
  }
  if (extent == Extent::Check || shapes.empty()) return shapes;
  std::vector<Measurement> lines{mean_of(shapes)};
  Measurement worst = *std::ranges::max_element(shapes, {}, &Measurement::ratio);
  worst.size = "the worst: " + worst.size;
  lines.push_back(std::move(worst));
  for (Measurement& shape : shapes) {
    if (extent == Extent::Whole || shape.ratio > kMeanGoal) lines.push_back(std::move(shape));
  }
  return lines;
}

}  // namespace

std::vector<Row> form_rows() {
  return {{.name = "automatic_form",
           .about = "The form that Automatic chooses, beside the best of those that can be forced",
           .bound = kWorstGoal,
           .cases = {},
           .surroundings = {},
           .measured = automatic_form}};
}

}  // namespace felsite::bench
