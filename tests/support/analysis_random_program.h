// Random small programs over a few variables: for comparing an analysis with brute force.
#pragma once

#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

namespace felsite::test {

// Valid text. The same seed gives the same program everywhere.
class RandomProgram {
 public:
  explicit RandomProgram(std::uint32_t seed) : random_(seed) {}

  std::string text() {
    out_ = "program random workgroup(4) {\n  readonly r: u32[];\n  readwrite a: u32[];\n";
    const std::size_t count = 2 + pick(3);
    for (std::size_t i = 0; i < count; ++i) declare();
    body(1, 3 + pick(5));
    return out_ + "}\n";
  }

 private:
  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }
  void line(std::size_t depth, const std::string& text) {
    out_ += std::string(2 * depth, ' ') + text + "\n";
  }
  std::string any_variable() { return names_[pick(static_cast<std::uint32_t>(names_.size()))]; }
  std::string operand() {
    const std::uint32_t what = pick(24);
    if (what == 0) return "workgroup_id.x";
    if (what == 1) return "local.x";
    if (what == 2) return "len(a)";
    return what < 10 ? fmt::format("{}", pick(6)) : any_variable();
  }
  std::string value() {
    switch (pick(4)) {
      case 0:
        return operand();
      case 1:
        return fmt::format("{}[{}]", pick(4) == 0 ? "a" : "r", operand());
      default:
        return fmt::format("{} + {}", operand(), operand());
    }
  }
  std::string first_value() {
    constexpr const char* kValues[] = {"invocation.x", "workgroup_id.x", "len(a)", "3"};
    return kValues[pick(4)];
  }
  void declare(std::size_t depth = 1) {
    const std::string name = fmt::format("v{}", next_++);
    line(depth, fmt::format("let {} = {};", name, names_.empty() ? first_value() : value()));
    names_.push_back(name);
    settable_.push_back(name);
  }

  // What a body declares is out of sight after it.
  void nested(std::size_t depth, std::uint32_t budget) {
    const auto names = names_;
    const auto settable = settable_;
    body(depth, budget);
    names_ = names;
    settable_ = settable;
  }

  void body(std::size_t depth, std::uint32_t statements) {
    for (std::uint32_t i = 0; i < statements; ++i) {
      const bool last = i + 1 == statements;
      const std::uint32_t what = pick(depth < 4 ? 16 : 10);
      if (what < 5) {
        line(depth,
             fmt::format("{} = {};", settable_[pick(static_cast<std::uint32_t>(settable_.size()))],
                         value()));
      } else if (what < 7) {
        line(depth, fmt::format("a[{}] = {};", operand(), operand()));
      } else if (what == 7) {
        declare(depth);
      } else if (what == 8) {
        line(depth, "a[0] = 0;");
      } else if (what == 9) {
        line(depth, last && depth > 1 ? "return;" : "a[1] = 1;");
      } else if (what < 13) {
        line(depth, fmt::format("if {} < {} {{", operand(), operand()));
        nested(depth + 1, pick(4));
        if (pick(2) == 0) {
          line(depth, "} else {");
          nested(depth + 1, pick(4));
        }
        line(depth, "}");
      } else if (what < 15) {
        loop(depth);
      } else {
        line(depth, pick(2) == 0 ? "{" : "region \"r\" {");
        nested(depth + 1, pick(3));
        line(depth, "}");
      }
    }
  }

  void loop(std::size_t depth) {
    const std::string name = fmt::format("v{}", next_++);
    line(depth, fmt::format("loop {} in {}..{} {{", name, operand(), operand()));
    const auto names = names_;
    names_.push_back(name);
    nested(depth + 1, pick(4));
    names_ = names;
    line(depth, "}");
  }

  std::minstd_rand random_;
  std::string out_;
  std::vector<std::string> names_;
  std::vector<std::string> settable_;
  int next_ = 0;
};

inline std::string random_program(std::uint32_t seed) { return RandomProgram(seed).text(); }

}  // namespace felsite::test
