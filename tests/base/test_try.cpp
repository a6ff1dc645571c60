// FELSITE_TRY and FELSITE_CHECK: values go on, errors go out, and nothing is evaluated twice.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/try.h"
#include "felsite/error.h"

using namespace felsite;

namespace {

int calls = 0;

Result<int> half(int value) {
  ++calls;
  if (value % 2 == 0) return value / 2;
  return std::unexpected(Error{.code = ErrorCode::BadInputs,
                               .message = std::to_string(value) + " is odd.",
                               .fix = "take an even number.",
                               .context = {}});
}

Result<std::unique_ptr<int>> half_owned(int value) {
  FELSITE_TRY(const int found, half(value));
  return std::make_unique<int>(found);
}

Result<std::string> quarter(int value) {
  FELSITE_TRY(const int once, half(value));
  FELSITE_TRY(int twice, half(once));
  return std::to_string(twice);
}

struct Pair {
  int first = 0;
  int second = 0;
};

// A call with commas, and a value that goes where it is wanted.
Result<int> sum(int a, int b) {
  Pair pair;
  const auto both = [](int x, int y) -> Result<Pair> { return Pair{.first = x, .second = y}; };
  FELSITE_TRY(pair, both(a, b));
  FELSITE_CHECK(half(pair.first));
  if (pair.second > 0) FELSITE_CHECK(half(pair.second));
  return pair.first + pair.second;
}

}  // namespace

TEST_CASE("the value of a call goes on") {
  CHECK(quarter(12) == "3");
  CHECK(sum(4, 6) == 10);
  CHECK(sum(4, -1) == 3);
}

TEST_CASE("the error of a call is the caller's, whatever that returns") {
  CHECK(quarter(7).error().message == "7 is odd.");
  CHECK(quarter(6).error().message == "3 is odd.");
  CHECK(half_owned(5).error().code == ErrorCode::BadInputs);
  CHECK(sum(3, 2).error().message == "3 is odd.");
  CHECK(sum(2, 3).error().message == "3 is odd.");
}

TEST_CASE("a call is made once, and what can only be moved is moved") {
  calls = 0;
  static_cast<void>(quarter(6));
  CHECK(calls == 2);
  const auto owned = half_owned(8);
  REQUIRE(owned.has_value());
  CHECK(**owned == 4);
}
