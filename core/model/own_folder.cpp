#include "core/model/own_folder.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/io/file_steps.h"
#include "core/io/plain_file.h"
#include "core/io/safetensors.h"
#include "core/model/checkpoint.h"
#include "core/model/model_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostText = 1u << 28;

// The version of a JSON file of this program's ("format": "headlight ..."); nothing: it is no such.
std::optional<std::int64_t> own_version(const fs::path& path) {
  try {
    const auto shallow = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
      return depth < 2;  // what lies deeper is not kept
    };
    const auto json = nlohmann::json::parse(PlainFile(path, kMostText).all(), shallow, false);
    if (!json.is_object()) return std::nullopt;
    const auto format = json.find("format"), version = json.find("version");
    if (format == json.end() || !format->is_string()) return std::nullopt;
    if (!format->get<std::string>().starts_with("headlight ")) return std::nullopt;
    if (version == json.end() || !version->is_number_integer()) return 0;
    return version->get<std::int64_t>();
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool is_text(std::string_view name) { return name.ends_with(".json"); }

// The file of a checkpoint in this folder that a newer version of this program has written.
std::optional<fs::path> newer_file(const fs::path& folder, std::int64_t& version) {
  for (const std::string_view name : kCheckpointFiles) {
    if (!is_text(name)) continue;
    const auto found = own_version(folder / name);
    if (!found || *found <= kModelVersion) continue;
    version = *found;
    return folder / name;
  }
  return std::nullopt;
}

}  // namespace

bool wrote_weights(const fs::path& folder) {
  try {
    const SafetensorsFile file = read_safetensors_header(folder / "model.safetensors",
                                                         std::numeric_limits<std::uint64_t>::max());
    const auto producer = file.metadata.find("producer");
    return producer != file.metadata.end() && producer->second.starts_with("headlight ");
  } catch (const Error&) {
    return false;
  }
}

void expect_replaceable(const fs::path& folder) {
  const bool empty = std::none_of(kCheckpointFiles.begin(), kCheckpointFiles.end(),
                                  [&](std::string_view name) { return is_there(folder / name); });
  if (empty) return;
  std::int64_t version = 0;
  if (const auto newer = newer_file(folder, version)) {
    throw Error(Message{"checkpoint.newer_kept",
                        {{"path", shown(*newer)},
                         {"version", std::to_string(version)},
                         {"ours", std::to_string(kModelVersion)}}});
  }
  if (!own_version(folder / "config.json") && !wrote_weights(folder))
    throw Error(Message{"convert.folder_taken", {{"path", shown(folder)}}});
}

void expect_no_run(const fs::path& folder) {
  if (is_there(folder / kTrainFile))
    throw Error(Message{"checkpoint.holds_run", {{"path", shown(folder)}}});
}

bool holds_own_alone(const fs::path& folder) {
  std::int64_t version = 0;
  if (!own_version(folder / "config.json") || newer_file(folder, version)) return false;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool known =
        std::find(kCheckpointFiles.begin(), kCheckpointFiles.end(), name) != kCheckpointFiles.end();
    std::error_code problem;
    if (!known || at->symlink_status(problem).type() != fs::file_type::regular) return false;
  }
  return !error;
}

}  // namespace headlight
