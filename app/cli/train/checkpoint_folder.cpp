#include "app/cli/train/checkpoint_folder.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "app/cli/cli.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/random.h"
#include "core/io/plain_file.h"
#include "core/model/checkpoint.h"
#include "core/train/run_settings.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

// Without links, dots and a stroke at its end: what lies beside it is named after it.
fs::path plain_path(const std::string& folder) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(folder, error);
  if (error) return folder;
  return path.has_filename() ? path : path.parent_path();
}

// NAME.before, NAME.before-2, ...
fs::path free_place_beside(const fs::path& folder) {
  std::error_code ignored;
  fs::path place = folder.string() + ".before";
  for (int n = 2; fs::exists(fs::symlink_status(place, ignored)); ++n)
    place = folder.string() + ".before-" + std::to_string(n);
  return place;
}

// Updates that the run there has made; 0 where none can go on.
std::int64_t steps_of(const fs::path& folder) {
  constexpr std::uint64_t kMostBytes = 1u << 28;
  try {
    RunSettings settings;
    TrainState state;
    parse_train(PlainFile(folder / kTrainFile, kMostBytes).all(), settings, state);
    return state.step;
  } catch (const Error&) {
    return 0;
  }
}

// A name of the system's own, which is given back when its process ends and leaves nothing on a
// disk, as a lock file beside the folder would. Where there can be none, nobody is stopped.
bool is_free_name(int socket, const fs::path& folder) {
  const std::string name = "headlight train " + std::to_string(::getuid()) + " " +
                           std::to_string(hash_text(folder.string()));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);  // behind a 0: no file's
  return ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
         errno != EADDRINUSE;
}

// A save puts new files in the place of the old ones, which so stay what they were.
void link_files(const fs::path& from, const fs::path& to, std::error_code& error) {
  if (!fs::create_directory(to, error)) return;
  fs::directory_iterator at(from, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const fs::path copy = to / at->path().filename();
    fs::create_hard_link(at->path(), copy, error);
    if (error) fs::copy(at->path(), copy, error);  // a disk without links
    if (error) return;
  }
}

}  // namespace

CheckpointFolder::CheckpointFolder(const std::string& folder) {
  if (folder.empty()) return;
  folder_ = plain_path(folder);
  lock_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!is_free_name(lock_.get(), folder_)) {
    throw Error("another run saves in " + shown(folder_) +
                " at the moment; give another --out, or wait until it has ended");
  }
}

void CheckpointFolder::keep_longer(std::int64_t steps, const std::string& resumed) const {
  std::error_code error;
  if (folder_.empty() || (!resumed.empty() && fs::equivalent(folder_, resumed, error))) return;
  const std::int64_t there = steps_of(folder_);
  if (there <= steps) return;
  const fs::path place = free_place_beside(folder_);
  link_files(folder_, place, error = {});
  if (error) {
    std::error_code ignored;
    fs::remove_all(place, ignored);
    throw Error("there is a run of " + count_text(there) + " steps in " + shown(folder_) +
                ", and it cannot be kept beside it (" + error.message() + "); give another --out");
  }
  tell("the run of " + count_text(there) + " steps that was in " + shown(folder_) + " is kept in " +
       shown(place));
}

}  // namespace headlight
