// Words that follow a number or an article.
#include <doctest/doctest.h>

#include "base/words.h"

using felsite::base::counted;
using felsite::base::with_article;

TEST_CASE("words: a plural for every number but 1") {
  CHECK(counted(0, "iteration") == "0 iterations");
  CHECK(counted(1, "iteration") == "1 iteration");
  CHECK(counted(2, "iteration") == "2 iterations");
  CHECK(counted(1, "launch", "launches") == "1 launch");
  CHECK(counted(3, "launch", "launches") == "3 launches");
}

TEST_CASE("words: the article of a type and of a kind of device") {
  for (const char* word : {"f16", "f32", "f64", "i8", "i16", "i32", "i64", "integrated GPU"}) {
    CHECK(with_article(word) == std::string("an ") + word);
  }
  for (const char* word :
       {"u8", "u32", "u64", "bf16", "bool", "discrete GPU", "virtual GPU", "fast device", "unit"}) {
    CHECK(with_article(word) == std::string("a ") + word);
  }
}
