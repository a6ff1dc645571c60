// The runtime's own kernels: each file is a valid program by itself, and says what C++ says.
#include <doctest/doctest.h>

#include <filesystem>
#include <optional>

#include "dispatch/schedule/grid_kernels.h"
#include "felsite/grid_sync.h"
#include "support/run_program.h"
#include "support/scratch_folder.h"

using namespace felsite;
using namespace felsite::dispatch;

namespace {

const std::filesystem::path kKernelFolder =
    std::filesystem::path(FELSITE_SOURCE_DIR) / "src/dispatch/schedule/kernels";

std::string kernel_text(const std::string& name) {
  return test::read_file(kKernelFolder / (name + ".fels"));
}

struct NamedKernel {
  GridKernel kernel;
  const char* name;
};
constexpr NamedKernel kKernels[] = {
    {GridKernel::Compare, "compare"},
    {GridKernel::Any, "any"},
    {GridKernel::Clear, "clear"},
    {GridKernel::Gate, "gate"},
    {GridKernel::Mask, "mask"},
    {GridKernel::Advance, "advance"},
    {GridKernel::CopyWords, "copy_words"},
    {GridKernel::CopyBytes, "copy_bytes"},
    {GridKernel::NextSegment, "next_segment"},
    {GridKernel::IterationEndCounted, "iteration_end_counted"},
    {GridKernel::IterationEndChanged, "iteration_end_changed"},
    {GridKernel::IterationEndFlag, "iteration_end_flag"},
};

// The number of `let NAME = NUMBER;`, if the text has that line.
std::optional<std::uint32_t> constant_in(const std::string& text, const std::string& name) {
  const std::string line = "let " + name + " = ";
  const std::size_t at = text.find(line);
  if (at == std::string::npos) return std::nullopt;
  return static_cast<std::uint32_t>(std::stoul(text.substr(at + line.size())));
}

}  // namespace

TEST_CASE("each of the runtime's kernels is valid by itself, in canonical form") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kKernelFolder)) {
    CAPTURE(entry.path().filename().string());
    REQUIRE(entry.path().extension() == ".fels");
    const std::string text = kernel_text(entry.path().stem().string());
    test::valid_program(text);
    CHECK(ir::format(text).value_or("") == text);
    ++files;
  }
  CHECK(files == kGridKernelCount + 1);  // and the gate of an IndirectDispatch
}

TEST_CASE("what is embedded is what the files say") {
  REQUIRE(std::size(kKernels) == kGridKernelCount);
  for (const NamedKernel& row : kKernels) {
    CAPTURE(row.name);
    const auto& embedded = grid_kernel(row.kernel);
    REQUIRE(embedded);
    CHECK(embedded->fingerprint() == ir::parse(kernel_text(row.name))->fingerprint());
    const bool has_many = row.kernel <= GridKernel::Advance;
    CHECK(embedded->workgroup_size()[0] == (has_many ? kGridKernelSize : 1));
    if (has_many) continue;
    CHECK(embedded->buffer(0).name == "p");
    CHECK(embedded->buffer(0).count == WalkParameters::Count);
  }
}

TEST_CASE("the kernels of a walk name its words as C++ does") {
  const auto number = [](NextSegment::Kind kind) { return static_cast<std::uint32_t>(kind); };
  const std::pair<const char*, std::uint32_t> names[] = {
      {"kind", WalkParameters::Kind},
      {"self_at", WalkParameters::SelfAt},
      {"self_words", WalkParameters::SelfWords},
      {"target_at", WalkParameters::TargetAt},
      {"target_words", WalkParameters::TargetWords},
      {"target_shape", WalkParameters::TargetShape},
      {"else_at", WalkParameters::ElseAt},
      {"else_words", WalkParameters::ElseWords},
      {"else_shape", WalkParameters::ElseShape},
      {"trip_at", WalkParameters::TripAt},
      {"end_at", WalkParameters::EndAt},
      {"choice_at", WalkParameters::ChoiceAt},
      {"launches", WalkParameters::Launches},
      {"bound", WalkParameters::Bound},
      {"changed_at", WalkParameters::ChangedAt},
      {"running", WalkWords::kRunning},
      {"iterations", WalkWords::kIterations},
      {"converged", WalkWords::kConverged},
      {"launched", WalkWords::kLaunched},
      {"by_condition", number(NextSegment::Kind::Branch)},
      {"into_loop", number(NextSegment::Kind::EnterLoop)},
      {"next_trip", number(NextSegment::Kind::NextTrip)},
  };
  for (const auto& [name, value] : names) {
    CAPTURE(name);
    int found = 0;
    for (const char* file :
         {"next_segment", "iteration_end_counted", "iteration_end_changed", "iteration_end_flag"}) {
      CAPTURE(file);
      const auto constant = constant_in(kernel_text(file), name);
      if (!constant) continue;
      ++found;
      CHECK(*constant == value);
    }
    CHECK(found > 0);
  }
}

TEST_CASE("the gate of an IndirectDispatch lets a grid through, or says which one was too large") {
  const auto program = indirect_gate_program(2, {10, 20, 30});
  REQUIRE(program);
  CHECK(program->buffer(1).count == IndirectGateWords::kCount);
  const auto gate = [&](const test::Words& words) {
    return test::run_words(ir::print(*program), {test::bytes_of(words), Bytes(28)});
  };
  using test::Words;
  CHECK(gate({9, 9, 10, 20, 30}) == Words{10, 20, 30, 0, 0, 0, 0});
  CHECK(gate({9, 9, 1, 21, 3}) == Words{0, 0, 0, 1, 1, 21, 3});
  CHECK(gate({9, 9, 5, 6}) == Words{5, 6, 0, 0, 0, 0, 0});  // past the end there are zeros
  CHECK(gate({9, 9, 1, 2, 31})[IndirectGateWords::kIsStopped] == 1);
  CHECK(gate({9, 9, 11, 2, 3})[IndirectGateWords::kAsked] == 11);
  // Later grids that fit run, and hide nothing.
  CHECK(test::run_words(ir::print(*program), {test::bytes_of(Words{9, 9, 1, 2, 3}),
                                              test::bytes_of(Words{0, 0, 0, 1, 1, 21, 3})}) ==
        Words{1, 2, 3, 1, 1, 21, 3});
}
