// Commands that do the same with each of several files.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "felsite/error.h"
#include "felsite/finding.h"

namespace CLI {
class App;
}

namespace felsite::tool {

struct FileOutcome {
  int code = 0;
  nlohmann::json row;  // what --json says of the file
};

// FILE...
void add_files(CLI::App& command, std::vector<std::string>& paths);

// The outcome of a file that could not be read or written, and of one with findings. Without --json
// they report it.
FileOutcome failed(const std::string& path, const Error& error, bool json);
FileOutcome found(const std::string& path, std::string_view text, const ir::Findings& findings,
                  bool json);

// The worst exit code. With --json one document: the row of the file, or an array of their rows.
int for_each_file(const std::vector<std::string>& paths, bool json,
                  const std::function<FileOutcome(const std::string&)>& act);

}  // namespace felsite::tool
