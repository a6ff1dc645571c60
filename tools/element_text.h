// Elements of buffers as text, and the ways to name input on the command line.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "felsite/backend.h"

namespace felsite::tool {

// The bytes of one input: @file, 1,2,3, bits:HEX,HEX, zeros[:N], iota[:N] or random[:N[:seed]].
// Without N the buffer's own count is used.
Result<Bytes> make_input(const ir::BufferDecl& buffer, std::string_view spec);

enum class ElementStyle : std::uint8_t { Numbers, Hex };

// All elements as a JSON array: numbers, or strings where JSON has no number for them.
nlohmann::json json_elements(ir::Type type, ByteSpan bytes, ElementStyle style);

// At most `limit` elements, separated by spaces, then "… (N more)".
std::string print_elements(ir::Type type, ByteSpan bytes, ElementStyle style, std::size_t limit);

}  // namespace felsite::tool
