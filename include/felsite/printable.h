// Text that others wrote (names, labels, paths, lines of programs), made fit for a terminal or a
// page: it must not move the cursor, change colours or turn the direction of what stands beside it.
#pragma once

#include <string>
#include <string_view>

namespace felsite {

// Valid UTF-8 stays. Control characters and bytes that are no UTF-8 become \x1b, and control
// characters beyond ASCII, line separators and marks of direction \u{202e}.
std::string printable(std::string_view text);

// The same for a JSON document, whose meaning does not change: in its strings such characters
// become \u202e. The document is valid UTF-8, and has its control characters escaped already.
std::string printable_json(std::string_view document);

}  // namespace felsite
