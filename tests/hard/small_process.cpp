#include "tests/hard/small_process.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>

#include "app/cli/out_of_memory.h"

namespace headlight::test {
namespace {

void limit_addresses(rlim_t bytes) {
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = bytes;
  ::setrlimit(RLIMIT_AS, &limit);
}

// A signal ends it as it would end the program: the test program has handlers of its own. It must
// not go on with the tests behind this one.
[[noreturn]] void act_and_end(const std::function<void()>& act) {
  constexpr unsigned kMostSeconds = 100;
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGTERM}) std::signal(signal, SIG_DFL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  prepare_for_no_memory();
  ::alarm(kMostSeconds);
  try {
    act();
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    std::fflush(stderr);
    ::_exit(1);
  } catch (...) {
    ::_exit(99);
  }
  std::fflush(stderr);
  ::_exit(0);
}

}  // namespace

EndedProcess run_in_copy(const std::function<void()>& act) {
  char name[] = "/tmp/headlight-test-XXXXXX";
  const int file = ::mkstemp(name);
  REQUIRE(file >= 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(file, STDERR_FILENO);
    act_and_end(act);
  }
  ::close(file);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  std::ifstream said(name);
  EndedProcess ended{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                     std::string(std::istreambuf_iterator<char>(said), {})};
  ::unlink(name);
  return ended;
}

void leave_addresses(std::uint64_t bytes) {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t pages = 0;
  statm >> pages;
  limit_addresses(pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE)) + bytes);
}

void leave_all_addresses() {
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit_addresses(limit.rlim_max);
}

}  // namespace headlight::test
