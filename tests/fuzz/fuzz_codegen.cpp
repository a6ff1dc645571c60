// Any text that validates lowers, under a mask made of the same bytes, to a valid module, or is
// refused for what the mask lacks; and twice to the same words.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "felsite/kernel.h"
#include "felsite/text.h"
#include "felsite/validate.h"
#include "support/spirv_check.h"

using namespace felsite;

namespace {

codegen::Capabilities mask_of(ir::Fingerprint bits) {
  codegen::Capabilities mask = codegen::no_capabilities();
  mask.features = std::bitset<codegen::kFeatureCount>(bits.low);
  mask.spirv_version = 0x0001'0000u | static_cast<std::uint32_t>(3 + (bits.low >> 40) % 4) << 8;
  mask.loop_budget = (bits.low >> 50) % 2 == 0 ? 0 : 1000;
  mask.folds_float_zeros = (bits.low >> 51) % 2 == 0;
  return mask;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto program = ir::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!program || !ir::validate(*program).empty()) return -1;
  const codegen::Capabilities mask = mask_of(program->fingerprint());
  const auto kernel = codegen::lower(codegen::Segment(valid(*program)), mask);
  if (!kernel) {
    if (kernel.error().code != ErrorCode::UnsupportedFeature) std::abort();
    return 0;
  }
  const std::string message = test::validation_message(kernel->words);
  if (!message.empty()) {
    std::fprintf(stderr, "%s\n", message.c_str());
    std::abort();
  }
  const auto again = codegen::lower(codegen::Segment(valid(*program)), mask);
  if (!again || again->words != kernel->words) std::abort();
  return 0;
}
