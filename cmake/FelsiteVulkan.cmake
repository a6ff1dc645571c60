# What src/vk and its tests compile with: the headers of Vulkan, volk and the allocator. Nothing of
# it is linked, and no public header needs it, so it stays out of the installed package.
find_package(Vulkan REQUIRED)
find_package(VulkanMemoryAllocator CONFIG REQUIRED)
# volk.h brings volk.c along (src/vk/volk.cpp), so its folder is all that is needed; Debian has no
# CMake config for it.
find_path(FELSITE_VOLK_INCLUDE_DIR volk.h REQUIRED)
mark_as_advanced(FELSITE_VOLK_INCLUDE_DIR)

add_library(felsite_vulkan INTERFACE)
target_compile_definitions(felsite_vulkan INTERFACE VK_NO_PROTOTYPES)
target_include_directories(felsite_vulkan SYSTEM INTERFACE ${FELSITE_VOLK_INCLUDE_DIR})
target_link_libraries(felsite_vulkan INTERFACE Vulkan::Headers GPUOpen::VulkanMemoryAllocator)
