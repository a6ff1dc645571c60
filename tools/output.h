// What the tool prints. A stream that cannot be written is no reason to throw: `finish_output`
// looks at standard output once, at the end, and what was to be said on a closed standard error is
// lost.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace felsite::tool {

void write_out(std::string_view text);
void write_err(std::string_view text);
// For what must be there before something else is: the next lines of another stream or file.
void flush_out();

template <class... Values>
void print_out(fmt::format_string<Values...> text, Values&&... values) {
  write_out(fmt::format(text, std::forward<Values>(values)...));
}
template <class... Values>
void print_err(fmt::format_string<Values...> text, Values&&... values) {
  write_err(fmt::format(text, std::forward<Values>(values)...));
}

// Valid and fit for a terminal, whatever the strings hold; bytes that are no UTF-8 become U+FFFD.
std::string json_text(const nlohmann::json& body);

// A standard stream that is closed would be the next file that is opened, and what is printed would
// go into it: such a stream becomes one that can only fail.
void open_missing_streams();

// The exit code, or another one if standard output could not be written: a full disk shows only
// when the buffer is written out, and a lost result is no success.
int finish_output(int code);

}  // namespace felsite::tool
