// A small model folder of another program with a tokenizer of 40 words beside its weights.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "core/io/atomic_file.h"
#include "test_paths.h"

namespace headlight {

/// tests/reference/folders/`name`, whose tokens are ids.
inline std::string reference_folder(const char* name) {
  return (std::filesystem::path(HEADLIGHT_TEST_DIR) / "reference" / "folders" / name).string();
}

/// Copies that folder to `to`. Id 7 is the word "w7" of its tokenizer, but for
/// `special` tokens, by id; "<unk>" among them stands for all other words. `around`: the
/// tokenizer's post_processor.
inline void make_worded_folder(const char* name, const std::filesystem::path& to,
                               const std::map<int, std::string>& special,
                               const nlohmann::json& around = nullptr) {
  namespace fs = std::filesystem;
  const fs::path from(reference_folder(name));
  fs::create_directories(to);
  for (const char* file : {"config.json", "model.safetensors"}) fs::copy(from / file, to / file);
  nlohmann::json tokenizer = {{"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                              {"model", {{"type", "WordLevel"}, {"unk_token", "<unk>"}}}};
  if (!around.is_null()) tokenizer["post_processor"] = around;
  nlohmann::json &words = tokenizer["model"]["vocab"], &added = tokenizer["added_tokens"];
  for (int id = 0; id < 40; ++id) {
    const auto found = special.find(id);
    words[found == special.end() ? "w" + std::to_string(id) : found->second] = id;
    if (found == special.end()) continue;
    added.push_back({{"id", id}, {"content", found->second}, {"special", true}});
  }
  write_file_atomic(to / "tokenizer.json", tokenizer.dump());
}

}  // namespace headlight
