#include "app/shell/dialogs/desktop_dialog.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

extern char** environ;

namespace headlight {
namespace {

std::string base_name(const std::string& program) {
  return program.substr(program.find_last_of('/') + 1);
}

std::vector<std::string> zenity(const std::string& program, const DialogWish& wish) {
  std::vector<std::string> words = {program, "--file-selection", "--title=" + wish.title};
  if (wish.kind == DialogWish::Kind::kOpenFolder) words.push_back("--directory");
  if (wish.kind == DialogWish::Kind::kSave) {
    words.push_back("--save");
    words.push_back("--confirm-overwrite");
  }
  if (!wish.path.empty()) words.push_back("--filename=" + wish.path);
  if (!wish.filter.empty()) words.push_back("--file-filter=" + wish.filter);
  return words;
}

std::vector<std::string> kdialog(const std::string& program, const DialogWish& wish) {
  const char* kind = wish.kind == DialogWish::Kind::kOpenFolder ? "--getexistingdirectory"
                     : wish.kind == DialogWish::Kind::kSave     ? "--getsavefilename"
                                                                : "--getopenfilename";
  std::vector<std::string> words = {program, "--title", wish.title, kind,
                                    wish.path.empty() ? "." : wish.path};
  if (!wish.filter.empty() && wish.kind != DialogWish::Kind::kOpenFolder)
    words.push_back(wish.filter);
  return words;
}

}  // namespace

std::vector<std::string> dialog_command(const std::string& program, const DialogWish& wish) {
  const std::string name = base_name(program);
  return name == "zenity"    ? zenity(program, wish)
         : name == "kdialog" ? kdialog(program, wish)
                             : std::vector<std::string>{};
}

bool DesktopDialog::start(const std::vector<std::string>& programs, const DialogWish& wish) {
  stop();
  wish_ = wish;
  left_.assign(programs.rbegin(), programs.rend());
  return start_next();
}

bool DesktopDialog::start_next() {
  while (!left_.empty()) {
    const std::string program = std::move(left_.back());
    left_.pop_back();
    if (program == "portal" ? portal_.start(wish_) : start_program(program)) return true;
  }
  return false;
}

bool DesktopDialog::start_program(const std::string& program) {
  std::vector<std::string> words = dialog_command(program, wish_);
  int ends[2];
  if (words.empty() || pipe2(ends, O_CLOEXEC) != 0) return false;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const int error =
      posix_spawnp(&process_, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    process_ = 0;
    return false;
  }
  pipe_ = ends[0];
  fcntl(pipe_, F_SETFL, fcntl(pipe_, F_GETFL) | O_NONBLOCK);
  output_.clear();
  return true;
}

std::optional<DialogAnswer> DesktopDialog::poll() {
  std::optional<DialogAnswer> answer = process_ > 0 ? poll_program() : portal_.poll();
  if (answer && answer->failed && start_next()) return std::nullopt;
  return answer;
}

std::optional<DialogAnswer> DesktopDialog::poll_program() {
  int status = 0;
  const pid_t ended = waitpid(process_, &status, WNOHANG);
  char part[4096];
  for (ssize_t n = 0; (n = read(pipe_, part, sizeof part)) > 0;)
    output_.append(part, static_cast<std::size_t>(n));
  if (ended == 0 || (ended < 0 && errno == EINTR)) return std::nullopt;
  process_ = 0;
  close_pipe();
  if (!output_.empty() && output_.back() == '\n') output_.pop_back();
  const int code = ended > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 255;
  if (code == 0) return DialogAnswer{output_, false};
  return DialogAnswer{"", code != 1};  // 1: cancelled
}

void DesktopDialog::close_pipe() {
  if (pipe_ >= 0) close(pipe_);
  pipe_ = -1;
}

void DesktopDialog::stop() {
  portal_.stop();
  left_.clear();
  if (process_ > 0) {
    kill(process_, SIGTERM);
    waitpid(process_, nullptr, 0);
  }
  process_ = 0;
  close_pipe();
}

}  // namespace headlight
