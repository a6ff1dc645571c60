#include "profile_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace felsite::tool {
namespace {

using nlohmann::json;

// Whatever a field takes.
struct Anything {
  template <class T>
  operator T() const;
};

template <class Aggregate, class... Fields>
consteval std::size_t field_count() {
  if constexpr (requires { Aggregate{Fields{}..., Anything{}}; }) {
    return field_count<Aggregate, Fields..., Anything>();
  } else {
    return sizeof...(Fields);
  }
}

template <class Struct>
struct Row {
  std::string_view name;
  json (*value)(const Struct& of);
};

template <class Value>
json json_of(const Value& value) {
  return value;
}
json json_of(TimingQuality quality) { return to_string(quality); }
json json_of(const std::vector<DeviceMemoryHeap>& heaps) {
  json list = json::array();
  for (const DeviceMemoryHeap& heap : heaps) {
    list.push_back({{"bytes", heap.bytes},
                    {"device_local", heap.device_local},
                    {"host_visible", heap.host_visible}});
  }
  return list;
}
json json_of(const DevicePrices& prices);

template <auto Member>
constexpr auto row(std::string_view name) {
  return []<class Struct, class Value>(std::string_view named, Value Struct::*) {
    return Row<Struct>{named, [](const Struct& of) { return json_of(of.*Member); }};
  }(name, Member);
}

constexpr std::array kPriceRows{
    row<&DevicePrices::submission>("submission"),
    row<&DevicePrices::dispatch>("dispatch"),
    row<&DevicePrices::skipped>("skipped"),
    row<&DevicePrices::workgroup>("workgroup"),
    row<&DevicePrices::iteration>("iteration"),
    row<&DevicePrices::barrier>("barrier"),
    row<&DevicePrices::operation>("operation"),
    row<&DevicePrices::access>("access"),
    row<&DevicePrices::trip>("trip"),
    row<&DevicePrices::atomic>("atomic"),
    row<&DevicePrices::turn>("turn"),
    row<&DevicePrices::again>("again"),
    row<&DevicePrices::folded>("folded"),
};
static_assert(kPriceRows.size() == field_count<DevicePrices>(), "a price has no row");

constexpr std::array kRows{
    row<&DeviceProfile::backend>("backend"),
    row<&DeviceProfile::name>("name"),
    row<&DeviceProfile::subgroup_ops>("subgroup_ops"),
    row<&DeviceProfile::subgroup_shuffle>("subgroup_shuffle"),
    row<&DeviceProfile::f16>("f16"),
    row<&DeviceProfile::bf16>("bf16"),
    row<&DeviceProfile::f64>("f64"),
    row<&DeviceProfile::int64>("int64"),
    row<&DeviceProfile::native_int_bits>("native_int_bits"),
    row<&DeviceProfile::mul_high>("mul_high"),
    row<&DeviceProfile::tensor_cores>("tensor_cores"),
    row<&DeviceProfile::traps>("traps"),
    row<&DeviceProfile::specialization_constants>("specialization_constants"),
    row<&DeviceProfile::async_compute>("async_compute"),
    row<&DeviceProfile::indirect_dispatch>("indirect_dispatch"),
    row<&DeviceProfile::speculation>("speculation"),
    row<&DeviceProfile::persistent_threads>("persistent_threads"),
    row<&DeviceProfile::grid_sync>("grid_sync"),
    row<&DeviceProfile::allows_host_grid_sync_split>("allows_host_grid_sync_split"),
    row<&DeviceProfile::resident_dispatch>("resident_dispatch"),
    row<&DeviceProfile::distributed>("distributed"),
    row<&DeviceProfile::collectives>("collectives"),
    row<&DeviceProfile::max_workgroup_size>("max_workgroup_size"),
    row<&DeviceProfile::max_workgroup_count>("max_workgroup_count"),
    row<&DeviceProfile::workgroups_per_dispatch>("workgroups_per_dispatch"),
    row<&DeviceProfile::conditional_steps>("conditional_steps"),
    row<&DeviceProfile::storage_offset_alignment>("storage_offset_alignment"),
    row<&DeviceProfile::max_workgroup_invocations>("max_workgroup_invocations"),
    row<&DeviceProfile::ideal_workgroup_size>("ideal_workgroup_size"),
    row<&DeviceProfile::ideal_vector_width>("ideal_vector_width"),
    row<&DeviceProfile::subgroup_size>("subgroup_size"),
    row<&DeviceProfile::compute_units>("compute_units"),
    row<&DeviceProfile::max_storage_buffers>("max_storage_buffers"),
    row<&DeviceProfile::loop_budget>("loop_budget"),
    row<&DeviceProfile::max_storage_buffer_bytes>("max_storage_buffer_bytes"),
    row<&DeviceProfile::memory_bytes>("memory_bytes"),
    row<&DeviceProfile::memory_heaps>("memory_heaps"),
    row<&DeviceProfile::shared_memory_bytes>("shared_memory_bytes"),
    row<&DeviceProfile::cache_bytes>("cache_bytes"),
    row<&DeviceProfile::prices>("prices"),
    row<&DeviceProfile::timing_quality>("timing_quality"),
    row<&DeviceProfile::quirks>("quirks"),
    row<&DeviceProfile::emulations>("emulations"),
};
static_assert(kRows.size() == field_count<DeviceProfile>(), "a field has no row");

json json_of(const DevicePrices& prices) {
  json object;
  for (const auto& [name, value] : kPriceRows) object[std::string(name)] = value(prices);
  return object;
}

}  // namespace

std::vector<ProfileRow> rows_of(const DeviceProfile& profile) {
  std::vector<ProfileRow> rows;
  for (const auto& [name, value] : kRows) rows.push_back({name, value(profile)});
  return rows;
}

json to_json(const DeviceProfile& profile) {
  json object;
  for (const ProfileRow& row : rows_of(profile)) object[std::string(row.name)] = row.value;
  return object;
}

std::string title_of(const ProfileRow& row) {
  std::string title(row.name);
  std::ranges::replace(title, '_', ' ');
  return title;
}

std::string text_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& [key, part] : value.items()) {
    if (text.ends_with('.')) {
      text += ' ';  // a sentence
    } else if (!text.empty()) {
      text += part.is_object() || part.is_string() ? "; " : ", ";
    }
    if (value.is_object()) text += key + " ";
    text += text_of(part);
  }
  return text.empty() ? "none" : text;
}

}  // namespace felsite::tool
