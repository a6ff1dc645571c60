#include "vk/vulkan_backend.h"

#include <fmt/format.h>

#include "dispatch/facade/backend_core.h"
#include "dispatch/facade/open_backend.h"
#include "felsite/vulkan.h"
#include "vk/device/vulkan_profile.h"
#include "vk/instance/vulkan_error.h"
#include "vk/kernel/pipeline_cache_file.h"

namespace felsite::vk {

Result<std::unique_ptr<Backend>> make_backend(BackendSettings settings) {
  return base::guarded([&]() -> Result<std::unique_ptr<Backend>> {
    const std::uint64_t budget = settings.static_budget;
    const auto open = [settings =
                           std::move(settings)]() -> Result<std::shared_ptr<dispatch::Service>> {
      FELSITE_TRY(auto device, settings.open());
      FELSITE_TRY(auto engine, Engine::make(std::move(device), settings.cache_folder,
                                            settings.grace, settings.budget));
      return std::make_shared<VulkanService>(std::move(engine));
    };
    return dispatch::open_backend({.id = kBackendId, .open = open, .static_budget = budget});
  });
}

Result<void> check_is_vulkan(const Backend& backend) {
  if (backend.id() == kBackendId) return {};
  return std::unexpected(
      unsupported(fmt::format("The backend `{}` has no Vulkan buffers.", backend.id()),
                  "ask a backend that make_vulkan_backend gave.", ""));
}

Result<std::shared_ptr<Engine>> engine_of(const Backend& backend) {
  FELSITE_CHECK(check_is_vulkan(backend));
  FELSITE_TRY(const auto open, dispatch::BackendCore::of(backend).device());
  return static_cast<const VulkanService&>(*open->service).engine();
}

}  // namespace felsite::vk

namespace felsite {

Result<std::unique_ptr<Backend>> make_vulkan_backend(const VulkanOptions& options) {
  return base::guarded([&]() -> Result<std::unique_ptr<Backend>> {
    const vk::DeviceWish wish{.device = options.device, .mask = options.mask};
    return vk::make_backend({.open = [wish] { return vk::open_device(wish); },
                             .cache_folder = vk::cache_folder(),
                             .static_budget = options.static_upload_budget,
                             .grace = options.close_timeout});
  });
}

}  // namespace felsite
