#include "app/shell/settings.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "core/base/error.h"
#include "core/io/atomic_file.h"
#include "core/io/file_steps.h"
#include "core/io/plain_file.h"

namespace headlight {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 2> kRanges = {"picture", "shared"};
constexpr std::array<std::string_view, 5> kVisions = {"full", "protanopia", "deuteranopia",
                                                      "tritanopia", "grey"};
constexpr std::array<std::string_view, 4> kRequests = {"automatic", "cpu", "gpu", "both"};

// Takes the keys it knows out of an object; what is wrong with a value is noted, not thrown.
class Reader {
 public:
  explicit Reader(Json json) : json_(std::move(json)) {}

  void number(const char* key, float& out, float low, float high) {
    const Json value = take(key);
    if (value.is_null()) return;
    const bool fits =
        value.is_number() && value.get<double>() >= low && value.get<double>() <= high;
    if (!fits)
      return note(key,
                  Message{"settings.expected.number", {{"low", shown(low)}, {"high", shown(high)}}},
                  value);
    out = value.get<float>();
  }
  void integer(const char* key, int& out, int low, int high) {
    auto wide = static_cast<float>(out);
    number(key, wide, static_cast<float>(low), static_cast<float>(high));
    out = static_cast<int>(wide);
  }
  void boolean(const char* key, bool& out) {
    const Json value = take(key);
    if (value.is_null()) return;
    if (!value.is_boolean()) return note(key, Message{"settings.expected.boolean"}, value);
    out = value.get<bool>();
  }
  void boolean(const char* key, std::optional<bool>& out) {
    if (!json_.contains(key)) return;
    bool value = false;
    boolean(key, value);
    out = value;
  }
  template <class E, std::size_t N>
  void choice(const char* key, E& out, const std::array<std::string_view, N>& words) {
    const Json value = take(key);
    if (value.is_null()) return;
    const std::string given = value.is_string() ? value.get<std::string>() : "";
    const auto at = std::find(words.begin(), words.end(), given);
    if (at != words.end()) {
      out = static_cast<E>(at - words.begin());
      return;
    }
    std::string list;
    for (const std::string_view w : words) list += (list.empty() ? "" : ", ") + std::string(w);
    note(key, Message{"settings.expected.choice", {{"list", list}}}, value);
  }
  void paths(const char* key, std::vector<std::string>& out) {
    const Json value = take(key);
    if (value.is_null()) return;
    if (!value.is_array()) return note(key, Message{"settings.expected.paths"}, value);
    for (const Json& item : value) {
      if (item.is_string() && out.size() < kMaxRecent) out.push_back(item.get<std::string>());
    }
  }
  const Message& problem() const { return problem_; }
  std::string rest() const { return json_.empty() ? "" : json_.dump(); }

 private:
  Json take(const char* key) {
    const auto at = json_.find(key);
    if (at == json_.end()) return nullptr;
    Json value = *at;
    json_.erase(key);
    return value;
  }
  static std::string shown(float number) { return Json(static_cast<double>(number)).dump(); }
  void note(const std::string& key, const Message& expected, const Json& got) {
    if (!problem_.empty()) return;  // one is enough to find the file's other ones
    std::string text = got.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 40) text = text.substr(0, 40) + "…";
    problem_ = Message{"settings.wrong_value", {{"key", key}, {"got", text}}}.with(expected);
  }

  Json json_;
  Message problem_;
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::string settings_text(const Settings& s) {
  Json json = {{"width", s.width},
               {"height", s.height},
               {"maximized", s.maximized},
               {"zoom", std::round(s.zoom * 1e4) / 1e4},
               {"theme", s.dark ? "dark" : "light"},
               {"language", word(s.language)},
               {"rail_width", s.sizes.rail},
               {"inspector_width", s.sizes.inspector},
               {"heads_height", s.sizes.heads}};
  if (s.rail_open) json["rail_open"] = *s.rail_open;
  if (s.heads_open) json["heads_open"] = *s.heads_open;
  if (s.inspector_open) json["inspector_open"] = *s.inspector_open;
  json["range"] = kRanges[static_cast<std::size_t>(s.range)];
  json["vision"] = kVisions[static_cast<std::size_t>(s.vision)];
  json["speed"] = s.speed;
  json["compute"] = kRequests[static_cast<std::size_t>(s.compute)];
  json["hints_seen"] = s.hints_seen;
  json["recent"] = s.recent;
  if (!s.kept_models.empty()) json["kept_models"] = s.kept_models;
  if (!s.kept_runs.empty()) json["kept_runs"] = s.kept_runs;
  if (!s.other.empty()) {
    const Json other = Json::parse(s.other, nullptr, false);
    if (other.is_object()) json.insert(other.begin(), other.end());
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

SettingsRead parse_settings(std::string_view text) {
  SettingsRead read;
  const auto shallow = [](int depth, Json::parse_event_t, Json&) {
    if (depth > 16) throw Error("it nests more than 16 levels deep");  // the parser is recursive
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, shallow);
  } catch (const std::exception&) {
    json = nullptr;
  }
  if (!json.is_object()) {
    read.problem = Message{"settings.not_json"};
    return read;
  }
  Reader in(std::move(json));
  Settings& s = read.settings;
  in.integer("width", s.width, 64, 16384);
  in.integer("height", s.height, 64, 16384);
  in.boolean("maximized", s.maximized);
  in.number("zoom", s.zoom, 0.25f, 4);
  in.choice("theme", s.dark, std::array<std::string_view, 2>{"light", "dark"});
  in.choice("language", s.language, std::array<std::string_view, 2>{"en", "zh"});
  in.number("rail_width", s.sizes.rail, 0, 16384);
  in.number("inspector_width", s.sizes.inspector, 0, 16384);
  in.number("heads_height", s.sizes.heads, 0, 16384);
  in.boolean("rail_open", s.rail_open);
  in.boolean("heads_open", s.heads_open);
  in.boolean("inspector_open", s.inspector_open);
  in.choice("range", s.range, kRanges);
  in.choice("vision", s.vision, kVisions);
  in.number("speed", s.speed, 0.0625f, 64);
  in.choice("compute", s.compute, kRequests);
  in.boolean("hints_seen", s.hints_seen);
  in.paths("recent", s.recent);
  in.paths("kept_models", s.kept_models);
  in.paths("kept_runs", s.kept_runs);
  read.problem = in.problem();
  s.other = in.rest();
  return read;
}

SettingsRead read_settings(const std::string& path) {
  std::error_code ignored;
  SettingsRead read;
  if (!std::filesystem::exists(path, ignored)) {
    read.exists = false;
    return read;
  }
  try {
    read = parse_settings(PlainFile(path, 1u << 20).all());
  } catch (const Error& error) {
    read.problem = error.message();
  }
  if (!read.problem.empty()) {
    std::error_code error;
    std::filesystem::copy_file(path, path + ".broken",
                               std::filesystem::copy_options::overwrite_existing, error);
    if (error) read.not_copied = error.message();
  }
  return read;
}

Settings merge_changes(Settings stored, const Settings& before, const Settings& now) {
  const auto merge = [&](auto Settings::*field) {
    if (!(before.*field == now.*field)) stored.*field = now.*field;
  };
  merge(&Settings::width);
  merge(&Settings::height);
  merge(&Settings::maximized);
  merge(&Settings::zoom);
  merge(&Settings::dark);
  merge(&Settings::language);
  merge(&Settings::sizes);
  merge(&Settings::rail_open);
  merge(&Settings::heads_open);
  merge(&Settings::inspector_open);
  merge(&Settings::range);
  merge(&Settings::vision);
  merge(&Settings::speed);
  merge(&Settings::compute);
  merge(&Settings::hints_seen);
  merge(&Settings::recent);
  merge(&Settings::kept_models);
  merge(&Settings::kept_runs);
  return stored;
}

namespace {

// The lock of a folder, which leaves no file behind. Who holds it is done in milliseconds; where
// there are no locks, or somebody keeps it, the settings are worth more than waiting for it.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder)
      : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    using namespace std::chrono_literals;
    // Often, or somebody who takes it again at once would be met at its work each time.
    const auto end = std::chrono::steady_clock::now() + 2s;
    while (fd_ >= 0 && ::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      if (std::chrono::steady_clock::now() > end) return;
      std::this_thread::sleep_for(500us);
    }
  }
  ~FolderLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  const int fd_;
};

}  // namespace

void keep_changes(const std::string& path, const Settings& otherwise, const Settings& before,
                  const Settings& now) {
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail_to_save(path, error.value());
  const FolderLock lock(folder);
  const SettingsRead read = read_settings(path);
  if (!read.not_copied.empty())
    throw Error(Message{"settings.left_alone", {{"path", path}, {"reason", read.not_copied}}});
  const bool whole = read.exists && read.problem.empty();
  write_file_atomic(path,
                    settings_text(merge_changes(whole ? read.settings : otherwise, before, now)));
}

std::vector<std::string> with_recent(std::vector<std::string> recent, const std::string& path) {
  std::erase(recent, path);
  recent.insert(recent.begin(), path);
  if (recent.size() > kMaxRecent) recent.resize(kMaxRecent);
  return recent;
}

UserFolders user_folders() {
  const std::string home = environment("HOME");
  const auto folder = [&](const char* variable, const char* in_home) -> std::string {
    const std::string set = environment(variable);
    if (set.starts_with('/')) return set + "/headlight";
    return home.starts_with('/') ? home + in_home + "/headlight" : "";
  };
  UserFolders folders;
  const std::string config = folder("XDG_CONFIG_HOME", "/.config");
  const std::string state = folder("XDG_STATE_HOME", "/.local/state");
  if (!config.empty()) folders.settings = config + "/settings.json";
  if (!state.empty()) folders.autosave = state + "/autosave";
  const std::string data = folder("XDG_DATA_HOME", "/.local/share");
  if (!data.empty()) folders.runs = data + "/runs";
  return folders;
}

}  // namespace headlight
