// From a snapshot of a device to the mask that programs are lowered under, and from a mask to what
// a device has to turn on for it. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "felsite/capabilities.h"
#include "vk/plan/device_snapshot.h"
#include "vk/plan/runtime_features.h"

namespace felsite::vk {

// All that the device can do and Felsite can use, with the driver's quirks.
codegen::Capabilities capabilities_of(const DeviceSnapshot& snapshot);

// Where a mask asks for more than `found`, as one clause each; empty: the device can serve it.
std::vector<std::string> excess_of(const codegen::Capabilities& mask,
                                   const codegen::Capabilities& found);

// What to turn on so that modules lowered under `mask` are legal and the runtime has its features:
// what was found, less what the mask leaves out.
OptionalFeatures features_for(const DeviceSnapshot& snapshot, const codegen::Capabilities& mask,
                              const RuntimeFeatures& runtime);

}  // namespace felsite::vk
