// Runs the program as a person would from a shell, and looks at what it said and wrote.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/io/safetensors.h"

namespace headlight::test {

using Args = std::vector<std::string>;

/// Changes to the environment of the child; nothing means that the variable is taken away.
using Environment = std::map<std::string, std::optional<std::string>>;

struct Result {
  int status = 0;  // 128 + the signal when one ended the program
  std::string out, err;
  double seconds = 0;
  double peak_mb = 0;  // most resident memory
};

/// Runs the program and waits for it. Checks that no sanitizer complained and that it did not
/// crash.
Result run(const Args& args, const Environment& changes = {});

/// Runs the program until there is enough of it, then kills it as nothing can be done against.
/// `may_end`: it may also come to its end before.
void run_and_kill(const Args& args, const std::function<bool()>& enough, bool may_end = false);

/// run() that must succeed; fails the test with what the program said otherwise.
Result run_well(const Args& args, const Environment& changes = {});

/// What went wrong must be said in one sentence on stderr that has these phrases, with nothing on
/// stdout. A status of 1 means that something failed, 2 that what was asked for makes no sense.
void check_refused(const Result& result, int status, const std::vector<std::string>& phrases);

bool contains(const std::string& text, const std::string& part);

/// An empty folder that goes away with its contents.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  /// Writes a file and says its path.
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

std::string read_bytes(const std::string& path);
SafetensorsFile read_safetensors(const std::string& path);

/// The trace and the weights of one run, read back from the files that the program wrote.
struct Exported {
  SafetensorsFile trace, weights;
};
Exported export_run(const Args& model);

/// `start` followed by `more`.
Args joined(Args start, const Args& more);

/// The command line as a person would type it.
std::string shown(const Args& args);

/// True where pictures can be drawn; else prints why the calling test is skipped. With
/// HEADLIGHT_REQUIRE_GL=1 in the environment that is a failure.
bool can_draw();

/// The same of `--backend gl`.
bool can_compute();

}  // namespace headlight::test
