// The rows as a page: a table that stays a table on a wide screen, and on a narrow one becomes a
// list of rows, each figure beside its name. No figure is broken over lines.
#include <fmt/format.h>

#include "report.h"

namespace felsite::bench {
namespace {

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Felsite's benchmarks</title>
<style>
:root { --ink: #1c1e21; --quiet: #5a6068; --page: #ffffff; --rule: #d9dde2; --over: #fbe3e1;
  --over-ink: #9c1c13; --unsure: #fdf2d0; --unsure-ink: #6f5200; --ok-ink: #1d6b32; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8ea; --quiet: #a3abb4; --page: #15181b; --rule: #363c43; --over: #46201d;
    --over-ink: #ffb3ab; --unsure: #3f3514; --unsure-ink: #f2d98a; --ok-ink: #86d69a; }
}
* { box-sizing: border-box; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; padding: 1.5rem; max-width: 90rem;
  color: var(--ink); background: var(--page); }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; }
p { margin: .4rem 0; max-width: 60rem; }
.quiet { color: var(--quiet); }
table { border-collapse: collapse; width: 100%; margin-top: 1rem; }
th, td { padding: .3rem .5rem; overflow-wrap: anywhere; border-bottom: 1px solid var(--rule); text-align: left;
  vertical-align: baseline; }
thead th { color: var(--quiet); font-weight: 600; }
tbody th { font-weight: 600; overflow-wrap: normal; }
.number { text-align: right; white-space: nowrap; overflow-wrap: normal; font-variant-numeric: tabular-nums; }
.verdict { white-space: nowrap; font-weight: 600; }
.ok .verdict { color: var(--ok-ink); }
.over { background: var(--over); }
.over .verdict { color: var(--over-ink); }
.unsure { background: var(--unsure); }
.unsure .verdict { color: var(--unsure-ink); }
@media (max-width: 1000px) {
  body { padding: 1rem; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table, tbody, tr { display: block; }
  tr { padding: .5rem; border-bottom: 1px solid var(--rule); }
  tbody th, td { display: flex; justify-content: space-between; gap: 1rem; padding: .1rem 0;
    border: 0; overflow-wrap: anywhere; }
  td::before { content: attr(data-label); color: var(--quiet); font-weight: 400; flex: none; }
  td.text { text-align: right; }
  td:empty { display: none; }
}
</style>
</head>
<body>
<main>
<h1>Felsite's benchmarks</h1>
)";

constexpr std::string_view kColumns = R"(<thead role="rowgroup">
<tr role="row"><th role="columnheader" scope="col">row</th>
<th role="columnheader" scope="col">size</th>
<th role="columnheader" scope="col" class="number">Felsite</th>
<th role="columnheader" scope="col">peer</th>
<th role="columnheader" scope="col" class="number">the peer's</th>
<th role="columnheader" scope="col" class="number">ratio</th>
<th role="columnheader" scope="col" class="number">spread</th>
<th role="columnheader" scope="col" class="number">bound</th>
<th role="columnheader" scope="col">verdict</th></tr>
</thead>
<tbody role="rowgroup">
)";

std::string cell(std::string_view kind, std::string_view label, std::string_view text) {
  return fmt::format("<td role=\"cell\" class=\"{}\" data-label=\"{}\">{}</td>\n", kind, label,
                     escape(text));
}

// A space inside a figure does not end a line either way, but is no place to break when it is
// copied into a narrow one.
std::string figure(std::string text) {
  for (std::size_t at = 0; (at = text.find(' ', at)) != std::string::npos;) {
    text.replace(at, 1, "\u00a0");
  }
  return text;
}

std::string row_html(const Measurement& row) {
  const std::string_view kind = row.bound == 0 ? ""
                                : !row.met     ? "over"
                                : !row.proven  ? "unsure"
                                               : "ok";
  // Styles that make other boxes of a table take its meaning away, so the roles are written out.
  std::string html =
      fmt::format("<tr role=\"row\" class=\"{}\"><th role=\"rowheader\" scope=\"row\">{}</th>\n",
                  kind, escape(row.name));
  const std::string with =
      row.surroundings.empty()
          ? ""
          : fmt::format("<br><small class=\"quiet\">with {}</small>", escape(row.surroundings));
  html +=
      fmt::format("<td role=\"cell\" class=\"text\" data-label=\"size\"><span>{}{}</span></td>\n",
                  escape(row.size), with);
  html += cell("number", "Felsite", figure(cost_text(row.unit, row.felsite)));
  html += cell("text", "peer", row.peer);
  html += cell("number", "the peer's", figure(cost_text(row.unit, row.peer_cost)));
  html += cell("number", "ratio", fmt::format("{:.3f}", row.ratio));
  html += cell("number", "spread", figure(fmt::format("±{:.1f} %", row.spread * 100)));
  html += cell("number", "bound", row.bound == 0 ? "" : fmt::format("{:.2f}", row.bound));
  html += cell("text verdict", "verdict", verdict(row));
  return html + "</tr>\n";
}

}  // namespace

std::string to_html(const std::string& device, const std::vector<Measurement>& rows) {
  std::string html(kHead);
  html += fmt::format(
      "<p class=\"quiet\">{}</p>\n<p>Ratio: Felsite ÷ peer, the median of interleaved rounds; less "
      "is better. {}</p>\n<table role=\"table\" aria-label=\"Felsite beside its peers\">\n",
      escape(device), escape(summary(rows)));
  html += kColumns;
  for (const Measurement& row : rows) html += row_html(row);
  return html + "</tbody>\n</table>\n</main>\n</body>\n</html>\n";
}

}  // namespace felsite::bench
