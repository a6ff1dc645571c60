#include "glsl.h"

#include <fmt/format.h>
#include <glslang/Public/ShaderLang.h>
#include <glslang/SPIRV/GlslangToSpv.h>
#include <glslang/build_info.h>

#include <cstdlib>

namespace felsite::bench {
namespace {

struct Process {
  Process() { glslang::InitializeProcess(); }
  ~Process() { glslang::FinalizeProcess(); }
};

// What the shaders of the benchmarks need of glslang's long list of limits, at the values of its
// own defaults.
TBuiltInResource limits() {
  TBuiltInResource limits{};
  limits.maxComputeWorkGroupCountX = limits.maxComputeWorkGroupCountY =
      limits.maxComputeWorkGroupCountZ = 65535;
  limits.maxComputeWorkGroupSizeX = limits.maxComputeWorkGroupSizeY = 1024;
  limits.maxComputeWorkGroupSizeZ = 64;
  limits.maxComputeUniformComponents = 1024;
  limits.limits.nonInductiveForLoops = limits.limits.whileLoops = limits.limits.doWhileLoops = true;
  limits.limits.generalUniformIndexing = limits.limits.generalVariableIndexing = true;
  limits.limits.generalConstantMatrixVectorIndexing = true;
  return limits;
}

[[noreturn]] void refuse(std::string_view source, const char* log) {
  fmt::print(stderr, "glslang refuses a peer of the benchmarks:\n{}\n{}\n", log, source);
  std::abort();
}

}  // namespace

std::string glslang_name() {
  return fmt::format("glslang {}.{}", GLSLANG_VERSION_MAJOR, GLSLANG_VERSION_MINOR);
}

std::vector<std::uint32_t> compile_glsl(std::string_view source) {
  static const Process process;
  static const TBuiltInResource resources = limits();
  constexpr auto kMessages = static_cast<EShMessages>(EShMsgSpvRules | EShMsgVulkanRules);

  glslang::TShader shader(EShLangCompute);
  const char* const text = source.data();
  const int length = static_cast<int>(source.size());
  shader.setStringsWithLengths(&text, &length, 1);
  shader.setEnvInput(glslang::EShSourceGlsl, EShLangCompute, glslang::EShClientVulkan, 100);
  shader.setEnvClient(glslang::EShClientVulkan, glslang::EShTargetVulkan_1_1);
  shader.setEnvTarget(glslang::EShTargetSpv, glslang::EShTargetSpv_1_3);
  if (!shader.parse(&resources, 450, false, kMessages)) refuse(source, shader.getInfoLog());
  glslang::TProgram program;
  program.addShader(&shader);
  if (!program.link(kMessages)) refuse(source, program.getInfoLog());

  std::vector<std::uint32_t> words;
  glslang::SpvOptions options;
  options.disableOptimizer = true;
  glslang::GlslangToSpv(*program.getIntermediate(EShLangCompute), words, &options);
  return words;
}

}  // namespace felsite::bench
