// Validation: everything that is wrong with a program, in one run.
#pragma once

#include <cstdint>
#include <expected>

#include "felsite/error.h"
#include "felsite/finding.h"
#include "felsite/program.h"

namespace felsite::ir {

inline constexpr std::uint32_t kMaxExprDepth = 1024;
inline constexpr std::uint32_t kMaxNesting = 256;
inline constexpr std::uint32_t kMaxNodes = 1'000'000;
inline constexpr std::uint32_t kMaxWorkgroupInvocations = 65'536;
inline constexpr std::uint32_t kMaxWorkgroupBytes = 1u << 20;
inline constexpr std::uint32_t kMaxAsyncCount = 1024;
// A hostile program can have a finding in every row; findings beyond this number are only counted.
inline constexpr std::size_t kMaxFindings = 1'000;

// Empty: the program is valid, and every backend that accepts it gives the same bytes.
Findings validate(const Program& program);

// A program that validation found nothing wrong with. Only validation makes one, and Felsite's own
// transforms, which keep a valid program valid; so whatever takes it need not look again. Any other
// changed copy, such as one for another workgroup size, is a Program that has to be validated.
class ValidProgram : public Program {
 private:
  friend class ValidityCache;
  friend class Rewriter;
  friend std::expected<ValidProgram, Findings> validated(Program program);
  explicit ValidProgram(Program program) : Program(std::move(program)) { header_->is_valid = true; }
  static bool is_known(const Program& program) { return program.header_->is_valid; }
};

// A program remembers that it is valid, and so do its copies: only the first call does the work,
// and a backend that gets the program later does none.
std::expected<ValidProgram, Findings> validated(Program program);
// The same, with the findings as an error: InvalidProgram.
Result<ValidProgram> require_valid(Program program);

}  // namespace felsite::ir
