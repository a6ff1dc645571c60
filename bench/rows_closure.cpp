// Rows about a fixpoint of three segments: the closure of words in groups of 8, whose passes end
// when nothing changes any more. The peer is the same job in raw Vulkan, early exit included.
//
// With worker threads, lavapipe's small dispatches vary by more than what is measured here, so the
// rows run without them.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "felsite/vulkan.h"
#include "glsl.h"
#include "on_device.h"
#include "peers.h"
#include "raw_passes.h"

namespace felsite::bench {
namespace {

constexpr std::uint32_t kWorkgroup = 512;
constexpr std::uint32_t kBound = 64;
// 7 passes change something, and one finds that nothing does.
constexpr std::uint32_t kLivePasses = 8;

// {0}: words; {1}: what there is beside the four buffers; {2}: the end of a pass.
constexpr std::string_view kClosure = R"(
program closure workgroup(512) {{
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

// From the caller's bytes to the results in slots that are used again.
class FelsiteClosure {
 public:
  FelsiteClosure(std::shared_ptr<Backend> backend, std::uint32_t words, Convergence::Kind kind,
                 std::uint32_t bound)
      : backend_(std::move(backend)), input_(closure_input(words)) {
    DispatchConfig config{.grid_override = std::array{words / kWorkgroup, 1u, 1u},
                          .fixpoint_iterations = bound,
                          .convergence = {.kind = kind},
                          .grid_sync = GridSync::Resident};
    if (kind == Convergence::Kind::Flag) config.convergence.flag = "changed";
    compiled_ = must(backend_->compile(closure_program(words, kind), config));
  }
  void run() {
    const ByteSpan input = input_;
    passes_ = must(compiled_->dispatch_borrowed_into({&input, 1}, outputs_)).passes_run;
  }
  const Bytes& values() const { return outputs_[0]; }
  std::uint32_t passes() const { return passes_; }

 private:
  std::shared_ptr<Backend> backend_;
  Bytes input_;
  std::unique_ptr<CompiledPipeline> compiled_;
  std::vector<Bytes> outputs_;
  std::uint32_t passes_ = 0;
};

// All passes in one command buffer. Each pass but the first goes by the word in which the pass
// before tells of a change.
class RawClosure {
 public:
  RawClosure(const SharedRawDevice& device, std::uint32_t words)
      : input_(closure_input(words)),
        outputs_(4, Bytes(input_.size())),
        passes_(device,
                std::array{compile_glsl(peers::closure_seed), compile_glsl(peers::closure_spread),
                           compile_glsl(peers::closure_merge)},
                std::array<std::uint64_t, 5>{input_.size(), input_.size(), input_.size(),
                                             input_.size(), kBound * 4},
                2) {
    passes_.record([&] {
      passes_.fill_with_zeros(1);
      passes_.push(0, std::array{words, 0u});
      for (std::uint32_t pass = 0; pass < kBound; ++pass) add_pass(pass, words / kWorkgroup);
    });
  }
  void run() {
    std::memcpy(passes_.mapped(0), input_.data(), input_.size());
    std::memset(passes_.mapped(kChanged), 0, kBound * 4);
    passes_.run();
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      std::memcpy(outputs_[i].data(), passes_.mapped(i), outputs_[i].size());
    }
  }
  const Bytes& values() const { return outputs_[0]; }

 private:
  static constexpr std::size_t kChanged = 4;

  void add_pass(std::uint32_t pass, std::uint32_t groups) {
    if (pass != 0) {
      passes_.barrier(/*for_conditions=*/true);
      passes_.push(1, std::array{pass});
      passes_.begin_condition(kChanged, (pass - 1) * 4);
    }
    for (std::size_t kernel = 0; kernel < 3; ++kernel) {
      if (kernel != 0) passes_.barrier();
      passes_.use_kernel(kernel);
      passes_.dispatch(groups);
    }
    if (pass != 0) passes_.end_condition();
  }

  Bytes input_;
  std::vector<Bytes> outputs_;
  RawPasses passes_;
};

// Small ones take turns, several of each side: where things lie in memory alone makes some percent.
Case closure_case(const std::shared_ptr<Backend>& backend, const SharedRawDevice& raw,
                  std::uint64_t bytes, Convergence::Kind kind) {
  const auto words = static_cast<std::uint32_t>(bytes / 4);
  const auto times =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(kMebi / 64 / bytes, 1, 4));
  std::vector<std::function<double()>> felsite;
  std::vector<std::function<double()>> peer;
  double round = 0;
  for (int i = 0; i < (bytes < kMebi ? 3 : 1); ++i) {
    const auto one = std::make_shared<FelsiteClosure>(backend, words, kind, kBound);
    const auto other = std::make_shared<RawClosure>(raw, words);
    one->run();
    other->run();
    if (one->values() != other->values()) give_up("the closure differs from that of raw Vulkan");
    felsite.push_back([=] { return mean_ns(times, [&] { one->run(); }); });
    peer.push_back([=] { return mean_ns(times, [&] { other->run(); }); });
    round = (felsite.back()() + peer.back()()) * times;
  }
  const bool automatic = kind == Convergence::Kind::Automatic;
  return {.size = fmt::format("{}, {}", size_name(bytes), automatic ? "automatic" : "flag"),
          .felsite = in_turn(std::move(felsite)),
          .peer = "raw Vulkan, conditions",
          .peer_cost = in_turn(std::move(peer)),
          .rounds = rounds_for(round, bytes < kMebi ? 201 : 41),
          .bound = automatic ? std::optional(1.35) : std::nullopt};
}

std::vector<Case> closure_cases(bool quick) {
  auto raw = RawDevice::open_with_conditions();
  if (!raw) return {skipped_case(raw.error())};
  if (!(*raw)->has_conditions) {
    return {{.skipped = "The device has no conditional rendering. Fix: run it on one that has."}};
  }
  auto made = make_vulkan_backend();
  if (!made) return {skipped_case(made.error())};
  const std::shared_ptr<Backend> backend = std::move(*made);
  std::vector<std::uint64_t> sizes{kMebi / 256, kMebi};
  if (!quick) sizes.push_back(64 * kMebi);
  std::vector<Case> cases;
  for (const std::uint64_t bytes : sizes) {
    cases.push_back(closure_case(backend, *raw, bytes, Convergence::Kind::Flag));
    if (bytes < kMebi) continue;
    cases.push_back(closure_case(backend, *raw, bytes, Convergence::Kind::Automatic));
  }
  return cases;
}

// What a pass costs that the device skips, out of the difference that a larger bound makes, beside
// one that runs, out of the difference of two bounds that both are used up.
std::vector<Case> skipped_cases(bool) {
  auto made = make_vulkan_backend();
  if (!made) return {skipped_case(made.error())};
  const std::shared_ptr<Backend> backend = std::move(*made);
  // All of them stand in one submission: of more the host would spare itself the rest.
  constexpr std::uint32_t kMore = 64;
  constexpr std::uint32_t kFewer = 16;
  const auto closure = [&](std::uint32_t bound) {
    auto one = std::make_shared<FelsiteClosure>(backend, kMebi / 4, Convergence::Kind::Flag, bound);
    one->run();
    if (one->passes() != std::min(bound, kLivePasses)) give_up("the closure runs other passes");
    return one;
  };
  const auto difference = [](auto more, auto fewer, double passes) {
    return [=] {
      const double whole = time_ns([&] { more->run(); });
      return std::max(whole - time_ns([&] { fewer->run(); }), 1.0) / passes;
    };
  };
  return {{.size = "1 MiB",
           .felsite = difference(closure(kMore), closure(kFewer), kMore - kFewer),
           .peer = "a pass that runs",
           .peer_cost = difference(closure(kLivePasses), closure(1), kLivePasses - 1),
           .rounds = kLeastRounds}};
}

}  // namespace

std::vector<Row> closure_rows() {
  return {
      {"closure_vs_raw", "A fixpoint of three segments, beside raw Vulkan", 1.10, closure_cases,
       kNoWorkers},
      {"skipped_passes", "A pass behind convergence, beside one that runs", 0.02, skipped_cases,
       kNoWorkers},
  };
}

}  // namespace felsite::bench
