// Whatever is thrown inside the library comes out of it as a typed error.
#include <doctest/doctest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "base/guarded.h"

using namespace felsite;

namespace {

template <class Thrown>
Error error_of(Thrown thrown) {
  const auto result = base::guarded([&]() -> Result<int> { throw thrown; });
  REQUIRE_FALSE(result);
  CHECK_FALSE(result.error().message.empty());
  CHECK_FALSE(result.error().fix.empty());
  return result.error();
}

}  // namespace

TEST_CASE("guarded work gives its own result, good or bad") {
  CHECK(base::guarded([]() -> Result<int> { return 7; }) == 7);
  const auto refused = base::guarded([]() -> Result<int> {
    return std::unexpected(
        Error{.code = ErrorCode::Trapped, .message = "m", .fix = "f", .context = {}});
  });
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Trapped);
}

TEST_CASE(
    "memory that is not there, and a container longer than any memory, are DeviceOutOfMemory") {
  CHECK(error_of(std::bad_alloc()).code == ErrorCode::DeviceOutOfMemory);
  CHECK(error_of(std::length_error("vector")).code == ErrorCode::DeviceOutOfMemory);
  const auto too_long = base::guarded([]() -> Result<std::size_t> {
    return std::vector<int>(static_cast<std::size_t>(-1) / 2).size();
  });
  REQUIRE_FALSE(too_long);
  CHECK(too_long.error().code == ErrorCode::DeviceOutOfMemory);
}

TEST_CASE("other exceptions keep their text") {
  const Error system = error_of(std::system_error(std::make_error_code(std::errc::io_error)));
  CHECK(system.code == ErrorCode::DispatchFailed);
  const Error other = error_of(std::runtime_error("no randomness"));
  CHECK(other.code == ErrorCode::Unknown);
  CHECK(other.message.find("no randomness") != std::string::npos);
  CHECK(error_of(42).code == ErrorCode::Unknown);
}

TEST_CASE("what is only tried does not throw and says whether it was done") {
  CHECK(base::best_effort([] {}));
  CHECK_FALSE(base::best_effort([] { throw std::bad_alloc(); }));
  CHECK_FALSE(base::best_effort([] { throw 1; }));
}
