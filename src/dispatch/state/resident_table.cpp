#include "dispatch/state/resident_table.h"

#include <fmt/format.h>

#include <atomic>

#include "base/errors.h"

namespace felsite::dispatch {

Error invalid_handle(const ResidentHandle& handle, std::uint64_t backend) {
  if (handle.backend != backend) {
    return base::invalid_handle("The handle names no buffer of this backend.",
                                "give a handle that this backend has allocated.");
  }
  return base::invalid_handle(
      fmt::format("The handle (slot {}, generation {}) names no living buffer.", handle.slot,
                  handle.generation),
      "use handles only until they are freed; allocate a new buffer.");
}

Error only_read() {
  return base::bad_inputs(
      "The buffer is a static upload, which everyone who asks for its bytes shares: it can "
      "only be read.",
      "work on a buffer of your own; release_static_uploads gives a static one back.");
}

std::uint64_t new_backend_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;  // never 0, the value of a handle that was never set
}

}  // namespace felsite::dispatch
