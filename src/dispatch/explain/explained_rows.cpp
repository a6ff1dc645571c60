#include "dispatch/explain/explained_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/checked.h"

namespace felsite::dispatch {
namespace {

using RowKind = ExplainedRow::Kind;

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

bool is_literal(std::string_view bound) {
  return std::ranges::all_of(bound, [](char c) { return c >= '0' && c <= '9'; });
}

class RowWriter {
 public:
  explicit RowWriter(const Explanation& explanation) : e_(explanation) {}

  std::vector<ExplainedRow> run() {
    const bool again = e_.convergence.iterations > 1;
    if (again) open(fmt::format("iteration: {}", iterations_text(e_)), false);
    add(e_.order);
    if (again) {
      add_barriers([](const ExplainedBarrier& b) { return b.next_iteration; }, true);
      close(false);
    }
    return std::move(rows_);
  }

 private:
  void open(std::string title, bool is_if) {
    rows_.push_back({RowKind::Open, depth_++, 0, std::move(title), is_if, false});
  }
  void close(bool is_if) { rows_.push_back({RowKind::Close, --depth_, 0, {}, is_if, false}); }

  template <class Wanted>
  void add_barriers(Wanted wanted, bool is_loop_carried) {
    for (std::uint32_t b = 0; b < e_.barriers.size(); ++b) {
      if (wanted(e_.barriers[b]))
        rows_.push_back({RowKind::Barrier, depth_, b, {}, false, is_loop_carried});
    }
  }

  static std::string title_of(const ExplainedPart& part) {
    const std::string_view who = part.on_device ? ", decided on the device" : "";
    if (part.kind == ExplainedPart::Kind::If) return fmt::format("if {}{}", part.condition, who);
    if (part.kind == ExplainedPart::Kind::Else) return "else";
    return fmt::format("repeat {} in {}..{}{}{}", part.variable, part.from, part.to,
                       trips_text(part), who);
  }

  // A nested loop shows its trips per entry and in total.
  static std::string trips_text(const ExplainedPart& part) {
    if (!part.trips) return {};
    const std::uint64_t entered = part.entered.value_or(1);
    if (entered <= 1) return ": " + counted(*part.trips, "trip", "trips");
    // Bounds other than literals may differ from entry to entry.
    if (!is_literal(part.from) || !is_literal(part.to)) {
      return fmt::format(": {} in all, begun {} times", counted(*part.trips, "trip", "trips"),
                         entered);
    }
    return fmt::format(": {} each time, {} in all", counted(*part.trips / entered, "trip", "trips"),
                       *part.trips);
  }

  // The first and the last segment of a part.
  static std::pair<std::uint32_t, std::uint32_t> ends_of(const ExplainedPart& part) {
    std::pair<std::uint32_t, std::uint32_t> ends{part.parts.front().segment, 0};
    const ExplainedPart* last = &part;
    while (!last->parts.empty()) last = &last->parts.back();
    ends.second = last->segment;
    return ends;
  }

  void add(const std::vector<ExplainedPart>& parts) {
    for (const ExplainedPart& part : parts) {
      if (part.kind == ExplainedPart::Kind::Segment) {
        const std::uint32_t s = part.segment;
        add_barriers(
            [&](const ExplainedBarrier& b) {
              return !b.next_iteration && b.before == s && b.after < s;
            },
            false);
        // Sibling segments have a grid barrier of the program between them.
        const bool follows =
            &part != parts.data() && std::prev(&part)->kind == ExplainedPart::Kind::Segment;
        if (follows && is_one_dispatch(e_)) {
          rows_.push_back({RowKind::NativeBarrier, depth_, s, {}, false, false});
        }
        rows_.push_back({RowKind::Segment, depth_, s, {}, false, false});
        continue;
      }
      const bool is_if = part.kind != ExplainedPart::Kind::Repeat;
      open(title_of(part), is_if);
      add(part.parts);
      if (!is_if) add_loop_barriers(part);
      close(is_if);
    }
  }

  // Belongs to the innermost loop around both ends: inner loops have shown theirs already.
  void add_loop_barriers(const ExplainedPart& part) {
    const auto [first, last] = ends_of(part);
    add_barriers(
        [&](const ExplainedBarrier& b) {
          const bool back = !b.next_iteration && b.before <= b.after;
          const bool inside = b.before >= first && b.after <= last;
          if (!back || !inside) return false;
          const auto index = static_cast<std::size_t>(&b - e_.barriers.data());
          shown_.resize(e_.barriers.size());
          const bool is_new = !shown_[index];
          shown_[index] = true;
          return is_new;
        },
        true);
  }

  const Explanation& e_;
  std::uint32_t depth_ = 0;
  std::vector<ExplainedRow> rows_;
  std::vector<bool> shown_;
};

}  // namespace

std::vector<ExplainedRow> rows_of(const Explanation& explanation) {
  return RowWriter(explanation).run();
}

std::string hazards_text(const Explanation& explanation, const ExplainedBarrier& barrier) {
  std::string text;
  for (const ExplainedHazard& hazard : barrier.hazards) {
    text += fmt::format("{}{} {} ({} to {})", text.empty() ? "" : ", ",
                        explanation.buffers[hazard.buffer].name, to_string(hazard.kind),
                        hazard.earlier, hazard.later);
  }
  return text;
}

std::string to_string(const ByteCount& count) {
  if (!count.bytes) return fmt::format("? bytes = {}", count.formula);
  return counted(*count.bytes, "byte", "bytes");
}

std::string to_string(const Extent3& extents) {
  return fmt::format("{}", fmt::join(extents, " × "));
}

std::string grid_text(const Explanation& e) {
  const std::string size = to_string(e.workgroup_size);
  if (!e.grid) return fmt::format("? workgroups of {}, {}", size, e.grid_reason);
  const auto& groups = *e.grid;
  const auto& lanes = e.workgroup_size;
  const auto all =
      base::checked_product({groups[0], groups[1], groups[2], lanes[0], lanes[1], lanes[2]});
  return fmt::format(
      "{} workgroups of {}, {}, {}", to_string(groups), size,
      all ? counted(*all, "invocation", "invocations") : "more invocations than 64 bits count",
      e.grid_reason);
}

std::string iterations_text(const Explanation& e) {
  const ExplainedConvergence& c = e.convergence;
  if (c.kind == "once") return "one";
  if (c.kind == "none") return fmt::format("always {}", c.iterations);
  if (c.kind == "flag") {
    return fmt::format("at most {}, until `{}` stays zero", c.iterations, c.flag);
  }
  return fmt::format("at most {}, until nothing changes", c.iterations);
}

std::string cut_text(const Explanation& e) {
  std::string text = fmt::format("{} at {}", counted(e.segments.size(), "segment", "segments"),
                                 counted(e.grid_barriers, "grid barrier", "grid barriers"));
  const std::string_view iteration = e.convergence.iterations > 1 ? " in an iteration" : "";
  if (is_one_dispatch(e)) return text + ", all in one dispatch";
  if (!e.launches) return text + ", the number of launches depends on loop bounds";
  return text + fmt::format(", {}{}", counted(*e.launches, "launch", "launches"), iteration);
}

std::string launches_text(const Explanation& e, const ExplainedSegment& segment) {
  if (is_one_dispatch(e)) return segment.launched ? "in the dispatch" : "does nothing";
  if (!segment.launched) return "does nothing, is not launched";
  if (!segment.launches) return "launch count depends on loop bounds";
  return counted(*segment.launches, "launch", "launches");
}

std::string join(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace felsite::dispatch
