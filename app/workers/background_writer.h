// BackgroundWriter: writes and removes small files on a thread of its own, so that a slow disk
// never holds up a frame.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace headlight {

class BackgroundWriter {
 public:
  /// `background` false: everything at once, for tests.
  explicit BackgroundWriter(bool background) : background_(background) {}
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  /// Writes what `text` gives, whole or not at all; its folders are made. A write of the same path
  /// that was still waiting is dropped. `text` runs on the other thread.
  void write(const std::string& path, std::function<std::string()> text);
  /// Removes the file, after every write of it that was asked for before.
  void remove(const std::string& path) { write(path, nullptr); }
  /// Blocks until everything is done.
  void wait();
  bool idle();
  /// Why the last write of this path failed, once; "" when it did not.
  std::string take_problem(const std::string& path);

 private:
  using Text = std::function<std::string()>;
  void loop();
  void carry_out(const std::string& path, const Text&);

  const bool background_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Text> waiting_;
  std::map<std::string, std::string> problems_;
  bool busy_ = false, stop_ = false;
  std::thread thread_;
};

}  // namespace headlight
