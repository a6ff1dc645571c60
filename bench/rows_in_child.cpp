#include "rows_in_child.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/try.h"

namespace felsite::bench {
namespace {

constexpr std::array<std::string_view, 3> kExtents{"check", "quick", "whole"};

}  // namespace

std::string_view extent_name(Extent extent) { return kExtents[static_cast<std::size_t>(extent)]; }

std::optional<Extent> extent_named(std::string_view name) {
  for (std::size_t i = 0; i < kExtents.size(); ++i) {
    if (kExtents[i] == name) return static_cast<Extent>(i);
  }
  return {};
}

Result<std::string> measure_for_parent(const std::string& row, Extent extent) {
  nlohmann::json skipped = nlohmann::json::array();
  nlohmann::json measured = nlohmann::json::array();
  Options options{.extent = extent,
                  .rows = {row},
                  .bound = {},
                  .in_child = true,
                  .progress = {},
                  .skipped = {}};
  options.skipped = [&](const Row&, const std::string& reason) { skipped.push_back(reason); };
  FELSITE_TRY(const auto measurements, measure(options));
  for (const Measurement& m : measurements) {
    measured.push_back({{"name", m.name},
                        {"size", m.size},
                        {"bytes", m.unit == Unit::Bytes},
                        {"peer", m.peer},
                        {"compared", m.compared},
                        {"surroundings", m.surroundings},
                        {"note", m.note},
                        {"felsite", m.felsite},
                        {"peer_cost", m.peer_cost},
                        {"ratio", m.ratio},
                        {"spread", m.spread},
                        {"bound", m.bound},
                        {"met", m.met},
                        {"proven", m.proven}});
  }
  return nlohmann::json{{"measured", measured}, {"skipped", skipped}}.dump();
}

std::optional<RowInChild> read_from_child(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return {};
  RowInChild result;
  for (const nlohmann::json& reason : json.at("skipped")) result.skipped.push_back(reason);
  for (const nlohmann::json& m : json.at("measured")) {
    result.measurements.push_back(
        {.name = m.at("name"),
         .size = m.at("size"),
         .unit = m.at("bytes").get<bool>() ? Unit::Bytes : Unit::Nanoseconds,
         .peer = m.at("peer"),
         .compared = m.at("compared"),
         .surroundings = m.at("surroundings"),
         .note = m.at("note"),
         .felsite = m.at("felsite"),
         .peer_cost = m.at("peer_cost"),
         .ratio = m.at("ratio"),
         .spread = m.at("spread"),
         .bound = m.at("bound"),
         .met = m.at("met"),
         .proven = m.at("proven")});
  }
  return result;
}

}  // namespace felsite::bench
