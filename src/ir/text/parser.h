// Parses text into a program, and returns the comments for the formatter.
#pragma once

#include <expected>
#include <string_view>
#include <vector>

#include "felsite/finding.h"
#include "felsite/program.h"
#include "ir/text/lexer.h"

namespace felsite::ir {

std::expected<Program, Findings> parse_with_comments(std::string_view text,
                                                     std::vector<Comment>* comments);

}  // namespace felsite::ir
