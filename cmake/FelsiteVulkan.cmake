# What src/vk and its tests compile with: the headers of Vulkan and of the allocator. Nothing is
# linked, and no public header needs them, so they stay out of the installed package.
find_package(Vulkan REQUIRED)
find_package(VulkanMemoryAllocator CONFIG REQUIRED)

add_library(felsite_vulkan INTERFACE)
target_compile_definitions(felsite_vulkan INTERFACE VK_NO_PROTOTYPES)
target_link_libraries(felsite_vulkan INTERFACE Vulkan::Headers GPUOpen::VulkanMemoryAllocator)
