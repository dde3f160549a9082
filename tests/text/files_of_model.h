// A folder with the files of a model, for tests.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/error.h"
#include "core/text/pieces/piece_tokenizer.h"
#include "tests/support/error_text.h"

namespace headlight::test {

/// Removed again with this.
class FilesOfModel {
 public:
  FilesOfModel() {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("headlight-pieces-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
    std::filesystem::create_directories(path_);
  }
  ~FilesOfModel() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  FilesOfModel(const FilesOfModel&) = delete;
  FilesOfModel& operator=(const FilesOfModel&) = delete;

  const FilesOfModel& write(const char* name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return *this;
  }
  PieceTokenizer open() const { return PieceTokenizer::open(path_); }
  std::string refused() const {
    return error_of([&] { open(); });
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace headlight::test
