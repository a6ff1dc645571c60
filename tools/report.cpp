#include "report.h"

#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/try.h"
#include "commands.h"
#include "felsite/printable.h"
#include "felsite/text.h"
#include "felsite/validate.h"
#include "files.h"
#include "output.h"

namespace felsite::tool {

int exit_code(const Error& error) {
  switch (error.code) {
    case ErrorCode::InvalidProgram:
    case ErrorCode::BadInputs:
    case ErrorCode::Trapped:
    case ErrorCode::Timeout:
    case ErrorCode::InvalidHandle:
      return kProgramAtFault;
    case ErrorCode::DeviceOutOfMemory:
    case ErrorCode::UnsupportedFeature:
    case ErrorCode::KernelCompileFailed:
    case ErrorCode::DispatchFailed:
    case ErrorCode::CooperativeResidencyExceeded:
    case ErrorCode::DeviceLost:
    case ErrorCode::LoopBudgetExceeded:
    case ErrorCode::Unknown:
      return kDeviceAtFault;
  }
  return kDeviceAtFault;
}

nlohmann::json to_json(const Error& error) {
  return {{"code", static_cast<std::uint32_t>(error.code)},
          {"name", to_string(error.code)},
          {"message", error.message},
          {"fix", error.fix}};
}

nlohmann::json to_json(const ir::Findings& findings) {
  nlohmann::json list = nlohmann::json::array();
  for (const ir::Finding& finding : findings) {
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
    list.push_back(std::move(row));
  }
  return list;
}

int report(const Error& error, bool json) {
  if (error.message.empty()) return exit_code(error);  // findings that were shown
  if (json) {
    print_out("{}\n", json_text({{"error", to_json(error)}}));
  } else {
    print_err("felsite: {}\n", to_string(error));
  }
  return exit_code(error);
}

int report_usage(std::string_view message, std::string_view fix, bool json) {
  const std::string sentence = std::string(message) + (message.ends_with('?') ? "" : ".");
  if (json) {
    const nlohmann::json body{
        {"code", int{kUsage}}, {"name", "Usage"}, {"message", sentence}, {"fix", fix}};
    print_out("{}\n", json_text({{"error", body}}));
  } else {
    print_err("felsite: {} Fix: {}\n", printable(sentence), printable(fix));
  }
  return kUsage;
}

std::string shown_path(const std::string& path) {
  return path == "-" ? "standard input" : printable(path);
}

void show_findings(const ir::Findings& findings, const std::string& path, std::string_view text,
                   bool json) {
  if (json) {
    print_out("{}\n", json_text({{"file", path}, {"findings", to_json(findings)}}));
    return;
  }
  for (const ir::Finding& finding : findings) {
    print_err("{}:{}\n", shown_path(path), ir::render(finding, text));
  }
}

std::expected<ir::ValidProgram, ir::Findings> validated(const std::string& text) {
  auto program = ir::parse(text);
  if (!program) return std::unexpected(std::move(program.error()));
  return ir::validated(*std::move(program));
}

Result<ir::ValidProgram> parse_program(const std::string& text, const std::string& path,
                                       bool json) {
  auto program = validated(text);
  if (program) return std::move(*program);
  show_findings(program.error(), path, text, json);
  return std::unexpected(base::make_error(ErrorCode::InvalidProgram, {}, {}));
}

Result<ir::ValidProgram> load_program(const std::string& path, bool json) {
  FELSITE_TRY(auto text, read_file(path));
  return parse_program(text, path, json);
}

}  // namespace felsite::tool
