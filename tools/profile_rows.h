// What a device's profile says, as rows for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "felsite/device_profile.h"

namespace felsite::tool {

struct ProfileRow {
  std::string_view name;  // as in JSON
  nlohmann::json value;
};
std::vector<ProfileRow> rows_of(const DeviceProfile& profile);

nlohmann::json to_json(const DeviceProfile& profile);
// "max workgroup size", "1024, 1024, 64"
std::string title_of(const ProfileRow& row);
std::string text_of(const nlohmann::json& value);

}  // namespace felsite::tool
