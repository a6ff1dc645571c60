// What is recorded for a sequence: order, staging, control blocks, parts of grids, barriers. Plain
// data, made here from submissions to a real device. FELSITE_SEED=n runs one random submission.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "support/hazard_oracle.h"
#include "support/sequence_plans.h"
#include "vk/backend_on_device.h"

using namespace felsite;
using namespace felsite::test;
using vk::BufferSlice;
using vk::CommandKind;
using vk::kNotStaged;
using vk::SequenceLayout;

namespace {

constexpr std::array kLayoutMasks{"", "none", "-in_place_memory"};

// More lengths than push constants have room for, so that they are a block.
ir::ValidProgram many_lengths() {
  std::string text = "program many_lengths workgroup(1) { ";
  std::string sum = "0";
  for (int i = 0; i < 3; ++i) {
    text += fmt::format("readonly x{}: u8[]; ", i);
    sum += fmt::format(" + len(x{})", i);
  }
  return valid_program(text + "readwrite o: u32[]; o[0] = " + sum + "; }");
}
// The grid is read by the device, behind a gate that Felsite adds.
ir::ValidProgram counted() {
  return valid_program(
      "program counted workgroup(1) { readonly g: u32[]; readwrite n: u32[];"
      " indirect_dispatch(g[0]); atomic_add(n[0], 1); }");
}

struct Submission {
  std::vector<ResidentFill> fills;
  std::vector<ResidentUpload> uploads;
  std::vector<ResidentStep> prefix;
  std::vector<ResidentStep> repeated;
  std::uint32_t count = 1;
  std::vector<ResidentRange> reads;

  ResidentSubmission get() const { return {fills, uploads, prefix, repeated, count, reads}; }
};

struct LaidOut {
  vk::Sequence sequence;
  SequenceLayout layout;
};
LaidOut lay_out(const Backend& backend, const Submission& submission) {
  LaidOut made{sequence_of(backend, submission.get()), {}};
  made.layout = vk::lay_out(made.sequence, vulkan_engine(backend)->device());
  return made;
}

bool share_bytes(const BufferSlice& a, const BufferSlice& b) {
  return a.buffer == b.buffer &&
         std::max(a.offset, b.offset) < std::min(a.offset + a.bytes, b.offset + b.bytes);
}

std::vector<CommandKind> kinds(const std::vector<vk::Command>& commands) {
  std::vector<CommandKind> kinds;
  for (const vk::Command& command : commands) kinds.push_back(command.kind);
  return kinds;
}

// Everything that holds for every layout.
void check_order(const LaidOut& made) {
  const auto& [prologue, block, epilogue] = made.layout.commands;
  CHECK(made.layout.plan.prologue.size() == prologue.size());
  CHECK(made.layout.plan.block.size() == block.size());
  CHECK(made.layout.plan.epilogue.size() == epilogue.size());
  std::vector<vk::Command> expected{{CommandKind::EarlierWork, 0}};
  const auto add = [&](CommandKind kind, std::size_t count, auto happens) {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (happens(i)) expected.push_back({kind, i});
    }
  };
  const auto check = [&](const std::vector<vk::Command>& found) {
    CHECK(kinds(found) == kinds(expected));
    for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
      CHECK(found[i].index == expected[i].index);
    }
    expected.clear();
  };
  const auto always = [](std::uint32_t) { return true; };
  add(CommandKind::Fill, made.sequence.fills.size(), always);
  add(CommandKind::CopyIn, made.sequence.uploads.size(),
      [&](std::uint32_t i) { return made.layout.upload_offsets[i] != kNotStaged; });
  add(CommandKind::Kernel, made.sequence.prefix.size(), always);
  check(prologue);
  if (made.sequence.count > 0) add(CommandKind::Kernel, made.sequence.repeated.size(), always);
  // Each of several runs of what traps closes the reports of the next.
  const bool traps = std::ranges::any_of(made.sequence.repeated, [](const vk::KernelStep& step) {
    return !step.kernel->kernel.trap_tags.empty();
  });
  const bool closes = made.sequence.count > 1 && traps;
  CHECK(made.layout.reports.has_value() == closes);
  if (closes) expected.push_back({CommandKind::Close, 0});
  check(block);
  add(CommandKind::CopyOut, made.sequence.reads.size(),
      [&](std::uint32_t i) { return made.layout.read_offsets[i] != kNotStaged; });
  if (!epilogue.empty() && epilogue.back().kind == CommandKind::Host) {
    expected.push_back({CommandKind::Host, 0});
  }
  check(epilogue);
}

// Which of the fills and uploads last wrote each byte of each buffer; 0: none.
using Writers = std::map<const vk::Buffer*, std::vector<std::uint32_t>>;
void write(Writers& writers, const BufferSlice& target, std::uint32_t writer) {
  auto& bytes = writers[target.buffer.get()];
  bytes.resize(target.buffer->range());
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(target.offset), target.bytes, writer);
}

// The contract: all fills, then all uploads, each in their order.
Writers in_order(const vk::Sequence& sequence) {
  Writers writers;
  std::uint32_t writer = 0;
  for (const vk::FillStep& fill : sequence.fills) write(writers, fill.target, ++writer);
  for (const BufferSlice& upload : sequence.uploads) write(writers, upload, ++writer);
  return writers;
}

// What happens: the host writes in place before anything is submitted, then come the commands.
Writers as_laid_out(const LaidOut& made) {
  Writers writers;
  const auto& [fills, uploads] = std::tie(made.sequence.fills, made.sequence.uploads);
  const auto number = [&](std::size_t upload) {
    return static_cast<std::uint32_t>(fills.size() + upload + 1);
  };
  for (std::size_t i = 0; i < uploads.size(); ++i) {
    if (made.layout.upload_offsets[i] == kNotStaged) write(writers, uploads[i], number(i));
  }
  for (const vk::Command& command : made.layout.commands[0]) {
    if (command.kind == CommandKind::Fill) {
      write(writers, fills[command.index].target, command.index + 1);
    }
    if (command.kind == CommandKind::CopyIn) {
      write(writers, uploads[command.index], number(command.index));
    }
  }
  return writers;
}

// The parts of a staging buffer lie in it, each apart from the others.
void check_apart(const std::vector<std::uint64_t>& offsets, const std::vector<BufferSlice>& slices,
                 std::uint64_t bytes) {
  REQUIRE(offsets.size() == slices.size());
  std::vector<std::pair<std::uint64_t, std::uint64_t>> staged;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] == kNotStaged) continue;
    CHECK(slices[i].bytes != 0);
    CHECK(offsets[i] % 4 == 0);
    CHECK(offsets[i] + slices[i].bytes <= bytes);
    staged.emplace_back(offsets[i], offsets[i] + slices[i].bytes);
  }
  std::ranges::sort(staged);
  for (std::size_t i = 1; i < staged.size(); ++i) CHECK(staged[i - 1].second <= staged[i].first);
}

void check_staging(const LaidOut& made, const vk::MemoryStrategy& strategy) {
  CHECK(as_laid_out(made) == in_order(made.sequence));
  check_apart(made.layout.upload_offsets, made.sequence.uploads, made.layout.upload_bytes);
  check_apart(made.layout.read_offsets, made.sequence.reads, made.layout.read_bytes);
  // Where the host can write, nothing is staged that shares no byte with anything before it.
  const auto& uploads = made.sequence.uploads;
  for (std::size_t i = 0; i < uploads.size(); ++i) {
    const auto shares = [&](const BufferSlice& other) { return share_bytes(other, uploads[i]); };
    const bool is_alone =
        std::ranges::none_of(made.sequence.fills, shares, &vk::FillStep::target) &&
        std::none_of(uploads.begin(), uploads.begin() + static_cast<std::ptrdiff_t>(i), shares);
    const bool is_staged = made.layout.upload_offsets[i] != kNotStaged;
    if (strategy.writes_in_place && is_alone) CHECK_FALSE(is_staged);
    if (!strategy.writes_in_place) CHECK(is_staged == (uploads[i].bytes != 0));
  }
  for (std::size_t i = 0; i < made.sequence.reads.size(); ++i) {
    const bool is_staged = made.layout.read_offsets[i] != kNotStaged;
    const bool is_needed = !strategy.reads_in_place && made.sequence.reads[i].bytes != 0;
    CHECK(is_staged == is_needed);
  }
}

void check_control(const LaidOut& made, std::uint64_t alignment) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> blocks;
  const auto collect = [&](const std::vector<vk::KernelStep>& steps,
                           const std::vector<vk::ControlBlocks>& control) {
    CHECK((control.size() == steps.size() || made.sequence.count == 0));
    for (std::size_t i = 0; i < control.size(); ++i) {
      const codegen::Kernel& kernel = steps[i].kernel->kernel;
      CHECK(control[i].status.has_value() == kernel.status_binding.has_value());
      CHECK(control[i].parameters.empty() == !kernel.parameter_binding.has_value());
      if (control[i].status) {
        const std::uint64_t at = *control[i].status;
        blocks.emplace_back(at, at + vk::status_bytes(kernel));
        const bool shares = made.layout.reports && &steps == &made.sequence.repeated;
        const std::uint64_t end =
            shares ? *made.layout.reports + vk::kReportBytes : blocks.back().second;
        CHECK(at + control[i].status_range == end);
      }
      for (const std::uint64_t at : control[i].parameters) {
        blocks.emplace_back(at, at + 4 * steps[i].parameters.size());
      }
    }
  };
  collect(made.sequence.prefix, made.layout.prefix_control);
  collect(made.sequence.repeated, made.layout.repeated_control);
  if (made.layout.reports) {
    blocks.emplace_back(*made.layout.reports, *made.layout.reports + vk::kReportBytes);
  }
  std::ranges::sort(blocks);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    CHECK(blocks[i].first % alignment == 0);
    CHECK(blocks[i].second <= made.layout.control_bytes);
    if (i > 0) CHECK(blocks[i - 1].second <= blocks[i].first);
  }
}

void check_barriers(const LaidOut& made) {
  const auto hazards = dispatch::find_hazards(made.layout.plan, made.layout.barriers);
  for (const dispatch::Hazard& hazard : hazards) {
    FAIL_CHECK(dispatch::to_string(hazard, made.layout.plan));
  }
  // Each is needed.
  for (std::size_t i = 0; i < made.layout.barriers.barriers.size(); ++i) {
    dispatch::BarrierPlan fewer = made.layout.barriers;
    fewer.barriers.erase(fewer.barriers.begin() + static_cast<std::ptrdiff_t>(i));
    INFO("without ", text_of(made.layout.barriers.barriers[i]));
    CHECK_FALSE(dispatch::find_hazards(made.layout.plan, fewer).empty());
  }
}

void check_all(const LaidOut& made, vk::Engine& engine) {
  INFO(text_of(made.layout.plan), text_of(made.layout.barriers));
  check_order(made);
  check_staging(made, engine.device().plan().memory);
  check_control(made, engine.device().snapshot().limits.storage_buffer_alignment);
  check_barriers(made);
}

// Few buffers, short ranges, every kind of step.
class RandomSubmission {
 public:
  RandomSubmission(std::uint64_t seed, std::span<const ResidentHandle> buffers, ByteSpan bytes)
      : random_(seed), buffers_(buffers), bytes_(bytes) {}

  Submission make() {
    Submission made;
    for (std::uint32_t i = below(4); i > 0; --i) {
      const std::uint64_t offset = 4 * below(8);
      made.fills.push_back({.buffer = buffer(), .offset = offset, .length = 4 * below(8)});
    }
    for (std::uint32_t i = below(5); i > 0; --i) {
      const std::uint64_t offset = below(32);
      made.uploads.push_back(
          {.buffer = buffer(), .offset = offset, .bytes = bytes_.first(below(32))});
    }
    made.prefix = steps();
    made.repeated = steps();
    made.count = std::array{0u, 1u, 2u, 3u, 70u}[below(5)];
    for (std::uint32_t i = below(4); i > 0; --i) {
      made.reads.push_back({.buffer = buffer(), .offset = below(32), .length = below(32)});
    }
    return made;
  }

 private:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  ResidentHandle buffer() { return buffers_[below(static_cast<std::uint32_t>(buffers_.size()))]; }
  std::vector<ResidentHandle> different(std::size_t count) {
    std::vector<ResidentHandle> all(buffers_.begin(), buffers_.end());
    std::ranges::shuffle(all, random_);
    all.resize(count);
    return all;
  }
  std::vector<ResidentStep> steps() {
    static const std::array programs{add_one(), copying(), trapping(), many_lengths(), counted()};
    static const std::array resources{1u, 2u, 1u, 4u, 2u};
    std::vector<ResidentStep> steps;
    for (std::uint32_t i = below(4); i > 0; --i) {
      const std::uint32_t which = below(programs.size());
      steps.push_back({.program = programs[which], .resources = different(resources[which])});
    }
    return steps;
  }

  std::mt19937_64 random_;
  std::span<const ResidentHandle> buffers_;
  ByteSpan bytes_;
};

}  // namespace

TEST_CASE("work on buffers that no other work can reach waits for none") {
  const auto backend = open_backend();
  vk::Engine& engine = *vulkan_engine(*backend);
  const auto x = must(backend->allocate_resident(64));
  Submission submission;
  submission.prefix = {{.program = add_one(), .resources = {x}}};
  LaidOut made = lay_out(*backend, submission);
  const auto waits = [](const SequenceLayout& layout) {
    return std::ranges::any_of(layout.barriers.barriers, [](const auto& barrier) {
      return barrier.section == dispatch::Section::Prologue && barrier.before <= 1;
    });
  };
  CHECK(waits(made.layout));
  made.sequence.is_alone = true;
  CHECK_FALSE(waits(vk::lay_out(made.sequence, engine.device())));
}

TEST_CASE("fills, uploads, kernels, reads: in this order, and staged only where they must be") {
  for (const std::string mask : kLayoutMasks) {
    CAPTURE(mask);
    const auto backend = open_backend(mask);
    const auto engine = vulkan_engine(*backend);
    const vk::MemoryStrategy& strategy = engine->device().plan().memory;
    const auto buffers = must(backend->allocate_resident_many(std::array{64ul, 64ul}));
    const Bytes bytes(64);
    Submission all{
        .fills = {{.buffer = buffers[0], .offset = 0, .length = 16}},
        .uploads = {{.buffer = buffers[0], .offset = 32, .bytes = ByteSpan(bytes).first(8)},
                    {.buffer = buffers[0], .offset = 12, .bytes = ByteSpan(bytes).first(12)},
                    {.buffer = buffers[0], .offset = 20, .bytes = ByteSpan(bytes).first(8)},
                    {.buffer = buffers[1], .bytes = bytes}},
        .prefix = {{.program = copying(), .resources = {buffers[0], buffers[1]}}},
        .repeated = {{.program = add_one(), .resources = {buffers[1]}}},
        .count = 3,
        .reads = {{.buffer = buffers[1]}}};
    const LaidOut made = lay_out(*backend, all);
    check_all(made, *engine);
    // What comes too early is seen: the upload over the fill, written before it.
    LaidOut early = made;
    early.layout.upload_offsets[1] = kNotStaged;
    std::erase_if(early.layout.commands[0], [](const vk::Command& command) {
      return command.kind == CommandKind::CopyIn && command.index == 1;
    });
    CHECK(as_laid_out(early) != in_order(early.sequence));
    const auto& staged = made.layout.upload_offsets;
    // The second is over the fill, the third over the second.
    CHECK((staged[0] != kNotStaged) == !strategy.writes_in_place);
    CHECK(staged[1] != kNotStaged);
    CHECK(staged[2] != kNotStaged);
    CHECK((staged[3] != kNotStaged) == !strategy.writes_in_place);
    CHECK(kinds(made.layout.commands[1]) == std::vector{CommandKind::Kernel});

    all.count = 0;  // what never runs needs nothing
    const LaidOut none = lay_out(*backend, all);
    check_all(none, *engine);
    CHECK(none.layout.commands[1].empty());
    check_all(lay_out(*backend, {}), *engine);
    CHECK(lay_out(*backend, {}).layout.barriers.barriers.empty());
  }
}

TEST_CASE("uploads over each other and over a fill end as they were given") {
  for (const std::string mask : kLayoutMasks) {
    CAPTURE(mask);
    const std::unique_ptr<Backend> backend = open_backend(mask);
    const ResidentHandle buffer = must(backend->allocate_resident(16));
    const Bytes ones(8, std::byte{1});
    const Bytes twos(8, std::byte{2});
    const std::array fills{ResidentFill{.buffer = buffer, .value = std::byte{9}, .length = 4}};
    const std::array uploads{ResidentUpload{.buffer = buffer, .bytes = ones},
                             ResidentUpload{.buffer = buffer, .offset = 4, .bytes = twos}};
    const std::array reads{ResidentRange{.buffer = buffer, .length = 12}};
    std::vector<Bytes> outputs;
    must(backend->submit_resident({.fills = fills, .uploads = uploads, .reads = reads}, outputs));
    Bytes expected(4, std::byte{1});
    expected.resize(12, std::byte{2});
    CHECK(outputs[0] == expected);
  }
}

TEST_CASE("random submissions are laid out soundly, with no barrier too many") {
  for (const std::string mask : kLayoutMasks) {
    CAPTURE(mask);
    const auto backend = open_backend(mask);
    const auto engine = vulkan_engine(*backend);
    const auto buffers = must(backend->allocate_resident_many(std::array{64ul, 64ul, 64ul, 64ul}));
    const Bytes bytes(64);
    for_seeds(60, [&](std::uint64_t seed) {
      CAPTURE(seed);
      check_all(lay_out(*backend, RandomSubmission(seed, buffers, bytes).make()), *engine);
    });
  }
}

TEST_CASE("a block of one step that stores at its own places has nothing compared") {
  const auto backend = open_backend();
  const auto x = must(backend->allocate_resident(256));
  const auto comparisons = [&](std::string_view stores, std::uint32_t bound, std::size_t steps) {
    const ir::Program program = valid_program(fmt::format(
        "program p workgroup(4) {{ readwrite x: u32[64]; let i = invocation.x; {} }}", stores));
    const std::vector<ResidentStep> all(steps, {.program = program, .resources = {x}});
    const ResidentBlock block{.steps = all, .repeat = Repeat::until_unchanged(bound)};
    const vk::Sequence sequence = sequence_of(*backend, {.blocks = {&block, 1}});
    return std::ranges::count_if(
        sequence.prefix, [](const vk::KernelStep& step) { return step.name == "felsite_compare"; });
  };
  constexpr std::string_view kOwn = "x[i] = x[i] / 2;";
  CHECK(comparisons(kOwn, 3, 1) == 0);
  // The state before, and once in each iteration.
  CHECK(comparisons(kOwn, 3, 2) == 4);
  CHECK(comparisons(kOwn, 1, 1) == 2);
  CHECK(comparisons("x[i] = x[i] / 2; x[i] = x[i] / 2;", 3, 1) == 4);
  CHECK(comparisons("x[63 - i] = x[i] / 2;", 3, 1) == 4);
}

TEST_CASE("a grid runs in parts that are all of it, once") {
  const auto check = [](const Extent3& grid, const Extent3& most, std::size_t expected) {
    CAPTURE(grid[0]);
    CAPTURE(grid[1]);
    CAPTURE(grid[2]);
    const std::vector<dispatch::GridPart> parts = dispatch::grid_parts(grid, most);
    CHECK(parts.size() == expected);
    CHECK(dispatch::fits_one_dispatch(grid, most) == (expected <= 1));
    std::set<Extent3> bases;
    std::uint64_t groups = 0;
    bool right = true;
    for (const dispatch::GridPart& part : parts) {
      right = right && bases.insert(part.base).second;
      std::uint64_t volume = 1;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        right = right && part.base[axis] % most[axis] == 0;  // so that no two overlap
        right = right && part.grid[axis] > 0 && part.grid[axis] <= most[axis];
        right = right && std::uint64_t{part.base[axis]} + part.grid[axis] <= grid[axis];
        volume *= part.grid[axis];
      }
      groups += volume;
    }
    CHECK(right);
    CHECK(groups == std::uint64_t{grid[0]} * grid[1] * grid[2]);
  };
  constexpr std::uint32_t kAll = UINT32_MAX;
  constexpr std::uint32_t kLeast = 65535;  // what Vulkan promises
  const Extent3 least{kLeast, kLeast, kLeast};
  check({1, 1, 1}, least, 1);
  check({kLeast, 1, 1}, least, 1);
  check({kLeast + 1, 1, 1}, least, 2);
  check({1, kLeast + 1, 3 * kLeast}, least, 6);
  check({7, 5, 3}, {2, 2, 2}, 4 * 3 * 2);
  check({kAll, 1, 1}, least, 65537);
  check({1, 1, kAll}, {1, 1, kAll}, 1);
  check({kAll, 1, 1}, {kAll - 1, 1, 1}, 2);
  check({1, kAll, 1}, {1, 1u << 31, 1}, 2);
  for (const Extent3& nothing :
       {Extent3{0, 1, 1}, Extent3{1, 0, 1}, Extent3{kAll, kAll, 0}, Extent3{}}) {
    CHECK(dispatch::grid_parts(nothing, least).empty());
  }
}
