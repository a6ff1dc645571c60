// All words that mean something in the text form, in one place. The parser, the printer, name
// checks and "did you mean" use this table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "felsite/program.h"

namespace felsite::ir {

enum class WordKind : std::uint8_t {
  Keyword,   // reserved everywhere; value: Keyword
  TypeName,  // reserved; a cast when called; value: Type
  Builtin,   // reserved; value: ExprKind of an id
  Binary,    // functions: special only when called; value: the operation
  Unary,
  Atomic,
  SubgroupReduce,
  Function,  // value: ExprKind (select, fma, bitcast, len, subgroup_ballot, subgroup_shuffle)
};

enum class Keyword : std::uint8_t {
  Program,
  Fast,
  Output,
  LiveOut,
  ReadOnly,
  ReadWrite,
  WriteOnly,
  Uniform,
  Workgroup,
  Binding,
  Hint,
  Op,
  Yield,
  Let,
  If,
  Else,
  Loop,
  In,
  Return,
  Region,
  Barrier,
  GridSync,
  IndirectDispatch,
  AsyncLoad,
  AsyncStore,
  AsyncWait,
  Trap,
  Resume,
  AllReduce,
  AllGather,
  ReduceScatter,
  Broadcast,
  True,
  False,
  Inf,
  Nan,
};

struct Word {
  std::string_view text;
  WordKind kind;
  std::uint8_t value;
  Type type = Type::None;  // of inf_f16, nan_f64, …
};

const Word* find_word(std::string_view text);
std::span<const Word> all_words();

// The word for an id expression: "invocation", "local", …
std::string_view builtin_word(ExprKind kind);
bool builtin_has_axis(ExprKind kind);

// Whether it is a name, [A-Za-z_][A-Za-z0-9_]*, other than `_`, reserved words and `bitcast`.
bool is_usable_name(std::string_view name);

}  // namespace felsite::ir
