#include "files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>

#include "base/durable_file.h"
#include "commands.h"
#include "felsite/text.h"
#include "felsite/validate.h"

namespace felsite::tool {
namespace {

Error file_error(const std::string& path, std::string_view what, int error) {
  return Error{.code = ErrorCode::BadInputs,
               .message = fmt::format("Cannot {} `{}`: {}.", what, path, std::strerror(error)),
               .fix = "check the path, its permissions and the room in its folder.",
               .context = {}};
}

Error too_long(const std::string& path, const base::ReadLimits& limits, std::uint64_t limit) {
  Error error{.code = ErrorCode::BadInputs,
              .message = fmt::format("`{}` has more than {} MiB, which is the most that is read.",
                                     path == "-" ? "standard input" : path, limit >> 20),
              .fix = limit < limits.file ? "put the bytes into a file, of which more is read."
                                         : "check that this is the file you mean, or split it.",
              .context = {}};
  error.context.available = limit;
  return error;
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

Result<std::string> read_bytes(const std::string& path, const base::ReadLimits& limits) {
  const bool is_input = path == "-";
  const base::OwnedFile opened(is_input ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!is_input && !opened) return std::unexpected(file_error(path, "read", errno));
  std::string text;
  std::uint64_t limit = 0;
  const int failed = base::read_to_end(is_input ? STDIN_FILENO : opened.get(), limits, text, limit);
  if (failed == EFBIG) return std::unexpected(too_long(path, limits, limit));
  if (failed != 0) return std::unexpected(file_error(path, "read", failed));
  return text;
}

Result<std::string> read_file(const std::string& path) {
  return read_bytes(path, {.file = ir::kMostTextBytes, .stream = ir::kMostTextBytes});
}

Result<void> write_file(const std::string& path, std::string_view bytes) {
  std::fflush(stdout);  // the path may lead there, and what was printed comes first
  if (path == "-") {
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    return {};
  }
  const int failed = base::replace_file(path, {std::as_bytes(std::span(bytes))});
  if (failed != 0) return std::unexpected(file_error(path, "write", failed));
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
