// Rows about what the backend adds to Vulkan when the work itself is small: warm dispatches, and
// sequences that are recorded once and run often. The peer is the same work in raw Vulkan.
//
// With worker threads, lavapipe's small dispatches vary by more than what is measured here, so the
// rows run without them.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "glsl.h"
#include "on_device.h"
#include "peers.h"
#include "step.h"

namespace felsite::bench {
namespace {

// The steps as raw Vulkan.
class RawSteps {
 public:
  RawSteps(const SharedRawDevice& device, std::uint32_t steps)
      : kernel_(device, compile_glsl(peers::step)),
        buffer_(device, kStepElements * sizeof(std::uint32_t)),
        commands_(device, kernel_, {{&buffer_}, kStepElements, 1, steps}) {
    const Bytes contents = step_contents();
    std::memcpy(buffer_.mapped, contents.data(), contents.size());
  }
  void run() {
    commands_.submit();
    commands_.wait();
  }
  // Nanoseconds until the work is with the device.
  double submit() {
    const double cost = time_ns([&] { commands_.submit(); });
    commands_.wait();
    return cost;
  }
  Bytes contents() const {
    return {buffer_.mapped, buffer_.mapped + kStepElements * sizeof(std::uint32_t)};
  }

 private:
  RawKernel kernel_;
  RawBuffer buffer_;
  RawCommands commands_;
};

// Steps one by one, or one step as a block that is repeated.
enum class Form { Sequence, Block };

// The steps in the backend, on a buffer of their own.
class FelsiteSteps {
 public:
  FelsiteSteps(std::shared_ptr<Backend> backend, std::uint32_t steps, Form form = Form::Sequence)
      : backend_(std::move(backend)),
        program_(parsed_program(kStepText)),
        buffer_(must(backend_->allocate_resident(kStepElements * sizeof(std::uint32_t)))),
        compiled_(must(backend_->compile(program_))) {
    must(backend_->upload_resident(buffer_, step_contents()));
    const ResidentStep step{.program = program_, .resources = {buffer_}};
    if (form == Form::Block) {
      recorded_ = must(backend_->record_resident({.repeated = {&step, 1}, .count = steps}));
    } else {
      const std::vector<ResidentStep> sequence(steps, step);
      recorded_ = must(backend_->record_resident({.prefix = sequence}));
    }
  }
  ~FelsiteSteps() { must(backend_->free_resident(buffer_)); }
  FelsiteSteps(const FelsiteSteps&) = delete;
  FelsiteSteps& operator=(const FelsiteSteps&) = delete;

  // One step, by the compiled pipeline.
  void dispatch() { must(compiled_->dispatch_resident({&buffer_, 1})); }
  // All, by the recording.
  void run() { must(recorded_->run_into(nothing_)); }
  double enqueue() {
    return static_cast<double>(must(recorded_->run_into(nothing_)).enqueue_ns.value_or(0));
  }
  Bytes contents() const { return must(backend_->download_resident(buffer_)); }

 private:
  std::shared_ptr<Backend> backend_;
  ir::Program program_;
  ResidentHandle buffer_;
  std::unique_ptr<CompiledPipeline> compiled_;
  std::unique_ptr<RecordedSequence> recorded_;
  std::vector<Bytes> nothing_;
};

// Several of a side.
template <class Steps>
using Team = std::vector<std::shared_ptr<Steps>>;
constexpr std::size_t kTeam = 5;

struct Teams {
  Team<FelsiteSteps> felsite;
  Team<RawSteps> raw;
};

// Who is made first alternates too: the first finds the memory in better order.
Teams make_teams(const Sides& sides, std::uint32_t steps, Form form = Form::Sequence) {
  Teams teams;
  const auto add_raw = [&] { teams.raw.push_back(std::make_shared<RawSteps>(sides.raw, steps)); };
  for (std::size_t i = 0; i < kTeam; ++i) {
    if (i % 2 == 0) add_raw();
    teams.felsite.push_back(std::make_shared<FelsiteSteps>(sides.backend, steps, form));
    if (i % 2 != 0) add_raw();
    teams.felsite.back()->run();
    teams.raw.back()->run();
    if (teams.felsite.back()->contents() != teams.raw.back()->contents()) {
      give_up(fmt::format("{} steps give other results than raw Vulkan", steps));
    }
  }
  return teams;
}

template <class Steps>
std::function<double()> costs_of(const Team<Steps>& team,
                                 const std::function<double(Steps&)>& cost) {
  std::vector<std::function<double()>> costs;
  for (const auto& steps : team) costs.push_back([steps, cost] { return cost(*steps); });
  return in_turn(std::move(costs));
}

// Rounds far shorter than a time slice, and many.
constexpr std::uint32_t kDispatches = 20;
constexpr std::size_t kRounds = 401;

double mean_of_runs(RawSteps& steps) {
  return mean_ns(kDispatches, [&] { steps.run(); });
}

std::vector<Case> latency_cases(Extent) {
  const auto sides = open_sides();
  if (!sides) return {skipped_case(sides.error())};
  const Teams teams = make_teams(*sides, 1);
  const auto dispatches = [](FelsiteSteps& steps) {
    return mean_ns(kDispatches, [&] { steps.dispatch(); });
  };
  return {{.size = "one workgroup",
           .felsite = costs_of<FelsiteSteps>(teams.felsite, dispatches),
           .peer = "raw Vulkan, recorded once",
           .peer_cost = costs_of<RawSteps>(teams.raw, mean_of_runs),
           .compared = std::string(kSameBytes),
           .most_rounds = kRounds}};
}

std::vector<Case> raw_control_cases(Extent) {
  const auto sides = open_sides();
  if (!sides) return {skipped_case(sides.error())};
  return {{.size = "one workgroup",
           .felsite = costs_of<RawSteps>(make_teams(*sides, 1).raw, mean_of_runs),
           .peer = "the same program",
           .peer_cost = costs_of<RawSteps>(make_teams(*sides, 1).raw, mean_of_runs),
           .compared = std::string(kSameBytes),
           .most_rounds = kRounds}};
}

// Two threads, each with its own buffer and recording; there is one queue. What both do at once
// shows what they wait for each other.
std::vector<Case> threads_cases(Extent) {
  constexpr std::uint32_t kInEach = 100;
  const auto sides = open_sides();
  if (!sides) return {skipped_case(sides.error())};
  const Teams teams = make_teams(*sides, 1);
  const auto by_two = [](const auto& team, auto dispatch) {
    return [=] {
      return time_ns([&] {
               const auto half = [&](std::size_t who) {
                 for (std::uint32_t i = 0; i < kInEach; ++i) dispatch(*team[who]);
               };
               std::jthread other(half, 1);
               half(0);
             }) /
             kInEach;
    };
  };
  return {{.size = "2 threads, one workgroup each",
           .felsite = by_two(teams.felsite, [](FelsiteSteps& steps) { steps.dispatch(); }),
           .peer = "raw Vulkan, 2 threads",
           .peer_cost = by_two(teams.raw, [](RawSteps& steps) { steps.run(); }),
           .compared = std::string(kSameBytes)}};
}

Case sequence_case(const Sides& sides, std::uint32_t steps, Form form) {
  const Teams teams = make_teams(sides, steps, form);
  const std::uint32_t times = std::max(200 / steps, 1u);
  const auto runs = [times](auto& side) { return mean_ns(times, [&] { side.run(); }); };
  const bool block = form == Form::Block;
  return {.size = fmt::format("{} step{}", steps,
                              block        ? "s, a block"
                              : steps == 1 ? ""
                                           : "s"),
          .felsite = costs_of<FelsiteSteps>(teams.felsite, runs),
          .peer = "raw Vulkan, recorded once",
          .peer_cost = costs_of<RawSteps>(teams.raw, runs),
          .compared = std::string(kSameBytes),
          .bound = steps < 100 ? std::optional(1.25) : std::nullopt,
          .most_rounds = kRounds};
}

std::vector<Case> sequence_cases(Extent extent) {
  const auto sides = open_sides();
  if (!sides) return {skipped_case(sides.error())};
  std::vector<Case> cases;
  for (const std::uint32_t steps : {1u, 10u, 100u, 1000u, 5000u}) {
    if (steps > 10 && extent == Extent::Check) break;
    if (steps > 1000 && extent == Extent::Quick) break;
    cases.push_back(sequence_case(*sides, steps, Form::Sequence));
  }
  cases.push_back(sequence_case(*sides, by_extent(extent, 10u, 1000u, 1000u), Form::Block));
  return cases;
}

// What the host does before the work is with the device. Each measured call follows a run of as
// many steps on the same queue, so that caches and the driver's threads are in the same state. That
// more steps cost the host no more is the row's own bound. Beside vkQueueSubmit alone, which is all
// that raw Vulkan does, Felsite's locks and counters are up to a microsecond: a wider one.
std::vector<Case> resubmit_cases(Extent extent) {
  const std::uint32_t steps = by_extent(extent, 50u, 1000u, 5000u);
  const auto sides = open_sides();
  if (!sides) return {skipped_case(sides.error())};
  const auto many = std::make_shared<FelsiteSteps>(sides->backend, steps);
  const auto one = std::make_shared<FelsiteSteps>(sides->backend, 1);
  const auto raw = std::make_shared<RawSteps>(sides->raw, steps);
  const auto enqueue_many = [many] {
    many->run();
    return many->enqueue();
  };
  const auto enqueue_one = [many, one] {
    many->run();
    return one->enqueue();
  };
  const auto submit_raw = [raw] {
    raw->run();
    return raw->submit();
  };
  const std::string size = fmt::format("{} steps", steps);
  const std::string compared = "nothing: sequence_vs_raw does";
  return {{.size = size,
           .felsite = enqueue_many,
           .peer = "vkQueueSubmit of as many",
           .peer_cost = submit_raw,
           .compared = compared,
           .bound = 2.0},
          {.size = size,
           .felsite = enqueue_many,
           .peer = "Felsite, 1 step",
           .peer_cost = enqueue_one,
           .compared = compared}};
}

}  // namespace

std::vector<Row> dispatch_rows() {
  return {
      {"control_raw", "The same raw Vulkan program on both sides", 0, raw_control_cases,
       kNoWorkers},
      {"dispatch_latency_vs_raw", "A warm dispatch on resident buffers, beside raw Vulkan", 1.25,
       latency_cases, kNoWorkers},
      {"default_threads", "The same with the worker threads that a user has", 1.25, latency_cases},
      {"two_threads", "Dispatches from two threads, beside raw Vulkan", 1.25, threads_cases},
      {"sequence_vs_raw", "Dependent steps recorded once, beside raw Vulkan", 1.05, sequence_cases,
       kNoWorkers},
      {"sequence_resubmit_host", "The host's part of running a recording again", 1.5,
       resubmit_cases, kNoWorkers},
  };
}

}  // namespace felsite::bench
