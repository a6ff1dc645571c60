// An explanation as one page: style and pictures are in it, and it needs no script.
#include <fmt/format.h>

#include <algorithm>

#include "dispatch/explain_drawing.h"
#include "dispatch/explained_rows.h"

namespace felsite {
namespace {

using dispatch::escape_html;
using dispatch::to_string;

constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--bg:#fbfaf8;--card:#fff;--ink:#1f2328;--soft:#667079;--line:#d9d6cf;
--lane:#b9b5ab;--read:#1668b8;--write:#c2570c;--atomic:#8a3ab9;--spill:#7a4fc4;--band:#7a4fc41a;
--barrier:#b3261e;--box:#eef3f8;--edge:#9db4c8;--pill:#fdecea;--if:#2e7d4f}
@media (prefers-color-scheme:dark){:root{--bg:#15171a;--card:#1d2024;--ink:#e7e4de;--soft:#9aa1a8;
--line:#34383d;--lane:#53585f;--read:#6cb2f5;--write:#f0954a;--atomic:#cf8df0;--spill:#b596f2;
--band:#b596f221;--barrier:#f28b82;--box:#232b33;--edge:#4b6175;--pill:#3a2422;--if:#72c795}}
*{box-sizing:border-box}
body{margin:0 auto;padding:28px 24px 60px;max-width:1320px;min-width:fit-content;background:var(--bg);
color:var(--ink);font:15px/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
h1{margin:0;font-size:26px}h2{margin:34px 0 10px;font-size:18px}p{margin:6px 0;max-width:80ch}
.sub{color:var(--soft)}
.routes{display:flex;flex-wrap:wrap;gap:8px;margin:16px 0 4px;padding:0;list-style:none}
.routes li{padding:3px 14px;border:1px solid var(--line);border-radius:99px;color:var(--soft)}
.routes li.taken{background:var(--read);border-color:var(--read);color:var(--bg);font-weight:600}
.facts{display:grid;grid-template-columns:max-content 1fr;gap:4px 18px;margin:16px 0}
.facts dt{color:var(--soft)}.facts dd{margin:0;max-width:90ch}
.lanes{position:sticky;top:0;background:var(--bg);border-bottom:1px solid var(--line);z-index:1}
svg{display:block}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;max-width:none;font-size:13px;color:var(--soft)}
.legend span{display:inline-flex;align-items:center;gap:6px}
table{border-collapse:collapse;background:var(--card);border:1px solid var(--line);font-size:14px}
th,td{padding:5px 12px;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
th{color:var(--soft);font-weight:600}td.number{font-variant-numeric:tabular-nums}
code{font:13px ui-monospace,"DejaVu Sans Mono",monospace}
.bars{display:grid;grid-template-columns:max-content minmax(240px,620px) max-content;gap:8px 14px;
align-items:center}
.bar{display:flex;height:20px;background:var(--line);border-radius:4px;overflow:hidden}
.bar i{display:block;height:100%}i.up{background:var(--read)}i.down{background:var(--write)}
b.up{color:var(--read)}b.down{color:var(--write)}
text{font:13px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}
text.small{font-size:12px;fill:var(--soft)}text.tiny{font-size:11px;fill:var(--soft);text-anchor:middle}
text.lane{text-anchor:middle;font-weight:600}text.spill,text.spilled{fill:var(--spill)}
text.control{fill:var(--soft)}text.name{font-weight:600}.number{fill:var(--soft)}
text.launches{text-anchor:end;fill:var(--soft)}
text.title{font-weight:600;paint-order:stroke;stroke:var(--bg);stroke-width:5px}
text.if{fill:var(--if)}
text.barrier{font-size:12px;fill:var(--barrier);paint-order:stroke;stroke:var(--bg);stroke-width:6px}
text.pill{font-size:11px;font-weight:600;text-anchor:middle;fill:var(--barrier)}
rect.pill{fill:var(--pill);stroke:var(--barrier)}
rect.box{fill:var(--box);stroke:var(--edge)}rect.empty{fill:none;stroke-dasharray:3 3}
rect.band{fill:var(--band)}
line.lane{stroke:var(--lane);stroke-width:1.5}line.spill{stroke:var(--spill);stroke-dasharray:5 4}
line.control{stroke-dasharray:1 4}line.reach{stroke:var(--edge)}
line.barrier{stroke:var(--barrier);stroke-width:1.5;stroke-dasharray:7 4}
path.bracket{fill:none;stroke:var(--ink);stroke-width:1.5}
path.if{stroke:var(--if);stroke-dasharray:4 3}
.read{fill:var(--bg);stroke:var(--read);stroke-width:2.5}.write{fill:var(--write)}
.inner{fill:var(--bg)}.atomic{fill:var(--atomic)}
.length{fill:var(--bg);stroke:var(--read);stroke-width:1.5}.carried{fill:var(--lane)}
)";

class PageWriter {
 public:
  explicit PageWriter(const Explanation& explanation) : e_(explanation) {}

  std::string run() {
    head();
    if (e_.has_plan) drawing();
    traffic();
    kept();
    barriers();
    segments();
    out_ += "</body></html>\n";
    return std::move(out_);
  }

 private:
  bool is_more_than_one_kernel() const {
    return e_.has_plan && (e_.segments.size() > 1 || e_.convergence.passes > 1);
  }

  void fact(std::string_view name, std::string_view text) {
    out_ += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, escape_html(text));
  }

  void head() {
    const std::string name = escape_html(e_.program);
    out_ += fmt::format(
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width,initial-scale=1'>"
        "<title>{0}: how it runs</title><style>{1}</style></head><body>\n"
        "<h1>{0}</h1><p class='sub'>on {2} · program {3}</p>\n<ul class='routes'>",
        name, kStyle, escape_html(e_.device), e_.fingerprint);
    for (const char* route : {"plain", "native", "one workgroup", "resident", "host split"}) {
      out_ += fmt::format("<li{}>{}</li>", e_.route == route ? " class='taken'" : "", route);
    }
    out_ += fmt::format("</ul><p>{}</p>\n<dl class='facts'>", escape_html(e_.reason));
    fact("grid", dispatch::grid_text(e_));
    if (e_.convergence.kind != "once") fact("passes", dispatch::passes_text(e_));
    if (is_more_than_one_kernel()) fact("cut", dispatch::cut_text(e_));
    if (!e_.convergence.reported.empty()) {
      fact("changes", "stores of " + dispatch::join(e_.convergence.reported) + " tell of them");
    }
    if (!e_.convergence.compared.empty()) {
      fact("compared", dispatch::join(e_.convergence.compared) + ", with the pass before");
    }
    for (const std::string& line : e_.assumptions) fact("assumed", line);
    for (const std::string& line : e_.notes) fact("note", line);
    out_ += "</dl>\n";
  }

  void drawing() {
    const dispatch::Drawing picture = dispatch::draw(e_);
    out_ +=
        fmt::format("<h2>Segments in time, buffers as lanes</h2>{}<div class='lanes'>{}</div>{}\n",
                    dispatch::drawing_legend(), picture.lanes, picture.body);
  }

  // Bars on one scale; what is not known has none.
  void traffic() {
    const ExplainedTraffic& t = e_.traffic;
    struct Row {
      std::string name;
      const ByteCount& up;
      const ByteCount& down;
    };
    std::vector<Row> rows{{"buffers stay on the device", t.resident_up, t.resident_down}};
    const bool many = e_.convergence.passes > 1;
    if (is_more_than_one_kernel()) {
      rows.push_back({many ? "host split, each pass" : "host split", t.split_up, t.split_down});
      if (many) {
        rows.push_back({fmt::format("host split, all {} passes", e_.convergence.passes),
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
            "<span class='bar'><i class='up' style='width:{:.2f}%'></i>"
            "<i class='down' style='width:{:.2f}%'></i></span><span><b class='up'>{} up</b>, <b "
            "class='down'>{} down</b></span>\n",
            up, down, *row.up.bytes, *row.down.bytes);
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
    out_ +=
        "<h2>Kept across barriers</h2><table><tr><th>what</th><th>type</th><th>where</th></tr>\n";
    for (const ExplainedSpill& spill : e_.spills) {
      std::string where = fmt::format("word {}", spill.word);
      if (spill.words > 1) where += fmt::format(" to {}", spill.word + spill.words - 1);
      if (spill.bit) where += fmt::format(", bit {}", *spill.bit);
      out_ += fmt::format("<tr><td><code>{}</code></td><td>{}</td><td>{} of its {}</td></tr>\n",
                          escape_html(spill.value), spill.type, where,
                          spill.of_group ? "workgroup" : "invocation");
    }
    for (const ExplainedBuffer& buffer : e_.buffers) {
      if (buffer.kind != ExplainedBuffer::Kind::Kept) continue;
      out_ += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", escape_html(buffer.name),
                          buffer.type, escape_html(to_string(buffer.size)));
    }
    out_ += fmt::format("</table><p>In all {}, which is {}.</p>\n", escape_html(size(e_.kept)),
                        escape_html(e_.kept.formula));
  }

  static std::string size(const ByteCount& count) {
    return count.bytes ? to_string(count) : "? bytes";
  }

  void barriers() {
    if (e_.barriers.empty()) return;
    out_ +=
        "<h2>Barriers between launches</h2><table><tr><th>after</th><th>before</th><th>times</th>"
        "<th>because of</th></tr>\n";
    for (const ExplainedBarrier& barrier : e_.barriers) {
      out_ += fmt::format(
          "<tr><td class='number'>{}</td><td class='number'>{}{}</td><td class='number'>{}</td>"
          "<td>{}</td></tr>\n",
          barrier.after, barrier.before, barrier.next_pass ? ", next pass" : "",
          barrier.times ? std::to_string(*barrier.times) : "?",
          escape_html(dispatch::hazards_text(e_, barrier)));
    }
    out_ += "</table>\n";
  }

  void segments() {
    if (!is_more_than_one_kernel()) return;
    out_ +=
        "<h2>Segments</h2><table><tr><th>segment</th><th>launches</th><th>buffers</th>"
        "<th>recomputes</th><th>loads</th><th>stores</th><th>host split, up</th><th>down</th>"
        "</tr>\n";
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
    out_ += "</table>\n";
  }

  const Explanation& e_;
  std::string out_;
};

}  // namespace

std::string to_html(const Explanation& explanation) { return PageWriter(explanation).run(); }

}  // namespace felsite
