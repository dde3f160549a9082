// The environment of the library: HEADLIGHT_FAULT_FOLDER, _AT, _ERROR (a number) and _STAYS as in
// faults.h. HEADLIGHT_FAULT_LOG names a file that gets a line for each call that was counted, and
// "FAILED" before those that were made to fail.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tests/hard/faults.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

char folder[PATH_MAX] = "", failed[PATH_MAX + 32] = "";
int fail_at = 0, fail_with = 0, log_file = -1;
bool fail_on = false;
std::atomic<int> seen{0};

// By its own number: what is logged is not to be counted.
void log_line(bool fails, const char* call, const char* path) {
  char line[PATH_MAX + 64];
  const int n = std::snprintf(line, sizeof line, "%s%s %s\n", fails ? "FAILED " : "", call, path);
  if (log_file >= 0 && n > 0)
    (void)!::syscall(SYS_write, log_file, line, static_cast<std::size_t>(n));
}

// True where this call is to fail; errno is then what it fails with.
bool fails(const char* call, const char* path) {
  const std::size_t size = std::strlen(folder);
  if (size == 0 || std::strncmp(path, folder, size) != 0) return false;
  const int n = ++seen;
  const bool now = fail_at > 0 && (n == fail_at || (fail_on && n > fail_at));
  log_line(now, call, path);
  if (!now) return false;
  if (failed[0] == 0) std::snprintf(failed, sizeof failed, "%s %s", call, path);
  errno = fail_with;
  return true;
}

// A path that begins at the current folder or at `at` is made whole.
bool fails_at(const char* call, int at, const char* path) {
  if (!path) return false;
  if (path[0] == '/') return fails(call, path);
  char begin[PATH_MAX] = "", link[64] = "/proc/self/cwd", whole[2 * PATH_MAX];
  if (at != AT_FDCWD) std::snprintf(link, sizeof link, "/proc/self/fd/%d", at);
  if (::readlink(link, begin, sizeof begin - 1) < 0) return false;
  std::snprintf(whole, sizeof whole, "%s/%s", begin, path);
  return fails(call, whole);
}

bool fails_fd(const char* call, int fd) {
  if (folder[0] == 0) return false;  // before anything else: this is every write of the program
  const int before = errno;
  char link[64], path[PATH_MAX] = "";
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const bool known = ::readlink(link, path, sizeof path - 1) > 0;
  errno = before;
  return known && fails(call, path);
}

bool writes(int flags) { return (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) != 0; }

template <class F>
F next(F, const char* name) {
  return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}

const char* from_environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

__attribute__((constructor)) void begin_from_environment() {
  const char* in = std::getenv("HEADLIGHT_FAULT_FOLDER");
  if (!in) return;
  if (const char* log = std::getenv("HEADLIGHT_FAULT_LOG"))
    log_file = static_cast<int>(
        ::syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  headlight_faults_begin(in, std::atoi(from_environment("HEADLIGHT_FAULT_AT", "0")),
                         std::atoi(from_environment("HEADLIGHT_FAULT_ERROR", "28")),
                         std::atoi(from_environment("HEADLIGHT_FAULT_STAYS", "0")) != 0);
}

// A stream of <cstdio> writes from inside the C library, where nothing can come between: so it
// writes through these.
struct Cookie {
  int fd;
};
ssize_t cookie_write(void* cookie, const char* bytes, std::size_t size) {
  const ssize_t n = ::write(static_cast<Cookie*>(cookie)->fd, bytes, size);
  return n < 0 ? 0 : n;  // 0: an error, errno stays
}
int cookie_close(void* cookie) {
  const int result = ::close(static_cast<Cookie*>(cookie)->fd);
  delete static_cast<Cookie*>(cookie);
  return result;
}

FILE* open_stream(const char* name, const char* path, const char* mode) {
  const bool writing = std::strpbrk(mode, "wa+") != nullptr;
  const std::size_t size = std::strlen(folder);
  if (!writing || size == 0 || std::strncmp(path, folder, size) != 0)
    return next(&std::fopen, name)(path, mode);
  const int flags = O_CREAT | O_CLOEXEC | (std::strchr(mode, '+') ? O_RDWR : O_WRONLY) |
                    (mode[0] == 'a' ? O_APPEND : O_TRUNC);
  const int fd = ::open(path, flags, 0666);
  if (fd < 0) return nullptr;
  cookie_io_functions_t calls{};
  calls.write = cookie_write;
  calls.close = cookie_close;
  return ::fopencookie(new Cookie{fd}, mode[0] == 'a' ? "a" : "w", calls);
}

// The mode behind the flags of open().
mode_t mode_of(int flags, va_list list) {
  return flags & (O_CREAT | O_TMPFILE) ? static_cast<mode_t>(va_arg(list, int)) : 0;
}

}  // namespace

// One line for each call: does it fail, else what the C library does.
#define HEADLIGHT_FAULT(result, name, parameters, test, ...) \
  result name parameters {                                   \
    if (test) return static_cast<result>(-1);                \
    static const auto real = next(&::name, #name);           \
    return real(__VA_ARGS__);                                \
  }

extern "C" {

void headlight_faults_begin(const char* in, int at, int error, bool stays) {
  std::snprintf(folder, sizeof folder, "%s", in);
  failed[0] = 0;
  fail_at = at;
  fail_with = error;
  fail_on = stays;
  seen = 0;
}
int headlight_faults_seen() { return seen; }
const char* headlight_faults_failed() { return failed; }

#define HEADLIGHT_OPEN(name)                                          \
  int name(const char* path, int flags, ...) {                        \
    va_list list;                                                     \
    va_start(list, flags);                                            \
    const mode_t mode = mode_of(flags, list);                         \
    va_end(list);                                                     \
    if (writes(flags) && fails_at("open", AT_FDCWD, path)) return -1; \
    static const auto real = next(&::name, #name);                    \
    return real(path, flags, mode);                                   \
  }
HEADLIGHT_OPEN(open)
HEADLIGHT_OPEN(open64)
#define HEADLIGHT_OPENAT(name)                                  \
  int name(int at, const char* path, int flags, ...) {          \
    va_list list;                                               \
    va_start(list, flags);                                      \
    const mode_t mode = mode_of(flags, list);                   \
    va_end(list);                                               \
    if (writes(flags) && fails_at("open", at, path)) return -1; \
    static const auto real = next(&::name, #name);              \
    return real(at, path, flags, mode);                         \
  }
HEADLIGHT_OPENAT(openat)
HEADLIGHT_OPENAT(openat64)

FILE* fopen(const char* path, const char* mode) { return open_stream("fopen", path, mode); }
FILE* fopen64(const char* path, const char* mode) { return open_stream("fopen64", path, mode); }

HEADLIGHT_FAULT(ssize_t, write, (int fd, const void* bytes, std::size_t size),
                fails_fd("write", fd), fd, bytes, size)
HEADLIGHT_FAULT(ssize_t, writev, (int fd, const iovec* parts, int count), fails_fd("write", fd), fd,
                parts, count)
HEADLIGHT_FAULT(ssize_t, pwrite, (int fd, const void* bytes, std::size_t size, off_t at),
                fails_fd("pwrite", fd), fd, bytes, size, at)
HEADLIGHT_FAULT(ssize_t, pwrite64, (int fd, const void* bytes, std::size_t size, off64_t at),
                fails_fd("pwrite", fd), fd, bytes, size, at)
HEADLIGHT_FAULT(ssize_t, sendfile, (int to, int from, off_t* at, std::size_t size),
                fails_fd("sendfile", to), to, from, at, size)
HEADLIGHT_FAULT(ssize_t, copy_file_range,
                (int from, off64_t* at, int to, off64_t* to_at, std::size_t size, unsigned flags),
                fails_fd("copy_file_range", to), from, at, to, to_at, size, flags)
HEADLIGHT_FAULT(int, fsync, (int fd), fails_fd("fsync", fd), fd)
HEADLIGHT_FAULT(int, fdatasync, (int fd), fails_fd("fsync", fd), fd)
HEADLIGHT_FAULT(int, ftruncate, (int fd, off_t size) noexcept, fails_fd("ftruncate", fd), fd, size)
HEADLIGHT_FAULT(int, ftruncate64, (int fd, off64_t size) noexcept, fails_fd("ftruncate", fd), fd,
                size)
HEADLIGHT_FAULT(int, fchmod, (int fd, mode_t mode) noexcept, fails_fd("fchmod", fd), fd, mode)
HEADLIGHT_FAULT(int, chmod, (const char* path, mode_t mode) noexcept,
                fails_at("chmod", AT_FDCWD, path), path, mode)
HEADLIGHT_FAULT(int, mkdir, (const char* path, mode_t mode) noexcept,
                fails_at("mkdir", AT_FDCWD, path), path, mode)
HEADLIGHT_FAULT(int, rename, (const char* from, const char* to) noexcept,
                fails_at("rename", AT_FDCWD, to), from, to)
HEADLIGHT_FAULT(int, renameat, (int at, const char* from, int to_at, const char* to) noexcept,
                fails_at("rename", to_at, to), at, from, to_at, to)
HEADLIGHT_FAULT(int, renameat2,
                (int at, const char* from, int to_at, const char* to, unsigned flags) noexcept,
                fails_at("rename", to_at, to), at, from, to_at, to, flags)
HEADLIGHT_FAULT(int, linkat,
                (int at, const char* from, int to_at, const char* to, int flags) noexcept,
                fails_at("link", to_at, to), at, from, to_at, to, flags)
}
