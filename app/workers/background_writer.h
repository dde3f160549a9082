// BackgroundWriter: writes and removes files on a thread of its own, so that a slow disk never
// holds up a frame.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/base/mailbox.h"

namespace headlight {

class BackgroundWriter {
 public:
  /// `background` false: everything at once, for tests.
  explicit BackgroundWriter(bool background);
  /// What waits is still written.
  ~BackgroundWriter() { wait(); }
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  /// Writes what `text` gives, whole or not at all; its folders are made. A write of the same path
  /// that was still waiting is dropped. `text` runs on the other thread.
  void write(const std::string& path, std::function<std::string()> text);
  /// Removes the file, after every write of it that was asked for before.
  void remove(const std::string& path) { write(path, nullptr); }
  /// Does something else with files there; `what` keeps what was wrong to itself.
  void carry_out(const std::string& path, std::function<void()> what);
  /// Blocks until everything is done.
  void wait() { mailbox_.wait(); }
  bool in_background() const { return background_; }
  bool idle() { return !mailbox_.busy(); }
  /// Why the last write of this path failed, once; "" when it did not.
  std::string take_problem(const std::string& path);

 private:
  using Text = std::function<std::string()>;
  const bool background_;
  std::map<std::string, Message> problems_;                    // without a background
  Mailbox<std::string, std::function<void()>, void> mailbox_;  // by path
};

}  // namespace headlight
