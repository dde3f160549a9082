// What the tests of texts and tables to learn from share: pasted texts, files that vanish, and what
// is said when one is refused.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/train/data/text_source.h"
#include "tests/support/error_text.h"

namespace headlight {

using Words = std::vector<std::string>;
using Ids = std::vector<int>;

/// A file of its own that vanishes with the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes, const std::string& name = "text.txt")
      : folder_(std::filesystem::temp_directory_path() /
                ("headlight-source-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    path_ = folder_ / name;
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TemporaryFile() { std::filesystem::remove_all(folder_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path folder_, path_;
};

inline TextInput pasted(std::string text) { return {{}, std::move(text)}; }

inline TextOptions by(TextCut cut, int context = 4) {
  TextOptions options;
  options.cut = cut;
  options.context = context;
  return options;
}

inline std::string say(const std::vector<Message>& notes) {
  std::string text;
  for (const Message& note : notes) text += say(Language::kEnglish, note) + "\n";
  return text;
}

}  // namespace headlight
