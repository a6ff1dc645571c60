// What is recorded for sequences with conditions, grids that the device reads and watched words:
// steps, accesses, barriers. FELSITE_SEED=n runs one random sequence.
#include <algorithm>
#include <random>

#include "support/hazard_oracle.h"
#include "support/sequence_plans.h"
#include "vk/counting_sequence.h"

using namespace felsite;
using namespace felsite::test;
using vk::BufferSlice;
using vk::CommandKind;
using vk::KernelStep;
using vk::Place;
using vk::SequenceLayout;

namespace {

bool is_sound(const SequenceLayout& layout, const BarrierPlan& barriers) {
  return dispatch::find_hazards(layout.plan, barriers).empty();
}

// Sound, and not sound any more with anything of it left out or one step too early.
void check_barriers(const SequenceLayout& layout) {
  for (const dispatch::Hazard& hazard : dispatch::find_hazards(layout.plan, layout.barriers)) {
    FAIL_CHECK(dispatch::to_string(hazard, layout.plan));
  }
  for (std::size_t i = 0; i < layout.barriers.barriers.size(); ++i) {
    INFO("without all of ", text_of(layout.barriers.barriers[i]));
    BarrierPlan worse = layout.barriers;
    worse.barriers.erase(worse.barriers.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK_FALSE(is_sound(layout, worse));
    for (const auto set :
         {&PlannedBarrier::from, &PlannedBarrier::writes_from, &PlannedBarrier::to}) {
      for (const Stage stage : kAllStages) {
        worse = layout.barriers;
        PlannedBarrier& barrier = worse.barriers[i];
        if (!(barrier.*set).has(stage)) continue;
        barrier.*set = without(barrier.*set, stage);
        CHECK_FALSE(is_sound(layout, worse));
      }
    }
    if (layout.barriers.barriers[i].before == 0) continue;
    worse = layout.barriers;
    --worse.barriers[i].before;
    CHECK_FALSE(is_sound(layout, worse));
  }
}

// Each kernel's planned step says which word it goes by.
void check_conditions(const std::vector<KernelStep>& steps, const std::vector<PlannedStep>& planned,
                      const std::vector<vk::Command>& commands) {
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (commands[i].kind != CommandKind::Kernel) continue;
    const KernelStep& step = steps[commands[i].index];
    const auto found =
        std::ranges::find(planned[i].accesses, Stage::Condition, &BufferAccess::stage);
    CHECK((found != planned[i].accesses.end()) == step.condition.has_value());
    if (!step.condition || found == planned[i].accesses.end()) continue;
    CHECK(found->begin == step.condition->offset);
    CHECK(found->end == step.condition->offset + 4);
    CHECK_FALSE(found->writes);
  }
}

// A watched block ends with the host's look, which writes nothing.
void check_look(const vk::Sequence& sequence, const SequenceLayout& layout) {
  const bool watched = sequence.watch && sequence.count > 1 && !sequence.repeated.empty();
  CHECK(layout.watched == watched);
  const auto& commands = layout.commands[1];
  CHECK(std::ranges::count(commands, CommandKind::Host, &vk::Command::kind) == (watched ? 1 : 0));
  CHECK(layout.plan.block.size() == commands.size());
  if (!watched) return;
  CHECK(layout.plan.count >= 2);
  CHECK(commands.back().kind == CommandKind::Host);
  CHECK(layout.plan.block.back().name == "poll");
  for (const BufferAccess& access : layout.plan.block.back().accesses) {
    CHECK(access.stage == Stage::Host);
    CHECK_FALSE(access.writes);
  }
}

void check_all(const vk::Sequence& sequence, const vk::Device& device) {
  const SequenceLayout layout = vk::lay_out(sequence, device);
  INFO(text_of(layout.plan), text_of(layout.barriers));
  check_look(sequence, layout);
  check_conditions(sequence.prefix, layout.plan.prologue, layout.commands[0]);
  check_conditions(sequence.repeated, layout.plan.block, layout.commands[1]);
  check_barriers(layout);
}

// Few buffers and words, so that steps go by what others write, and write what others go by.
class RandomSequenceByHand {
 public:
  explicit RandomSequenceByHand(Workbench& bench) : bench_(bench) {
    for (int i = 0; i < 3; ++i) buffers_.push_back(bench.words(Place::Control, 4));
    for (int i = 0; i < 2; ++i) buffers_.push_back(bench.words(Place::Device, 4));
    for (const auto& [program, count] : {std::pair(add_one(), 1), std::pair(copying(), 2),
                                         std::pair(trapping(), 1), std::pair(decide(), 3)}) {
      kernels_.push_back(
          bench.step(program, std::vector(static_cast<std::size_t>(count), buffers_[0])));
    }
  }

  vk::Sequence make(std::uint64_t seed) {
    random_.seed(seed);
    vk::Sequence made;
    for (std::uint32_t i = below(3); i > 0; --i) made.fills.push_back({any(), std::byte{0}});
    made.prefix = steps();
    made.repeated = steps();
    made.count = std::array{0u, 1u, 2u, 3u, 1000u}[below(5)];
    for (std::uint32_t i = below(3); i > 0; --i) made.reads.push_back(any());
    if (below(4) != 0) made.watch = word_of(buffers_[below(3)], below(4));
    if (below(4) == 0) made.gates.push_back({buffers_[below(3)].buffer, 0});
    return made;
  }

 private:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  const BufferSlice& any() { return buffers_[below(static_cast<std::uint32_t>(buffers_.size()))]; }
  std::vector<KernelStep> steps() {
    std::vector<KernelStep> steps;
    for (std::uint32_t i = below(6); i > 0; --i) {
      KernelStep step = kernels_[below(static_cast<std::uint32_t>(kernels_.size()))];
      for (BufferSlice& buffer : step.buffers) buffer = below(2) == 0 ? any() : word_of(any(), 0);
      if (below(2) == 0) step.condition = word_of(any(), below(4));
      if (below(4) == 0) step.indirect = BufferSlice{buffers_[below(3)].buffer, 0, 12};
      steps.push_back(std::move(step));
    }
    return steps;
  }

  Workbench& bench_;
  std::mt19937_64 random_;
  std::vector<BufferSlice> buffers_;
  std::vector<KernelStep> kernels_;
};

}  // namespace

TEST_CASE("a watched block that goes by its own word has the barriers that this takes") {
  Workbench bench;
  Counting counting(bench);
  vk::Sequence sequence = counting.sequence(1, 1000);
  const Stage skipping = bench.has_conditions() ? Stage::Condition : Stage::Indirect;
  const SequenceLayout layout = vk::lay_out(sequence, bench.engine->device());
  INFO(text_of(layout.plan), text_of(layout.barriers));
  check_all(sequence, bench.engine->device());
  std::vector<PlannedBarrier> block;
  std::ranges::copy_if(layout.barriers.barriers, std::back_inserter(block),
                       [](const auto& barrier) { return barrier.section == Section::Block; });
  REQUIRE(block.size() == 2);
  CHECK(block[0].before == 1);  // the word is written only when nobody goes by it any more
  CHECK(block[0].from.has(skipping));
  CHECK(block[1].before == 2);  // and seen by the host and by the next run
  CHECK(block[1].writes_from == StageSet(Stage::Compute));
  CHECK(block[1].to.has(Stage::Host));
  CHECK(block[1].to.has(skipping));

  sequence.count = 1;
  check_all(sequence, bench.engine->device());
  CHECK(vk::lay_out(sequence, bench.engine->device()).plan.block.size() == 2);
}

TEST_CASE("the look sees what kernels report") {
  Workbench bench;
  Counting counting(bench);
  vk::Sequence sequence = counting.sequence(1, 3);
  const std::size_t words_alone =
      vk::lay_out(sequence, bench.engine->device()).plan.block.back().accesses.size();
  CHECK(words_alone == 1);
  sequence.prefix.push_back(bench.step(trapping(), {bench.words(Place::Device, 1)}));
  sequence.gates.push_back({bench.words(Place::Control, 7).buffer, 0});
  const SequenceLayout layout = vk::lay_out(sequence, bench.engine->device());
  CHECK(layout.plan.block.back().accesses.size() == 3);
  check_all(sequence, bench.engine->device());
}

TEST_CASE("random sequences by hand are laid out soundly, with nothing too much") {
  for (const std::string mask : {"", "-in_place_memory"}) {
    CAPTURE(mask);
    Workbench bench(mask);
    RandomSequenceByHand random(bench);
    for_seeds(300, [&](std::uint64_t seed) {
      CAPTURE(seed);
      check_all(random.make(seed), bench.engine->device());
    });
  }
}
