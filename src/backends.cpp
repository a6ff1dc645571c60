// The composition root: the only place that names the backends.
#include <array>

#include "base/guarded.h"
#include "dispatch/contract/registry.h"
#include "felsite/reference.h"
#include "felsite/vulkan.h"

namespace felsite::dispatch {
namespace {

Result<std::unique_ptr<Backend>> make_reference() {
  auto made = make_reference_backend();
  if (made == nullptr) return std::unexpected(base::host_out_of_memory());
  return made;
}
Result<std::unique_ptr<Backend>> make_vulkan() { return make_vulkan_backend(); }

constexpr std::array kBackends{
    BackendFactory{"reference", "the interpreter on the CPU that defines all results",
                   make_reference},
    BackendFactory{"vulkan", "any device with a Vulkan driver", make_vulkan},
};

}  // namespace

std::span<const BackendFactory> built_in_backends() { return kBackends; }

}  // namespace felsite::dispatch
