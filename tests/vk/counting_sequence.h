// A watched sequence that counts, and a look at what is submitted for it.
#pragma once

#include "vk/hand_made_sequences.h"

namespace felsite::test {

// Counts while the word is not zero; clears it at the number wanted.
inline ir::ValidProgram decide() {
  return valid_program(
      "program decide workgroup(1) { readonly wanted: u32[]; readwrite go: u32[];"
      " readwrite n: u32[]; if go[0] != 0 { n[0] = n[0] + 1; if n[0] >= wanted[0] { go[0] = 0; } }"
      " }");
}

// The command buffers of each submission, and whether one of them has to fail.
struct Submitted {
  std::vector<std::uint32_t> sizes;
  std::size_t fail_at = SIZE_MAX;
  PFN_vkQueueSubmit original = nullptr;
};
inline Submitted submitted;

inline void note_from_now(std::size_t fail_at = SIZE_MAX) {
  submitted.sizes.clear();
  submitted.fail_at = fail_at;
}

inline void noting_submissions(vk::DeviceFunctions& table) {
  submitted.original = table.vkQueueSubmit;
  table.vkQueueSubmit = [](VkQueue queue, std::uint32_t count, const VkSubmitInfo* infos,
                           VkFence fence) {
    if (submitted.sizes.size() == submitted.fail_at) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    submitted.sizes.push_back(infos[0].commandBufferCount);
    return submitted.original(queue, count, infos, fence);
  };
}
inline std::uint32_t command_buffers() {
  std::uint32_t sum = 0;
  for (const std::uint32_t size : submitted.sizes) sum += size;
  return sum;
}

// A block that adds one to `x` in each run, until it has done so as often as wanted.
struct Counting {
  explicit Counting(Workbench& bench)
      : bench(bench),
        go(bench.words(vk::Place::Control, 3)),  // the groups that add
        n(bench.words(vk::Place::Control, 1)),   // how often they did
        wanted(bench.words(vk::Place::Device, 1)),
        x(bench.words(vk::Place::Device, 4)) {}

  vk::Sequence sequence(std::uint32_t first, std::uint32_t count) {
    vk::Sequence made{.fills = {{x, std::byte{0}}},
                      .uploads = {wanted},
                      .count = count,
                      .reads = {x},
                      .watch = word_of(go, 0),
                      .host_words = {{go, {first, 1, 1}}, {n, {0}}},
                      .name = "counting"};
    made.repeated.push_back(bench.step(add_one(), {x}));
    if (bench.has_conditions()) {
      made.repeated[0].condition = word_of(go, 0);
    } else {
      made.repeated[0].indirect = vk::BufferSlice{go.buffer, 0, 12};
    }
    made.repeated.push_back(bench.step(decide(), {wanted, word_of(go, 0), n}));
    made.repeated[1].counts_as_launch = false;
    return made;
  }

  Workbench& bench;
  vk::BufferSlice go;
  vk::BufferSlice n;
  vk::BufferSlice wanted;
  vk::BufferSlice x;
};

}  // namespace felsite::test
