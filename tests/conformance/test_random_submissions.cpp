// Random submissions on random buffers against the model: what every read gives, and what every
// buffer holds in the end. A failure prints its seed; FELSITE_CONFORMANCE_SEEDS runs more of them.
#include <algorithm>
#include <cstdlib>
#include <random>

#include "conformance/conformance.h"
#include "conformance/submission_model.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// Buffers in a backend and in the model, and submissions on both.
class RandomWork {
 public:
  explicit RandomWork(std::uint32_t seed) : random_(seed) {
    // The grid buffer comes first. Only the program that sets it writes it, so that no random
    // bytes become a grid that runs for years.
    add(Bytes(12));
    for (const std::size_t size : {4u, 32u, 36u, 100u, 0u, 7u, 61u}) add(random_bytes(size));
  }

  // Runs one submission and checks its reads.
  void submit() {
    Submission next = draw_submission();
    std::vector<Bytes> slots(below(3), Bytes(below(50)));
    if (below(3) != 0) {
      const DispatchTiming timing = must(tested().submit_resident(next.given(), slots));
      CHECK(slots == model_run(next));
      CHECK(timing.blocks == model_blocks_);
      return;
    }
    const auto recorded = must(tested().record_resident(next.given()));
    for (int run = 0; run < 3; ++run) {
      std::vector<ByteSpan> fresh;
      if (run > 0) {
        for (Bytes& payload : next.payloads) payload = random_bytes(payload.size());
        fresh.assign(next.payloads.begin(), next.payloads.end());
      }
      DispatchTiming timing;
      if (below(2) == 0) {
        timing = must(recorded->run_into(slots, fresh));
      } else {
        timing = must(must(recorded->start(fresh))->wait_into(slots));
      }
      CHECK(slots == model_run(next));
      CHECK(timing.blocks == model_blocks_);
    }
  }

  void check_buffers() const {
    for (std::size_t i = 0; i < model_.size(); ++i) {
      INFO(i);
      CHECK(buffers_[i]->bytes() == model_[i]);
    }
  }

 private:
  struct Step {
    std::size_t program;
    std::vector<std::size_t> buffers;
  };
  struct Submission {
    std::vector<ResidentFill> fills;
    std::vector<std::size_t> filled;
    std::vector<Bytes> payloads;
    std::vector<ResidentUpload> uploads;  // of the payloads
    std::vector<std::size_t> uploaded;
    std::vector<Step> model_prefix, model_repeated;
    std::vector<ResidentStep> prefix, repeated;
    std::uint32_t count = 0;
    struct Block {
      std::vector<Step> model;
      std::vector<ResidentStep> steps;
      Repeat repeat;
      std::size_t flagged = 0;  // the buffer that the flag is a range of
    };
    std::vector<Block> blocks;
    std::vector<ResidentBlock> given_blocks;
    std::vector<ResidentRange> reads;
    std::vector<std::size_t> read;

    ResidentSubmission given() {
      for (std::size_t i = 0; i < uploads.size(); ++i) uploads[i].bytes = payloads[i];
      given_blocks.clear();
      for (const Block& block : blocks) given_blocks.push_back({block.steps, block.repeat});
      return {.fills = fills,
              .uploads = uploads,
              .prefix = prefix,
              .repeated = repeated,
              .count = count,
              .reads = reads,
              .blocks = given_blocks};
    }
  };

  std::size_t below(std::size_t end) { return random_() % end; }

  Bytes random_bytes(std::size_t size) {
    Bytes bytes(size);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random_());
    return bytes;
  }

  void add(Bytes bytes) {
    buffers_.push_back(std::make_unique<OnDevice>(bytes));
    model_.push_back(std::move(bytes));
  }

  // Any buffer but the grid's.
  std::size_t draw_buffer() { return 1 + below(model_.size() - 1); }

  ResidentRange draw_range(std::size_t buffer) {
    const std::size_t offset = below(model_[buffer].size() + 1);
    const std::size_t left = model_[buffer].size() - offset;
    const bool to_the_end = below(4) == 0;
    return {buffers_[buffer]->handle(), offset, to_the_end ? kWholeSize : below(left + 1)};
  }

  void draw_step(std::vector<Step>& model, std::vector<ResidentStep>& steps) {
    Step drawn{.program = below(model_programs().size()), .buffers = {}};
    const ModelProgram& program = model_programs()[drawn.program];
    while (drawn.buffers.size() < program.resources) {
      const std::size_t place = drawn.buffers.size();
      const bool reads_grid = drawn.program == kReadsGrid || drawn.program == kSumsOverGrid;
      const bool is_grid = (drawn.program == kSetsGrid && place == 1) || (reads_grid && place == 0);
      const std::size_t buffer = is_grid ? 0 : draw_buffer();
      if (model_[buffer].size() % program.elements != 0) continue;
      // Nothing that is changed may be bound twice.
      const bool changed = place >= program.resources - program.changed;
      if (changed && std::ranges::count(drawn.buffers, buffer) != 0) {
        drawn.buffers.clear();
        continue;
      }
      drawn.buffers.push_back(buffer);
    }
    ResidentStep step{.program = valid_program(program.text)};
    for (const std::size_t buffer : drawn.buffers) {
      step.resources.push_back(buffers_[buffer]->handle());
    }
    if (program.grid == ModelProgram::Grid::One) step.grid_override = {1, 1, 1};
    if (program.grid == ModelProgram::Grid::OverFirst) {
      const std::size_t invocations = model_[drawn.buffers[0]].size() / 4;
      step.grid_override = {static_cast<std::uint32_t>((invocations + 7) / 8), 1, 1};
    }
    if (program.grid == ModelProgram::Grid::Inferred && below(4) == 0) {
      step.workgroup_override = {static_cast<std::uint32_t>(1 + below(9)), 1, 1};
    }
    model.push_back(std::move(drawn));
    steps.push_back(std::move(step));
  }

  // A flag is a range of something that a step of the block changes.
  Submission::Block draw_block() {
    Submission::Block block;
    for (std::size_t i = 1 + below(3); i > 0; --i) draw_step(block.model, block.steps);
    const std::uint32_t bound =
        std::vector<std::uint32_t>{1, 2, 3, 7, 40, 100, 700}[below(below(4) == 0 ? 7 : 5)];
    block.repeat = below(2) == 0 ? Repeat::times(static_cast<std::uint32_t>(1 + below(5)))
                                 : Repeat::until_unchanged(bound);
    if (below(3) != 0) return block;
    const Step& step = block.model[below(block.model.size())];
    block.flagged = step.buffers.back();
    const std::size_t words = model_[block.flagged].size() / 4;
    if (words == 0 || block.flagged == 0) return block;
    const std::size_t first = below(words);
    const ResidentResource flag(buffers_[block.flagged]->handle(), first * 4,
                                (1 + below(words - first)) * 4);
    block.repeat = Repeat::until_zero(flag, bound);
    return block;
  }

  Submission draw_submission() {
    Submission next;
    for (std::size_t i = below(3); i > 0; --i) {
      const std::size_t buffer = draw_buffer();
      const std::size_t size = model_[buffer].size();
      const std::size_t offset = below(size / 4 + 1) * 4;
      const std::uint64_t length = below(2) == 0 ? kWholeSize : below((size - offset) / 4 + 1) * 4;
      next.fills.push_back(
          {buffers_[buffer]->handle(), static_cast<std::byte>(random_()), offset, length});
      next.filled.push_back(buffer);
    }
    for (std::size_t i = below(4); i > 0; --i) {
      const std::size_t buffer = draw_buffer();
      const std::size_t offset = below(model_[buffer].size() + 1);
      next.payloads.push_back(random_bytes(below(model_[buffer].size() - offset + 1)));
      next.uploads.push_back({.buffer = buffers_[buffer]->handle(), .offset = offset});
      next.uploaded.push_back(buffer);
    }
    for (std::size_t i = below(5); i > 0; --i) draw_step(next.model_prefix, next.prefix);
    for (std::size_t i = below(4); i > 0; --i) draw_step(next.model_repeated, next.repeated);
    next.count = std::vector<std::uint32_t>{0, 1, 2, 5}[below(4)];
    for (std::size_t i = below(4); i > 0; --i) next.blocks.push_back(draw_block());
    for (std::size_t i = below(5); i > 0; --i) {
      const std::size_t buffer = below(model_.size());
      next.reads.push_back(draw_range(buffer));
      next.read.push_back(buffer);
    }
    return next;
  }

  void model_steps(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      std::vector<Bytes*> buffers;
      for (const std::size_t buffer : step.buffers) buffers.push_back(&model_[buffer]);
      model_programs()[step.program].run(buffers);
    }
  }

  BlockTiming model_block(const Submission::Block& block) {
    using Kind = Repeat::Kind;
    BlockTiming timing;
    while (timing.iterations_run < block.repeat.bound && !timing.converged) {
      const std::vector<Bytes> before = model_;
      std::span<std::byte> flag;
      if (block.repeat.kind == Kind::UntilFlagIsZero) {
        const ResidentResource& range = block.repeat.flag;
        flag = std::span(model_[block.flagged]).subspan(range.offset, range.length);
      }
      std::ranges::fill(flag, std::byte{0});
      model_steps(block.model);
      ++timing.iterations_run;
      const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
      timing.converged = block.repeat.kind == Kind::UntilUnchanged
                             ? model_ == before
                             : !flag.empty() && std::ranges::all_of(flag, is_zero);
    }
    return timing;
  }

  std::vector<Bytes> model_run(const Submission& next) {
    const auto at = [](Bytes& bytes, std::uint64_t offset) {
      return bytes.begin() + static_cast<std::ptrdiff_t>(offset);
    };
    for (std::size_t i = 0; i < next.fills.size(); ++i) {
      Bytes& bytes = model_[next.filled[i]];
      const ResidentFill& fill = next.fills[i];
      const std::uint64_t length = std::min(fill.length, bytes.size() - fill.offset);
      std::fill_n(at(bytes, fill.offset), length, fill.value);
    }
    for (std::size_t i = 0; i < next.uploads.size(); ++i) {
      std::ranges::copy(next.payloads[i], at(model_[next.uploaded[i]], next.uploads[i].offset));
    }
    model_steps(next.model_prefix);
    for (std::uint32_t iteration = 0; iteration < next.count; ++iteration)
      model_steps(next.model_repeated);
    model_blocks_.clear();
    for (const Submission::Block& block : next.blocks) model_blocks_.push_back(model_block(block));
    std::vector<Bytes> outputs;
    for (std::size_t i = 0; i < next.reads.size(); ++i) {
      Bytes& bytes = model_[next.read[i]];
      const ResidentRange& range = next.reads[i];
      const std::uint64_t length = std::min(range.length, bytes.size() - range.offset);
      outputs.emplace_back(at(bytes, range.offset), at(bytes, range.offset + length));
    }
    return outputs;
  }

  std::mt19937 random_;
  std::vector<std::unique_ptr<OnDevice>> buffers_;
  std::vector<Bytes> model_;
  std::vector<BlockTiming> model_blocks_;  // of the last submission
};

}  // namespace

TEST_CASE("random submissions do what the model does") {
  const char* const given = std::getenv("FELSITE_CONFORMANCE_SEEDS");
  const std::uint32_t seeds = given != nullptr ? static_cast<std::uint32_t>(std::atoi(given)) : 12;
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    INFO("seed " << seed);
    RandomWork work(seed);
    for (int round = 0; round < 8; ++round) {
      INFO("submission " << round);
      work.submit();
    }
    work.check_buffers();
  }
}
