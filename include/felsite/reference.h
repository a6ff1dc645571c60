// The reference backend: a CPU interpreter that is the oracle for every other backend.
#pragma once

#include <memory>

#include "felsite/backend.h"
#include "felsite/reference_options.h"

namespace felsite {

struct OutOfBoundsCounts {
  std::uint64_t loads = 0;
  std::uint64_t stores = 0;
  std::uint64_t atomics = 0;
};

class ReferenceBackend final : public Backend {
 public:
  // Accesses past the end of a buffer, over all dispatches so far. They have defined values, so a
  // test that must not have any has to check this. Zero after the shutdown.
  OutOfBoundsCounts out_of_bounds() const;

 private:
  friend std::unique_ptr<ReferenceBackend> make_reference_backend(ReferenceOptions options);
  using Backend::Backend;
};

// A subgroup width outside 1 … 64 makes every dispatch fail with BadInputs. Returns null only if
// there is no memory for a backend; make_backend reports that as an error.
std::unique_ptr<ReferenceBackend> make_reference_backend(ReferenceOptions options = {});

}  // namespace felsite
