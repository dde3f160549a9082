#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/io/atomic_file.h"
#include "core/io/atomic_folder.h"

namespace headlight::test_io_atomic_file {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kPlenty = 1 << 20;

// A folder of its own for each test, removed at the end.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "headlight_test_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::permissions(path, fs::perms::owner_all, ignored);
    fs::remove_all(path, ignored);
  }
  std::size_t count() const {
    std::size_t n = 0;
    for (auto it = fs::directory_iterator(path); it != fs::directory_iterator(); ++it) ++n;
    return n;
  }
};

std::string error_of_save(const fs::path& path, std::string_view bytes) {
  try {
    write_file_atomic(path, bytes);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// Runs `body` in a process of its own, whose limits and rights it may change; true when it says so.
template <class Body>
bool in_child(Body body) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    bool ok = false;
    try {
      ok = body();
    } catch (...) {
    }
    ::_exit(ok ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a file is written, read and replaced") {
  const Folder folder;
  const fs::path file = folder.path / "a b ü.bin";
  const std::string bytes("\0\x01\xFFtext\n", 8);
  write_file_atomic(file, bytes);
  CHECK(read_file(file, kPlenty) == bytes);
  write_file_atomic(file, "");
  CHECK(read_file(file, kPlenty).empty());
  const std::string large(3'000'000, 'x');
  write_file_atomic(file, large);
  CHECK(read_file(file, large.size()) == large);
  CHECK(folder.count() == 1);
}

TEST_CASE("a path without a folder is written to the current one") {
  const Folder folder;
  CHECK(in_child([&] {
    if (::chdir(folder.path.c_str()) != 0) return false;
    write_file_atomic("plain.txt", "here");
    return read_file("plain.txt", kPlenty) == "here";
  }));
  CHECK(read_file(folder.path / "plain.txt", kPlenty) == "here");
}

TEST_CASE("a disk that fills up leaves the old file and no temporary") {
  const Folder folder;
  const fs::path file = folder.path / "model.safetensors";
  write_file_atomic(file, "old");
  CHECK(in_child([&] {
    // A size limit on files makes `write` stop half way, as a full disk does.
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    const std::string message = error_of_save(file, std::string(100'000, 'n'));
    return contains(message, file.string()) && contains(message, "too large") &&
           contains(message, "Nothing that was there before has been changed");
  }));
  CHECK(read_file(file, kPlenty) == "old");
  CHECK(folder.count() == 1);
}

TEST_CASE("no space left is said in words") {
  if (!fs::exists("/dev/full")) {
    MESSAGE("skipped: this system has no /dev/full");
    return;
  }
  const std::string message = error_of_save("/dev/full", "x");
  CHECK(contains(message, "/dev/full"));
  CHECK(contains(message, "No space left"));
  CHECK(contains(message, "Free some space"));
  write_file_atomic("/dev/null", "x");
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("a folder that may not be written to") {
  const Folder folder;
  const fs::path file = folder.path / "old.txt";
  write_file_atomic(file, "old");
  REQUIRE(::chmod(file.c_str(), 0644) == 0);
  REQUIRE(::chmod(folder.path.c_str(), 0555) == 0);
  CHECK(in_child([&] {
    constexpr uid_t kNobody = 65534;
    if (::getuid() == 0 && ::setuid(kNobody) != 0) return false;
    return contains(error_of_save(file, "new"), "Permission denied") &&
           contains(error_of_save(folder.path / "new.txt", "new"), "Permission denied");
  }));
  CHECK(read_file(file, kPlenty) == "old");
  CHECK(folder.count() == 1);
}

TEST_CASE("paths that cannot be saved to") {
  const Folder folder;
  CHECK(contains(error_of_save(folder.path / "missing" / "x", "a"), "Create the folder"));
  CHECK(contains(error_of_save(folder.path, "a"), "this is a folder"));
  CHECK(contains(error_of_save(folder.path / "x" / "", "a"), "Add a file name"));
  CHECK(contains(error_of_save("", "a"), "Add a file name"));
  CHECK(contains(error_of_save(folder.path / std::string(300, 'x'), "a"), "shorter name"));
  fs::create_symlink("loop", folder.path / "loop");
  CHECK(contains(error_of_save(folder.path / "loop", "a"), "circle"));
  CHECK(folder.count() == 1);
}

TEST_CASE("a symbolic link stays one") {
  const Folder folder;
  fs::create_directory(folder.path / "sub");
  const fs::path real = folder.path / "sub" / "real.txt";
  write_file_atomic(real, "old");
  fs::create_symlink("sub/real.txt", folder.path / "link");
  fs::create_symlink(folder.path / "link", folder.path / "link2");
  write_file_atomic(folder.path / "link2", "new");
  CHECK(fs::is_symlink(folder.path / "link"));
  CHECK(fs::is_symlink(folder.path / "link2"));
  CHECK(read_file(real, kPlenty) == "new");
  // A link to a file that is not there yet makes the file.
  fs::create_symlink("sub/later.txt", folder.path / "dangling");
  write_file_atomic(folder.path / "dangling", "made");
  CHECK(fs::is_symlink(folder.path / "dangling"));
  CHECK(read_file(folder.path / "sub" / "later.txt", kPlenty) == "made");
}

TEST_CASE("permissions of an existing file are kept") {
  const Folder folder;
  const fs::path file = folder.path / "private.txt";
  write_file_atomic(file, "old");
  for (const mode_t mode : {0600u, 0664u}) {
    REQUIRE(::chmod(file.c_str(), mode) == 0);
    write_file_atomic(file, "new");
    CHECK((static_cast<unsigned>(fs::status(file).permissions()) & 0777u) == mode);
  }
}

TEST_CASE("read_file refuses what is missing, a folder or too large") {
  const Folder folder;
  const fs::path file = folder.path / "five.txt";
  write_file_atomic(file, "12345");
  CHECK(read_file(file, 5) == "12345");
  const auto error_of = [](const fs::path& path, std::uint64_t max) -> std::string {
    try {
      (void)read_file(path, max);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  CHECK(contains(error_of(file, 4), "at most 4 bytes, but it has 5"));
  CHECK(contains(error_of(folder.path / "none", 4), "Check the spelling"));
  CHECK(contains(error_of(folder.path, 4), "this is a folder"));
  CHECK(contains(error_of("/dev/zero", 100'000), "at most 100000"));
}

// ---- what a killed program leaves ----

namespace {

// Of a process that is no more.
pid_t ended_process() {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  return child;
}

std::string left_by(pid_t pid) { return ".headlight-" + std::to_string(pid) + "-0.tmp"; }

void put(const fs::path& path, const char* text) { std::ofstream(path) << text; }

}  // namespace

TEST_CASE("atomic save: what a killed program left beside it goes at the next save") {
  const Folder folder;
  const pid_t gone = ended_process();
  const fs::path file = folder.path / left_by(gone), kept = folder.path / left_by(::getppid());
  put(file, "half a session");
  put(kept, "of a program that runs");
  put(folder.path / ".headlight-x-0.tmp", "of nobody");
  put(folder.path / (left_by(gone) + ".old"), "of nobody");
  write_file_atomic(folder.path / "a.txt", "a");
  CHECK_FALSE(fs::exists(file));
  CHECK(fs::exists(kept));
  CHECK(folder.count() == 4);
  // The same number again: a process that runs now, as in a container.
  put(folder.path / left_by(::getpid()), "half");
  write_file_atomic(folder.path / "a.txt", "b");
  CHECK(folder.count() == 4);
  CHECK(read_file(folder.path / "a.txt", kPlenty) == "b");
}

TEST_CASE("atomic save: what is being made on another machine stays") {
  const Folder folder;
  const fs::path file = folder.path / left_by(ended_process());
  put(file, "half");
  const int fd = ::open(file.c_str(), O_RDONLY);
  REQUIRE(::flock(fd, LOCK_EX) == 0);
  write_file_atomic(folder.path / "a.txt", "a");
  CHECK(fs::exists(file));
  ::close(fd);
  write_file_atomic(folder.path / "a.txt", "a");
  CHECK_FALSE(fs::exists(file));
}

TEST_CASE("atomic save: a folder that was left goes, but for what is nowhere else") {
  const Folder folder;
  const auto leave = [&] {
    const fs::path left = folder.path / left_by(ended_process());
    fs::create_directory(left);
    put(left / "model.safetensors", "all weights");
    put(left / "config.json", "{}");
    fs::create_hard_link(folder.path / "notes.txt", left / "notes.txt");
    return left;
  };
  put(folder.path / "notes.txt", "mine");
  const std::vector<headlight::FolderFile> files = {{"config.json", "{}"}};
  const std::vector<std::string_view> own = {"config.json"};
  const fs::path left = leave();
  headlight::write_folder_atomic(folder.path / "model", files, own);
  CHECK_FALSE(fs::exists(left));
  CHECK(read_file(folder.path / "notes.txt", kPlenty) == "mine");
  const fs::path other = leave();
  put(other / "only.txt", "nowhere else");
  headlight::write_folder_atomic(folder.path / "model", files, own);
  CHECK(read_file(other / "only.txt", kPlenty) == "nowhere else");
  CHECK_FALSE(fs::exists(other / "model.safetensors"));
}

// Several at once in one folder: none takes another's for left.
TEST_CASE("atomic save: saves of several threads beside each other all succeed") {
  const Folder folder;
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        if (!error_of_save(folder.path / ("f" + std::to_string(t)), "text").empty()) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failed == 0);
  CHECK(folder.count() == 4);
}

}  // namespace headlight::test_io_atomic_file
