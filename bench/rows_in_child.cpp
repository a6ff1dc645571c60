#include "rows_in_child.h"

#include <nlohmann/json.hpp>

namespace felsite::bench {

std::string measure_for_parent(const std::string& row, bool quick) {
  nlohmann::json skipped = nlohmann::json::array();
  nlohmann::json measured = nlohmann::json::array();
  Options options{.quick = quick, .rows = {row}, .in_child = true, .progress = {}, .skipped = {}};
  options.skipped = [&](const Row&, const std::string& reason) { skipped.push_back(reason); };
  for (const Measurement& m : measure(options)) {
    measured.push_back({{"name", m.name},
                        {"size", m.size},
                        {"peer", m.peer},
                        {"surroundings", m.surroundings},
                        {"felsite", m.felsite},
                        {"peer_cost", m.peer_cost},
                        {"ratio", m.ratio},
                        {"spread", m.spread},
                        {"bound", m.bound},
                        {"met", m.met}});
  }
  return nlohmann::json{{"measured", measured}, {"skipped", skipped}}.dump();
}

std::optional<RowInChild> read_from_child(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return {};
  RowInChild result;
  for (const nlohmann::json& reason : json.at("skipped")) result.skipped.push_back(reason);
  for (const nlohmann::json& m : json.at("measured")) {
    result.measurements.push_back({.name = m.at("name"),
                                   .size = m.at("size"),
                                   .peer = m.at("peer"),
                                   .surroundings = m.at("surroundings"),
                                   .felsite = m.at("felsite"),
                                   .peer_cost = m.at("peer_cost"),
                                   .ratio = m.at("ratio"),
                                   .spread = m.at("spread"),
                                   .bound = m.at("bound"),
                                   .met = m.at("met")});
  }
  return result;
}

}  // namespace felsite::bench
