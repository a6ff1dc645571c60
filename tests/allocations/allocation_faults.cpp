#include "allocations/allocation_faults.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>

#include "allocations/call_stack.h"

namespace host_memory {
namespace {

struct State {
  std::atomic<bool> armed = false;
  std::atomic<long> count = 0;
  std::atomic<long> fail_at = -1;
  std::atomic<bool> stays = false;
  std::atomic<bool> failing = false;  // a fault that stays is on
  std::atomic<bool> failed = false;
  std::atomic<bool> notes_places = false;
  std::mutex mutex;
  std::vector<Place> places;
};
// There before anything is allocated.
constinit State the_state;
State& state() { return the_state; }

// Noting a place may ask for memory itself.
thread_local bool is_noting = false;

bool has_to_fail(const void* immediate) {
  State& now = state();
  if (!now.armed.load(std::memory_order_relaxed) || is_noting) return false;
  const Caller who = caller(immediate, now.notes_places);
  if (who.owner != Owner::Felsite) return false;
  if (now.notes_places) {
    is_noting = true;
    const std::lock_guard lock(now.mutex);
    now.places.push_back(who.place);
    is_noting = false;
  }
  const bool is_the_one = now.count++ == now.fail_at;
  if (is_the_one) now.failing = now.stays.load();
  if (is_the_one || now.failing) now.failed = true;
  return is_the_one || now.failing;
}

void* allocate(std::size_t bytes, std::size_t alignment, const void* immediate) {
  if (has_to_fail(immediate)) throw std::bad_alloc();
  void* const memory =
      alignment == 0
          ? std::malloc(bytes == 0 ? 1 : bytes)
          : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void begin(const Faults& faults) {
  read_symbols();
  State& now = state();
  now.count = 0;
  now.fail_at = faults.fail_at;
  now.stays = faults.stays;
  now.failing = false;
  now.failed = false;
  now.notes_places = faults.notes_places;
  now.places.clear();
  now.armed = true;
}

void pause() {
  state().armed = false;
  state().failing = false;
}

void go_on() { state().armed = true; }

long end() {
  pause();
  return state().count;
}

bool has_failed() { return state().failed; }

std::vector<Place> places() { return state().places; }

}  // namespace host_memory

void* operator new(std::size_t bytes) {
  return host_memory::allocate(bytes, 0, __builtin_return_address(0));
}
void* operator new[](std::size_t bytes) {
  return host_memory::allocate(bytes, 0, __builtin_return_address(0));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return host_memory::allocate(bytes, static_cast<std::size_t>(alignment),
                               __builtin_return_address(0));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return host_memory::allocate(bytes, static_cast<std::size_t>(alignment),
                               __builtin_return_address(0));
}
// A sanitizer would otherwise bring its operators new, which do not match the deletes below.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return host_memory::allocate(bytes, 0, __builtin_return_address(0));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return host_memory::allocate(bytes, 0, __builtin_return_address(0));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
