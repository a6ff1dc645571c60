// SPIR-V words: the one place that knows how an instruction is laid out.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <spirv/unified1/spirv.hpp11>
#include <string_view>
#include <vector>

namespace felsite::codegen {

using Id = std::uint32_t;

// An enumerant, or a count that fits, as an operand.
constexpr std::uint32_t as_operand(auto value) { return static_cast<std::uint32_t>(value); }

// The instructions of one section of a module, or of one function.
class Instructions {
 public:
  void add(spv::Op op, std::initializer_list<std::uint32_t> operands) {
    start(op, operands.size());
    words_.insert(words_.end(), operands);
  }
  void add(spv::Op op, std::initializer_list<std::uint32_t> first,
           std::span<const std::uint32_t> rest) {
    start(op, first.size() + rest.size());
    words_.insert(words_.end(), first);
    words_.insert(words_.end(), rest.begin(), rest.end());
  }
  void add_with_result(spv::Op op, Id type, Id result, std::initializer_list<std::uint32_t> first,
                       std::span<const std::uint32_t> rest) {
    start(op, 2 + first.size() + rest.size());
    words_.push_back(type);
    words_.push_back(result);
    words_.insert(words_.end(), first);
    words_.insert(words_.end(), rest.begin(), rest.end());
  }
  // Operands, then a string, then more operands.
  void add_text(spv::Op op, std::initializer_list<std::uint32_t> first, std::string_view text,
                std::span<const std::uint32_t> rest = {});

  void append(const Instructions& other) {
    words_.insert(words_.end(), other.words_.begin(), other.words_.end());
  }
  void reserve(std::size_t words) { words_.reserve(words); }
  const std::vector<std::uint32_t>& words() const { return words_; }
  bool empty() const { return words_.empty(); }

 private:
  void start(spv::Op op, std::size_t operands) {
    words_.push_back(static_cast<std::uint32_t>((operands + 1) << 16) |
                     static_cast<std::uint32_t>(op));
  }

  std::vector<std::uint32_t> words_;
};

}  // namespace felsite::codegen
