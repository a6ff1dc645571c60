// Steps that the device skips: by a condition where it has conditional rendering, and everywhere by
// a grid of no workgroups.
#include <fmt/format.h>

#include <atomic>

#include "support/skip.h"
#include "vk/hand_made_sequences.h"

using namespace felsite;
using namespace felsite::test;
using vk::BufferSlice;
using vk::KernelStep;
using vk::Place;

namespace {

constexpr std::array kConditionMasks{
    "",    "-in_place_memory", "-synchronization2", "-push_descriptors", "-conditional_rendering",
    "none"};

ir::ValidProgram toggle() {
  return valid_program(
      "program toggle workgroup(1) { readwrite word: u32[]; word[0] = 1 - word[0]; }");
}
// Stops itself, and whoever goes by the same word.
ir::ValidProgram stop() {
  return valid_program(
      "program stop workgroup(1) { readwrite word: u32[]; readwrite x: u32[]; word[0] = 0;"
      " x[0] = x[0] + 1; }");
}

// How a step is skipped. The word decides, and the two behind it are 1.
enum class By { Condition, Grid };
void skip_by(By by, KernelStep& step, const BufferSlice& words) {
  if (by == By::Condition) {
    step.condition = word_of(words, 0);
  } else {
    step.indirect = BufferSlice{words.buffer, words.offset, 12};
  }
}
std::vector<By> ways(const Workbench& bench) {
  if (bench.has_conditions()) return {By::Condition, By::Grid};
  return {By::Grid};
}

// What Vulkan is told about conditions.
std::atomic<int> begun = 0;
std::atomic<int> ended = 0;
PFN_vkCmdBeginConditionalRenderingEXT begin_condition = nullptr;
PFN_vkCmdEndConditionalRenderingEXT end_condition = nullptr;

void counting_conditions(vk::DeviceFunctions& table) {
  begin_condition = table.vkCmdBeginConditionalRenderingEXT;
  end_condition = table.vkCmdEndConditionalRenderingEXT;
  if (begin_condition == nullptr) return;
  table.vkCmdBeginConditionalRenderingEXT = [](VkCommandBuffer commands, const auto* info) {
    ++begun;
    begin_condition(commands, info);
  };
  table.vkCmdEndConditionalRenderingEXT = [](VkCommandBuffer commands) {
    ++ended;
    end_condition(commands);
  };
}

// What is recorded, a character each.
std::string noted_commands;

template <auto Member, char Sign, class... Args>
void note_calls(vk::DeviceFunctions& table, void (VKAPI_PTR* vk::DeviceFunctions::*)(Args...)) {
  if (table.*Member == nullptr) return;
  static void(VKAPI_PTR * original)(Args...) = nullptr;
  original = table.*Member;
  table.*Member = [](Args... args) {
    noted_commands += Sign;
    original(args...);
  };
}
void noting_commands(vk::DeviceFunctions& table) {
  using Table = vk::DeviceFunctions;
  note_calls<&Table::vkCmdPipelineBarrier, '|'>(table, &Table::vkCmdPipelineBarrier);
  note_calls<&Table::vkCmdPipelineBarrier2, '|'>(table, &Table::vkCmdPipelineBarrier2);
  note_calls<&Table::vkCmdDispatch, 'd'>(table, &Table::vkCmdDispatch);
  note_calls<&Table::vkCmdBeginConditionalRenderingEXT, '('>(
      table, &Table::vkCmdBeginConditionalRenderingEXT);
  note_calls<&Table::vkCmdEndConditionalRenderingEXT, ')'>(table,
                                                           &Table::vkCmdEndConditionalRenderingEXT);
}

}  // namespace

TEST_CASE("a step runs where its word is not zero") {
  for (const std::string mask : kConditionMasks) {
    CAPTURE(mask);
    Workbench bench(mask);
    for (const By by : ways(bench)) {
      for (const std::uint32_t value : {0u, 1u, 0x8000'0000u, 0x100u}) {
        CAPTURE(value);
        if (by == By::Grid && value > 1) continue;
        const BufferSlice words = bench.control({value, 1, 1});
        const BufferSlice x = bench.words(Place::Device, 4);
        vk::Sequence sequence{.fills = {{x, std::byte{0}}}, .reads = {x}, .name = "one"};
        sequence.prefix.push_back(bench.step(add_one(), {x}));
        skip_by(by, sequence.prefix.back(), words);
        sequence.prefix.push_back(bench.step(add_one(), {x}));
        auto recording = bench.record(std::move(sequence));
        for (int round = 0; round < 2; ++round) {
          must(bench.run(recording));
          CHECK(Workbench::read(*recording, 0) == Words(4, value == 0 ? 1 : 2));
        }
      }
    }
    check_silent_layers();
  }
}

TEST_CASE("an earlier step of the same block decides, in each of its runs") {
  for (const std::string mask : kConditionMasks) {
    CAPTURE(mask);
    Workbench bench(mask);
    for (const By by : ways(bench)) {
      for (const Place place : {Place::Control, Place::Device}) {
        for (const std::uint32_t count : {1u, 2u, 5u, 200u}) {
          CAPTURE(count);
          const BufferSlice words = bench.words(place, 3);
          const BufferSlice x = bench.words(Place::Device, 4);
          const Bytes start = bytes_of(Words{0, 1, 1});
          const std::array<ByteSpan, 1> bytes{start};
          vk::Sequence sequence{.fills = {{x, std::byte{0}}},
                                .uploads = {words},
                                .count = count,
                                .reads = {x, words},
                                .name = "toggled"};
          if (place == Place::Control) {
            sequence.uploads.clear();
            sequence.host_words.push_back({words, {0, 1, 1}});
          }
          sequence.repeated.push_back(bench.step(toggle(), {word_of(words, 0)}));
          for (int i = 0; i < 2; ++i) {
            sequence.repeated.push_back(bench.step(add_one(), {x}));
            skip_by(by, sequence.repeated.back(), words);
          }
          auto recording = bench.record(std::move(sequence));
          for (int round = 0; round < 2; ++round) {
            must(bench.run(recording, std::span(bytes).first(place == Place::Device ? 1 : 0)));
            CHECK(Workbench::read(*recording, 0) == Words(4, 2 * ((count + 1) / 2)));
            CHECK(Workbench::read(*recording, 1) == Words{count % 2, 1, 1});
          }
        }
      }
    }
    check_silent_layers();
  }
}

TEST_CASE("what is skipped is measured all the same") {
  Workbench bench;
  for (const By by : ways(bench)) {
    const BufferSlice words = bench.control({0, 1, 1});
    const BufferSlice x = bench.words(Place::Device, 4);
    vk::Sequence sequence{
        .fills = {{x, std::byte{0}}}, .reads = {x}, .measured = true, .name = "measured"};
    for (int i = 0; i < 3; ++i) {
      sequence.prefix.push_back(bench.step(add_one(), {x}));
      if (i > 0) skip_by(by, sequence.prefix.back(), words);
    }
    auto recording = bench.record(std::move(sequence));
    const DispatchTiming timing = must(bench.run(recording));
    CHECK(Workbench::read(*recording, 0) == Words(4, 1));
    if (bench.engine->device().timestamp_bits() == 0) continue;
    CHECK(timing.device_ns.has_value());
    CHECK(timing.step_device_ns.size() == 3);
  }
  check_silent_layers();
}

TEST_CASE("steps with one condition share it, but not beyond one that changes it") {
  Workbench bench({}, counting_conditions);
  FELSITE_SKIP_IF(!bench.has_conditions(), "the device lacks conditional rendering");
  const BufferSlice words = bench.words(Place::Control, 2);
  const BufferSlice x = bench.words(Place::Device, 4);
  const BufferSlice y = bench.words(Place::Device, 4);
  const auto adding = [&](const BufferSlice& to, std::optional<std::uint64_t> word) {
    KernelStep step = bench.step(add_one(), {to});
    if (word) step.condition = word_of(words, *word);
    return step;
  };
  KernelStep stopping = bench.step(stop(), {word_of(words, 0), x});
  stopping.condition = word_of(words, 0);
  const auto recorded = [&](std::vector<KernelStep> steps, std::uint32_t count = 1) {
    vk::Sequence sequence{.fills = {{x, std::byte{0}}, {y, std::byte{0}}},
                          .repeated = std::move(steps),
                          .count = count,
                          .reads = {x, y},
                          .host_words = {{words, {1, 1}}}};
    begun = ended = 0;
    auto recording = bench.record(std::move(sequence));
    CHECK(begun == ended);
    must(bench.run(recording));
    const Words added = Workbench::read(*recording, 0);
    return std::tuple(begun.load(), added[0], Workbench::read(*recording, 1)[0]);
  };
  using Seen = std::tuple<int, std::uint32_t, std::uint32_t>;
  // Barriers between them do not part them.
  CHECK(recorded({adding(x, 0), adding(x, 0), adding(y, 0)}) == Seen{1, 2, 1});
  CHECK(recorded({adding(x, 0), adding(x, 1), adding(y, 0)}) == Seen{3, 2, 1});
  CHECK(recorded({adding(x, 0), adding(x, {}), adding(y, 0)}) == Seen{2, 2, 1});
  CHECK(recorded({adding(x, 0), adding(x, 0)}, 4) == Seen{1, 8, 0});
  // What stops itself runs, and nothing after it.
  CHECK(recorded({stopping, adding(y, 0), adding(y, 0)}) == Seen{2, 1, 0});
  CHECK(recorded({adding(y, 0), stopping}, 5) == Seen{5, 1, 1});
  check_silent_layers();
}

TEST_CASE("a condition begins behind the barrier that makes its word seen") {
  Workbench bench({}, noting_commands);
  FELSITE_SKIP_IF(!bench.has_conditions(), "the device lacks conditional rendering");
  const BufferSlice words = bench.words(Place::Control, 1);
  const BufferSlice x = bench.words(Place::Device, 4);
  vk::Sequence sequence{.count = 2};
  sequence.repeated.push_back(bench.step(toggle(), {words}));
  for (int i = 0; i < 2; ++i) {
    sequence.repeated.push_back(bench.step(add_one(), {x}));
    sequence.repeated.back().condition = words;
  }
  noted_commands.clear();
  bench.record(std::move(sequence));
  // Barriers, dispatches and, in brackets, what goes by the word: after earlier work, then twice
  // the block, whose first barrier is against its own last run, and for the host.
  CHECK(noted_commands ==
        "|"
        "|d|(d|d"
        "|)d|(d|d"
        "|)");
}

TEST_CASE("a grid in parts goes by its condition as a whole") {
  Workbench bench;
  FELSITE_SKIP_IF(!bench.has_conditions(), "the device lacks conditional rendering");
  const std::uint32_t most = bench.engine->device().snapshot().limits.workgroup_count[0];
  FELSITE_SKIP_IF(most > 1u << 20, "a dispatch takes so many workgroups that they run too long");
  const auto program =
      valid_program("program many workgroup(1) { readwrite n: u32[]; atomic_add(n[0], 1); }");
  for (const std::uint32_t value : {0u, 1u}) {
    const BufferSlice words = bench.control({value});
    const BufferSlice n = bench.words(Place::Device, 1);
    vk::Sequence sequence{.fills = {{n, std::byte{0}}}, .reads = {n}};
    sequence.prefix.push_back(bench.step(program, {n}, {most + 3, 1, 1}));
    sequence.prefix.back().condition = words;
    auto recording = bench.record(std::move(sequence));
    must(bench.run(recording));
    CHECK(Workbench::read(*recording, 0) == Words{value == 0 ? 0 : most + 3});

    // Its second part would go by what the first has done.
    KernelStep wrong = bench.step(program, {words}, {most + 3, 1, 1});
    wrong.condition = words;
    CHECK(code_of(bench.engine->record({.prefix = {wrong}})) == ErrorCode::DispatchFailed);
  }
}

TEST_CASE("a sequence that the device or the host cannot follow is refused") {
  Workbench bench("-conditional_rendering,-in_place_memory");
  const BufferSlice x = bench.words(Place::Device, 4);
  const BufferSlice control = bench.control({1, 1, 1, 1});
  const auto refused = [](Workbench& on, vk::Sequence sequence) {
    return error_of(on.engine->record(std::move(sequence)));
  };
  KernelStep conditional = bench.step(add_one(), {x});
  conditional.condition = word_of(control, 0);
  const Error error = refused(bench, {.prefix = {conditional}});
  CHECK(error.code == ErrorCode::UnsupportedFeature);
  CHECK(error.message.find("add_one") != std::string::npos);
  CHECK(!error.context.device.empty());

  // What the host does not see it cannot watch or write.
  const auto watching = [&](const BufferSlice& word) {
    vk::Sequence sequence;
    sequence.watch = word;
    return refused(bench, std::move(sequence)).code;
  };
  CHECK(watching(word_of(x, 0)) == ErrorCode::DispatchFailed);
  CHECK(watching(control) == ErrorCode::DispatchFailed);
  CHECK(watching(word_of(control, 4)) == ErrorCode::DispatchFailed);
  CHECK(watching({}) == ErrorCode::DispatchFailed);
  const auto writing = [](const BufferSlice& target, const Words& words) {
    vk::Sequence sequence;
    sequence.host_words.push_back({target, words});
    return sequence;
  };
  CHECK(refused(bench, writing(x, {1, 2, 3, 4})).code == ErrorCode::DispatchFailed);
  CHECK(refused(bench, writing(control, {1, 2, 3})).code == ErrorCode::DispatchFailed);
  CHECK(refused(bench, writing({control.buffer, 2, 4}, {1})).code == ErrorCode::DispatchFailed);
  const auto recording = bench.record(writing(control, {1, 2, 3, 4}));
  CHECK(code_of(recording->read_words(x)) == ErrorCode::DispatchFailed);
  CHECK(code_of(recording->read_words({control.buffer, 8, 12})) == ErrorCode::DispatchFailed);

  Workbench whole;
  FELSITE_SKIP_IF(!whole.has_conditions(), "the device lacks conditional rendering");
  KernelStep wrong = whole.step(add_one(), {whole.words(Place::Device, 4)});
  wrong.condition = BufferSlice{whole.control({1, 1}).buffer, 2, 4};
  CHECK(refused(whole, {.prefix = {wrong}}).code == ErrorCode::DispatchFailed);
  wrong.condition = whole.control({1, 1});
  CHECK(refused(whole, {.repeated = {wrong}}).code == ErrorCode::DispatchFailed);
}

TEST_CASE("words of the host are fresh in each run, and no traffic") {
  for (const std::string mask : {"", "-in_place_memory"}) {
    CAPTURE(mask);
    Workbench bench(mask);
    const BufferSlice words = bench.words(Place::Control, 4);
    vk::Sequence sequence{.host_words = {{words, {1, 2, 3, 4}}, {word_of(words, 2), {7}}}};
    sequence.repeated.push_back(bench.step(add_one(), {words}));
    sequence.count = 3;
    auto recording = bench.record(std::move(sequence));
    CHECK(recording->uses(words.buffer.get()));
    for (int round = 0; round < 2; ++round) {
      const Telemetry counts = counted([&] {
        must(bench.run(recording));
        CHECK(must(recording->read_words(words)) == Words{4, 5, 10, 7});
        CHECK(must(recording->read_words(word_of(words, 1))) == Words{5});
      });
      CHECK(counts[Counter::UploadBytes] == 0);
      CHECK(counts[Counter::DownloadBytes] == 0);
      CHECK(counts[Counter::Launches] == 3);
      CHECK(recording->block_runs() == 3);
    }
    check_silent_layers();
  }
}

TEST_CASE("only what counts as a launch is counted") {
  Workbench bench;
  const BufferSlice x = bench.words(Place::Device, 4);
  vk::Sequence sequence;
  for (int i = 0; i < 3; ++i) sequence.prefix.push_back(bench.step(add_one(), {x}));
  sequence.prefix[1].counts_as_launch = false;
  sequence.prefix[2].caller_step.reset();
  auto recording = bench.record(std::move(sequence));
  CHECK(counted([&] { must(bench.run(recording)); })[Counter::Launches] == 1);
}
