// What the tool says when something is wrong, as text or as JSON, and the exit code that stands for
// it; programs are read here because their findings are shown.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "felsite/error.h"
#include "felsite/finding.h"
#include "felsite/validate.h"

namespace felsite::tool {

// Prints "felsite: …" (or {"error":…} to standard output) and gives the exit code.
int report(const Error& error, bool json);
// Of a command line that cannot be right. `message` is a sentence without its full stop,
// or a question.
int report_usage(std::string_view message, std::string_view fix, bool json);

int exit_code(const Error& error);
nlohmann::json to_json(const Error& error);
nlohmann::json to_json(const ir::Findings& findings);

// How messages name a file.
std::string shown_path(const std::string& path);

// Findings go to standard error, rendered, or as JSON to standard output.
void show_findings(const ir::Findings& findings, const std::string& path, std::string_view text,
                   bool json);

// Parses and validates; all findings.
std::expected<ir::ValidProgram, ir::Findings> validated(const std::string& text);
// The same, and shows the findings; `path` only names the text. `report` then has nothing more to
// say of the error.
Result<ir::ValidProgram> parse_program(const std::string& text, const std::string& path, bool json);
Result<ir::ValidProgram> load_program(const std::string& path, bool json);

}  // namespace felsite::tool
