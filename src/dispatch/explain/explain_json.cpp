// An explanation for other programs; docs/tool.md describes the form.
#include <cmath>
#include <nlohmann/json.hpp>

#include "felsite/explain.h"
#include "felsite/printable.h"

namespace felsite {
namespace {

using nlohmann::ordered_json;

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

ordered_json json_of(const ByteCount& count) {
  return {{"bytes", or_null(count.bytes)}, {"formula", count.formula}};
}

ordered_json json_of(const ExplainedEstimates& estimates) {
  return {{"one_workgroup_ns", std::round(estimates.one_workgroup_ns)},
          {"resident_ns", std::round(estimates.resident_ns)},
          {"assumptions", estimates.assumptions}};
}

ordered_json json_of(const ExplainedBuffer& buffer) {
  return {{"name", buffer.name},
          {"kind", to_string(buffer.kind)},
          {"type", buffer.type},
          {"role", buffer.role.empty() ? ordered_json() : ordered_json(buffer.role)},
          {"size", json_of(buffer.size)}};
}

ordered_json json_of(const Explanation& e, const ExplainedSegment& segment) {
  ordered_json uses = ordered_json::array();
  for (const ExplainedUse& use : segment.uses) {
    uses.push_back({{"buffer", e.buffers[use.buffer].name},
                    {"role", use.role},
                    {"reads", use.reads},
                    {"writes", use.writes},
                    {"atomics", use.atomics}});
  }
  return {{"label", segment.label},
          {"launched", segment.launched},
          {"launches", or_null(segment.launches)},
          {"buffers", std::move(uses)},
          {"workgroup_memory", segment.workgroup_memory},
          {"recomputed", segment.recomputed},
          {"loaded", segment.loaded},
          {"stored", segment.stored},
          {"split_up", json_of(segment.up)},
          {"split_down", json_of(segment.down)}};
}

ordered_json json_of(const std::vector<ExplainedPart>& parts) {
  ordered_json list = ordered_json::array();
  for (const ExplainedPart& part : parts) {
    switch (part.kind) {
      case ExplainedPart::Kind::Segment:
        list.push_back({{"kind", "segment"}, {"segment", part.segment}});
        break;
      case ExplainedPart::Kind::Repeat:
        list.push_back({{"kind", "repeat"},
                        {"variable", part.variable},
                        {"from", part.from},
                        {"to", part.to},
                        {"trips", or_null(part.trips)},
                        {"entered", or_null(part.entered)},
                        {"on_device", part.on_device},
                        {"parts", json_of(part.parts)}});
        break;
      case ExplainedPart::Kind::If:
      case ExplainedPart::Kind::Else:
        list.push_back({{"kind", part.kind == ExplainedPart::Kind::If ? "if" : "else"},
                        {"condition", part.condition},
                        {"on_device", part.on_device},
                        {"parts", json_of(part.parts)}});
        break;
    }
  }
  return list;
}

ordered_json json_of(const ExplainedSpill& spill) {
  return {{"value", spill.value},      {"type", spill.type},
          {"word", spill.word},        {"words", spill.words},
          {"bit", or_null(spill.bit)}, {"per_workgroup", spill.per_workgroup}};
}

ordered_json json_of(const Explanation& e, const ExplainedBarrier& barrier) {
  ordered_json hazards = ordered_json::array();
  for (const ExplainedHazard& hazard : barrier.hazards) {
    hazards.push_back({{"kind", to_string(hazard.kind)},
                       {"buffer", e.buffers[hazard.buffer].name},
                       {"earlier", hazard.earlier},
                       {"later", hazard.later}});
  }
  return {{"after", barrier.after},
          {"before", barrier.before},
          {"next_iteration", barrier.next_iteration},
          {"times", or_null(barrier.times)},
          {"hazards", std::move(hazards)}};
}

ordered_json json_of(const ExplainedTraffic& t) {
  return {{"resident", {{"up", json_of(t.resident_up)}, {"down", json_of(t.resident_down)}}},
          {"host_split_iteration", {{"up", json_of(t.split_up)}, {"down", json_of(t.split_down)}}},
          {"host_split_at_most",
           {{"up", json_of(t.split_up_at_most)}, {"down", json_of(t.split_down_at_most)}}}};
}

}  // namespace

std::string to_json(const Explanation& e) {
  ordered_json body{{"program", e.program},
                    {"fingerprint", e.fingerprint},
                    {"device", e.device},
                    {"route", e.route},
                    {"reason", e.reason},
                    {"estimates", e.estimates ? json_of(*e.estimates) : ordered_json()},
                    {"workgroup_size", e.workgroup_size},
                    {"grid", or_null(e.grid)},
                    {"grid_reason", e.grid_reason},
                    {"assumptions", e.assumptions},
                    {"notes", e.notes},
                    {"has_plan", e.has_plan},
                    {"host_resolvable", e.host_resolvable},
                    {"grid_barriers", e.grid_barriers},
                    {"launches", or_null(e.launches)}};
  ordered_json& buffers = body["buffers"] = ordered_json::array();
  for (const ExplainedBuffer& buffer : e.buffers) buffers.push_back(json_of(buffer));
  ordered_json& segments = body["segments"] = ordered_json::array();
  for (const ExplainedSegment& segment : e.segments) segments.push_back(json_of(e, segment));
  body["order"] = json_of(e.order);
  ordered_json& spills = body["spills"] = ordered_json::array();
  for (const ExplainedSpill& spill : e.spills) spills.push_back(json_of(spill));
  body["spill_words"] = e.spill_words;
  body["group_words"] = e.group_words;
  body["kept"] = json_of(e.kept);
  ordered_json& barriers = body["barriers"] = ordered_json::array();
  for (const ExplainedBarrier& barrier : e.barriers) barriers.push_back(json_of(e, barrier));
  body["schedule"] = e.schedule;
  body["convergence"] = {
      {"kind", e.convergence.kind},
      {"iterations", e.convergence.iterations},
      {"flag", e.convergence.flag.empty() ? ordered_json() : ordered_json(e.convergence.flag)},
      {"evolving", e.convergence.evolving},
      {"reported", e.convergence.reported},
      {"compared", e.convergence.compared}};
  body["traffic"] = json_of(e.traffic);
  ordered_json& source = body["source"] = ordered_json::array();
  for (const ExplainedLine& line : e.source) {
    source.push_back(
        {{"text", line.text}, {"segments", line.segments}, {"grid_barrier", line.grid_barrier}});
  }
  // Names of programs, regions and drivers may be in any encoding.
  return printable_json(body.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

}  // namespace felsite
