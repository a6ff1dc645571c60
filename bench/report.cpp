#include "report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>

namespace felsite::bench {
namespace {

// Pads by characters, not bytes: µ and × take two.
std::string pad(const std::string& text, std::size_t width, bool right = false) {
  std::size_t shown = 0;
  for (const char c : text) shown += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  const std::string fill(width > shown ? width - shown : 0, ' ');
  return right ? fill + text : text + fill;
}

std::string line(const std::string& name, const std::string& size, const std::string& felsite,
                 const std::string& peer, const std::string& peer_cost, const std::string& ratio,
                 const std::string& spread, const std::string& bound, const std::string& notes) {
  return pad(name, 26) + pad(size, 30) + pad(felsite, 11, true) + "  " + pad(peer, 34) +
         pad(peer_cost, 11, true) + pad(ratio, 9, true) + pad(spread, 9, true) +
         pad(bound, 8, true) + "  " + notes;
}

}  // namespace

std::string cost_text(Unit unit, double cost) {
  if (unit == Unit::Bytes) {
    if (cost < 10240) return fmt::format("{:.0f} B", cost);
    if (cost < 1024.0 * 1024) return fmt::format("{:.1f} KiB", cost / 1024);
    return fmt::format("{:.1f} MiB", cost / 1024 / 1024);
  }
  if (cost < 1e3) return fmt::format("{:.{}f} ns", cost, cost < 100 ? 1 : 0);
  if (cost < 1e6) return fmt::format("{:.1f} µs", cost / 1e3);
  if (cost < 1e9) return fmt::format("{:.1f} ms", cost / 1e6);
  return fmt::format("{:.2f} s", cost / 1e9);
}

std::string verdict(const Measurement& row) {
  if (row.bound == 0) return "";
  if (!row.proven) return row.met ? "not proven" : "OVER, not proven";
  return row.met ? "ok" : "OVER";
}

std::string header() {
  return line("row", "size", "felsite", "peer", "peer's", "ratio", "spread", "bound", "");
}

std::string to_line(const Measurement& row) {
  return line(row.name, row.size, cost_text(row.unit, row.felsite), row.peer,
              cost_text(row.unit, row.peer_cost), fmt::format("{:.3f}", row.ratio),
              fmt::format("±{:.1f}%", row.spread * 100),
              row.bound == 0 ? "" : fmt::format("{:.2f}", row.bound),
              pad(verdict(row), row.surroundings.empty() && row.note.empty() ? 0 : 18) +
                  row.surroundings + row.note);
}

std::string to_check_line(const Measurement& row) {
  return pad(row.name, 26) + pad(row.size, 30) + "  " + pad(row.peer, 34) + row.compared;
}

std::string summary(const std::vector<Measurement>& rows) {
  std::size_t over = 0;
  std::size_t unproven = 0;
  std::set<std::string> names;
  for (const Measurement& row : rows) {
    if (!row.proven) ++unproven;
    if (row.met) continue;
    ++over;
    names.insert(row.name);
  }
  std::string text = over == 0 ? fmt::format("All {} lines are within their bounds.", rows.size())
                               : fmt::format("{} of {} lines are over their bounds: {}.", over,
                                             rows.size(), fmt::join(names, ", "));
  if (unproven != 0) {
    text += fmt::format(" {} not proven: the spread is more than the distance from the bound.",
                        unproven == 1 ? "1 is" : fmt::format("{} are", unproven));
  }
  return text;
}

std::string to_json(const std::string& device, const std::vector<Measurement>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const Measurement& row : rows) {
    list.push_back({{"name", row.name},
                    {"size", row.size},
                    {"unit", to_string(row.unit)},
                    {"felsite", row.felsite},
                    {"peer", row.peer},
                    {"peer_value", row.peer_cost},
                    {"compared", row.compared},
                    {"ratio", row.ratio},
                    {"spread", row.spread},
                    {"bound", row.bound == 0 ? nlohmann::json() : nlohmann::json(row.bound)},
                    {"met", row.met},
                    {"proven", row.proven},
                    {"surroundings", row.surroundings},
                    {"note", row.note}});
  }
  return nlohmann::json{{"device", device}, {"rows", list}}.dump(2) + "\n";
}

std::string to_markdown(const std::string& device, const std::vector<Measurement>& rows) {
  std::string text = device +
                     "\n\n| row | size | Felsite | peer | peer's | ratio | spread | "
                     "bound | |\n| --- | --- | ---: | --- | ---: | ---: | ---: | ---: | --- |\n";
  for (const Measurement& row : rows) {
    text += fmt::format("| `{}` | {} | {} | {} | {} | {:.3f} | ±{:.1f} % | {} | {} |\n", row.name,
                        row.size, cost_text(row.unit, row.felsite), row.peer,
                        cost_text(row.unit, row.peer_cost), row.ratio, row.spread * 100,
                        row.bound == 0 ? "" : fmt::format("{:.2f}", row.bound), verdict(row));
  }
  return text;
}

}  // namespace felsite::bench
