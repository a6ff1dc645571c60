// FELSITE_DUMP: writes each program, its module and its plan into a folder.
#pragma once

#include <functional>
#include <string>

#include "felsite/kernel.h"

namespace felsite::vk {

// NAME-FINGERPRINT.fels, .spv and .plan: the program, its module, and what is bound and passed. A
// kernel for grids in parts has NAME-FINGERPRINT-in-parts instead.
void dump_kernel(const ir::Program& program, const codegen::Kernel& kernel);
// A file of any name; the text is made only if dumps are on.
void dump_text(const std::string& name, const std::function<std::string()>& text);

}  // namespace felsite::vk
