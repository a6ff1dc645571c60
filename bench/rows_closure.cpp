// Rows about a fixpoint of three segments: the closure of words in groups of 8, whose iterations
// end when nothing changes any more. The peer is the same job in raw Vulkan, early exit included,
// in whichever form is the fastest at the size.
//
// With worker threads, lavapipe's small dispatches vary by more than what is measured here, so most
// rows run without them; one runs with the threads that a user has.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "glsl.h"
#include "on_device.h"
#include "peers.h"

namespace felsite::bench {
namespace {

constexpr std::uint32_t kWorkgroup = 256;
constexpr std::uint32_t kBound = 64;
// 7 iterations change something, and one finds that nothing does.
constexpr std::uint32_t kLiveIterations = 8;

// {0}: words; {1}: what there is beside the four buffers; {2}: the end of an iteration.
constexpr std::string_view kClosure = R"(
program closure workgroup(256) {{
  readwrite v: u32[{0}];
  output e: u32[{0}];
  output f: u32[{0}];
  output n: u32[{0}];{1}
  let w = invocation.x;
  if w < {0} {{
    let expanded = e[w];
    let fresh = v[w] & ~expanded;
    f[w] = fresh;
    e[w] = expanded | fresh;
  }}
  gridsync;
  if w < {0} {{
    n[w] = f[w] | select(w % 8 != 0, f[w - 1], 0);
  }}
  gridsync;
  if w < {0} {{{2}
  }}
}})";

ir::Program closure_program(std::uint32_t words, Convergence::Kind kind) {
  if (kind == Convergence::Kind::Automatic) {
    return parsed_program(
        fmt::format(fmt::runtime(kClosure), words, "", "\n    v[w] = v[w] | n[w];"));
  }
  return parsed_program(
      fmt::format(fmt::runtime(kClosure), words, "\n  output changed: u32[1];", R"(
    let before = v[w];
    let after = before | n[w];
    if after != before {
      v[w] = after;
      changed[0] = 1;
    })"));
}

// One bit in the first word of each group.
Bytes closure_input(std::uint32_t words) {
  Bytes bytes(std::uint64_t{words} * 4);
  for (std::uint32_t w = 0; w < words; w += 8) {
    const std::uint32_t bit = 1u << (w / 8 % 32);
    std::memcpy(&bytes[std::uint64_t{w} * 4], &bit, 4);
  }
  return bytes;
}
// Nothing to reach: the first iteration finds that nothing changes.
Bytes closed_input(std::uint32_t words) { return Bytes(std::uint64_t{words} * 4); }

// From the caller's bytes to the results in slots that are used again.
class FelsiteClosure {
 public:
  FelsiteClosure(std::shared_ptr<Backend> backend, Bytes input, Convergence::Kind kind,
                 GridSync form, std::uint32_t bound)
      : backend_(std::move(backend)), input_(std::move(input)) {
    const auto words = static_cast<std::uint32_t>(input_.size() / 4);
    DispatchConfig config{.grid_override = std::array{words / kWorkgroup, 1u, 1u},
                          .fixpoint_iterations = bound,
                          .convergence = {.kind = kind},
                          .grid_sync = form};
    if (kind == Convergence::Kind::Flag) config.convergence.flag = "changed";
    compiled_ = must(backend_->compile(closure_program(words, kind), config));
  }
  void run() {
    const ByteSpan input = input_;
    iterations_ = must(compiled_->dispatch_borrowed_into({&input, 1}, outputs_)).iterations_run;
  }
  // The first of the four buffers.
  std::vector<Bytes> values(std::ptrdiff_t count) const {
    return {outputs_.begin(), outputs_.begin() + count};
  }
  std::uint32_t iterations() const { return iterations_; }

 private:
  std::shared_ptr<Backend> backend_;
  Bytes input_;
  std::unique_ptr<CompiledPipeline> compiled_;
  std::vector<Bytes> outputs_;
  std::uint32_t iterations_ = 0;
};

// How raw Vulkan ends it early.
enum class RawForm : std::uint8_t {
  Conditions,    // all iterations in one command buffer, each by the word of the iteration before
  Chunks,        // eight iterations in a command buffer, and the host looks at the last one's word
  OneWorkgroup,  // all in one dispatch, as far as one workgroup goes
};
constexpr std::uint32_t kChunk = 8;
constexpr std::uint32_t kWordsInOneWorkgroup = 1024;
constexpr std::uint32_t kWordsInWorkgroup = 1024;  // of the kernels of an iteration

class RawClosure {
 public:
  RawClosure(const SharedRawDevice& device, Bytes input, RawForm form, std::uint32_t bound)
      : input_(std::move(input)),
        outputs_(4, Bytes(input_.size())),
        form_(form),
        bound_(bound),
        kernels_(device,
                 std::array{compile_glsl(peers::closure_seed), compile_glsl(peers::closure_spread),
                            compile_glsl(peers::closure_merge), compile_glsl(peers::closure_whole)},
                 std::array<std::uint64_t, 5>{input_.size(), input_.size(), input_.size(),
                                              input_.size(), bound * 4},
                 2) {
    const auto words = static_cast<std::uint32_t>(input_.size() / 4);
    const std::uint32_t groups = (words + kWordsInWorkgroup - 1) / kWordsInWorkgroup;
    kernels_.record([&] {
      if (form == RawForm::OneWorkgroup) {
        kernels_.push(0, std::array{words, bound});
        kernels_.use_kernel(3);
        kernels_.dispatch(1);
        return;
      }
      const bool by_conditions = form == RawForm::Conditions;
      kernels_.push(0, std::array{words, 0u});
      if (by_conditions) kernels_.fill_with_zeros(1);
      const std::uint32_t count = by_conditions ? bound : kChunk;
      for (std::uint32_t iteration = 0; iteration < count; ++iteration)
        add_iteration(iteration, groups, by_conditions);
    });
  }
  void run() {
    std::memcpy(kernels_.mapped(0), input_.data(), input_.size());
    if (form_ == RawForm::Chunks) {
      std::memset(kernels_.mapped(1), 0, input_.size());
      run_chunks();
    } else {
      std::memset(kernels_.mapped(kChanged), 0, bound_ * 4);
      kernels_.run();
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      std::memcpy(outputs_[i].data(), kernels_.mapped(i), outputs_[i].size());
    }
  }
  std::vector<Bytes> values(std::ptrdiff_t count) const {
    return {outputs_.begin(), outputs_.begin() + count};
  }

 private:
  static constexpr std::size_t kChanged = 4;

  // The 8 iterations that it takes are just one chunk.
  void run_chunks() {
    for (std::uint32_t done = 0; done < bound_; done += kChunk) {
      std::memset(kernels_.mapped(kChanged), 0, kChunk * 4);
      kernels_.run();
      std::uint32_t last = 0;
      std::memcpy(&last, kernels_.mapped(kChanged) + (kChunk - 1) * 4, 4);
      if (last == 0) return;
    }
  }

  void add_iteration(std::uint32_t iteration, std::uint32_t groups, bool by_conditions) {
    if (iteration != 0) {
      kernels_.barrier(by_conditions);
      kernels_.push(1, std::array{iteration});
      if (by_conditions) kernels_.begin_condition(kChanged, (iteration - 1) * 4);
    }
    for (std::size_t kernel = 0; kernel < 3; ++kernel) {
      if (kernel != 0) kernels_.barrier();
      kernels_.use_kernel(kernel);
      kernels_.dispatch(groups);
    }
    if (iteration != 0 && by_conditions) kernels_.end_condition();
  }

  Bytes input_;
  std::vector<Bytes> outputs_;
  RawForm form_;
  std::uint32_t bound_;
  RawKernels kernels_;
};

std::string_view name_of(RawForm form) {
  switch (form) {
    case RawForm::Conditions:
      return "raw Vulkan, conditions";
    case RawForm::Chunks:
      return "raw Vulkan, chunks of 8";
    case RawForm::OneWorkgroup:
      return "raw Vulkan, one workgroup";
  }
  return "";
}

// The fastest of the forms that the device and the size allow: by the least of some runs.
RawForm best_form(const SharedRawDevice& raw, std::uint32_t words) {
  RawForm best = RawForm::Chunks;
  double least = 0;
  for (const RawForm form : {RawForm::Chunks, RawForm::Conditions, RawForm::OneWorkgroup}) {
    if (form == RawForm::Conditions && !raw->has_conditions) continue;
    if (form == RawForm::OneWorkgroup && words != kWordsInOneWorkgroup) continue;
    RawClosure closure(raw, closure_input(words), form, kBound);
    closure.run();
    double cost = time_ns([&] { closure.run(); });
    for (int i = 0; i < 10; ++i) cost = std::min(cost, time_ns([&] { closure.run(); }));
    if (least == 0 || cost < least) {
      least = cost;
      best = form;
    }
  }
  return best;
}

struct Asked {
  std::uint64_t bytes;
  Convergence::Kind kind;
  GridSync form;
};

// Small ones take turns, several of each side: where things lie in memory alone makes some percent.
Case closure_case(const Sides& sides, RawForm best, const Asked& asked) {
  const auto words = static_cast<std::uint32_t>(asked.bytes / 4);
  const auto times =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(kMebi / 64 / asked.bytes, 1, 4));
  std::vector<std::function<double()>> felsite;
  std::vector<std::function<double()>> peer;
  // Where all buffers are compared, iterations go on until the frontier is empty, which is two
  // more: what is reached and what was expanded are then the same.
  const bool automatic = asked.kind == Convergence::Kind::Automatic;
  const std::ptrdiff_t compared = automatic ? 2 : 4;
  for (int i = 0; i < (asked.bytes < kMebi ? 3 : 1); ++i) {
    const auto one = std::make_shared<FelsiteClosure>(sides.backend, closure_input(words),
                                                      asked.kind, asked.form, kBound);
    const auto other = std::make_shared<RawClosure>(sides.raw, closure_input(words), best, kBound);
    one->run();
    other->run();
    if (one->iterations() != kLiveIterations + (automatic ? 2 : 0)) {
      give_up("the closure runs other iterations");
    }
    if (one->values(compared) != other->values(compared)) {
      give_up("the closure differs from that of raw Vulkan");
    }
    felsite.push_back([=] { return mean_ns(times, [&] { one->run(); }); });
    peer.push_back([=] { return mean_ns(times, [&] { other->run(); }); });
  }
  return {.size = fmt::format("{}, {}{}", size_name(asked.bytes), automatic ? "compared" : "flag",
                              asked.form == GridSync::Resident ? ", resident" : ""),
          .felsite = in_turn(std::move(felsite)),
          .peer = std::string(name_of(best)),
          .peer_cost = in_turn(std::move(peer)),
          .compared = automatic ? "the same bytes of two buffers" : std::string(kSameBytes),
          .bound = automatic ? std::optional(1.25) : std::nullopt,
          .most_rounds = 201};
}

// What a user gets, and the resident form, which is not always that.
std::vector<Case> closure_cases(Extent extent) {
  const auto sides = open_sides(/*with_conditions=*/true);
  if (!sides) return {skipped_case(sides.error())};
  std::vector<std::uint64_t> sizes{kMebi / 256};
  if (extent != Extent::Check) sizes.push_back(kMebi);
  if (extent == Extent::Whole) sizes.push_back(64 * kMebi);
  std::vector<Case> cases;
  for (const std::uint64_t bytes : sizes) {
    const RawForm best = best_form(sides->raw, static_cast<std::uint32_t>(bytes / 4));
    for (const GridSync form : {GridSync::Automatic, GridSync::Resident}) {
      cases.push_back(closure_case(*sides, best, {bytes, Convergence::Kind::Flag, form}));
    }
    cases.push_back(
        closure_case(*sides, best, {bytes, Convergence::Kind::Automatic, GridSync::Automatic}));
  }
  return cases;
}

std::vector<Case> threaded_cases(Extent) {
  const auto sides = open_sides(/*with_conditions=*/true);
  if (!sides) return {skipped_case(sides.error())};
  constexpr std::uint64_t kBytes = kMebi / 256;
  const RawForm best = best_form(sides->raw, kBytes / 4);
  std::vector<Case> cases;
  for (const auto kind : {Convergence::Kind::Flag, Convergence::Kind::Automatic}) {
    cases.push_back(closure_case(*sides, best, {kBytes, kind, GridSync::Automatic}));
  }
  return cases;
}

// One iteration runs and all others are skipped by the device, in one submission on both sides:
// their cost is nearly the whole of it.
std::vector<Case> skipped_cases(Extent extent) {
  const auto sides = open_sides(/*with_conditions=*/true);
  if (!sides) return {skipped_case(sides.error())};
  if (!sides->raw->has_conditions) {
    return {{.skipped = "The device lacks conditional rendering. Fix: run it on one that has it."}};
  }
  constexpr std::uint32_t kWords = 1024;
  const std::uint32_t iterations = by_extent(extent, 16u, 256u, 256u);
  const auto felsite =
      std::make_shared<FelsiteClosure>(sides->backend, closed_input(kWords),
                                       Convergence::Kind::Flag, GridSync::Resident, iterations);
  const auto raw = std::make_shared<RawClosure>(sides->raw, closed_input(kWords),
                                                RawForm::Conditions, iterations);
  felsite->run();
  raw->run();
  if (felsite->iterations() != 1) give_up("a closed set takes more iterations than one");
  if (felsite->values(4) != raw->values(4)) give_up("the closed set differs from raw Vulkan's");
  return {{.size = fmt::format("1 iteration, {} skipped", iterations - 1),
           .felsite = [felsite] { return mean_ns(4, [&] { felsite->run(); }); },
           .peer = std::string(name_of(RawForm::Conditions)),
           .peer_cost = [raw] { return mean_ns(4, [&] { raw->run(); }); },
           .compared = std::string(kSameBytes),
           .most_rounds = 201}};
}

}  // namespace

std::vector<Row> closure_rows() {
  return {
      {"closure_vs_raw", "A fixpoint of three segments, beside the best form in raw Vulkan", 1.10,
       closure_cases, kNoWorkers},
      {"closure_default_threads", "The small one with the worker threads that a user has", 1.10,
       threaded_cases},
      {"skipped_iterations", "Iterations behind convergence, beside raw Vulkan", 1.25,
       skipped_cases, kNoWorkers},
  };
}

}  // namespace felsite::bench
