// Heat spreads along a rod, 64 steps in one submission: buffers that stay on the device, a sequence
// that is recorded once and run twice, and the cost of the second run. docs/vulkan.md explains the
// calls.
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "felsite/reference.h"
#include "felsite/telemetry.h"
#include "felsite/text.h"
#include "felsite/vulkan.h"

using namespace felsite;

namespace {

constexpr const char* kDiffuse = R"(program diffuse workgroup(64) {
  readonly from: f32[];
  readwrite to: f32[];
  let i = invocation.x;
  let last = len(to) - 1;
  if i <= last {
    let left = from[max(i, 1) - 1];
    let right = from[min(i + 1, last)];
    to[i] = from[i] * 0.5 + (left + right) * 0.25;
  }
})";

// The rod after 64 steps, for each of two initial states, and what the second run did.
struct Outcome {
  std::vector<Bytes> rods;
  Telemetry second_run;
};

Result<Outcome> spread(Backend& backend, const ir::Program& diffuse) {
  const std::vector<float> hot_middle{0, 0, 0, 800, 800, 0, 0, 0};
  const std::vector<float> hot_end{800, 0, 0, 0, 0, 0, 0, 0};
  const ByteSpan first = std::as_bytes(std::span(hot_middle));

  // Allocates both buffers or none. Their contents stay on the device between calls.
  const std::vector<std::uint64_t> sizes{first.size(), first.size()};
  const auto rods = backend.allocate_resident_many(sizes);
  if (!rods) return std::unexpected(rods.error());
  const ResidentHandle a = (*rods)[0];
  const ResidentHandle b = (*rods)[1];

  // Back and forth, 32 times. Each step reads what the previous one wrote; the backend places the
  // barriers between them.
  const std::vector<ResidentStep> there_and_back{
      {.program = diffuse, .resources = {a, b}, .label = "there"},
      {.program = diffuse, .resources = {b, a}, .label = "back"}};
  const ResidentUpload upload{.buffer = a, .bytes = first};
  const ResidentRange read{.buffer = a};
  const auto sequence = backend.record_resident(
      {.uploads = {&upload, 1}, .repeated = there_and_back, .count = 32, .reads = {&read, 1}});
  if (!sequence) return std::unexpected(sequence.error());

  Outcome outcome;
  std::vector<Bytes> outputs;  // its memory is reused by the second run
  if (auto ran = (*sequence)->run_into(outputs); !ran) return std::unexpected(ran.error());
  outcome.rods.push_back(outputs[0]);

  const Telemetry before = telemetry_snapshot();
  const ByteSpan second = std::as_bytes(std::span(hot_end));
  if (auto ran = (*sequence)->run_into(outputs, {&second, 1}); !ran) {
    return std::unexpected(ran.error());
  }
  outcome.second_run = difference(telemetry_snapshot(), before);
  outcome.rods.push_back(outputs[0]);
  for (const ResidentHandle rod : *rods) {
    if (auto freed = backend.free_resident(rod); !freed) return std::unexpected(freed.error());
  }
  return outcome;
}

int fail(const std::string& reason) {
  std::fprintf(stderr, "%s\n", reason.c_str());
  return 1;
}

}  // namespace

int main() {
  const auto diffuse = ir::parse(kDiffuse);
  if (!diffuse) return fail(to_string(to_error(diffuse.error(), "diffuse")));
  const auto device = make_vulkan_backend();
  if (!device) return fail(to_string(device.error()));
  const auto outcome = spread(**device, *diffuse);
  if (!outcome) return fail(to_string(outcome.error()));
  const auto expected = spread(*make_reference_backend(), *diffuse);
  if (!expected) return fail(to_string(expected.error()));

  std::printf("%s\n", (*device)->device_profile().name.c_str());
  for (const Bytes& rod : outcome->rods) {
    std::vector<float> heat(rod.size() / sizeof(float));
    std::memcpy(heat.data(), rod.data(), rod.size());
    for (const float value : heat) std::printf("%7.2f ", static_cast<double>(value));
    std::puts("");
  }
  const auto count = [&](Counter counter) {
    return static_cast<unsigned long long>(outcome->second_run[counter]);
  };
  std::printf("second run: %llu recordings, %llu submissions, %llu launches, %llu barriers\n",
              count(Counter::Recordings), count(Counter::Submissions), count(Counter::Launches),
              count(Counter::Barriers));
  if (outcome->rods != expected->rods) return fail("The device differs from the reference.");
  std::puts("equal to the reference");
}
