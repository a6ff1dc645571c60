// Capability masks on the command line.
#pragma once

#include <string>
#include <string_view>

#include "felsite/capabilities.h"

namespace felsite::tool {

// As validators of an option: what is wrong with the list, or nothing. A base is what
// `lowering_mask` starts from. What the runtime uses counts only where something is run.
std::string check_mask(const std::string& list);
std::string check_mask_with_base(const std::string& list);

// What `felsite spirv` lowers for: every feature, or those of a device if the list begins with
// `device`, changed by the rest of the list.
Result<codegen::Capabilities> lowering_mask(std::string_view list, const std::string& device);

// What a list is made of, for --help: every feature by name. The second one is for commands that
// open a device: there a list also takes away what the runtime uses.
std::string mask_help();
std::string runtime_mask_help();

}  // namespace felsite::tool
