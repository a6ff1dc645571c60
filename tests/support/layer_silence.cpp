// The validation layer has nothing to say to any test of an executable, where FELSITE_VALIDATION
// turns it on. A layer that is not there is silent, too, so the one that was asked for must be
// there.
#include "support/final_check.h"
#include "support/validation_layer.h"

namespace felsite::test {
namespace {

std::vector<std::string> layer_messages() {
  std::vector<std::string> lines = vk::validation_log().take();
  if (wanted_layer() == "0") return lines;
  const auto instance = vk::Instance::shared();
  if (!instance) {
    lines.push_back(to_string(instance.error()));
  } else if (!(*instance)->validated()) {
    lines.push_back(
        "FELSITE_VALIDATION is set and VK_LAYER_KHRONOS_validation is not in force, so its silence "
        "means nothing. Fix: install the layer, as scripts/test does (on Debian it is the package "
        "vulkan-validationlayers), or unset the variable.");
  }
  return lines;
}

const FinalCheck layer_silence("the validation layer must be silent", FinalCheck::When::WholeRun,
                               layer_messages);

}  // namespace
}  // namespace felsite::test
