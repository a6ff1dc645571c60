// Makes text from outside (names, labels, paths, lines of programs) safe for a terminal or a page:
// it must not move the cursor, change colours or reverse the direction of the text beside it.
#pragma once

#include <string>
#include <string_view>

namespace felsite {

// Valid UTF-8 is kept. Control characters and bytes that are not UTF-8 become \x1b; control
// characters beyond ASCII, line separators and direction marks become \u{202e}.
std::string printable(std::string_view text);

// The same for a JSON document without changing its meaning: in its strings such characters become
// \u202e. The document is valid UTF-8, and its control characters are already escaped.
std::string printable_json(std::string_view document);

}  // namespace felsite
