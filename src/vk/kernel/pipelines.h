// Compiled programs of a device, kept in memory and, as far as the driver can, on disk.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/lru.h"
#include "dispatch/contract/kernel_owner.h"
#include "felsite/dispatch.h"
#include "felsite/figures.h"
#include "ir/fingerprint.h"
#include "vk/kernel/kernel_on_device.h"
#include "vk/kernel/pipeline_cache_file.h"

namespace felsite::vk {

class Pipelines;

struct KernelKey {
  ir::Fingerprint program;
  std::uint64_t form = 0;  // how it is lowered, as a hash; 0: for a whole grid in one dispatch
  bool operator==(const KernelKey&) const = default;
};

// The kernels that one owner has used.
class KernelUse final : public dispatch::KernelOwner {
  friend class Pipelines;
  // Locked after the mutex of the pipelines, which a recovery replaces.
  std::mutex mutex_;
  const Pipelines* of_ = nullptr;
  std::vector<KernelKey> keys_;
};

// Bounds of what is kept in memory; beyond them the least recently used are evicted.
struct PipelineLimits {
  std::size_t entries = 1024;
  std::uint64_t bytes = std::uint64_t{64} << 20;
  // Vulkan cannot remove a part of a pipeline cache, so past the bound it is replaced by an empty
  // one. SwiftShader's never report growth, so the number of pipelines is bounded as well.
  std::uint64_t driver_bytes = kMaxPipelineCacheBytes;
  std::uint64_t driver_pipelines = 4096;
};

// Thread-safe.
class Pipelines {
 public:
  // `folder` holds the cache file; without a folder nothing is read or written.
  static Result<std::unique_ptr<Pipelines>> make(Device& device,
                                                 std::optional<std::filesystem::path> folder,
                                                 const PipelineLimits& limits = {});

  // Looks up by the program's fingerprint, which covers its workgroup size. `grid_in_parts`: see
  // codegen::Segment. Threads that ask for the same program at the same time may each compile it,
  // and get the same kernel.
  Result<SharedKernel> get(const ir::ValidProgram& program, bool grid_in_parts = false);
  // The same for a segment with other options of lowering.
  Result<SharedKernel> get(const codegen::Segment& segment);

  struct KeptKernel {
    SharedKernel kernel;
    std::uint32_t owners = 0;    // see KernelUse
    bool is_for_others = false;  // also used without an owner: stays until it is evicted
  };
  struct KeyHash {
    std::size_t operator()(const KernelKey& key) const {
      return key.program.low ^ key.program.high ^ key.form;
    }
  };
  using Kept = base::Lru<KernelKey, KeptKernel, KeyHash>;
  using Entries = Kept::Entries;
  // When the owner is destroyed: removes and returns what nobody else has used.
  Entries release(KernelUse& use);

  // Writes the cache file if something new was compiled. Pipelines of other processes in the file
  // are kept as far as the limit allows. A file that cannot be written causes only one warning.
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
  PipelineCacheSnapshot figures_;
  bool is_saved_ = true;
  std::atomic<bool> has_warned_ = false;
};

}  // namespace felsite::vk
