// Files that are mapped: what they hold, what becomes of them when the file is changed meanwhile,
// and that the guard leaves everybody else's bus errors alone.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/io/mapped_file.h"

namespace headlight::test_io_mapped_file {
namespace {

namespace fs = std::filesystem;
using State = MappedFile::State;

// A file that vanishes with the test; written long ago, so that whatever is written now shows.
class OldFile {
 public:
  explicit OldFile(const std::string& bytes) {
    static int made = 0;
    path_ = fs::temp_directory_path() /
            ("headlight-mapped-" + std::to_string(::getpid()) + "-" + std::to_string(++made));
    std::ofstream(path_, std::ios::binary) << bytes;
    fs::last_write_time(path_, fs::last_write_time(path_) - std::chrono::hours(1));
  }
  ~OldFile() { fs::remove(path_); }
  const fs::path& path() const { return path_; }
  std::unique_ptr<MappedFile> map() const {
    const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    auto mapped = MappedFile::map(fd, fs::file_size(path_));
    ::close(fd);
    return mapped;
  }

 private:
  fs::path path_;
};

std::string pages(std::size_t count) {
  return std::string(count * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), 'a');
}

bool all(std::string_view bytes, char c) {
  return std::all_of(bytes.begin(), bytes.end(), [&](char b) { return b == c; });
}

}  // namespace

TEST_CASE("mapped file: its bytes, also when it is deleted or grows") {
  const std::string bytes = pages(3) + "end";
  const OldFile file(bytes);
  const auto mapped = file.map();
  REQUIRE(mapped);
  std::ofstream(file.path(), std::ios::app) << "more";
  CHECK(mapped->bytes() == bytes);
  CHECK(mapped->state() == State::kWhole);
  mapped->passed(bytes.size());
  mapped->passed(10);
  fs::remove(file.path());
  CHECK(mapped->bytes() == bytes);  // from the file again
  CHECK(mapped->state() == State::kWhole);
}

TEST_CASE("mapped file: cut off, what is gone reads as zeros and is known to be gone") {
  const std::string bytes = pages(4);
  const std::size_t page = bytes.size() / 4;
  for (const std::size_t rest : {std::size_t{0}, page + 7, 3 * page}) {
    CAPTURE(rest);
    const OldFile file(bytes);
    const auto mapped = file.map();
    REQUIRE(mapped);
    CHECK(mapped->bytes().front() == 'a');
    fs::resize_file(file.path(), rest);
    CHECK(all(mapped->bytes().substr(0, rest), 'a'));
    CHECK(all(mapped->bytes().substr(rest), '\0'));
    CHECK(mapped->state() == State::kShorter);
    CHECK(mapped->left() == rest);
    // Whole again in size, but not in what was read.
    fs::resize_file(file.path(), bytes.size());
    CHECK(mapped->state() != State::kWhole);
  }
}

TEST_CASE("mapped file: other bytes in the place of the old ones are known") {
  const OldFile file(pages(2));
  const auto mapped = file.map();
  REQUIRE(mapped);
  std::fstream(file.path(), std::ios::in | std::ios::out | std::ios::binary) << "b";
  CHECK(mapped->state() == State::kWritten);
}

TEST_CASE("mapped file: what cannot be mapped, and more files than the guard has room for") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  CHECK_FALSE(MappedFile::map(ends[0], 10));
  ::close(ends[0]);
  ::close(ends[1]);
  CHECK_FALSE(OldFile("").map());
  const OldFile file("text");
  std::vector<std::unique_ptr<MappedFile>> many;
  while (many.size() < 1000) {
    auto mapped = file.map();
    if (!mapped) break;
    many.push_back(std::move(mapped));
  }
  CHECK(many.size() >= 8);
  CHECK(many.size() < 1000);
  many.pop_back();
  CHECK(file.map());
}

namespace {

sigjmp_buf away;
void jump_away(int) { siglongjmp(away, 1); }

// Reads a page that is no more, of a mapping that nobody guards; true when `jump_away` was told.
bool reads_lost_page() {
  const OldFile file(pages(1));
  const int fd = ::open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
  const std::size_t size = pages(1).size();
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  fs::resize_file(file.path(), 0);
  const bool told = sigsetjmp(away, 1) != 0;
  if (!told) (void)*static_cast<volatile const char*>(at);
  ::munmap(at, size);
  ::close(fd);
  return told;
}

}  // namespace

TEST_CASE("mapped file: bus errors elsewhere reach whoever was asked before") {
  struct sigaction mine {
  }, before{}, now{};
  mine.sa_handler = jump_away;
  REQUIRE(::sigaction(SIGBUS, &mine, &before) == 0);
  {
    const OldFile file(pages(1) + "text");
    const auto mapped = file.map();
    REQUIRE(mapped);
    CHECK(reads_lost_page());
    CHECK(mapped->state() == State::kWhole);
  }
  CHECK(reads_lost_page());
  ::sigaction(SIGBUS, nullptr, &now);
  CHECK((now.sa_handler == jump_away));
  ::sigaction(SIGBUS, &before, nullptr);
}

}  // namespace headlight::test_io_mapped_file
