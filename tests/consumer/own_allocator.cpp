// The program's own copy of the allocator, which calls the loader that the program links.
#define VMA_IMPLEMENTATION
#include <vk_mem_alloc.h>
