// What the tool prints. A stream that cannot be written does not throw: `finish_output` checks
// standard output once, at the end, and text for a closed standard error is lost.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace felsite::tool {

void write_out(std::string_view text);
void write_err(std::string_view text);
// For text that must come before what another stream or file gets next.
void flush_out();

template <class... Values>
void print_out(fmt::format_string<Values...> text, Values&&... values) {
  write_out(fmt::format(text, std::forward<Values>(values)...));
}
template <class... Values>
void print_err(fmt::format_string<Values...> text, Values&&... values) {
  write_err(fmt::format(text, std::forward<Values>(values)...));
}

// Valid JSON, safe for a terminal whatever the strings hold; invalid UTF-8 becomes U+FFFD.
std::string json_text(const nlohmann::json& body);

// A closed standard stream would become the next file that is opened, and printed text would go
// into it: it is replaced by a stream that can only fail.
void open_missing_streams();

// The exit code, or another one if standard output could not be written: a full disk shows only
// when the buffer is flushed, and a lost result is no success.
int finish_output(int code);

}  // namespace felsite::tool
