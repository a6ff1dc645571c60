#include "base/host_memory.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "base/bounded_read.h"

namespace felsite::base {
namespace {

std::string read_text(const std::string& path) {
  constexpr ReadLimits kLimits{.file = 1 << 20, .stream = 1 << 20};
  std::string text;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  std::uint64_t limit = 0;
  if (read_to_end(file, kLimits, text, limit) != 0) text.clear();
  close(file);
  return text;
}

std::optional<std::uint64_t> number_at(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return std::nullopt;
  text.remove_prefix(first);
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc()) return std::nullopt;
  return number;
}

// The number after a word at the beginning of a line.
std::optional<std::uint64_t> number_of(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    if (text.starts_with(word)) return number_at(text.substr(word.size()));
    const std::size_t newline = text.find('\n');
    if (newline == std::string_view::npos) break;
    text.remove_prefix(newline + 1);
  }
  return std::nullopt;
}

std::uint64_t machine_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::uint64_t{1} << 32;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
}

// The limit of the process's control group, if there is one.
void apply_control_group(HostMemory& memory) {
  const std::string groups = read_text("/proc/self/cgroup");
  const std::size_t at = groups.find("0::");
  if (at == std::string::npos) return;
  const std::string group = groups.substr(at + 3, groups.find('\n', at) - at - 3);
  const std::string folder = "/sys/fs/cgroup" + (group == "/" ? "" : group);
  const auto most = number_at(read_text(folder + "/memory.max"));  // or the word `max`
  if (!most) return;
  const std::uint64_t used = number_at(read_text(folder + "/memory.current")).value_or(0);
  // Memory that caches files is freed as soon as it is needed.
  const std::uint64_t files =
      number_of(read_text(folder + "/memory.stat"), "inactive_file ").value_or(0);
  const std::uint64_t kept = used - std::min(used, files);
  memory.total = std::min(memory.total, *most);
  memory.available = std::min(memory.available, *most - std::min(*most, kept));
}

}  // namespace

HostMemory host_memory() {
  HostMemory memory{.total = machine_bytes(), .available = machine_bytes()};
  if (const auto kib = number_of(read_text("/proc/meminfo"), "MemAvailable:")) {
    memory.available = std::min(memory.available, *kib * 1024);
  }
  apply_control_group(memory);
  return memory;
}

std::uint64_t default_memory_limit() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::uint64_t{1} << 32;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) / 2;
}

std::array<std::uint64_t, 3> host_cache_bytes() {
  std::array<std::uint64_t, 3> bytes{};
#ifdef _SC_LEVEL1_DCACHE_SIZE  // of glibc
  constexpr std::array kNames{_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  for (std::size_t level = 0; level < bytes.size(); ++level) {
    bytes[level] = static_cast<std::uint64_t>(std::max(sysconf(kNames[level]), 0L));
  }
#endif
  return bytes;
}

}  // namespace felsite::base
