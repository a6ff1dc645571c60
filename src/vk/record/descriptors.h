// Which buffers a kernel sees: as push descriptors where the device has them, else as descriptor
// sets, one for each distinct binding of a recording.
#pragma once

#include <map>
#include <vector>

#include "vk/record/sequence_layout.h"

namespace felsite::vk {

// All that a kernel's descriptor set holds, in the order of `bindings_of`.
struct Binding {
  const KernelOnDevice* kernel = nullptr;
  std::vector<VkDescriptorBufferInfo> ranges;

  bool same_buffers(const Binding& other) const;
};
// `part` chooses the parameter block, where the kernel has one.
Binding binding_of(const KernelStep& step, const ControlBlocks& blocks, std::size_t part,
                   VkBuffer control);

// UnsupportedFeature where the device cannot bind that many bytes of a buffer.
Result<void> check_ranges(const Device& device, const KernelStep& step);

class DescriptorSets {
 public:
  // Sets for all the bindings; equal bindings share one, and pushed ones need none. `name` is that
  // of the owner.
  static Result<DescriptorSets> make(const Device& device, const std::vector<Binding>& bindings,
                                     std::string_view name);

  // Binds the set, or pushes the descriptors.
  void bind(VkCommandBuffer commands, const Binding& binding) const;

 private:
  using Key = std::vector<std::uint64_t>;
  static Key key_of(const Binding& binding);
  explicit DescriptorSets(const Device& device) : device_(&device) {}
  Result<void> make_pool(const std::vector<const Binding*>& bindings, std::string_view name);
  Result<void> allocate(const std::vector<const Binding*>& bindings, std::string_view name);

  const Device* device_;
  Owned<VkDescriptorPool> pool_;
  std::map<Key, VkDescriptorSet> sets_;
};

}  // namespace felsite::vk
