// glslang in this process, the way an application that writes its kernels in GLSL calls it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace felsite::bench {

// Its name and version, for the reports.
std::string glslang_name();

// A compute shader for Vulkan 1.1, without the optimizer and without debug information. What
// glslang sets up once for a process is set up before the first call's work.
std::vector<std::uint32_t> compile_glsl(std::string_view source);

}  // namespace felsite::bench
