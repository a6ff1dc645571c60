#include "dispatch/contract/resident_table.h"

#include <fmt/format.h>

#include <atomic>

namespace felsite::dispatch {

Error invalid_handle(const ResidentHandle& handle, std::uint64_t backend) {
  if (handle.backend != backend) {
    return {.code = ErrorCode::InvalidHandle,
            .message = "The handle names no buffer of this backend.",
            .fix = "give a handle that this backend has allocated.",
            .context = {}};
  }
  return {.code = ErrorCode::InvalidHandle,
          .message = fmt::format("The handle (slot {}, generation {}) names no living buffer.",
                                 handle.slot, handle.generation),
          .fix = "use handles only until they are freed; allocate a buffer anew.",
          .context = {}};
}

Error only_read() {
  return {.code = ErrorCode::BadInputs,
          .message =
              "The buffer is a static upload, which all who ask for its bytes share: it can "
              "only be read.",
          .fix = "work on a buffer of your own; release_static_uploads gives a static one back.",
          .context = {}};
}

std::uint64_t new_backend_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;  // never 0, which a handle has that was never set
}

}  // namespace felsite::dispatch
