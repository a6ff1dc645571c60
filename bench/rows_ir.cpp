// Rows about the IR: building, copying and parsing large programs, and their memory.
#include <fmt/format.h>

#include <memory>

#include "felsite/builder.h"
#include "felsite/text.h"
#include "felsite/validate.h"
#include "harness.h"

namespace felsite::bench {
namespace {

using namespace ir;

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

std::vector<Case> build_cases(bool) {
  Case c{.size = "1 000 000 expressions",
         .felsite = {},
         .peer = "budget: 1 s",
         .peer_cost = budget(1e9)};
  c.felsite = [] {
    return time_ns([] {
      const Program program = build_program(1'000'000);
      if (program.exprs().size() < 1'000'000) std::abort();
    });
  };
  return {c};
}

std::vector<Case> memory_cases(bool) {
  Case c{.size = "1 000 000 expressions",
         .felsite = {},
         .peer = "budget: 100 B an expression",
         .peer_cost = budget(100)};
  const Program program = build_program(1'000'000);
  c.felsite = [program] {
    return static_cast<double>(program.storage_bytes()) /
           static_cast<double>(program.exprs().size());
  };
  return {c};
}

std::vector<Case> copy_cases(bool) {
  Case c{.size = "1 000 000 expressions",
         .felsite = {},
         .peer = "budget: 1 µs",
         .peer_cost = budget(1e3)};
  const Program program = build_program(1'000'000);
  c.felsite = [program] {
    constexpr int kCopies = 10'000;
    return time_ns([&] {
             for (int i = 0; i < kCopies; ++i) {
               const Program copy = program;
               if (copy.nodes().empty()) std::abort();
             }
           }) /
           kCopies;
  };
  return {c};
}

std::vector<Case> parse_cases(bool quick) {
  const std::size_t megabytes = quick ? 10 : 100;
  const double seconds = 3.0 * static_cast<double>(megabytes) / 100;
  Case c{.size = fmt::format("{} MB", megabytes),
         .felsite = {},
         .peer = fmt::format("budget: {:.1f} s", seconds),
         .peer_cost = budget(seconds * 1e9)};
  const auto text = std::make_shared<const std::string>(make_text(megabytes * 1'000'000));
  c.felsite = [text] {
    return time_ns([&] {
      if (!parse(*text)) std::abort();
    });
  };
  return {c};
}

std::vector<Case> validate_cases(bool) {
  Case c{
      .size = "1 000 000 expressions", .felsite = {}, .peer = "building the same", .peer_cost = {}};
  const Program program = build_program(1'000'000);
  c.felsite = [program] {
    return time_ns([&] {
      if (!validate(program).empty()) std::abort();
    });
  };
  c.peer_cost = [] { return time_ns([] { build_program(1'000'000); }); };
  return {c};
}

}  // namespace

std::vector<Row> ir_rows() {
  return {
      {"build_program", "Building a program with the builder", 1.0, build_cases},
      {"program_bytes", "Memory of a built program", 1.0, memory_cases},
      {"copy_program", "Copying a program", 1.0, copy_cases},
      {"parse_text", "Parsing text", 1.0, parse_cases},
      {"validate_program", "Validating, beside building", 0, validate_cases},
  };
}

}  // namespace felsite::bench
