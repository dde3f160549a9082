#include "tests/cli/child.h"
#include "tests/cli/shell.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include "test_paths.h"

extern char** environ;

namespace headlight::test {
namespace {

std::vector<std::string> environment_with(const Environment& changes) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    if (!changes.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : changes) {
    if (value) all.push_back(name + "=" + *value);
  }
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

void redirect(const std::string& path, int to) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ::dup2(file, to) < 0) ::_exit(126);
  ::close(file);
}

pid_t start(std::vector<std::string> words, const Environment& changes, const std::string& out,
            const std::string& err) {
  std::vector<std::string> environment = environment_with(changes);
  const std::vector<char*> argv = pointers(words), envp = pointers(environment);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child != 0) return child;
  redirect("/dev/null", STDIN_FILENO);
  redirect(out, STDOUT_FILENO);
  redirect(err, STDERR_FILENO);
  ::execve(argv[0], argv.data(), envp.data());
  ::_exit(127);
}

}  // namespace

std::string shown(const Args& args) {
  std::string text = "headlight";
  for (const std::string& arg : args) {
    text += " '" + (arg.size() > 80 ? arg.substr(0, 80) + "…" : arg) + "'";
  }
  return text;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

namespace {

Result run_program(std::vector<std::string> words, const Environment& changes) {
  const Folder folder;
  const std::string out = folder / "out", err = folder / "err";
  const auto began = std::chrono::steady_clock::now();
  const pid_t child = start(words, changes, out, err);
  int status = 0;
  struct rusage usage {};
  REQUIRE(::wait4(child, &status, 0, &usage) == child);
  Result result;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  result.peak_mb = static_cast<double>(usage.ru_maxrss) / 1e3;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = read_bytes(out);
  result.err = read_bytes(err);
  INFO(shown({words.begin() + 1, words.end()}), "\n", result.err);
  CHECK(result.status < 126);
  CHECK_FALSE(contains(result.err, "Sanitizer"));
  CHECK_FALSE(contains(result.err, "runtime error"));
  return result;
}

}  // namespace

Result run(const Args& args, const Environment& changes) {
  return run_program(joined({HEADLIGHT_BINARY}, args), changes);
}

Result run_shell(const std::string& line) {
  return run_program({"/bin/sh", "-c", line}, {{"HEADLIGHT", HEADLIGHT_BINARY}});
}

void run_and_kill(const Args& args, const std::function<bool()>& enough, bool may_end) {
  const Folder folder;
  const pid_t child = start(joined({HEADLIGHT_BINARY}, args), {}, folder / "out", folder / "err");
  int status = 0;
  bool runs = true;
  while (runs && !enough()) {
    ::usleep(2000);
    runs = ::waitpid(child, &status, WNOHANG) == 0;
  }
  if (runs) {
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
  }
  INFO(shown(args), "\n", read_bytes(folder / "err"));
  CHECK((WIFSIGNALED(status) || (may_end && WEXITSTATUS(status) == 0)));
}

Result run_well(const Args& args, const Environment& changes) {
  Result result = run(args, changes);
  REQUIRE_MESSAGE(result.status == 0, shown(args), "\n", result.err);
  return result;
}

void check_refused(const Result& result, int status, const std::vector<std::string>& phrases) {
  INFO("stderr: ", result.err);
  CHECK(result.status == status);
  CHECK(result.out == "");
  CHECK(result.err.rfind("headlight: ", 0) == 0);
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK(result.err.size() < 1000);
  for (const std::string& phrase : phrases) {
    INFO("should say: ", phrase);
    CHECK(contains(result.err, phrase));
  }
}

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "headlight-test-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Folder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name, std::ios::binary) << text;
  return (path_ / name).string();
}

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file.good(), path, " was not written");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

SafetensorsFile read_safetensors(const std::string& path) {
  return parse_safetensors(read_bytes(path));
}

Exported export_run(const Args& model) {
  const Folder folder;
  const std::string trace = folder / "trace.safetensors", weights = folder / "weights.safetensors";
  run_well(joined({"trace", "--out", trace, "--weights-out", weights}, model));
  return {read_safetensors(trace), read_safetensors(weights)};
}

Args joined(Args start, const Args& more) {
  start.insert(start.end(), more.begin(), more.end());
  return start;
}

namespace {

// Prints why the calling test is skipped; where OpenGL is required, that is a failure.
bool succeeded(const Result& tried, const char* what) {
  if (tried.status == 0) return true;
  std::cout << "SKIPPED: " << what << ". " << tried.err << std::endl;
  const char* required = std::getenv("HEADLIGHT_REQUIRE_GL");
  if (required && std::string(required) != "0") FAIL_CHECK("OpenGL is required here: ", tried.err);
  return false;
}

}  // namespace

bool can_draw() {
  static const Result tried = [] {
    const Folder folder;
    return run({"screenshot", "--size", "64x64", "--out", folder / "a.png"});
  }();
  return succeeded(tried, "no picture could be drawn");
}

bool can_compute() {
  static const Result tried =
      run({"trace", "--list", "--backend", "gl", "--layers", "1", "--d-model", "8"});
  return succeeded(tried, "the graphics card cannot compute");
}

}  // namespace headlight::test
