#include "files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "felsite/text.h"
#include "felsite/validate.h"

namespace felsite::tool {
namespace {

Error file_error(const std::string& path, std::string_view what) {
  return Error{.code = ErrorCode::BadInputs,
               .message = fmt::format("Cannot {} `{}`: {}.", what, path, std::strerror(errno)),
               .fix = "check the path and its permissions.",
               .context = {}};
}

nlohmann::json to_json(const ir::Finding& finding) {
  nlohmann::json row{{"code", ir::info(finding.code).id},
                     {"title", ir::info(finding.code).title},
                     {"message", finding.message},
                     {"fix", finding.fix}};
  if (finding.line != 0) {
    row["line"] = finding.line;
    row["column"] = finding.column;
  } else {
    row["path"] = finding.path;
  }
  return row;
}

}  // namespace

void show_findings(const ir::Findings& findings, const std::string& path, std::string_view text,
                   bool json) {
  if (json) {
    nlohmann::json list = nlohmann::json::array();
    for (const ir::Finding& finding : findings) list.push_back(to_json(finding));
    fmt::print("{}\n", nlohmann::json{{"file", path}, {"findings", list}}.dump(
                           2, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  for (const ir::Finding& finding : findings) {
    fmt::print(stderr, "{}:{}\n", path, ir::render(finding, text));
  }
}

Result<std::string> read_file(const std::string& path) {
  if (path == "-") {
    return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  errno = 0;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    errno = EISDIR;
    return std::unexpected(file_error(path, "read"));
  }
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return std::unexpected(file_error(path, "read"));
  // A pipe has no size; it is read to its end.
  const std::streamoff size = file.tellg();
  file.clear();
  file.seekg(0);
  file.clear();
  std::string text;
  if (size > 0) {
    text.resize(static_cast<std::size_t>(size));
    file.read(text.data(), size);
    text.resize(static_cast<std::size_t>(file.gcount()));
  } else {
    text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (file.bad()) return std::unexpected(file_error(path, "read"));
  return text;
}

Result<void> write_file(const std::string& path, std::string_view bytes) {
  if (path == "-") {
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    return {};
  }
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return std::unexpected(file_error(path, "write"));
  return {};
}

Result<ir::Program> load_program(const std::string& path, bool json) {
  auto text = read_file(path);
  if (!text) return std::unexpected(std::move(text.error()));
  return parse_program(*text, path, json);
}

Result<ir::Program> parse_program(const std::string& text, const std::string& path, bool json) {
  auto program = ir::parse(text);
  ir::Findings findings = program ? ir::validate(*program) : program.error();
  if (findings.empty()) return *program;
  show_findings(findings, path == "-" ? "standard input" : path, text, json);
  // Shown already: nothing more to say.
  return std::unexpected(
      Error{.code = ErrorCode::InvalidProgram, .message = {}, .fix = {}, .context = {}});
}

int report(const Error& error, bool json) {
  if (!error.message.empty()) {
    if (json) {
      const nlohmann::json body{{"code", static_cast<std::uint32_t>(error.code)},
                                {"name", to_string(error.code)},
                                {"message", error.message},
                                {"fix", error.fix}};
      fmt::print("{}\n", nlohmann::json{{"error", body}}.dump(
                             2, ' ', false, nlohmann::json::error_handler_t::replace));
    } else {
      fmt::print(stderr, "felsite: {}\n", to_string(error));
    }
  }
  switch (error.code) {
    case ErrorCode::InvalidProgram:
    case ErrorCode::BadInputs:
    case ErrorCode::Trapped:
    case ErrorCode::Timeout:
    case ErrorCode::InvalidHandle:
    case ErrorCode::LoopBudgetExceeded:
      return kProgramAtFault;
    case ErrorCode::DeviceOutOfMemory:
    case ErrorCode::UnsupportedFeature:
    case ErrorCode::KernelCompileFailed:
    case ErrorCode::DispatchFailed:
    case ErrorCode::CooperativeResidencyExceeded:
    case ErrorCode::DeviceLost:
    case ErrorCode::Unknown:
      return kDeviceAtFault;
  }
  return kDeviceAtFault;
}

}  // namespace felsite::tool
