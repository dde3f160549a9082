// What a dialog of the desktop is asked for, and what it answers.
#pragma once

#include <string>

namespace headlight {

struct DialogWish {
  enum class Kind { kOpenFile, kOpenFolder, kSave } kind = Kind::kOpenFile;
  std::string title;
  std::string path;    // that stands there already; a folder ends in "/"
  std::string filter;  // "*.headlight.json"; empty: any file
};

struct DialogAnswer {
  std::string path;     // empty: cancelled
  bool failed = false;  // it could not ask
};

}  // namespace headlight
