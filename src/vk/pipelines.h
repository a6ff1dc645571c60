// Programs made ready on a device, kept in memory and, as far as the driver can, on disk.
#pragma once

#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "felsite/dispatch.h"
#include "felsite/figures.h"
#include "vk/kernel_on_device.h"

namespace felsite::vk {

// Usable from many threads.
class Pipelines {
 public:
  static constexpr std::size_t kMostEntries = 1024;
  // `folder` is where the cache file lies; without it nothing is read or written. Of more than
  // `most` programs the least recently used go.
  static Result<std::unique_ptr<Pipelines>> make(Device& device,
                                                 std::optional<std::filesystem::path> folder,
                                                 std::size_t most = kMostEntries);

  // By the program's fingerprint, which its workgroup size is part of. `grid_in_parts`: as
  // codegen::Segment has it. Invalid programs are refused here. Threads that ask for the same at
  // the same time may each compile it, and get the same kernel.
  Result<SharedKernel> get(const ir::Program& program, bool grid_in_parts = false);
  // The same for a program that is lowered in a way of its own.
  Result<SharedKernel> get(const codegen::Segment& segment);
  // The program's findings, looked for once: none, or InvalidProgram.
  Result<void> validate(const ir::Program& program);

  // Writes the cache file if something new was compiled. What is already there, from another
  // process, is kept. A file that cannot be written is a warning.
  void save();
  PipelineCacheSnapshot snapshot() const;

 private:
  struct Key {
    ir::Fingerprint program;
    std::uint64_t way = 0;  // that it is lowered in; 0: as a whole grid in one dispatch
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return key.program.low ^ key.program.high ^ key.way;
    }
  };
  struct FingerprintHash {
    std::size_t operator()(const ir::Fingerprint& f) const { return f.low ^ f.high; }
  };
  struct Entry {
    Key key;
    SharedKernel kernel;
  };

  Pipelines(Device& device, std::size_t most) : device_(device), most_(most) {}
  Result<void> open_cache(std::optional<std::filesystem::path> folder);
  Result<Owned<VkPipelineCache>> make_cache(ByteSpan data, std::string_view name) const;
  std::string write_file();
  SharedKernel find(const Key& key);
  static Key key_of(const codegen::Segment& segment);
  Result<SharedKernel> compile(const codegen::Segment& segment);

  Device& device_;
  const std::size_t most_;
  std::string identity_;
  std::optional<std::filesystem::path> file_;
  Owned<VkPipelineCache> cache_;

  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the least recently used last
  std::unordered_map<Key, std::list<Entry>::iterator, Hash> by_key_;
  std::unordered_set<ir::Fingerprint, FingerprintHash> valid_;
  PipelineCacheSnapshot figures_;
  bool is_saved_ = true;
};

}  // namespace felsite::vk
