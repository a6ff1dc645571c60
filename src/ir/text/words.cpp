#include "ir/text/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <vector>

namespace felsite::ir {
namespace {

constexpr Word keyword(std::string_view text, Keyword value, Type type = Type::None) {
  return {text, WordKind::Keyword, static_cast<std::uint8_t>(value), type};
}
constexpr Word builtin(std::string_view text, ExprKind kind) {
  return {text, WordKind::Builtin, static_cast<std::uint8_t>(kind)};
}
constexpr Word function(std::string_view text, ExprKind kind) {
  return {text, WordKind::Function, static_cast<std::uint8_t>(kind)};
}

constexpr Word kFixedWords[] = {
    keyword("program", Keyword::Program),
    keyword("fast", Keyword::Fast),
    keyword("output", Keyword::Output),
    keyword("live_out", Keyword::LiveOut),
    keyword("readonly", Keyword::ReadOnly),
    keyword("readwrite", Keyword::ReadWrite),
    keyword("writeonly", Keyword::WriteOnly),
    keyword("uniform", Keyword::Uniform),
    keyword("workgroup", Keyword::Workgroup),
    keyword("binding", Keyword::Binding),
    keyword("hint", Keyword::Hint),
    keyword("op", Keyword::Op),
    keyword("yield", Keyword::Yield),
    keyword("let", Keyword::Let),
    keyword("if", Keyword::If),
    keyword("else", Keyword::Else),
    keyword("loop", Keyword::Loop),
    keyword("in", Keyword::In),
    keyword("return", Keyword::Return),
    keyword("region", Keyword::Region),
    keyword("barrier", Keyword::Barrier),
    keyword("gridsync", Keyword::GridSync),
    keyword("indirect_dispatch", Keyword::IndirectDispatch),
    keyword("async_load", Keyword::AsyncLoad),
    keyword("async_store", Keyword::AsyncStore),
    keyword("async_wait", Keyword::AsyncWait),
    keyword("trap", Keyword::Trap),
    keyword("resume", Keyword::Resume),
    keyword("all_reduce", Keyword::AllReduce),
    keyword("all_gather", Keyword::AllGather),
    keyword("reduce_scatter", Keyword::ReduceScatter),
    keyword("broadcast", Keyword::Broadcast),
    keyword("true", Keyword::True),
    keyword("false", Keyword::False),
    keyword("inf", Keyword::Inf, Type::F32),
    keyword("inf_f16", Keyword::Inf, Type::F16),
    keyword("inf_bf16", Keyword::Inf, Type::BF16),
    keyword("inf_f64", Keyword::Inf, Type::F64),
    keyword("nan", Keyword::Nan, Type::F32),
    keyword("nan_f16", Keyword::Nan, Type::F16),
    keyword("nan_bf16", Keyword::Nan, Type::BF16),
    keyword("nan_f64", Keyword::Nan, Type::F64),
    builtin("invocation", ExprKind::InvocationId),
    builtin("workgroup_id", ExprKind::WorkgroupId),
    builtin("local", ExprKind::LocalId),
    builtin("num_workgroups", ExprKind::NumWorkgroups),
    builtin("workgroup_size", ExprKind::WorkgroupSize),
    builtin("subgroup_lane", ExprKind::SubgroupLocalId),
    builtin("subgroup_size", ExprKind::SubgroupSize),
    function("select", ExprKind::Select),
    function("fma", ExprKind::Fma),
    function("bitcast", ExprKind::Bitcast),
    function("len", ExprKind::BufLen),
    function("subgroup_ballot", ExprKind::SubgroupBallot),
    function("subgroup_shuffle", ExprKind::SubgroupShuffle),
};

std::vector<Word> make_words() {
  std::vector<Word> words(std::begin(kFixedWords), std::end(kFixedWords));
  for (const TypeInfo& row : kTypes) {
    if (row.type == Type::None) continue;
    words.push_back({row.name, WordKind::TypeName, static_cast<std::uint8_t>(row.type)});
  }
  for (std::uint8_t i = 0; i < kBinaryOpCount; ++i) {
    words.push_back({info(static_cast<BinaryOp>(i)).name, WordKind::Binary, i});
  }
  for (std::uint8_t i = 0; i < kUnaryOpCount; ++i) {
    words.push_back({info(static_cast<UnaryOp>(i)).name, WordKind::Unary, i});
  }
  for (std::uint8_t i = 0; i < kAtomicOpCount; ++i) {
    words.push_back({info(static_cast<AtomicOp>(i)).name, WordKind::Atomic, i});
  }
  // Reductions are named after their operation; these words live as long as the process.
  static const std::vector<std::string> reductions = [] {
    std::vector<std::string> names;
    for (std::uint8_t i = 0; i < kReduceOpCount; ++i) {
      names.push_back(fmt::format("subgroup_{}", info(static_cast<ReduceOp>(i)).name));
    }
    return names;
  }();
  for (std::uint8_t i = 0; i < kReduceOpCount; ++i) {
    words.push_back({reductions[i], WordKind::SubgroupReduce, i});
  }
  return words;
}

const std::vector<Word>& words() {
  static const std::vector<Word> table = make_words();
  return table;
}

}  // namespace

const Word* find_word(std::string_view text) {
  static const std::unordered_map<std::string_view, const Word*> index = [] {
    std::unordered_map<std::string_view, const Word*> map;
    for (const Word& word : words()) map.emplace(word.text, &word);
    return map;
  }();
  // Most names are not words, and most of those already differ in first letter and length.
  static const auto lengths = [] {
    std::array<std::uint32_t, 128> table{};
    for (const Word& word : words())
      table[static_cast<unsigned char>(word.text[0])] |= 1u << word.text.size();
    return table;
  }();
  if (text.empty() || text.size() > 31 || static_cast<unsigned char>(text[0]) > 127) return nullptr;
  if (((lengths[static_cast<unsigned char>(text[0])] >> text.size()) & 1) == 0) return nullptr;
  const auto found = index.find(text);
  return found == index.end() ? nullptr : found->second;
}

std::span<const Word> all_words() { return words(); }

std::string_view builtin_word(ExprKind kind) {
  for (const Word& word : kFixedWords) {
    const bool is_one = word.kind == WordKind::Builtin;
    if (is_one && word.value == static_cast<std::uint8_t>(kind)) return word.text;
  }
  return "?";
}

bool builtin_has_axis(ExprKind kind) {
  return kind != ExprKind::SubgroupLocalId && kind != ExprKind::SubgroupSize;
}

bool is_usable_name(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || name == "_" || !letter(name.front())) return false;
  if (!std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); })) {
    return false;
  }
  // `bitcast < 2` would be read as the start of a bitcast.
  if (name == "bitcast") return false;
  const Word* word = find_word(name);
  return word == nullptr || (word->kind != WordKind::Keyword && word->kind != WordKind::TypeName &&
                             word->kind != WordKind::Builtin);
}

}  // namespace felsite::ir
