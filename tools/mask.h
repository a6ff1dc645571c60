// Capability masks on the command line.
#pragma once

#include <string>
#include <string_view>

#include "felsite/capabilities.h"
#include "felsite/device_profile.h"

namespace felsite::tool {

// Validators of an option: what is wrong with the list, or nothing. A base is what `lowering_mask`
// starts from. Features of the runtime count only where something runs.
std::string check_mask(const std::string& list);
std::string check_mask_with_base(const std::string& list);

// What `felsite spirv` lowers for: every feature, or those of a device if the list begins with
// `device`, changed by the rest of the list.
Result<codegen::Capabilities> lowering_mask(std::string_view list, const std::string& device);

// The device that kernels of this mask are planned for: the one at hand if the list begins with
// `device` and asks for no more than it has, else one that is generous in all that the mask does
// not state.
DeviceProfile planning_profile(std::string_view list, const std::string& device,
                               const codegen::Capabilities& mask);

// The features that a list may name, for --help. The second one is for commands that open a device:
// there a list may also remove features of the runtime.
std::string mask_help();
std::string runtime_mask_help();

}  // namespace felsite::tool
