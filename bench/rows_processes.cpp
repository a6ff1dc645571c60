// Rows about first use: whole processes with warm caches, the most memory that a process has, and a
// program that nobody has compiled before. Processes of both sides are processes of this program,
// so what its own start costs is in both.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "felsite/vulkan.h"
#include "glsl.h"
#include "on_device.h"
#include "peers.h"
#include "small_processes.h"

namespace felsite::bench {
namespace {

// A folder for the caches of both sides, gone with the last who uses it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "felsite_bench_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) give_up("no folder for temporary files can be made");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::function<double()> start_of(const std::shared_ptr<Folder>& folder,
                                 std::vector<std::string> words) {
  const Surroundings surroundings{.variables = {{"FELSITE_CACHE_DIR", folder->path().string()}}};
  return [folder, surroundings, words = std::move(words)] {
    return time_ns([&] { must(run_child(words, surroundings)); });
  };
}

void leave_module(const Folder& folder, std::string_view source) {
  const std::vector<std::uint32_t> words = compile_glsl(source);
  std::ofstream(folder.path() / kModuleFile, std::ios::binary)
      .write(reinterpret_cast<const char*>(words.data()),
             static_cast<std::streamsize>(words.size() * sizeof words[0]));
}

std::vector<std::string> raw_words(std::string name, const Folder& folder,
                                   const RawChoice& choice) {
  return {std::move(name), folder.path().string(), fmt::format("{}", choice.device),
          fmt::format("{}", choice.family)};
}

std::vector<Case> start_cases(Extent) {
  const auto choice = choose_as_felsite();
  if (!choice) return {skipped_case(choice.error())};
  if (const auto raw = RawDevice::open(*choice); !raw) return {skipped_case(raw.error())};
  const auto folder = std::make_shared<Folder>();
  leave_module(*folder, peers::step);
  return {{.size = "one small dispatch",
           .felsite = start_of(folder, {"cold_start_felsite"}),
           .peer = "raw Vulkan, its pipeline cache",
           .peer_cost = start_of(folder, raw_words("cold_start_raw", *folder, *choice)),
           .compared = "each: the result is new"}};
}

// The most memory of the process, and the sum of its result.
std::pair<double, std::string> peak_of(const std::vector<std::string>& words) {
  const std::string said =
      must(run_child(words, {.variables = {{"FELSITE_CACHE_DIR", "off"}}, .one_core = false}));
  return {std::strtod(said.c_str(), nullptr), said.substr(std::min(said.find(' '), said.size()))};
}

std::vector<Case> peak_cases(Extent extent) {
  const auto choice = choose_as_felsite();
  if (!choice) return {skipped_case(choice.error())};
  if (const auto raw = RawDevice::open(*choice); !raw) return {skipped_case(raw.error())};
  const auto folder = std::make_shared<Folder>();
  leave_module(*folder, peers::saxpy);
  const std::uint64_t bytes = by_extent(extent, 1, 16, 64) * kMebi;
  const std::string elements = fmt::format("{}", bytes / 4);
  const std::vector<std::string> felsite{"peak_felsite", elements};
  std::vector<std::string> raw = raw_words("peak_raw", *folder, *choice);
  raw.push_back(elements);
  if (peak_of(felsite).second != peak_of(raw).second) {
    give_up("a process of its own gives other results than raw Vulkan");
  }
  return {{.size = fmt::format("saxpy, 2 × {}", size_name(bytes)),
           .felsite = [folder, felsite] { return peak_of(felsite).first; },
           .peer = "raw Vulkan, mapped memory",
           .peer_cost = [folder, raw] { return peak_of(raw).first; },
           .compared = std::string(kSameBytes),
           .unit = Unit::Bytes,
           .most_rounds = kLeastRounds}};
}

// The same statements on both sides, which differ from every other kernel's by one number, here and
// in earlier runs.
class NewKernel {
 public:
  ir::Program program() const { return parsed_program(with_number(straight_line_text(kLines))); }
  std::vector<std::uint32_t> module() const {
    return compile_glsl(with_number(straight_line_glsl(kLines)));
  }

 private:
  static constexpr std::uint32_t kLines = 50;

  std::string with_number(std::string text) const {
    constexpr std::string_view kOld = "v0 * 3";
    return text.replace(text.find(kOld), kOld.size(), fmt::format("v0 * {}", number_));
  }
  std::uint32_t number_ = std::random_device()() >> 1 | 1;  // an int in GLSL too
};

constexpr std::uint32_t kFirstElements = 1024;

Bytes first_result(Backend& backend, const ir::Program& program, const Workload& workload) {
  return must(backend.dispatch(program, workload.inputs, {.grid_override = workload.grid}))[0];
}

Bytes first_raw_result(const SharedRawDevice& device, const std::vector<std::uint32_t>& module,
                       const Workload& workload) {
  constexpr std::uint64_t kBytes = kFirstElements * 4;
  RawKernels kernels(device, std::array{module}, std::array{kBytes, kBytes}, 1);
  kernels.record([&] {
    kernels.use_kernel(0);
    kernels.push(0, std::array{kFirstElements});
    kernels.dispatch(kFirstElements / 256);
  });
  for (std::size_t i = 0; i < 2; ++i) {
    std::memcpy(kernels.mapped(i), workload.inputs[i].data(), kBytes);
  }
  kernels.run();
  return {kernels.mapped(1), kernels.mapped(1) + kBytes};
}

// Both sides have what they ship with: a built program, and a SPIR-V module.
std::vector<Case> first_cases(Extent) {
  const auto sides = open_sides();
  if (!sides) return {skipped_case(sides.error())};
  const auto workload =
      std::make_shared<Workload>(workload_of(NewKernel().program(), kFirstElements));
  const NewKernel both;
  if (first_result(*sides->backend, both.program(), *workload) !=
      first_raw_result(sides->raw, both.module(), *workload)) {
    give_up("a new program gives other results than raw Vulkan");
  }
  return {{.size = "50 statements, 4 KiB",
           .felsite =
               [workload, backend = sides->backend] {
                 const ir::Program program = NewKernel().program();
                 return time_ns([&] { first_result(*backend, program, *workload); });
               },
           .peer = "raw Vulkan, from SPIR-V",
           .peer_cost =
               [workload, raw = sides->raw] {
                 const std::vector<std::uint32_t> module = NewKernel().module();
                 return time_ns([&] { first_raw_result(raw, module, *workload); });
               },
           .compared = std::string(kSameBytes)}};
}

}  // namespace

std::vector<Row> process_rows() {
  return {{"first_use",
           "A program that nobody has compiled, beside a new raw pipeline",
           1.25,
           first_cases,
           {.variables = {{"FELSITE_CACHE_DIR", "off"}, {"MESA_SHADER_CACHE_DISABLE", "true"}}}},
          {"peak_memory", "The most memory of a process, beside raw Vulkan", 1.25, peak_cases},
          {"cold_start", "A process, from its start to its first result, with warm caches", 1.25,
           start_cases}};
}

}  // namespace felsite::bench
