// What is wrong with a program or its text: a stable code, a place, a message and a fix.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "felsite/error.h"

namespace felsite::ir {

// Codes are stable: they are only ever added. docs/diagnostics.md explains each with an example.
enum class FindingCode : std::uint8_t {
  Syntax = 1,
  BadEncoding,
  LiteralOutOfRange,
  EmptyProgram,
  BadName,
  DuplicateBuffer,
  DuplicateBinding,
  UnknownBuffer,
  UnknownVariable,
  UnknownOperation,
  Shadowing,
  TypeMismatch,
  TypeNotAllowed,
  BadCast,
  BadAccess,
  BadAtomic,
  BadOrdering,
  AssignToLoopVariable,
  DivergentBarrier,
  DivergentGridSync,
  AfterReturn,
  IndexOutOfRange,
  ZeroDivisor,
  BadWorkgroupSize,
  BufferSize,
  BadBufferFlags,
  BadArgumentCount,
  Recursion,
  NotAllowedInOp,
  BadIndirectDispatch,
  BadAsync,
  UnknownTag,
  BadCollective,
  TooDeep,
  TooManyNodes,
  TooManyFindings,
  OutOfMemory,
};

struct FindingInfo {
  FindingCode code;
  std::string_view id;  // "F001"
  std::string_view title;
};
std::span<const FindingInfo> finding_codes();
const FindingInfo& info(FindingCode code);

struct Finding {
  FindingCode code = FindingCode::Syntax;
  std::uint32_t line = 0;  // 0: the program was built, see path
  std::uint32_t column = 0;
  std::string path;  // "entry[2].then[0].value"
  std::string message;
  std::string fix;
};
using Findings = std::vector<Finding>;

// "4:7: error: F012 type mismatch: message Fix: sentence", or the path in place of line and column.
// Text from the program is shown as printable() shows it.
std::string to_string(const Finding& finding);
// All of them, one per line.
std::string to_string(const Findings& findings);
// The same, then the line of `text` with a caret under the column.
std::string render(const Finding& finding, std::string_view text);
// InvalidProgram, with the first findings in the message.
Error to_error(const Findings& findings, std::string_view program);

}  // namespace felsite::ir
