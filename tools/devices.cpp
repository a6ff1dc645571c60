// felsite devices: lists devices, which one would be chosen, and how it would be opened.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/errors.h"
#include "command_help.h"
#include "commands.h"
#include "devices_json.h"
#include "felsite/printable.h"
#include "felsite/vulkan.h"
#include "mask.h"
#include "output.h"
#include "profile_rows.h"
#include "report.h"

namespace felsite::tool {
namespace {

using Devices = std::vector<VulkanDeviceInfo>;

std::string verdict(const VulkanDeviceInfo& device) {
  if (device.chosen) return "taken";
  return device.usable ? "not taken" : "cannot be used";
}

std::string driver_text(const VulkanDeviceInfo& device) {
  if (device.driver_name.empty()) return "not stated";
  return printable(device.driver_info.empty() ? device.driver_name
                                              : device.driver_name + " " + device.driver_info);
}

// Columns as wide as their contents; the reason is a sentence and stands below.
void print_table(const Devices& devices) {
  std::size_t name = 4;
  std::size_t kind = 4;
  std::size_t driver = 6;
  for (const VulkanDeviceInfo& device : devices) {
    name = std::max(name, printable(device.name).size());
    kind = std::max(kind, device.kind.size());
    driver = std::max(driver, driver_text(device).size());
  }
  print_out("   {:{}}  {:{}}  {:{}}  Vulkan\n", "name", name, "kind", kind, "driver", driver);
  for (const VulkanDeviceInfo& device : devices) {
    print_out("{:<2} {:{}}  {:{}}  {:{}}  {}\n", device.position, printable(device.name), name,
              device.kind, kind, driver_text(device), driver, device.vulkan_version);
    print_out("   {}: {}\n", verdict(device), printable(device.reason));
  }
}

std::string list(const std::vector<std::string_view>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

// Which features of the device are used, and which are not.
void print_features(std::string_view title, const std::vector<VulkanFeature>& features) {
  std::vector<std::string_view> on;
  std::vector<std::string_view> off;
  for (const VulkanFeature& feature : features) {
    if (feature.on) {
      on.push_back(feature.name);
    } else if (feature.found) {
      off.push_back(feature.name);
    }
  }
  print_out("  {:18}{}\n", title, list(on));
  if (!off.empty()) print_out("  {:18}{}\n", "  left unused", list(off));
}

void print_plan(const VulkanDeviceInfo& device) {
  const VulkanDevicePlan& plan = *device.plan;
  const auto line = [](std::string_view title, const std::string& text) {
    print_out("  {:18}{}\n", title, printable(text));
  };
  print_out("\ndevice {}\n", device.position);
  line("UUID", device.uuid.empty() ? "not stated" : device.uuid);
  line("SPIR-V", device.spirv_version);
  line("subgroup size", std::to_string(device.subgroup_size));
  print_features("features", device.features);
  print_features("runtime features", device.runtime_features);
  line("extensions",
       plan.extensions.empty() ? "none" : fmt::format("{}", fmt::join(plan.extensions, ", ")));
  line("queues", fmt::format("compute on family {}{}", plan.compute_family,
                             plan.transfer_family
                                 ? fmt::format(", copies on family {}", *plan.transfer_family)
                                 : std::string()));
  line("uploads", plan.writes_in_place ? "in place" : "staged");
  line("downloads", plan.reads_in_place ? "in place" : "staged");
  for (const VulkanQuirk& quirk : device.quirks) {
    line("quirk", fmt::format("{}: {}", quirk.name, quirk.why));
  }
  for (const std::string& note : plan.notes) line("note", note);
  print_out("\nprofile of device {}\n", device.position);
  for (const ProfileRow& row : rows_of(*device.profile)) {
    print_out("  {:29}{}\n", title_of(row), printable(text_of(row.value)));
  }
}

Error nothing_to_take(const Devices& devices) {
  Error error = base::unsupported("None of these devices is taken.",
                                  "ask for another one, or remove the obstacle.");
  if (devices.empty()) {
    error.message = "Vulkan lists no device.";
    error.fix = "install a Vulkan driver (Mesa's lavapipe needs no GPU).";
  }
  return error;
}

int show_devices(const VulkanOptions& options, bool json, bool in_detail) {
  const auto devices = list_vulkan_devices(options);
  if (!devices) return report(devices.error(), json);
  const auto chosen = std::ranges::find(*devices, true, &VulkanDeviceInfo::chosen);
  if (json) {
    print_out("{}\n", to_json(*devices));
    return chosen == devices->end() ? kDeviceAtFault : kOk;
  }
  if (!devices->empty()) print_table(*devices);
  if (chosen == devices->end()) return report(nothing_to_take(*devices), json);
  if (in_detail && chosen->plan) print_plan(*chosen);
  return kOk;
}

}  // namespace

void add_devices(CLI::App& app, CommonOptions& common, Action& action) {
  CLI::App* command = app.add_subcommand(
      "devices", "List the Vulkan devices, and which one would be taken and why");
  static VulkanOptions options;
  command->add_flag("--json", common.json, "Print all that is known as JSON")->group(kMaxUsed);
  const CLI::Option* device =
      command
          ->add_option(
              "--device", options.device,
              "Show how this one would be opened: its position, part of its name, or its UUID")
          ->type_name("NAME")
          ->group(kMaxUsed);
  const CLI::Option* mask =
      command->add_option("--mask", options.mask, "Features to leave unused, as a list")
          ->type_name("LIST")
          ->check(check_mask);
  command->footer(runtime_mask_help() + "\n" + app.get_footer());
  command->callback([&, device, mask] {
    const bool in_detail = device->count() + mask->count() > 0;
    action = [&, in_detail] { return show_devices(options, common.json, in_detail); };
  });
}

}  // namespace felsite::tool
