// The nearest of the words that are known.
#include <doctest/doctest.h>

#include <array>
#include <string>

#include "felsite/spelling.h"

using felsite::closest;
using felsite::did_you_mean;

TEST_CASE("spelling: one slip of the finger is near, whichever it is") {
  constexpr std::array<std::string_view, 3> kWords{"check", "explain", "run"};
  for (const char* typed : {"chek", "checkk", "chack", "chekc", "hceck"}) {
    INFO(typed);
    CHECK(closest(typed, kWords) == "check");
  }
  CHECK(closest("rnu", kWords) == "run");
  CHECK(closest("expalin", kWords) == "explain");
  CHECK(did_you_mean("chekc", kWords) == " Did you mean `check`?");
}

TEST_CASE("spelling: what is like no word, or is one, has no nearest") {
  constexpr std::array<std::string_view, 2> kWords{"check", "run"};
  for (const char* typed : {"", "chaos", "kcehc", "check", "r", "qqq"}) {
    INFO(typed);
    CHECK(closest(typed, kWords) != "check");
  }
  CHECK(closest("", kWords).empty());
  CHECK(closest(std::string(10'000, 'x'), kWords).empty());
  CHECK(did_you_mean("qqqq", kWords).empty());
}
