// Reading and writing whole files, with errors as values. `-` is standard input or output.
#pragma once

#include <string>
#include <string_view>

#include "base/bounded_read.h"
#include "felsite/error.h"
#include "felsite/finding.h"
#include "felsite/program.h"

namespace felsite::tool {

// A program's text: ir::kMostTextBytes at most.
Result<std::string> read_file(const std::string& path);
// BadInputs, which names the limit, where there is more.
Result<std::string> read_bytes(const std::string& path, const base::ReadLimits& limits);
// Files are replaced as a whole (base/durable_file.h): what goes wrong leaves the old one.
Result<void> write_file(const std::string& path, std::string_view bytes);

// Findings go to standard error, rendered, or as JSON to standard output.
void show_findings(const ir::Findings& findings, const std::string& path, std::string_view text,
                   bool json);

// Parses and validates, and shows the findings.
Result<ir::Program> load_program(const std::string& path, bool json);
// The same for text that was read already; `path` only names it.
Result<ir::Program> parse_program(const std::string& text, const std::string& path, bool json);

// Prints "felsite: …" (or {"error":…}) and gives the exit code the error stands for.
int report(const Error& error, bool json);

}  // namespace felsite::tool
