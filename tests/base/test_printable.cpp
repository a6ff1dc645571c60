// Foreign text on a terminal: what stays and what is escaped.
#include <doctest/doctest.h>

#include <string>

#include "felsite/error.h"
#include "felsite/printable.h"

using namespace std::string_literals;
using felsite::printable;
using felsite::printable_json;

TEST_CASE("printable: text that moves nothing stays as it is") {
  for (const char* text :
       {"", "plain", " ~", "größe €  日本 🙂", "\\x1b is four letters"}) {
    CHECK(printable(text) == text);
  }
}

TEST_CASE("printable: control characters of ASCII become their two digits") {
  CHECK(printable("\x1b[31mred") == "\\x1b[31mred");
  CHECK(printable("a\tb\nc\r") == "a\\x09b\\x0ac\\x0d");
  CHECK(printable("\0\x1f \x7f~"s) == "\\x00\\x1f \\x7f~");
}

TEST_CASE("printable: control characters beyond ASCII and marks of direction become their number") {
  CHECK(printable("\u0080\u009b\u009f\u00a0") == "\\u{80}\\u{9b}\\u{9f}\u00a0");
  CHECK(printable("\u202e\u202a\u202f") == "\\u{202e}\\u{202a}\u202f");
  CHECK(printable("\u2066\u2069\u206a") == "\\u{2066}\\u{2069}\u206a");
  CHECK(printable("\u2027\u2028\u2029") == "\u2027\\u{2028}\\u{2029}");
  CHECK(printable("\u200d\u200e\u200f\u2010\u061c") == "\u200d\\u{200e}\\u{200f}\u2010\\u{61c}");
}

TEST_CASE("printable: bytes that are no UTF-8 become their two digits") {
  CHECK(printable("a\xff\xfe") == "a\\xff\\xfe");
  CHECK(printable("\xc3") == "\\xc3");           // cut off
  CHECK(printable("\xe2\x82") == "\\xe2\\x82");  // cut off
  CHECK(printable("\xe2\x82x") == "\\xe2\\x82x");
  CHECK(printable("\xc0\x9b") == "\\xc0\\x9b");           // ESC in two bytes
  CHECK(printable("\xe0\x80\x9b") == "\\xe0\\x80\\x9b");  // in three
  CHECK(printable("\xf0\x80\x80\x9b") == "\\xf0\\x80\\x80\\x9b");
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  CHECK(printable("\xf4\x8f\xbf\xbf") == "\xf4\x8f\xbf\xbf");
  CHECK(printable("\x9b") == "\\x9b");
}

TEST_CASE("printable: JSON keeps its meaning, and only its strings hold what is escaped") {
  CHECK(printable_json("{\n  \"a\": \"ö\\u001b\"\n}") == "{\n  \"a\": \"ö\\u001b\"\n}");
  CHECK(printable_json("\"\x7f\u009b\u202e\"") == "\"\\u007f\\u009b\\u202e\"");
}

TEST_CASE("printable: the text of an error is one line, whatever it names") {
  felsite::Error error{.code = felsite::ErrorCode::BadInputs,
                       .message = "The file `a\x1b[2J\nb` is odd.",
                       .fix = "name \u202eanother.",
                       .context = {}};
  error.context.program.assign("p\x07");
  error.context.device.assign(1, 'd');
  error.context.device.push_back('\xff');
  CHECK(to_string(error) ==
        "BadInputs (1009): The file `a\\x1b[2J\\x0ab` is odd. [program p\\x07, device d\\xff] "
        "Fix: name \\u{202e}another.");
}
