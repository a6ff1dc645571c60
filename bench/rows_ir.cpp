// Rows about the IR: building, copying, checking and parsing large programs, and their memory. The
// peers are plain C++ that does what none of this can do without.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "felsite/builder.h"
#include "felsite/text.h"
#include "felsite/validate.h"
#include "give_up.h"
#include "harness.h"

namespace felsite::bench {
namespace {

using namespace ir;

// Measured ratios and a quarter more: half as much again would show.
constexpr double kBuildBound = 8;
constexpr double kBytesBound = 1.5;
constexpr double kCopyBound = 1.5;
constexpr double kParseBound = 5.5;
constexpr double kValidateBound = 0.18;

std::uint32_t expressions_for(Extent extent) {
  return by_extent(extent, 10'000u, 200'000u, 1'000'000u);
}
std::string size_for(std::size_t expressions) { return fmt::format("{} expressions", expressions); }

// Statements of ten expressions each: out[i] = ((x + 1) ^ 2) * 3 …
Program build_program(std::uint32_t expressions) {
  Builder k("large", {64});
  Buffer out = k.output("out", Type::U32, 1024);
  Value i = k.let("i", k.invocation(0));
  for (std::uint32_t n = 0; n < expressions / 10; ++n) {
    out[i] = (((i + n) ^ 7u) * 3u) + ((i << 2u) & 0xFFu);
  }
  return k.build_unvalidated();
}

// The least that a program can be kept in: one array of records.
struct PlainExpression {
  std::uint32_t kind;
  std::uint32_t first;
  std::uint32_t second;
  std::uint32_t type;
};
std::vector<PlainExpression> build_plainly(std::size_t expressions) {
  std::vector<PlainExpression> list;
  for (std::uint32_t n = 0; n < expressions; ++n) {
    list.push_back({n % 5, n - std::min(n, 1u), n - std::min(n, 2u), n % 3});
  }
  return list;
}

std::string make_text(std::size_t bytes) {
  std::string text =
      "program large workgroup(64) {\n  output out: u32[1024];\n\n  let i = invocation.x;\n";
  // Long statements, so that the node limit is not what ends a 100 MB text.
  std::uint32_t n = 0;
  while (text.size() < bytes) {
    text += fmt::format(
        "  out[i] = ((i + {0}) ^ 7) * 3 + (i << 2 & 255) + select(i < {0}, min(i, {0}), "
        "popcount(i)) "
        "+ ((i * 2654435761 >> 16) % 1021) - (out[i + 1] | {0});\n",
        n++);
  }
  return text + "}\n";
}

// What every reader of such a text does first: cuts it into words, numbers and signs, and looks the
// words up.
std::uint64_t cut_into_words(std::string_view text) {
  std::unordered_map<std::string_view, std::uint32_t> known;
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto c = static_cast<unsigned char>(text[at]);
    std::size_t end = at + 1;
    if (std::isalpha(c) != 0) {
      while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0) ++end;
      sum += known.try_emplace(text.substr(at, end - at), known.size()).first->second;
    } else if (std::isdigit(c) != 0) {
      std::uint64_t value = c - '0';
      for (; end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0; ++end) {
        value = value * 10 + static_cast<unsigned char>(text[end]) - '0';
      }
      sum += value;
    } else if (std::isspace(c) == 0) {
      sum += c;
    }
    at = end;
  }
  return sum;
}

std::vector<Case> build_cases(Extent extent) {
  const std::uint32_t count = expressions_for(extent);
  const std::size_t expressions = build_program(count).exprs().size();
  return {{.size = size_for(expressions),
           .felsite =
               [count, expressions] {
                 return processor_ns([&] {
                   if (build_program(count).exprs().size() != expressions) {
                     give_up("a program is of another size");
                   }
                 });
               },
           .peer = "an array of records",
           .peer_cost =
               [expressions] {
                 return processor_ns([&] {
                   const auto list = build_plainly(expressions);
                   keep(list.data());
                 });
               },
           .compared = "nothing: no program"}};
}

std::vector<Case> memory_cases(Extent extent) {
  const Program program = build_program(expressions_for(extent));
  const auto list = build_plainly(program.exprs().size());
  return {{.size = size_for(program.exprs().size()),
           .felsite = constant(static_cast<double>(program.storage_bytes())),
           .peer = "an array of 16 B records",
           .peer_cost = constant(static_cast<double>(list.capacity() * sizeof list[0])),
           .compared = "nothing: sizes",
           .unit = Unit::Bytes}};
}

double each(std::uint32_t times, const auto& work) {
  return processor_ns([&] {
           for (std::uint32_t i = 0; i < times; ++i) work();
         }) /
         times;
}

std::vector<Case> copy_cases(Extent extent) {
  constexpr std::uint32_t kCopies = 10'000;
  const std::uint32_t count = expressions_for(extent);
  const Program program = build_program(count);
  const auto shared = std::make_shared<const Program>(program);
  return {{.size = size_for(program.exprs().size()),
           .felsite =
               [program] {
                 return each(kCopies, [&] {
                   const Program copy = program;
                   keep(&copy);
                 });
               },
           .peer = "copying a std::shared_ptr",
           .peer_cost =
               [shared] {
                 return each(kCopies, [&] {
                   const std::shared_ptr<const Program> copy = shared;
                   keep(&copy);
                 });
               },
           .compared = "nothing: no result"}};
}

std::vector<Case> parse_cases(Extent extent) {
  const std::size_t kilobytes = by_extent<std::size_t>(extent, 100, 2'000, 100'000);
  const auto text = std::make_shared<const std::string>(make_text(kilobytes * 1000));
  return {{.size = fmt::format("{} kB", kilobytes),
           .felsite =
               [text] {
                 return processor_ns([&] {
                   if (!parse(*text)) give_up("a text does not parse");
                 });
               },
           .peer = "cutting it into words",
           .peer_cost =
               [text] {
                 return processor_ns([&] {
                   const std::uint64_t sum = cut_into_words(*text);
                   keep(&sum);
                 });
               },
           .compared = "nothing: less work"}};
}

std::vector<Case> validate_cases(Extent extent) {
  const std::uint32_t count = expressions_for(extent);
  const Program program = build_program(count);
  return {{.size = size_for(program.exprs().size()),
           .felsite =
               [program] {
                 return processor_ns([&] {
                   if (!validate(program).empty()) give_up("a program is not valid");
                 });
               },
           .peer = "building the same",
           .peer_cost = [count] { return processor_ns([&] { build_program(count); }); },
           .compared = "nothing: other work"}};
}

}  // namespace

std::vector<Row> ir_rows() {
  return {
      {"build_program", "Building a program with the builder, beside filling an array", kBuildBound,
       build_cases},
      {"program_bytes", "Memory of a built program, beside an array", kBytesBound, memory_cases},
      {"copy_program", "Copying a program, beside copying a pointer", kCopyBound, copy_cases},
      {"parse_text", "Parsing text, beside cutting it into words", kParseBound, parse_cases},
      {"validate_program", "Validating, beside building", kValidateBound, validate_cases},
  };
}

}  // namespace felsite::bench
