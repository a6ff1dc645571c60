#include "dispatch/contract/registry.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "base/guarded.h"

namespace felsite {

std::vector<std::string> backend_ids() {
  std::vector<std::string> ids;
  for (const dispatch::BackendFactory& row : dispatch::built_in_backends()) {
    ids.emplace_back(row.id);
  }
  return ids;
}

Result<std::unique_ptr<Backend>> make_backend(std::string_view id) {
  return base::guarded([&]() -> Result<std::unique_ptr<Backend>> {
    for (const dispatch::BackendFactory& row : dispatch::built_in_backends()) {
      if (row.id == id) return row.make();
    }
    return std::unexpected(
        base::unsupported(fmt::format("There is no backend `{}`.", id),
                          fmt::format("use one of: {}.", fmt::join(backend_ids(), ", "))));
  });
}

}  // namespace felsite
