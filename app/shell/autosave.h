// Autosave: unsaved work on disk while the window runs, found again by the next start when this one
// was killed. Each window holds a lock; a file whose lock nobody holds has lost its window.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/message.h"
#include "core/document/document.h"

namespace headlight {

/// A lock on a file (flock), given back when this goes, or when the process ends in any way.
class FileLock {
 public:
  /// Takes the lock of `path`; `fresh` only when the file is not there yet. Check held().
  FileLock(const std::string& path, bool fresh);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  bool held() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// The session that the work belongs to, and the mark of the file's contents as this window last
/// knew them.
struct AutosaveOrigin {
  std::string path;  // "": never saved
  std::uint64_t mark = 0;
};

/// The text of an autosave: a session file with one more key.
std::string autosave_text(const Document&, const AutosaveOrigin&);

/// The place of one window's autosave. Throws Error when the folder cannot be used. What was
/// written stays when this goes, unless remove() was called: the window may be ending by a mistake.
class AutosavePlace {
 public:
  explicit AutosavePlace(const std::string& folder);
  const std::string& path() const { return path_; }
  /// False where somebody has removed the folder: other windows do not know of this one any more.
  bool is_there() const;
  void remove();

 private:
  std::string path_, lock_path_;
  std::unique_ptr<FileLock> lock_;
};

/// Work whose window is gone. It stays locked for this window until `lock` goes.
struct Recoverable {
  std::string path;
  Document document;
  AutosaveOrigin origin;
  std::int64_t saved_at = 0;  // seconds since 1970
  std::shared_ptr<FileLock> lock;
};

/// Work that cannot be read: damaged, or of a newer version. Left where it is.
struct UnreadWork {
  std::string path;
  Message problem;
};
struct FoundWork {
  std::vector<Recoverable> recoverable;  // newest first
  std::vector<UnreadWork> unread;
};
/// Never throws.
FoundWork find_recoverable(const std::string& folder);
/// Removes the file and its lock: the work is safe elsewhere.
void remove_recoverable(const Recoverable&);
/// Puts an autosave aside, where it stays for some days. Returns where; "": it could not be moved.
std::string discard_autosave(const std::string& path);

/// How long what was discarded or removed can be had back.
inline constexpr int kDiscardedDays = 7;
/// Without locks. Never throws.
FoundWork find_discarded(const std::string& folder);
/// Removes what was discarded longer ago.
void forget_discarded(const std::string& folder);
/// When a file or folder was last written, in seconds since 1970; 0: it is not there.
std::int64_t written_at(const std::string& path);
/// Removes what lies in a folder and was put there more than kDiscardedDays ago.
void remove_outdated(const std::string& folder);

/// A mark of the file's contents (FNV-1a); 0 when there is no plain file to read.
std::uint64_t content_mark(const std::string& path);
std::uint64_t content_mark_of(std::string_view bytes);

/// "12:30" on the day of `now`, else "2026-03-07 12:30", in local time. Both in seconds since 1970.
std::string time_words(std::int64_t then, std::int64_t now);

}  // namespace headlight
