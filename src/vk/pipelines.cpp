#include "vk/pipelines.h"

#include <xxhash.h>

#include "base/guarded.h"
#include "dispatch/counters.h"
#include "dispatch/trace.h"
#include "dispatch/warnings.h"
#include "felsite/validate.h"
#include "vk/kernel_dump.h"
#include "vk/pipeline_cache_file.h"

namespace felsite::vk {

Result<std::unique_ptr<Pipelines>> Pipelines::make(Device& device,
                                                   std::optional<std::filesystem::path> folder,
                                                   std::size_t most) {
  std::unique_ptr<Pipelines> made(new Pipelines(device, most));
  if (auto opened = made->open_cache(std::move(folder)); !opened) {
    return std::unexpected(std::move(opened.error()));
  }
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
    figures_.disk_bytes = read.data.size();
    figures_.disk_in_use = true;
  }
  auto cache = make_cache(read.data, "pipelines");
  if (!cache) return std::unexpected(std::move(cache.error()));
  cache_ = std::move(*cache);
  return {};
}

SharedKernel Pipelines::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  ++figures_.hits;
  dispatch::count(Counter::PipelinesCached);
  return found->second->kernel;
}

Result<void> Pipelines::validate(const ir::Program& program) {
  constexpr std::size_t kMostKnown = 4096;
  {
    const std::lock_guard lock(mutex_);
    if (valid_.contains(program.fingerprint())) return {};
  }
  if (const ir::Findings findings = ir::validate(program); !findings.empty()) {
    return std::unexpected(ir::to_error(findings, program.name()));
  }
  const std::lock_guard lock(mutex_);
  if (valid_.size() == kMostKnown) valid_.clear();
  valid_.insert(program.fingerprint());
  return {};
}

Pipelines::Key Pipelines::key_of(const codegen::Segment& segment) {
  std::vector<std::uint64_t> words;
  if (segment.grid_in_parts) words.push_back(1);
  if (segment.parameters) words.insert(words.end(), {2, *segment.parameters});
  if (segment.one_workgroup) {
    words.push_back(3);
    for (const std::uint32_t extent : segment.one_workgroup->grid) words.push_back(extent);
    if (const auto& passes = segment.one_workgroup->passes) {
      words.insert(words.end(),
                   {4, passes->control, passes->changed.value_or(ir::kNone), passes->most});
    }
  }
  const std::uint64_t way = words.empty() ? 0 : XXH3_64bits(words.data(), words.size() * 8);
  return {segment.program.fingerprint(), way};
}

Result<SharedKernel> Pipelines::compile(const codegen::Segment& segment) {
  const dispatch::HostSlice slice("compile");
  auto kernel = codegen::lower(segment, device_.capabilities());
  if (!kernel) return std::unexpected(std::move(kernel.error()));
  dump_kernel(segment.program, *kernel);
  return put_on_device(device_, std::move(*kernel), segment.program, cache_.get());
}

Result<SharedKernel> Pipelines::get(const ir::Program& program, bool grid_in_parts) {
  codegen::Segment segment(program);
  segment.grid_in_parts = grid_in_parts;
  return get(segment);
}

Result<SharedKernel> Pipelines::get(const codegen::Segment& segment) {
  const Key key = key_of(segment);
  if (SharedKernel found = find(key)) return found;
  // Without the lock while it compiles: a large program must not hold up the others.
  auto made = compile(segment);
  if (!made) return made;
  SharedKernel dropped;  // let go without the lock
  const std::lock_guard lock(mutex_);
  ++figures_.misses;
  dispatch::count(Counter::PipelinesCompiled);
  is_saved_ = false;
  if (const auto found = by_key_.find(key); found != by_key_.end()) return found->second->kernel;
  std::list<Entry> fresh;
  fresh.push_front({key, *made});
  by_key_.emplace(key, fresh.begin());
  entries_.splice(entries_.begin(), fresh);
  if (entries_.size() > most_) {
    dropped = std::move(entries_.back().kernel);
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
    ++figures_.evictions;
  }
  return made;
}

void Pipelines::save() {
  if (!file_) return;
  {
    const std::lock_guard lock(mutex_);
    if (is_saved_) return;
    is_saved_ = true;
  }
  // Closing comes here too: what goes wrong with a cache must not end a process.
  auto written = base::guarded([&]() -> Result<void> {
    if (const std::string wrong = write_file(); !wrong.empty()) dispatch::warn(wrong);
    return {};
  });
  if (!written) dispatch::warn(written.error().message);
}

// Gives what went wrong. Into a cache of its own goes what the file has, from another process
// perhaps, and what this one has: others may be compiling into that at the same time.
std::string Pipelines::write_file() {
  const DeviceFunctions& functions = device_.functions();
  const auto all = make_cache(read_cache(*file_, identity_).data, "pipelines on disk");
  if (!all) return to_string(all.error());
  const VkPipelineCache ours = cache_.get();
  VkResult result = functions.vkMergePipelineCaches(device_.handle(), all->get(), 1, &ours);
  std::size_t bytes = 0;
  if (result == VK_SUCCESS) {
    result = functions.vkGetPipelineCacheData(device_.handle(), all->get(), &bytes, nullptr);
  }
  Bytes data(bytes);
  if (result == VK_SUCCESS) {
    result = functions.vkGetPipelineCacheData(device_.handle(), all->get(), &bytes, data.data());
  }
  if (result != VK_SUCCESS) return to_string(device_.error(result, "read its pipeline cache"));
  data.resize(bytes);
  return write_cache(*file_, identity_, data);
}

PipelineCacheSnapshot Pipelines::snapshot() const {
  const std::lock_guard lock(mutex_);
  PipelineCacheSnapshot figures = figures_;
  figures.entries = entries_.size();
  return figures;
}

}  // namespace felsite::vk
