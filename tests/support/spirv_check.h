// SPIRV-Tools in process: every module a test makes is validated for the environment it is for.
#pragma once

#include <cstdint>
#include <spirv-tools/libspirv.hpp>
#include <string>
#include <vector>

namespace felsite::test {

inline spv_target_env target_environment(std::uint32_t spirv_version) {
  if (spirv_version >= 0x0001'0600) return SPV_ENV_VULKAN_1_3;
  if (spirv_version >= 0x0001'0500) return SPV_ENV_VULKAN_1_2;
  return spirv_version >= 0x0001'0400 ? SPV_ENV_VULKAN_1_1_SPIRV_1_4 : SPV_ENV_VULKAN_1_1;
}

// Empty if the module is valid.
inline std::string validation_message(const std::vector<std::uint32_t>& words) {
  spvtools::SpirvTools tools(target_environment(words[1]));
  std::string message;
  tools.SetMessageConsumer(
      [&](spv_message_level_t, const char*, const spv_position_t& position, const char* text) {
        message += "word " + std::to_string(position.index) + ": " + text + "\n";
      });
  if (tools.Validate(words)) return "";
  return message.empty() ? "invalid, for no stated reason" : message;
}

inline std::string disassembly(const std::vector<std::uint32_t>& words) {
  spvtools::SpirvTools tools(target_environment(words[1]));
  std::string text;
  tools.Disassemble(words, &text,
                    SPV_BINARY_TO_TEXT_OPTION_NO_HEADER | SPV_BINARY_TO_TEXT_OPTION_INDENT |
                        SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES);
  return text;
}

}  // namespace felsite::test
