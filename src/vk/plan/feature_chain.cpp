#include "vk/plan/feature_chain.h"

#include "vk/plan/feature_table.h"

namespace felsite::vk {

FeatureChain::FeatureChain(const DeviceSnapshot& device) {
  core_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  auto* tail = reinterpret_cast<VkBaseOutStructure*>(&core_);
  VkStructureType linked = core_.sType;
  for (const FeatureRow& row : kFeatureTable) {
    // The head is linked already, and rows of one struct are adjacent.
    const bool is_new = row.word.in.type != core_.sType && row.word.in.type != linked;
    if (!is_new || !offers(device, row)) continue;
    structs_.push_back(std::make_unique<std::byte[]>(row.word.struct_bytes));
    tail->pNext = reinterpret_cast<VkBaseOutStructure*>(structs_.back().get());
    tail = tail->pNext;
    tail->sType = linked = row.word.in.type;
  }
}

void FeatureChain::write(const OptionalFeatures& features) {
  for (auto* link = reinterpret_cast<VkBaseOutStructure*>(&core_); link != nullptr;
       link = link->pNext) {
    for (const FeatureRow& row : kFeatureTable) {
      if (link->sType == row.word.in.type) row.word.of(*link) = features.*row.feature;
    }
  }
}

OptionalFeatures features_in(const VkPhysicalDeviceFeatures2* chain) {
  OptionalFeatures on;
  for (auto* link = reinterpret_cast<const VkBaseOutStructure*>(chain); link != nullptr;
       link = link->pNext) {
    for (const FeatureRow& row : kFeatureTable) {
      for (const FeatureWord& word : {row.word, row.version_word}) {
        if (link->sType != word.in.type) continue;
        // The word is only read: one function finds it for reading and for writing.
        on.*row.feature |= word.of(const_cast<VkBaseOutStructure&>(*link)) == VK_TRUE;
      }
    }
  }
  return on;
}

}  // namespace felsite::vk
