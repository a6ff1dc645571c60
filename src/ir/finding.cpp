#include "felsite/finding.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/guarded.h"
#include "felsite/printable.h"

namespace felsite::ir {
namespace {

constexpr FindingInfo kFindings[] = {
    {FindingCode::Syntax, "F001", "syntax error"},
    {FindingCode::BadEncoding, "F002", "not valid text"},
    {FindingCode::LiteralOutOfRange, "F003", "literal out of range"},
    {FindingCode::EmptyProgram, "F004", "empty program"},
    {FindingCode::BadName, "F005", "not a usable name"},
    {FindingCode::DuplicateBuffer, "F006", "duplicate name"},
    {FindingCode::DuplicateBinding, "F007", "duplicate binding"},
    {FindingCode::UnknownBuffer, "F008", "unknown buffer"},
    {FindingCode::UnknownVariable, "F009", "unknown variable"},
    {FindingCode::UnknownOperation, "F010", "unknown operation"},
    {FindingCode::Shadowing, "F011", "shadowed variable"},
    {FindingCode::TypeMismatch, "F012", "type mismatch"},
    {FindingCode::TypeNotAllowed, "F013", "operation not defined on this type"},
    {FindingCode::BadCast, "F014", "impossible cast"},
    {FindingCode::BadAccess, "F015", "access not allowed"},
    {FindingCode::BadAtomic, "F016", "atomic not allowed"},
    {FindingCode::BadOrdering, "F017", "ordering not allowed"},
    {FindingCode::AssignToLoopVariable, "F018", "assignment to a read-only variable"},
    {FindingCode::DivergentBarrier, "F019", "barrier in divergent control flow"},
    {FindingCode::DivergentGridSync, "F020", "grid barrier in divergent control flow"},
    {FindingCode::AfterReturn, "F021", "code after return"},
    {FindingCode::IndexOutOfRange, "F022", "constant index out of range"},
    {FindingCode::ZeroDivisor, "F023", "division by literal zero"},
    {FindingCode::BadWorkgroupSize, "F024", "workgroup size out of range"},
    {FindingCode::BufferSize, "F025", "buffer size out of range"},
    {FindingCode::BadBufferFlags, "F026", "contradictory buffer flags"},
    {FindingCode::BadArgumentCount, "F027", "wrong number of arguments"},
    {FindingCode::Recursion, "F028", "recursive operation"},
    {FindingCode::NotAllowedInOp, "F029", "not allowed in an operation"},
    {FindingCode::BadIndirectDispatch, "F030", "misplaced indirect dispatch"},
    {FindingCode::BadAsync, "F031", "impossible asynchronous copy"},
    {FindingCode::UnknownTag, "F032", "unknown tag"},
    {FindingCode::BadCollective, "F033", "misplaced collective"},
    {FindingCode::TooDeep, "F034", "nested too deeply"},
    {FindingCode::TooManyNodes, "F035", "too many nodes"},
    {FindingCode::TooManyFindings, "F036", "too many findings"},
    {FindingCode::OutOfMemory, "F037", "out of memory"},
};

std::string place(const Finding& finding) {
  if (finding.line != 0) return fmt::format("{}:{}", finding.line, finding.column);
  return finding.path;
}

// Whether this is a continuation byte of UTF-8.
bool is_inside_character(char c) { return (c & 0xC0) == 0x80; }

}  // namespace

std::span<const FindingInfo> finding_codes() { return kFindings; }

const FindingInfo& info(FindingCode code) { return kFindings[static_cast<std::size_t>(code) - 1]; }

std::string to_string(const Finding& finding) {
  const FindingInfo& row = info(finding.code);
  return printable(fmt::format("{}: error: {} {}: {} Fix: {}", place(finding), row.id, row.title,
                               finding.message, finding.fix));
}

std::string to_string(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    if (!text.empty()) text += '\n';
    text += to_string(finding);
  }
  return text;
}

std::string render(const Finding& finding, std::string_view text) {
  std::string out = to_string(finding);
  if (finding.line == 0) return out;
  for (std::uint32_t line = 1; line < finding.line; ++line) {
    const std::size_t newline = text.find('\n');
    if (newline == std::string_view::npos) return out;
    text.remove_prefix(newline + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  // A line may be megabytes long: show the part around the column.
  constexpr std::size_t kWindow = 100;
  const std::size_t column = finding.column == 0 ? 0 : finding.column - 1;
  std::size_t begin = std::min(column > kWindow / 2 ? column - kWindow / 2 : 0, text.size());
  while (begin > 0 && begin < text.size() && is_inside_character(text[begin])) --begin;
  std::string shown(text.substr(begin, kWindow));
  while (!shown.empty() && begin + shown.size() < text.size() &&
         is_inside_character(text[begin + shown.size()])) {
    shown.pop_back();  // part of a character
  }
  std::ranges::replace(shown, '\t', ' ');
  const std::string before = printable(shown.substr(0, std::min(column - begin, shown.size())));
  const auto width = static_cast<std::size_t>(
      std::ranges::count_if(before, [](char c) { return !is_inside_character(c); }));
  out += fmt::format("\n  {:>5} | {}\n        | {:>{}}", finding.line, printable(shown), '^',
                     width + 1);
  return out;
}

Error to_error(const Findings& findings, std::string_view program) {
  // Running out of memory is not a mistake in the program.
  if (!findings.empty() && findings.front().code == FindingCode::OutOfMemory) {
    return base::host_out_of_memory();
  }
  constexpr std::size_t kShown = 3;
  Error error = base::make_error(ErrorCode::InvalidProgram, {}, {}, program);
  for (std::size_t i = 0; i < std::min(findings.size(), kShown); ++i) {
    const Finding& finding = findings[i];
    error.message += fmt::format("{}{}: {} {}", i == 0 ? "" : " ", place(finding),
                                 info(finding.code).id, finding.message);
  }
  if (findings.size() > kShown) {
    error.message += fmt::format(" And {} more findings.", findings.size() - kShown);
  }
  if (!findings.empty()) error.fix = findings.front().fix;
  return error;
}

}  // namespace felsite::ir
