#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness.h"
#include "vk/device.h"

namespace felsite::bench {
namespace {

// Costs are nanoseconds; memory rows say so in their size.
std::string cost(const Measurement& row, double value) {
  if (row.name.ends_with("_bytes")) return fmt::format("{:.1f} B", value);
  if (value < 1e3) return fmt::format("{:.0f} ns", value);
  if (value < 1e6) return fmt::format("{:.1f} µs", value / 1e3);
  if (value < 1e9) return fmt::format("{:.1f} ms", value / 1e6);
  return fmt::format("{:.2f} s", value / 1e9);
}

std::string verdict(const Measurement& row) {
  if (row.bound == 0) return "";
  return row.met ? "ok" : "OVER";
}

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

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
  return pad(name, 26) + pad(size, 24) + pad(felsite, 11, true) + "  " + pad(peer, 30) +
         pad(peer_cost, 11, true) + pad(ratio, 9, true) + pad(spread, 9, true) +
         pad(bound, 8, true) + "  " + notes;
}

// The device that the rows open, its driver, and what else changes how fast it is.
std::string vulkan_device() {
  const auto instance = vk::Instance::shared();
  const auto devices = vk::list_devices();
  if (!instance || !devices) return "no Vulkan device";
  const auto plan = vk::plan_device(*devices, vk::with_environment({}));
  if (!plan) return "no Vulkan device";
  const vk::DeviceSnapshot& device = (*devices)[plan->device];
  const char* const workers = std::getenv("LP_NUM_THREADS");  // lavapipe's
  return fmt::format("{}, {} {}, LP_NUM_THREADS {}, validation layer {}", device.name,
                     device.driver_name, device.driver_info,
                     workers == nullptr ? "not set" : workers,
                     (*instance)->validated() ? "on" : "off");
}

}  // namespace

std::string device_line() {
  static const std::string line = fmt::format("{}, {} hardware threads, Release build",
                                              vulkan_device(), std::thread::hardware_concurrency());
  return line;
}

std::string header() {
  return line("row", "size", "felsite", "peer", "peer's", "ratio", "spread", "bound", "");
}

std::string to_line(const Measurement& row) {
  return line(row.name, row.size, cost(row, row.felsite), row.peer, cost(row, row.peer_cost),
              fmt::format("{:.3f}", row.ratio), fmt::format("±{:.1f}%", row.spread * 100),
              row.bound == 0 ? "" : fmt::format("{:.2f}", row.bound),
              pad(verdict(row), row.surroundings.empty() ? 0 : 6) + row.surroundings);
}

std::string to_json(const std::vector<Measurement>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const Measurement& row : rows) {
    list.push_back({{"name", row.name},
                    {"size", row.size},
                    {"felsite_ns", row.felsite},
                    {"peer", row.peer},
                    {"peer_ns", row.peer_cost},
                    {"ratio", row.ratio},
                    {"spread", row.spread},
                    {"bound", row.bound == 0 ? nlohmann::json() : nlohmann::json(row.bound)},
                    {"met", row.met},
                    {"surroundings", row.surroundings}});
  }
  return nlohmann::json{{"device", device_line()}, {"rows", list}}.dump(2) + "\n";
}

std::string to_html(const std::vector<Measurement>& rows) {
  std::string html = fmt::format(
      "<!doctype html>\n<meta charset=\"utf-8\">\n<title>felsite bench</title>\n<style>"
      "body{{font:15px/1.5 system-ui,sans-serif;margin:2rem;color:#222}}"
      "table{{border-collapse:collapse}}td,th{{padding:.3rem .8rem;border-bottom:1px solid #ddd;"
      "text-align:right}}td:nth-child(1),td:nth-child(2),td:nth-child(4),th:nth-child(1),"
      "th:nth-child(2),th:nth-child(4),td:nth-child(9),th:nth-child(9){{text-align:left}}.over{{"
      "background:#fde2e1}}"
      "</style>\n<h1>felsite bench</h1>\n<p>{}</p>\n<p>Ratio: Felsite ÷ peer, the median of "
      "interleaved rounds. Less is better; a row over its bound is marked.</p>\n<table>\n"
      "<tr><th>row<th>size<th>Felsite<th>peer<th>peer's<th>ratio<th>spread<th>bound<th>set for "
      "it\n",
      escape(device_line()));
  for (const Measurement& row : rows) {
    html += fmt::format(
        "<tr{}><td>{}<td>{}<td>{}<td>{}<td>{}<td>{:.3f}<td>±{:.1f} %<td>{}<td>{}\n",
        row.met ? "" : " class=over", escape(row.name), escape(row.size), cost(row, row.felsite),
        escape(row.peer), cost(row, row.peer_cost), row.ratio, row.spread * 100,
        row.bound == 0 ? "" : fmt::format("{:.2f}", row.bound), escape(row.surroundings));
  }
  return html + "</table>\n";
}

}  // namespace felsite::bench
