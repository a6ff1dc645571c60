// Makes a failing program small: statements, arms and expressions are left out as long as it stays
// valid and still fails, and what is left is written as a file that `felsite run` reproduces.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "felsite/backend.h"
#include "felsite/text.h"
#include "felsite/validate.h"

namespace felsite::test {

// Says how the program fails, or nothing if it does not.
using Failure = std::function<std::string(const ir::Program&, const std::vector<Bytes>&)>;

namespace reducer {

using Lines = std::vector<std::string>;

inline Lines lines_of(const std::string& text) {
  Lines lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

inline std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

inline bool opens(std::string_view line) { return line.ends_with("{"); }
inline bool closes(std::string_view line) {
  const std::size_t first = line.find_first_not_of(' ');
  return first != std::string_view::npos && line[first] == '}';
}

// The line after the one that closes what line `at` opens.
inline std::size_t end_of(const Lines& lines, std::size_t at) {
  if (!opens(lines[at])) return at + 1;
  int depth = 0;
  for (std::size_t i = at; i < lines.size(); ++i) {
    if (i != at && closes(lines[i])) --depth;
    if (opens(lines[i])) ++depth;
    if (depth == 0) return i + 1;
  }
  return lines.size();
}

}  // namespace reducer

class Reducer {
 public:
  Reducer(std::vector<Bytes> inputs, Failure failure)
      : inputs_(std::move(inputs)), failure_(std::move(failure)) {}

  // Canonical text has one statement on a line, so that lines are what can be left out.
  std::string reduce(const std::string& text) {
    reducer::Lines lines = reducer::lines_of(canonical(text));
    for (bool smaller = true; smaller;) {
      smaller = drop_lines(lines);
      smaller = unwrap_blocks(lines) || smaller;
      smaller = simplify_expressions(lines) || smaller;
    }
    return reducer::joined(lines);
  }

 private:
  static std::string canonical(const std::string& text) {
    const auto program = ir::parse(text);
    return program ? ir::print(*program) : text;
  }

  bool still_fails(const reducer::Lines& lines) const {
    const auto program = ir::parse(reducer::joined(lines));
    if (!program || !ir::validate(*program).empty()) return false;
    return !failure_(*program, inputs_).empty();
  }

  bool accept(reducer::Lines& lines, reducer::Lines candidate) const {
    if (!still_fails(candidate)) return false;
    lines = std::move(candidate);
    return true;
  }

  // Inputs go by position, so buffers stay: the header, too.
  static bool is_declaration(std::string_view line) {
    return line.starts_with("program") || (line.starts_with("  ") && line.find(": ") != line.npos &&
                                           line.ends_with("];") && line.find('=') == line.npos);
  }

  bool drop_lines(reducer::Lines& lines) const {
    bool smaller = false;
    for (std::size_t at = lines.size(); at-- > 0;) {
      if (at >= lines.size() || is_declaration(lines[at]) || reducer::closes(lines[at])) continue;
      reducer::Lines candidate = lines;
      const std::size_t end = reducer::end_of(lines, at);
      candidate.erase(candidate.begin() + static_cast<std::ptrdiff_t>(at),
                      candidate.begin() + static_cast<std::ptrdiff_t>(end));
      smaller = accept(lines, std::move(candidate)) || smaller;
    }
    return smaller;
  }

  // A block's statements without the block.
  bool unwrap_blocks(reducer::Lines& lines) const {
    bool smaller = false;
    for (std::size_t at = 1; at < lines.size(); ++at) {
      if (!reducer::opens(lines[at]) || reducer::closes(lines[at])) continue;
      const std::size_t end = reducer::end_of(lines, at);
      if (end > lines.size() || end < at + 2) continue;
      reducer::Lines candidate = lines;
      candidate.erase(candidate.begin() + static_cast<std::ptrdiff_t>(end - 1));
      candidate.erase(candidate.begin() + static_cast<std::ptrdiff_t>(at));
      smaller = accept(lines, std::move(candidate)) || smaller;
    }
    return smaller;
  }

  // Replaces what stands between two parentheses, or one operand of a list, by part of itself.
  bool simplify_expressions(reducer::Lines& lines) const {
    bool smaller = false;
    for (std::size_t at = 1; at < lines.size(); ++at) {
      for (std::size_t open = lines[at].find('('); open != std::string::npos;
           open = lines[at].find('(', open + 1)) {
        if (replace_call(lines, at, open)) {
          smaller = true;
          open = 0;
        }
      }
    }
    return smaller;
  }

  bool replace_call(reducer::Lines& lines, std::size_t at, std::size_t open) const {
    const std::string& line = lines[at];
    std::size_t begin = open;
    const auto is_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '<' || c == '>';
    };
    while (begin > 0 && is_name(line[begin - 1])) --begin;
    std::vector<std::string> operands;
    std::size_t start = open + 1;
    std::size_t end = open;
    for (int depth = 0; end < line.size(); ++end) {
      if (line[end] == '(' || line[end] == '[') ++depth;
      if (line[end] == ')' || line[end] == ']') --depth;
      if ((line[end] == ',' && depth == 1) || depth == 0) {
        operands.push_back(line.substr(start, end - start));
        start = end + 1;
      }
      if (depth == 0) break;
    }
    if (end >= line.size()) return false;
    for (const std::string& operand : operands) {
      reducer::Lines candidate = lines;
      candidate[at] = line.substr(0, begin) + "(" + operand + ")" + line.substr(end + 1);
      if (candidate[at].size() >= line.size()) continue;
      if (accept(lines, std::move(candidate))) return true;
    }
    return false;
  }

  std::vector<Bytes> inputs_;
  Failure failure_;
};

// One input as `felsite run` takes it: the bits of the elements.
inline std::string input_option(const ir::BufferDecl& buffer, const Bytes& bytes) {
  std::string text = fmt::format(" --input {}=bits:", buffer.name);
  const std::size_t size = ir::info(buffer.element).bytes;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    std::uint64_t value = 0;
    std::memcpy(&value, &bytes[at], size);
    text += fmt::format("{}{:x}", at == 0 ? "" : ",", value);
  }
  return text;
}

// The reduced program with the command that runs it, in the temporary folder. Gives its path.
inline std::string write_reduced(std::uint64_t seed, const std::string& text,
                                 const std::vector<Bytes>& inputs, Extent3 grid,
                                 const Failure& failure, const std::string& more_options = "") {
  const std::string small = Reducer(inputs, failure).reduce(text);
  const auto program = ir::parse(small);
  std::string options =
      fmt::format("--backend vulkan --check --grid {},{},{}", grid[0], grid[1], grid[2]) +
      more_options;
  std::size_t next = 0;
  for (const ir::BufferDecl& buffer : program->buffers()) {
    if (ir::takes_caller_bytes(ir::role_of(buffer))) {
      options += input_option(buffer, inputs[next++]);
    }
  }
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("felsite_reduced_{}.fels", seed);
  std::ofstream(path) << fmt::format("//! about: {}\n//! run: {}\n{}", failure(*program, inputs),
                                     options, small);
  return path.string() + " (felsite run --marked " + path.string() + ")";
}

}  // namespace felsite::test
