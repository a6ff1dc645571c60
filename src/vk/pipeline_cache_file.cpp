#include "vk/pipeline_cache_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <fstream>
#include <random>
#include <system_error>

#include "dispatch/environment.h"

namespace felsite::vk {
namespace {

// Before the data. A change of its meaning needs another magic word.
struct Header {
  std::uint64_t magic;
  std::uint64_t identity;  // hash of the identity
  std::uint64_t bytes;     // of the data
  std::uint64_t checksum;  // of the data
};
constexpr std::uint64_t kMagic = 0x3170'6970'736C'6566;  // "felspip1"

std::uint64_t hash_of(const void* data, std::size_t bytes) { return XXH3_64bits(data, bytes); }

}  // namespace

std::string cache_identity(const DeviceSnapshot& device) {
  return fmt::format("felsite {} / {} / {} {} {:#x} / {:#x} / {}", FELSITE_VERSION, device.name,
                     device.driver_name, device.driver_info, device.driver_version,
                     device.api_version, device.uuid);
}

std::optional<std::filesystem::path> cache_folder() {
  const auto named = dispatch::environment(dispatch::Variable::CacheDir);
  if (named) return *named == "off" ? std::nullopt : std::optional<std::filesystem::path>(*named);
  return dispatch::default_cache_folder();
}

std::filesystem::path cache_file(const std::filesystem::path& folder, std::string_view identity) {
  return folder / fmt::format("pipelines-{:016x}.bin", hash_of(identity.data(), identity.size()));
}

CacheRead read_cache(const std::filesystem::path& file, std::string_view identity) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return {};
  const auto damaged = [&](std::string_view why) {
    return CacheRead{{},
                     fmt::format("The pipeline cache {} {}; it is ignored and will be replaced.",
                                 file.string(), why)};
  };
  Header header{};
  if (!in.read(reinterpret_cast<char*>(&header), sizeof header)) return damaged("is too short");
  if (header.magic != kMagic) return damaged("is no cache of this version");
  if (header.identity != hash_of(identity.data(), identity.size())) {
    return damaged("belongs to another device or driver");
  }
  // Nothing is allocated for a length that the file does not have. The stream is asked: by its path
  // it may be another file by now.
  in.seekg(0, std::ios::end);
  const std::streamoff size = in.tellg();
  in.seekg(sizeof header);
  if (!in || static_cast<std::uint64_t>(size) - sizeof header != header.bytes) {
    return damaged("has another length than it says");
  }
  Bytes data(header.bytes);
  if (!in.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(data.size()))) {
    return damaged("is too short");
  }
  if (hash_of(data.data(), data.size()) != header.checksum) return damaged("is damaged");
  return {std::move(data), {}};
}

std::string write_cache(const std::filesystem::path& file, std::string_view identity,
                        ByteSpan data) {
  std::error_code failed;
  std::filesystem::create_directories(file.parent_path(), failed);
  // A name of its own for every write, in the same folder, so that the rename replaces the old file
  // in one step. Process numbers would not do: containers that share a folder have the same.
  std::random_device random;
  std::filesystem::path fresh = file;
  fresh += fmt::format(".{:08x}{:08x}", random(), random());
  const Header header{kMagic, hash_of(identity.data(), identity.size()), data.size(),
                      hash_of(data.data(), data.size())};
  {
    std::ofstream out(fresh, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&header), sizeof header);
    out.write(reinterpret_cast<const char*>(data.data()),
              static_cast<std::streamsize>(data.size()));
    out.close();
    if (!out) {
      std::filesystem::remove(fresh, failed);
      return fmt::format("The pipeline cache {} cannot be written.", file.string());
    }
  }
  std::filesystem::rename(fresh, file, failed);
  if (failed) {
    const std::string why = failed.message();
    std::filesystem::remove(fresh, failed);
    return fmt::format("The pipeline cache {} cannot be replaced: {}.", file.string(), why);
  }
  return {};
}

}  // namespace felsite::vk
