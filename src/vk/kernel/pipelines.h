// Programs made ready on a device, kept in memory and, as far as the driver can, on disk.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/lru.h"
#include "felsite/dispatch.h"
#include "felsite/figures.h"
#include "ir/check/validity_cache.h"
#include "ir/fingerprint.h"
#include "vk/kernel/kernel_on_device.h"
#include "vk/kernel/pipeline_cache_file.h"

namespace felsite::vk {

class Pipelines;

struct KernelKey {
  ir::Fingerprint program;
  std::uint64_t way = 0;  // that it is lowered in; 0: as a whole grid in one dispatch
  bool operator==(const KernelKey&) const = default;
};

// The kernels that one owner has used. What only owners that are gone have used is not kept.
class KernelUse {
 public:
  // While it lives, what its thread gets from Pipelines is used by the owner.
  class Scope {
   public:
    explicit Scope(KernelUse& use);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    KernelUse* const before_;
  };

 private:
  friend class Pipelines;
  // Taken after that of the pipelines, of which there are others after a recovery.
  std::mutex mutex_;
  const Pipelines* of_ = nullptr;
  std::vector<KernelKey> keys_;
};

// Of what is kept in memory. Of more the least recently used go.
struct PipelineLimits {
  std::size_t entries = 1024;
  std::uint64_t bytes = std::uint64_t{64} << 20;
  // Vulkan has no way to make a pipeline cache forget a part: past the bound it begins again.
  // SwiftShader's never say that they grow, so there is a number as well.
  std::uint64_t driver_bytes = kMostPipelineCacheBytes;
  std::uint64_t driver_pipelines = 4096;
};

// Usable from many threads.
class Pipelines {
 public:
  // `folder` is where the cache file lies; without it nothing is read or written.
  static Result<std::unique_ptr<Pipelines>> make(Device& device,
                                                 std::optional<std::filesystem::path> folder,
                                                 const PipelineLimits& limits = {});

  // By the program's fingerprint, which its workgroup size is part of. `grid_in_parts`: as
  // codegen::Segment has it. Threads that ask for the same at
  // the same time may each compile it, and get the same kernel.
  Result<SharedKernel> get(const ir::ValidProgram& program, bool grid_in_parts = false);
  // The same for a program that is lowered in a way of its own.
  Result<SharedKernel> get(const codegen::Segment& segment);
  // InvalidProgram with the findings, which are looked for once.
  Result<ir::ValidProgram> validate(ir::Program program) { return valid_.get(std::move(program)); }

  struct KeptKernel {
    SharedKernel kernel;
    std::uint32_t owners = 0;    // see KernelUse
    bool is_for_others = false;  // used by somebody who is no owner: stays as long as there is room
  };
  struct KeyHash {
    std::size_t operator()(const KernelKey& key) const {
      return key.program.low ^ key.program.high ^ key.way;
    }
  };
  using Kept = base::Lru<KernelKey, KeptKernel, KeyHash>;
  using Entries = Kept::Entries;
  // When its owner goes: takes out what nobody else has used, and gives it.
  Entries release(KernelUse& use);

  // Writes the cache file if something new was compiled. What is already there, from another
  // process, is kept as far as there is room. A file that cannot be written is one warning, however
  // often that is tried.
  void save();
  PipelineCacheSnapshot snapshot() const;

 private:
  using Key = KernelKey;
  using SharedCache = std::shared_ptr<const Owned<VkPipelineCache>>;
  Pipelines(Device& device, const PipelineLimits& limits)
      : device_(device),
        limits_(limits),
        kept_({.entries = limits.entries, .bytes = limits.bytes}) {}
  Result<void> open_cache(std::optional<std::filesystem::path> folder);
  Result<Owned<VkPipelineCache>> make_cache(ByteSpan data, std::string_view name) const;
  std::uint64_t data_bytes(VkPipelineCache cache) const;
  Result<Bytes> data_of(VkPipelineCache cache) const;
  void bound_driver_cache();
  void begin_again(const SharedCache& cache);
  Entries take_out(KernelUse& use);
  std::string write_file();
  SharedKernel find(const Key& key);
  void note_use(Kept::Entry& entry);
  static Key key_of(const codegen::Segment& segment);
  Result<SharedKernel> compile(const codegen::Segment& segment);

  Device& device_;
  const PipelineLimits limits_;
  std::string identity_;
  std::optional<std::filesystem::path> file_;

  mutable std::mutex mutex_;
  SharedCache cache_;
  std::uint64_t in_cache_ = 0;  // compiled into it
  Kept kept_;
  ir::ValidityCache valid_;
  PipelineCacheSnapshot figures_;
  bool is_saved_ = true;
  std::atomic<bool> has_warned_ = false;
};

}  // namespace felsite::vk
