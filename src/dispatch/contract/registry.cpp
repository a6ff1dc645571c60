#include "dispatch/contract/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "base/errors.h"
#include "base/guarded.h"

namespace felsite {
namespace {

struct Registered {
  std::string id;
  MakeBackend make;
};

// Those that were registered while the process runs.
struct Registry {
  std::mutex mutex;
  std::vector<Registered> rows;
};
Registry& registry() {
  static Registry one;
  return one;
}

MakeBackend find_backend(std::string_view id) {
  for (const dispatch::BackendFactory& row : dispatch::built_in_backends()) {
    if (row.id == id) return row.make;
  }
  const std::lock_guard lock(registry().mutex);
  const auto& rows = registry().rows;
  const auto found = std::ranges::find(rows, id, &Registered::id);
  return found == rows.end() ? nullptr : found->make;
}

}  // namespace

std::vector<std::string> backend_ids() {
  std::vector<std::string> ids;
  for (const dispatch::BackendFactory& row : dispatch::built_in_backends()) {
    ids.emplace_back(row.id);
  }
  const std::lock_guard lock(registry().mutex);
  for (const Registered& row : registry().rows) ids.push_back(row.id);
  return ids;
}

Result<std::unique_ptr<Backend>> make_backend(std::string_view id) {
  return base::guarded([&]() -> Result<std::unique_ptr<Backend>> {
    if (const MakeBackend make = find_backend(id)) return make();
    return std::unexpected(
        base::unsupported(fmt::format("There is no backend `{}`.", id),
                          fmt::format("use one of: {}.", fmt::join(backend_ids(), ", "))));
  });
}

Result<void> register_backend(std::string id, MakeBackend make) {
  return base::guarded([&]() -> Result<void> {
    if (id.empty() || make == nullptr) {
      return std::unexpected(
          base::bad_inputs("A backend was registered without an id or a maker.", "give both."));
    }
    if (find_backend(id) != nullptr) {
      return std::unexpected(base::bad_inputs(fmt::format("There is a backend `{}` already.", id),
                                              "register it under another id."));
    }
    const std::lock_guard lock(registry().mutex);
    registry().rows.push_back({std::move(id), std::move(make)});
    return {};
  });
}

}  // namespace felsite
