#include "app/shell/exports/lab_file.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "core/base/error.h"
#include "core/document/session_file.h"
#include "core/io/atomic_file.h"
#include "core/io/file_steps.h"
#include "core/lab/lab_files.h"
#include "core/model/model.h"

extern char** environ;

namespace headlight {
namespace {

constexpr std::uint64_t kLargestPicture = 1 << 30;

// A file of a name that nobody else has; gone when this goes.
class ShortFile {
 public:
  explicit ShortFile(std::string_view suffix)
      : path_((std::filesystem::temp_directory_path() / "headlight-lab-XXXXXX").string()) {
    path_ += suffix;
    const int file = mkstemps(path_.data(), static_cast<int>(suffix.size()));
    if (file < 0) fail_to_save(path_, errno);
    close(file);
  }
  ~ShortFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ShortFile(const ShortFile&) = delete;
  ShortFile& operator=(const ShortFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

int run(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t process = 0;
  const int error =
      posix_spawn(&process, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  if (error != 0) return error;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

void write_lab_file(const std::string& path, const Lab& lab, const LabResult& result,
                    Language language) {
  const std::string text = path.ends_with(".json")          ? lab_json(lab, result, language)
                           : path.ends_with(".safetensors") ? lab_safetensors(lab, result)
                           : path.ends_with(".py")          ? lab_code(lab)
                                                            : lab_csv(result);
  write_file_atomic(path, text);
}

void print_lab(const std::string& program, const std::string& path, const Document& document,
               Language language, bool dark) {
  if (program.empty()) throw Error(Message{"lab.print.none"});
  if (document.model == kRunRef) throw Error(Message{"lab.print.run"});
  // The picture is saved from here, which knows why it cannot be.
  const ShortFile session(".json"), picture(".png");
  write_file_atomic(session.path(), session_text(document));
  std::vector<std::string> words = {program,
                                    "lab",
                                    document.labs.lab,
                                    "--session",
                                    session.path(),
                                    "--out",
                                    picture.path(),
                                    "--theme",
                                    dark ? "dark" : "light",
                                    "--lang",
                                    language == Language::kChinese ? "zh" : "en"};
  const auto own = document.labs.settings.find(document.labs.lab);
  if (own != document.labs.settings.end()) {
    for (const auto& [control, value] : own->second) {
      words.push_back("--set");
      words.push_back(control + "=" + value);
    }
  }
  if (run(std::move(words)) != 0) throw Error(Message{"lab.print.failed"});
  write_file_atomic(path, read_file(picture.path(), kLargestPicture));
}

}  // namespace headlight
