#include "core/io/mapped_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <new>

namespace headlight {
namespace {

// ---- the guard: what happens when a page of a mapped file is no more ----
//
// The system tells it with a signal, and a handler finds nothing but what the whole process shares.
// So the mapped ranges stand in a table here, which the handler only reads and marks.

constexpr std::uintptr_t kNowhere = UINTPTR_MAX;

struct GuardedRange {
  std::atomic<std::uintptr_t> begin{0}, end{0};  // of whole pages; 0: free
  std::atomic<std::uintptr_t> lost{kNowhere};    // the first address that could not be read
};

constexpr int kSlots = 16;
std::array<GuardedRange, kSlots> slots;
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);

std::mutex install_mutex;  // guards what follows; the handler reads `previous` alone
int mapped_count = 0;
bool is_installed = false;
struct sigaction previous;

// What would have happened without the guard.
void hand_on(int signal, siginfo_t* info, void* context) {
  if (previous.sa_flags & SA_SIGINFO) return previous.sa_sigaction(signal, info, context);
  const bool is_function = previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN;
  if (is_function) return previous.sa_handler(signal);
  // Nobody else looks: the instruction runs again and ends the program as it would have.
  struct sigaction as_usual {};
  as_usual.sa_handler = SIG_DFL;
  ::sigaction(SIGBUS, &as_usual, nullptr);
}

// Zeros take the place of the lost page and of all behind it. Whatever this calls only asks the
// system: it takes no lock and no memory of the program's.
void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (GuardedRange& slot : slots) {
    const std::uintptr_t begin = slot.begin.load(), end = slot.end.load();
    if (info->si_code != BUS_ADRERR || at < begin || at >= end) continue;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const std::uintptr_t from = at / page * page;
    void* zeros = ::mmap(reinterpret_cast<void*>(from), end - from, PROT_READ,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (zeros == MAP_FAILED) break;
    std::uintptr_t before = slot.lost.load();
    while (from < before && !slot.lost.compare_exchange_weak(before, from)) {
    }
    errno = error;
    return;
  }
  errno = error;
  hand_on(signal, info, context);
}

// The place of a new range in the table; -1: it is full.
int guard(std::uintptr_t begin, std::uintptr_t end) {
  const std::lock_guard lock(install_mutex);
  for (int i = 0; i < kSlots; ++i) {
    GuardedRange& slot = slots[static_cast<std::size_t>(i)];
    if (slot.begin.load() != 0) continue;
    ++mapped_count;
    if (!is_installed) {
      is_installed = true;
      struct sigaction ours {};
      ours.sa_sigaction = on_bus_error;
      ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
      ::sigemptyset(&ours.sa_mask);
      ::sigaction(SIGBUS, nullptr, &previous);  // known before it can be needed
      ::sigaction(SIGBUS, &ours, nullptr);
    }
    slot.lost = kNowhere;
    slot.end = end;
    slot.begin = begin;
    return i;
  }
  return -1;
}

void leave_guard(int place) {
  const std::lock_guard lock(install_mutex);
  GuardedRange& slot = slots[static_cast<std::size_t>(place)];
  slot.end = 0;
  slot.begin = 0;
  if (--mapped_count > 0) return;
  struct sigaction now {};
  ::sigaction(SIGBUS, nullptr, &now);
  // Whoever has come since may hand on to ours: then it stays.
  if (!(now.sa_flags & SA_SIGINFO) || now.sa_sigaction != on_bus_error) return;
  is_installed = false;
  ::sigaction(SIGBUS, &previous, nullptr);
}

std::size_t page_size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

std::unique_ptr<MappedFile> MappedFile::map(int fd, std::size_t size) {
  struct stat info {};
  if (size == 0 || ::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return nullptr;
  const int own = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return nullptr;
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, own, 0);
  if (at == MAP_FAILED) {
    ::close(own);
    return nullptr;
  }
  (void)::madvise(at, size, MADV_SEQUENTIAL);
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  const std::size_t page = page_size();
  const int slot = guard(begin, begin + (size + page - 1) / page * page);
  if (slot < 0) {
    ::munmap(at, size);
    ::close(own);
    return nullptr;
  }
  return std::unique_ptr<MappedFile>(new MappedFile(own, static_cast<const char*>(at), size, slot));
}

MappedFile::MappedFile(int fd, const char* begin, std::size_t size, int slot)
    : fd_(fd), begin_(begin), size_(size), slot_(slot) {
  struct stat info {};
  (void)::fstat(fd_, &info);
  whole_ = static_cast<std::size_t>(info.st_size);
  seconds_ = info.st_mtim.tv_sec;
  nano_ = info.st_mtim.tv_nsec;
}

MappedFile::~MappedFile() {
  leave_guard(slot_);
  ::munmap(const_cast<char*>(begin_), size_);
  ::close(fd_);
}

void MappedFile::passed(std::size_t count) {
  const std::size_t whole = std::min(count, size_) / page_size() * page_size();
  if (whole < passed_) passed_ = 0;  // it is read from the front again
  if (whole == passed_) return;
  (void)::madvise(const_cast<char*>(begin_) + passed_, whole - passed_, MADV_DONTNEED);
  passed_ = whole;
}

std::size_t MappedFile::left() const {
  struct stat info {};
  std::size_t left = size_;
  if (::fstat(fd_, &info) == 0)
    left = std::min(left, static_cast<std::size_t>(std::max<off_t>(info.st_size, 0)));
  const std::uintptr_t lost = slots[static_cast<std::size_t>(slot_)].lost.load();
  if (lost == kNowhere) return left;
  return std::min<std::size_t>(left, lost - reinterpret_cast<std::uintptr_t>(begin_));
}

MappedFile::State MappedFile::state() const {
  struct stat info {};
  const bool known = ::fstat(fd_, &info) == 0;
  const auto size = static_cast<std::size_t>(known ? std::max<off_t>(info.st_size, 0) : 0);
  const bool written = known && (info.st_mtim.tv_sec != seconds_ || info.st_mtim.tv_nsec != nano_);
  const bool lost = slots[static_cast<std::size_t>(slot_)].lost.load() != kNowhere;
  if (known && (size < size_ || (lost && written))) return State::kShorter;
  if (lost) return State::kUnreadable;
  return written && size == whole_ ? State::kWritten : State::kWhole;
}

namespace {

// The whole pages that the range lies in.
struct PageRange {
  void* begin;
  std::size_t size;
};
PageRange pages_of(const void* begin, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto from = reinterpret_cast<std::uintptr_t>(begin) / page * page;
  const auto to = (reinterpret_cast<std::uintptr_t>(begin) + bytes + page - 1) / page * page;
  return {reinterpret_cast<void*>(from), to - from};
}

}  // namespace

void will_read(std::string_view bytes) {
  if (bytes.empty()) return;
  const PageRange pages = pages_of(bytes.data(), bytes.size());
#ifdef MADV_POPULATE_READ
  if (::madvise(pages.begin, pages.size, MADV_POPULATE_READ) == 0) return;
#endif
  (void)::madvise(pages.begin, pages.size, MADV_WILLNEED);
}

void was_read(std::string_view bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  // Others may still read what shares a page with these.
  const auto from = (reinterpret_cast<std::uintptr_t>(bytes.data()) + page - 1) / page * page;
  const auto to = reinterpret_cast<std::uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (to > from) (void)::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

}  // namespace headlight
