#include "vk/plan/device_prices.h"

#include <algorithm>
#include <array>

#include "vk/plan/quirks.h"

namespace felsite::vk {
namespace {

// The drivers run a workgroup on one core from its start to its end.
enum class Kind : std::uint8_t {
  Llvmpipe,       // with worker threads
  LlvmpipeAlone,  // without
  Llvmpipe25,     // from Mesa 25 on
  Llvmpipe25Alone,
  Software,  // any other processor
  Integrated,
  Discrete,
};

struct Row {
  Kind kind;
  std::uint32_t compute_units;  // 0: the cores of the host
  DevicePrices prices;
};

// Mesa's, by release.
constexpr DevicePrices kMesa22{};
constexpr DevicePrices kMesa25{.submission = 57e3,
                               .dispatch = 35e3,
                               .skipped = 20,
                               .workgroup = 100,
                               .iteration = 240,
                               .barrier = 30,
                               .operation = 0.104,
                               .access = 6.3,
                               .trip = 2.7,
                               .atomic = 30,
                               .turn = 3.9,
                               .again = 20,
                               .folded = 1.55};

// Most of a small dispatch is to wake the worker threads up.
constexpr DevicePrices without_workers(DevicePrices prices) {
  prices.submission = 24e3;
  prices.dispatch = 1e3;
  return prices;
}

// Those of Mesa are fitted to every second shape of `felsite bench --rows automatic_form`, on two
// cores of some 3 GHz; their ratios matter. Those of graphics processors are not measured: they are
// the orders of magnitude that makers' guides give for devices of the middle class.
constexpr std::array kRows{
    Row{Kind::Llvmpipe, 0, kMesa22},
    Row{Kind::LlvmpipeAlone, 1, without_workers(kMesa22)},
    Row{Kind::Llvmpipe25, 0, kMesa25},
    Row{Kind::Llvmpipe25Alone, 1, without_workers(kMesa25)},
    Row{Kind::Software, 0, kMesa22},
    Row{Kind::Integrated,
        8,
        {.submission = 20e3,
         .dispatch = 4e3,
         .skipped = 500,
         .workgroup = 50,
         .iteration = 1500,
         .barrier = 10,
         .operation = 1,
         .access = 20,
         .trip = 4,
         .atomic = 60,
         .turn = 1,
         .again = 5,
         .folded = 1.2}},
    Row{Kind::Discrete,
        32,
        {.submission = 20e3,
         .dispatch = 4e3,
         .skipped = 500,
         .workgroup = 30,
         .iteration = 1500,
         .barrier = 8,
         .operation = 0.6,
         .access = 10,
         .trip = 2,
         .atomic = 40,
         .turn = 1,
         .again = 5,
         .folded = 1.2}},
};

Kind kind_of(const DeviceSnapshot& device, const HostProcessor& host) {
  if (device.driver == VK_DRIVER_ID_MESA_LLVMPIPE) {
    const bool alone = host.llvmpipe == 0u;
    if (is_lavapipe_25(device)) return alone ? Kind::Llvmpipe25Alone : Kind::Llvmpipe25;
    return alone ? Kind::LlvmpipeAlone : Kind::Llvmpipe;
  }
  if (device.type == VK_PHYSICAL_DEVICE_TYPE_CPU) return Kind::Software;
  const bool is_integrated = device.type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  return is_integrated ? Kind::Integrated : Kind::Discrete;
}

}  // namespace

DeviceCosts costs_of(const DeviceSnapshot& device, const HostProcessor& host) {
  const Kind kind = kind_of(device, host);
  const Row& row = *std::ranges::find(kRows, kind, &Row::kind);
  DeviceCosts costs{row.compute_units, row.prices};
  if (costs.compute_units != 0) return costs;
  costs.compute_units = std::max(host.cores, 1u);
  const bool is_llvmpipe = kind == Kind::Llvmpipe || kind == Kind::Llvmpipe25;
  if (is_llvmpipe && host.llvmpipe) {
    costs.compute_units = std::min(costs.compute_units, std::max(*host.llvmpipe, 1u));
  }
  return costs;
}

}  // namespace felsite::vk
