// An explanation as one self-contained page, without scripts.
#include <fmt/format.h>

#include <algorithm>

#include "dispatch/explain/explain_drawing.h"
#include "dispatch/explain/explain_style.h"
#include "dispatch/explain/explained_rows.h"

namespace felsite {
namespace {

using dispatch::escape_html;
using dispatch::to_string;

class PageWriter {
 public:
  explicit PageWriter(const Explanation& explanation) : e_(explanation) {}

  std::string run() {
    head();
    out_ += fmt::format("<div class='beside{}'>\n", e_.has_plan ? " two" : "");
    source();
    if (e_.has_plan) drawing();
    out_ += "</div>\n";
    traffic();
    kept();
    barriers();
    segments();
    schedule();
    out_ += "</main></body></html>\n";
    return std::move(out_);
  }

 private:
  bool is_more_than_one_kernel() const {
    return e_.has_plan && (e_.segments.size() > 1 || e_.convergence.iterations > 1);
  }

  void fact(std::string_view name, std::string_view text) {
    out_ += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, escape_html(text));
  }

  void head() {
    const std::string name = escape_html(e_.program);
    out_ += fmt::format(
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width,initial-scale=1'>"
        "<title>{0}: how it runs</title><style>{1}</style></head><body><main>\n"
        "<h1>{0}</h1><p class='sub'>on {2} · program {3}</p>\n<ul class='routes' "
        "aria-label='Routes; the one that is taken is "
        "marked'>",
        name, dispatch::kExplainStyle, escape_html(e_.device), e_.fingerprint);
    for (const char* route : {"plain", "native", "one workgroup", "resident", "host split"}) {
      out_ += fmt::format("<li{}>{}</li>",
                          e_.route == route ? " class='taken' aria-current='true'" : "", route);
    }
    out_ += fmt::format("</ul><p>{}</p>\n<dl class='facts'>", escape_html(e_.reason));
    if (e_.estimates) fact("estimated", e_.estimates->text);
    fact("grid", dispatch::grid_text(e_));
    if (e_.convergence.kind != "once") fact("iterations", dispatch::iterations_text(e_));
    if (is_more_than_one_kernel()) fact("cut", dispatch::cut_text(e_));
    if (!e_.convergence.reported.empty()) {
      fact("changes", "reported by stores to " + dispatch::join(e_.convergence.reported));
    }
    if (!e_.convergence.compared.empty()) {
      fact("compared", dispatch::join(e_.convergence.compared) + ", with the iteration before");
    }
    for (const std::string& line : e_.assumptions) fact("assumed", line);
    if (e_.estimates) {
      for (const std::string& line : e_.estimates->assumptions) {
        fact("assumed", "For the estimates: " + line);
      }
    }
    for (const std::string& line : e_.notes) fact("note", line);
    out_ += "</dl>\n";
  }

  // A wide table scrolls by itself, so that the page does not.
  void open_table(std::string_view title, std::initializer_list<std::string_view> columns) {
    out_ += fmt::format(
        "<h2>{0}</h2><div class='scroll' role='region' aria-label='{0}' tabindex='0'><table><tr>",
        title);
    for (const std::string_view column : columns) {
      out_ += fmt::format("<th scope='col'>{}</th>", column);
    }
    out_ += "</tr>\n";
  }
  void close_table() { out_ += "</table></div>\n"; }

  // Each line follows the numbers of its segments.
  void source() {
    if (e_.source.empty()) return;
    out_ +=
        "<section aria-labelledby='source-title'><h2 id='source-title'>Source, with its "
        "segments</h2><ol class='source' tabindex='0'>";
    for (std::size_t i = 0; i < e_.source.size(); ++i) {
      const ExplainedLine& line = e_.source[i];
      std::string segments;
      for (const std::uint32_t s : line.segments) {
        segments += fmt::format("{}{}", segments.empty() ? "" : " ", s);
      }
      const bool is_odd = !line.segments.empty() && line.segments.front() % 2 == 1;
      const std::string_view cut = line.grid_barrier ? "cut" : "";
      if (line.grid_barrier && segments.empty()) segments = "barrier";
      std::string text = line.text;
      for (std::size_t at = text.find('\t'); at != std::string::npos; at = text.find('\t', at)) {
        text.replace(at, 1, "  ");
      }
      out_ += fmt::format(
          "<li class='{}{}'><span class='of'>{}</span><span class='no'>{}</span>{}</li>\n",
          is_odd ? "odd " : "", cut, segments, i + 1, escape_html(text));
    }
    out_ += "</ol></section>\n";
  }

  void drawing() {
    const dispatch::Drawing picture = dispatch::draw(e_);
    out_ +=
        "<section aria-labelledby='drawing-title'><h2 id='drawing-title'>Segments in time, buffers "
        "as lanes</h2>";
    out_ += fmt::format(
        "<div class='drawing'>{}<div class='picture' role='region' aria-label='Picture' "
        "tabindex='0'><div class='lanes'>{}</div>{}</div></div>\n",
        dispatch::drawing_legend(e_), picture.lanes, picture.body);
    steps();
    out_ += "</section>\n";
  }

  // The picture in words.
  void steps() {
    using Kind = dispatch::ExplainedRow::Kind;
    out_ += "<ol class='steps' id='steps'>\n";
    for (const dispatch::ExplainedRow& row : dispatch::rows_of(e_)) {
      switch (row.kind) {
        case Kind::Open:
          out_ += fmt::format("<li class='{}'><b>{}</b><ol>\n", row.is_if ? "if" : "repeat",
                              escape_html(row.title));
          break;
        case Kind::Close:
          out_ += "</ol></li>\n";
          break;
        case Kind::Segment:
          step(row.index);
          break;
        case Kind::Barrier:
          out_ += fmt::format("<li class='between'>{}: {}</li>\n", barrier_name(row),
                              escape_html(dispatch::hazards_text(e_, e_.barriers[row.index])));
          break;
        case Kind::NativeBarrier:
          out_ += "<li class='within'>native barrier</li>\n";
          break;
      }
    }
    out_ += "</ol>\n";
  }

  std::string barrier_name(const dispatch::ExplainedRow& row) const {
    const ExplainedBarrier& barrier = e_.barriers[row.index];
    std::string name = "barrier";
    if (row.is_loop_carried) {
      name += barrier.next_iteration ? " before the next iteration" : " before the next trip";
    }
    if (barrier.times.value_or(1) != 1) name += fmt::format(", {} times", *barrier.times);
    return name;
  }

  void step(std::uint32_t number) {
    const ExplainedSegment& segment = e_.segments[number];
    out_ += fmt::format("<li class='segment'><b>{} {}</b> {}", number, escape_html(segment.label),
                        dispatch::launches_text(e_, segment));
    const auto line = [&](std::string_view verb, const std::vector<std::string>& names) {
      if (names.empty()) return;
      out_ += fmt::format("<br>{} {}", verb, escape_html(dispatch::join(names)));
    };
    const auto used = [&](bool wanted(const ExplainedUse&)) {
      std::vector<std::string> names;
      for (const ExplainedUse& use : segment.uses) {
        if (wanted(use)) names.push_back(e_.buffers[use.buffer].name);
      }
      return names;
    };
    line("reads", used([](const ExplainedUse& use) { return use.reads; }));
    line("writes", used([](const ExplainedUse& use) { return use.writes; }));
    line("atomics on", used([](const ExplainedUse& use) { return use.atomics; }));
    line("workgroup memory", segment.workgroup_memory);
    line("recomputes", segment.recomputed);
    line("loads", segment.loaded);
    line("stores", segment.stored);
    out_ += "</li>\n";
  }

  // Bars on one scale; unknown values have none.
  void traffic() {
    const ExplainedTraffic& t = e_.traffic;
    struct Row {
      std::string name;
      const ByteCount& up;
      const ByteCount& down;
    };
    std::vector<Row> rows{{"buffers stay on the device", t.resident_up, t.resident_down}};
    const bool many = e_.convergence.iterations > 1;
    if (is_more_than_one_kernel()) {
      rows.push_back(
          {many ? "host split, each iteration" : "host split", t.split_up, t.split_down});
      if (many) {
        rows.push_back({fmt::format("host split, all {} iterations", e_.convergence.iterations),
                        t.split_up_at_most, t.split_down_at_most});
      }
    }
    double most = 1;
    for (const Row& row : rows) {
      if (row.up.bytes && row.down.bytes) {
        most = std::max(most,
                        static_cast<double>(*row.up.bytes) + static_cast<double>(*row.down.bytes));
      }
    }
    out_ += "<h2>Bytes between host and device</h2><div class='bars'>\n";
    for (const Row& row : rows) {
      out_ += fmt::format("<span>{}</span>", row.name);
      if (row.up.bytes && row.down.bytes) {
        const double up = 100 * static_cast<double>(*row.up.bytes) / most;
        const double down = 100 * static_cast<double>(*row.down.bytes) / most;
        out_ += fmt::format(
            "<span class='bar' aria-hidden='true'><i class='up' style='width:{:.2f}%'></i>"
            "<i class='down' style='width:{:.2f}%'></i></span><span><b class='up'>{} up</b>, <b "
            "class='down'>{} down</b></span>\n",
            up, down, to_string(row.up), to_string(row.down));
      } else {
        out_ += fmt::format("<span>up {}<br>down {}</span><span></span>\n",
                            escape_html(to_string(row.up)), escape_html(to_string(row.down)));
      }
    }
    out_ += "</div>\n";
  }

  void kept() {
    const bool has_memory = std::ranges::any_of(
        e_.buffers, [](const auto& b) { return b.kind == ExplainedBuffer::Kind::Kept; });
    if (e_.spills.empty() && !has_memory) return;
    open_table("Kept across barriers", {"what", "type", "where"});
    for (const ExplainedSpill& spill : e_.spills) {
      std::string where = fmt::format("word {}", spill.word);
      if (spill.words > 1) where += fmt::format(" to {}", spill.word + spill.words - 1);
      if (spill.bit) where += fmt::format(", bit {}", *spill.bit);
      out_ += fmt::format("<tr><td><code>{}</code></td><td>{}</td><td>{} of its {}</td></tr>\n",
                          escape_html(spill.value), spill.type, where,
                          spill.per_workgroup ? "workgroup" : "invocation");
    }
    for (const ExplainedBuffer& buffer : e_.buffers) {
      if (buffer.kind != ExplainedBuffer::Kind::Kept) continue;
      out_ += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", escape_html(buffer.name),
                          buffer.type, escape_html(to_string(buffer.size)));
    }
    close_table();
    out_ += fmt::format("<p>In all {}, which is {}.</p>\n", escape_html(size(e_.kept)),
                        escape_html(e_.kept.formula));
  }

  static std::string size(const ByteCount& count) {
    return count.bytes ? to_string(count) : "? bytes";
  }

  void schedule() {
    if (e_.schedule.empty()) return;
    std::string lines;
    for (const std::string& line : e_.schedule) lines += escape_html(line) + "\n";
    out_ += fmt::format(
        "<h2>Schedule</h2><pre class='schedule' tabindex='0' role='region' "
        "aria-label='The schedule'>{}</pre>\n",
        lines);
  }

  void barriers() {
    if (e_.barriers.empty()) return;
    open_table("Barriers between launches", {"after", "before", "times", "because of"});
    for (const ExplainedBarrier& barrier : e_.barriers) {
      out_ += fmt::format(
          "<tr><td class='number'>{}</td><td class='number'>{}{}</td><td class='number'>{}</td>"
          "<td>{}</td></tr>\n",
          barrier.after, barrier.before, barrier.next_iteration ? ", next iteration" : "",
          barrier.times ? std::to_string(*barrier.times) : "?",
          escape_html(dispatch::hazards_text(e_, barrier)));
    }
    close_table();
  }

  void segments() {
    if (!is_more_than_one_kernel() || is_one_dispatch(e_)) return;
    open_table("Segments", {"segment", "launches", "buffers", "recomputes", "loads", "stores",
                            "host split, up", "down"});
    for (std::size_t s = 0; s < e_.segments.size(); ++s) {
      const ExplainedSegment& segment = e_.segments[s];
      if (!segment.launched) continue;
      std::string uses;
      for (const ExplainedUse& use : segment.uses) {
        if (use.role == "carried") continue;
        uses +=
            fmt::format("{}{} {}", uses.empty() ? "" : ", ", e_.buffers[use.buffer].name, use.role);
      }
      out_ += fmt::format(
          "<tr><td>{} {}</td><td class='number'>{}</td><td>{}</td><td>{}</td><td>{}</td>"
          "<td>{}</td><td>{}</td><td>{}</td></tr>\n",
          s, escape_html(segment.label), segment.launches ? std::to_string(*segment.launches) : "?",
          escape_html(uses), escape_html(dispatch::join(segment.recomputed)),
          escape_html(dispatch::join(segment.loaded)), escape_html(dispatch::join(segment.stored)),
          escape_html(to_string(segment.up)), escape_html(to_string(segment.down)));
    }
    close_table();
  }

  const Explanation& e_;
  std::string out_;
};

}  // namespace

std::string to_html(const Explanation& explanation) { return PageWriter(explanation).run(); }

}  // namespace felsite
