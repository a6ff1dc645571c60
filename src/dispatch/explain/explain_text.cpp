// An explanation for a terminal, at most 100 columns wide.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "dispatch/explain/explained_rows.h"
#include "felsite/printable.h"

namespace felsite {
namespace {

using dispatch::ExplainedRow;
using dispatch::to_string;

constexpr std::size_t kColumns = 100;

// Counts code points: none of those used here takes two columns.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

class TextWriter {
 public:
  explicit TextWriter(const Explanation& explanation) : e_(explanation) {}

  std::string run() {
    head();
    if (e_.has_plan && e_.segments.size() + e_.convergence.iterations > 2) segments();
    spills();
    convergence();
    buffers();
    traffic();
    schedule();
    return std::move(out_);
  }

 private:
  // Wraps words after `first`; continuation lines begin with `rest`.
  void wrap(const std::string& first, const std::string& rest, std::string_view text) {
    std::string line = first;
    bool is_empty = true;
    std::istringstream words{std::string(text)};
    for (std::string word; words >> word;) {
      if (!is_empty && width_of(line) + 1 + width_of(word) > kColumns) {
        put(line);
        line = rest;
        is_empty = true;
      }
      if (!is_empty) line += ' ';
      line += word;
      is_empty = false;
    }
    put(line);
  }
  void put(std::string_view line) {
    const std::size_t last = line.find_last_not_of(' ');
    out_ += printable(line.substr(0, last + 1));  // the names in it are the program's
    out_ += '\n';
  }
  void field(std::string_view name, std::string_view text) {
    wrap(fmt::format("  {:<12}", name), std::string(14, ' '), text);
  }
  void section(std::string_view title) { out_ += fmt::format("\n{}\n", title); }

  void head() {
    put(fmt::format("{} on {}", e_.program, e_.device));
    field("route", e_.route + ". " + e_.reason);
    if (e_.estimates) field("estimated", e_.estimates->text);
    field("grid", dispatch::grid_text(e_));
    if (e_.convergence.kind != "once") field("iterations", dispatch::iterations_text(e_));
    if (e_.has_plan && e_.segments.size() > 1) field("cut", dispatch::cut_text(e_));
    for (const std::string& line : e_.assumptions) field("assumed", line);
    if (e_.estimates) {
      for (const std::string& line : e_.estimates->assumptions) {
        field("assumed", "For the estimates: " + line);
      }
    }
    for (const std::string& line : e_.notes) field("note", line);
  }

  void segments() {
    section("segments, in order");
    for (const ExplainedRow& row : dispatch::rows_of(e_)) {
      std::string bars = "  ";
      for (std::uint32_t i = 0; i < row.depth; ++i) bars += "│ ";
      switch (row.kind) {
        case ExplainedRow::Kind::Open:
          wrap(bars + "┌ ", bars + "│   ", row.title);
          break;
        case ExplainedRow::Kind::Close:
          put(bars + "└");
          break;
        case ExplainedRow::Kind::Segment:
          segment(row.index, bars);
          break;
        case ExplainedRow::Kind::Barrier:
          barrier(row, bars);
          break;
        case ExplainedRow::Kind::NativeBarrier:
          put(bars + "── native barrier");
          break;
      }
    }
  }

  void segment(std::uint32_t number, const std::string& bars) {
    const ExplainedSegment& segment = e_.segments[number];
    std::string title = fmt::format("[{}] ", number);
    if (!segment.label.empty()) title += segment.label + ": ";
    title += dispatch::launches_text(e_, segment);
    wrap(bars, bars + "    ", title);
    if (!segment.launched) return;
    const auto line = [&](std::string_view name, const std::string& text) {
      if (text.empty()) return;
      wrap(bars + fmt::format("    {:<12}", name), bars + std::string(16, ' '), text);
    };
    for (const char* role : {"readonly", "readwrite", "writeonly", "accumulator", "carried"}) {
      line(role, uses(segment, role));
    }
    line("shares", dispatch::join(segment.workgroup_memory));
    line("recomputes", dispatch::join(segment.recomputed));
    line("loads", dispatch::join(segment.loaded));
    line("stores", dispatch::join(segment.stored));
    if (e_.segments.size() > 1 && !is_one_dispatch(e_) && !e_.traffic.split_up.bytes) {
      line("would move",
           fmt::format("{} up, {} down", to_string(segment.up), to_string(segment.down)));
    }
  }

  std::string uses(const ExplainedSegment& segment, std::string_view role) const {
    std::string text;
    for (const ExplainedUse& use : segment.uses) {
      if (use.role != role) continue;
      text += fmt::format("{}{}", text.empty() ? "" : ", ", e_.buffers[use.buffer].name);
      if (use.atomics) text += " (atomic)";
      const bool only_length = role == "readonly" && !use.reads;
      if (only_length) text += " (its length)";
    }
    return text;
  }

  void barrier(const ExplainedRow& row, const std::string& bars) {
    const ExplainedBarrier& barrier = e_.barriers[row.index];
    std::string first = bars + "── barrier";
    if (row.is_loop_carried)
      first += barrier.next_iteration ? " before the next iteration" : " before the next trip";
    if (barrier.times.value_or(1) != 1) first += fmt::format(", {} times", *barrier.times);
    wrap(first + ": ", bars + "     ", dispatch::hazards_text(e_, barrier));
  }

  void spills() {
    if (!e_.has_plan || (e_.spills.empty() && !e_.kept.bytes.value_or(1))) return;
    const bool has_kept = std::ranges::any_of(
        e_.buffers, [](const auto& b) { return b.kind == ExplainedBuffer::Kind::Kept; });
    if (e_.spills.empty() && !has_kept) return;
    section("kept across barriers");
    for (const ExplainedSpill& spill : e_.spills) {
      std::string where = spill.words == 1 ? fmt::format("word {}", spill.word)
                                           : fmt::format("words {} to {}", spill.word,
                                                         spill.word + spill.words - 1);
      if (spill.bit) where += fmt::format(", bit {}", *spill.bit);
      field(spill.type, fmt::format("{}: {} of its {}", spill.value, where,
                                    spill.per_workgroup ? "workgroup" : "invocation"));
    }
    for (const ExplainedBuffer& buffer : e_.buffers) {
      if (buffer.kind != ExplainedBuffer::Kind::Kept) continue;
      field("memory", fmt::format("{}: {}", buffer.name, to_string(buffer.size)));
    }
    field("in all", with_formula(e_.kept));
  }

  static std::string with_formula(const ByteCount& count) {
    if (!count.bytes) return to_string(count);
    const bool is_plain = count.formula == std::to_string(*count.bytes);
    return to_string(count) + (is_plain ? "" : " = " + count.formula);
  }

  void convergence() {
    const ExplainedConvergence& c = e_.convergence;
    if (c.kind != "automatic") return;
    section("how a change is noticed");
    if (!c.reported.empty()) field("reported", "by stores to " + dispatch::join(c.reported));
    if (!c.compared.empty()) {
      field("compared", dispatch::join(c.compared) + " with the iteration before");
    }
  }

  void buffers() {
    if (e_.buffers.empty()) return;
    section("buffers");
    std::size_t name = 4;
    std::size_t role = 4;
    const auto role_of = [](const ExplainedBuffer& b) {
      return b.kind == ExplainedBuffer::Kind::Program ? b.role : std::string(to_string(b.kind));
    };
    for (const ExplainedBuffer& buffer : e_.buffers) {
      name = std::max(name, width_of(buffer.name));
      role = std::max(role, role_of(buffer).size());
    }
    for (const ExplainedBuffer& b : e_.buffers) {
      put(fmt::format("  {:<{}}  {:<5}{:<{}}  {}", b.name, name, b.type, role_of(b), role,
                      with_formula(b.size)));
    }
  }

  void traffic() {
    const ExplainedTraffic& t = e_.traffic;
    const bool is_split = e_.has_plan && (e_.segments.size() > 1 || e_.convergence.iterations > 1);
    section("bytes between host and device");
    field(is_split ? "resident" : "in all",
          fmt::format("{} up, {} down", to_string(t.resident_up), to_string(t.resident_down)));
    if (!is_split) return;
    const bool many = e_.convergence.iterations > 1;
    field("host split", fmt::format("{} up, {} down{}", to_string(t.split_up),
                                    to_string(t.split_down), many ? ", each iteration" : ""));
    if (many && t.split_up_at_most.bytes && t.split_down_at_most.bytes) {
      field("",
            fmt::format("{} up, {} down, if all {} iterations run", to_string(t.split_up_at_most),
                        to_string(t.split_down_at_most), e_.convergence.iterations));
    }
  }

  void schedule() {
    if (e_.schedule.empty()) return;
    section("schedule");
    for (const std::string& line : e_.schedule) {
      const std::string indent(2 + line.find_first_not_of(' '), ' ');
      wrap(indent, indent + "    ", line);
    }
  }

  const Explanation& e_;
  std::string out_;
};

}  // namespace

std::string to_text(const Explanation& explanation) { return TextWriter(explanation).run(); }

}  // namespace felsite
