#include <algorithm>
#include <set>

#include "dispatch/contract/registry.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::dispatch;

TEST_CASE("each backend has one row that makes it") {
  std::set<std::string_view> ids;
  for (const BackendFactory& row : built_in_backends()) {
    CHECK(ids.insert(row.id).second);
    CHECK(!row.about.empty());
    CHECK((row.make != nullptr));
  }
  const std::vector<std::string> listed = backend_ids();
  CHECK(listed == std::vector<std::string>{"reference", "vulkan"});
  CHECK(ids.size() == listed.size());
}

TEST_CASE("the reference can be had by name") {
  const auto backend = make_backend("reference");
  REQUIRE(backend.has_value());
  CHECK((*backend)->id() == "reference");
}

TEST_CASE("a name that no backend has is an error that lists those there are") {
  for (const std::string_view id : {"", "Reference", "cuda", "vulkan "}) {
    const auto backend = make_backend(id);
    REQUIRE(!backend.has_value());
    CHECK(backend.error().code == ErrorCode::UnsupportedFeature);
    CHECK(backend.error().fix == "use one of: reference, vulkan.");
  }
}
