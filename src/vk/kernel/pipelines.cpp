#include "vk/kernel/pipelines.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/telemetry/counters.h"
#include "dispatch/telemetry/trace.h"
#include "dispatch/telemetry/warnings.h"
#include "felsite/validate.h"
#include "vk/kernel/kernel_dump.h"

namespace felsite::vk {
namespace {

// Drivers do not report the size of a pipeline; it grows with the module.
std::uint64_t bytes_of(const KernelOnDevice& kernel) {
  return sizeof kernel + kernel.kernel.words.size() * sizeof kernel.kernel.words[0] +
         kernel.program.nodes().size_bytes() + kernel.program.exprs().size_bytes();
}

}  // namespace

Result<std::unique_ptr<Pipelines>> Pipelines::make(Device& device,
                                                   std::optional<std::filesystem::path> folder,
                                                   const PipelineLimits& limits) {
  std::unique_ptr<Pipelines> made(new Pipelines(device, limits));
  FELSITE_CHECK(made->open_cache(std::move(folder)));
  return made;
}

Result<Owned<VkPipelineCache>> Pipelines::make_cache(ByteSpan data, std::string_view name) const {
  const DeviceFunctions& functions = device_.functions();
  VkPipelineCacheCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  info.initialDataSize = data.size();
  info.pInitialData = data.data();
  return device_.make<VkPipelineCache>(functions.vkCreatePipelineCache,
                                       functions.vkDestroyPipelineCache, info, name);
}

Result<void> Pipelines::open_cache(std::optional<std::filesystem::path> folder) {
  CacheRead read;
  if (folder) {
    identity_ = cache_identity(device_.snapshot());
    file_ = cache_file(*folder, identity_);
    read = read_cache(*file_, identity_);
    if (!read.warning.empty()) dispatch::warn(read.warning);
    if (read.may_replace) {
      tidy_cache(*file_);
    } else {
      file_.reset();
    }
    figures_.disk_bytes = read.data.size();
    figures_.disk_in_use = file_.has_value();
  }
  FELSITE_TRY(auto cache, make_cache(read.data, "pipelines"));
  cache_ = std::make_shared<const Owned<VkPipelineCache>>(std::move(cache));
  return {};
}

// With the lock held.
void Pipelines::note_use(Kept::Entry& entry) {
  auto* const current_use = static_cast<KernelUse*>(dispatch::KernelOwner::current());
  if (current_use == nullptr) {
    entry.value.is_for_others = true;
    return;
  }
  const std::lock_guard noting(current_use->mutex_);
  // After a recovery there are other pipelines, and the uses of the old ones are void.
  if (current_use->of_ != this) current_use->keys_.clear();
  current_use->of_ = this;
  auto& keys = current_use->keys_;
  if (std::ranges::find(keys, entry.key) != keys.end()) return;
  keys.push_back(entry.key);
  ++entry.value.owners;
}

Pipelines::Entries Pipelines::release(KernelUse& use) {
  Entries released = take_out(use);
  SharedCache stale;
  {
    // It holds mostly evicted kernels, whose memory the driver then frees.
    constexpr std::uint64_t kMinStale = 64;
    const std::lock_guard lock(mutex_);
    if (in_cache_ >= kMinStale && in_cache_ > 4 * kept_.size()) stale = cache_;
  }
  if (stale != nullptr) begin_again(stale);
  return released;
}

Pipelines::Entries Pipelines::take_out(KernelUse& use) {
  Entries released;
  const std::lock_guard lock(mutex_);
  const std::lock_guard noting(use.mutex_);
  if (use.of_ != this) return released;
  for (const Key& key : use.keys_) {
    Kept::Entry* const entry = kept_.find(key);
    if (entry == nullptr) continue;  // it was evicted
    // One that was evicted and compiled again may know fewer owners than there are.
    KeptKernel& kernel = entry->value;
    if (kernel.owners > 0) --kernel.owners;
    if (kernel.owners == 0 && !kernel.is_for_others)
      released.splice(released.end(), kept_.take(key));
  }
  use.keys_.clear();
  return released;
}

SharedKernel Pipelines::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  Kept::Entry* const found = kept_.find(key);
  if (found == nullptr) return nullptr;
  note_use(*found);
  ++figures_.hits;
  dispatch::count(Counter::PipelinesCached);
  return found->value.kernel;
}

Pipelines::Key Pipelines::key_of(const codegen::Segment& segment) {
  std::vector<std::uint64_t> words;
  if (segment.grid_in_parts) words.push_back(1);
  if (segment.parameters) words.insert(words.end(), {2, *segment.parameters});
  if (segment.one_workgroup) {
    words.push_back(3);
    for (const std::uint32_t extent : segment.one_workgroup->grid) words.push_back(extent);
    if (const auto& iterations = segment.one_workgroup->iterations) {
      words.insert(words.end(), {4, iterations->control, iterations->changed.value_or(ir::kNone),
                                 iterations->most});
    }
  }
  const std::uint64_t form = words.empty() ? 0 : XXH3_64bits(words.data(), words.size() * 8);
  return {segment.program.fingerprint(), form};
}

Result<SharedKernel> Pipelines::compile(const codegen::Segment& segment) {
  const dispatch::HostSlice slice("compile");
  FELSITE_TRY(auto kernel, codegen::lower(segment, device_.capabilities()));
  dump_kernel(segment.program, kernel);
  SharedCache cache;
  {
    const std::lock_guard lock(mutex_);
    cache = cache_;
  }
  auto made = put_on_device(device_, std::move(kernel), segment.program, cache->get());
  if (made) bound_driver_cache();
  return made;
}

std::uint64_t Pipelines::data_bytes(VkPipelineCache cache) const {
  std::size_t bytes = 0;
  const VkResult result =
      device_.functions().vkGetPipelineCacheData(device_.handle(), cache, &bytes, nullptr);
  return result == VK_SUCCESS ? bytes : 0;
}

void Pipelines::bound_driver_cache() {
  constexpr std::uint64_t kPollEvery = 16;  // the larger the cache, the longer the query takes
  SharedCache cache;
  bool is_full = false;
  {
    const std::lock_guard lock(mutex_);
    is_full = ++in_cache_ >= limits_.driver_pipelines;
    if (!is_full && in_cache_ % kPollEvery != 0) return;
    cache = cache_;
  }
  if (is_full || data_bytes(cache->get()) > limits_.driver_bytes) begin_again(cache);
}

// The file, if there is one, has what was compiled so far, up to its limit.
void Pipelines::begin_again(const SharedCache& cache) {
  save();
  auto fresh = make_cache({}, "pipelines");
  if (!fresh) return;  // the old one stays in use
  auto shared = std::make_shared<const Owned<VkPipelineCache>>(std::move(*fresh));
  const std::lock_guard lock(mutex_);
  if (cache_ != cache) return;
  cache_ = std::move(shared);
  in_cache_ = 0;
}

Result<SharedKernel> Pipelines::get(const ir::ValidProgram& program, bool grid_in_parts) {
  codegen::Segment segment(program);
  segment.grid_in_parts = grid_in_parts;
  return get(segment);
}

Result<SharedKernel> Pipelines::get(const codegen::Segment& segment) {
  const Key key = key_of(segment);
  if (SharedKernel found = find(key)) return found;
  // Compiles without the lock, so that a large program does not block the others.
  auto made = compile(segment);
  if (!made) return made;
  Entries evicted;  // destroyed without the lock
  Entries fresh = Kept::make(key, {.kernel = *made}, bytes_of(**made));
  const std::lock_guard lock(mutex_);
  ++figures_.misses;
  dispatch::count(Counter::PipelinesCompiled);
  is_saved_ = false;
  if (Kept::Entry* const found = kept_.find(key)) {
    note_use(*found);
    return found->value.kernel;
  }
  note_use(fresh.front());
  evicted = kept_.add(fresh);
  figures_.evictions += evicted.size();
  return made;
}

void Pipelines::save() {
  if (!file_) return;
  {
    const std::lock_guard lock(mutex_);
    if (is_saved_) return;
    is_saved_ = true;
  }
  // Called on closing too, where a problem with a cache must not end the process.
  const auto written = base::guarded([&]() -> Result<void> {
    const std::string wrong = write_file();
    if (!wrong.empty() && !has_warned_.exchange(true)) dispatch::warn(wrong);
    return {};
  });
  if (written || has_warned_.exchange(true)) return;
  // Where there is no memory for the whole text, its message has to do.
  const Error& error = written.error();
  if (base::best_effort([&] { dispatch::warn(to_string(error)); })) return;
  dispatch::warn(error.message);
}

Result<Bytes> Pipelines::data_of(VkPipelineCache cache) const {
  const DeviceFunctions& functions = device_.functions();
  std::size_t bytes = 0;
  VkResult result = functions.vkGetPipelineCacheData(device_.handle(), cache, &bytes, nullptr);
  Bytes data;
  if (result == VK_SUCCESS && bytes <= limits_.driver_bytes) {
    data.resize(bytes);
    result = functions.vkGetPipelineCacheData(device_.handle(), cache, &bytes, data.data());
    data.resize(std::min(bytes, data.size()));
  }
  if (result == VK_SUCCESS) return data;
  return std::unexpected(device_.error(result, "read its pipeline cache"));
}

// Returns what went wrong. Merges the file, which another process may have written, and the cache
// of this process into a temporary cache, since other threads may compile into the latter
// meanwhile. If both are too large together, the file gets only what this process compiled.
std::string Pipelines::write_file() {
  SharedCache ours;
  {
    const std::lock_guard lock(mutex_);
    ours = cache_;
  }
  const VkPipelineCache handle = ours->get();
  for (const bool with_others : {true, false}) {
    const Bytes others = with_others ? read_cache(*file_, identity_).data : Bytes();
    const auto all = make_cache(others, "pipelines on disk");
    if (!all) return to_string(all.error());
    const VkResult merged =
        device_.functions().vkMergePipelineCaches(device_.handle(), all->get(), 1, &handle);
    if (merged != VK_SUCCESS) {
      return to_string(device_.error(merged, "read its pipeline cache"));
    }
    const auto data = data_of(all->get());
    if (!data) return to_string(data.error());
    if (!data->empty()) return write_cache(*file_, identity_, *data);
  }
  return {};  // over the limit; the file stays as it is
}

PipelineCacheSnapshot Pipelines::snapshot() const {
  SharedCache cache;
  PipelineCacheSnapshot figures;
  {
    const std::lock_guard lock(mutex_);
    figures = figures_;
    figures.entries = kept_.size();
    figures.bytes = kept_.bytes();
    cache = cache_;
  }
  figures.driver_bytes = data_bytes(cache->get());
  return figures;
}

}  // namespace felsite::vk
