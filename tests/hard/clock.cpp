// A clock that jumps, to be loaded before a program (LD_PRELOAD). HEADLIGHT_CLOCK_JUMPS is a list
// of "after:by", both in seconds, as "2:-3600,4:31536000": so long after the start the time of day
// jumps by so much (a person or the network has set it). HEADLIGHT_CLOCK_SLEEPS is the same of the
// clock that only runs forward, which some systems let go on while they sleep.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace {

timespec clock_of_system(clockid_t clock) {
  timespec now{};
  ::syscall(SYS_clock_gettime, clock, &now);
  return now;
}

double seconds_of(const timespec& t) {
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

const double started = seconds_of(clock_of_system(CLOCK_MONOTONIC));

// What all jumps of the list that have come make together.
long jumped(const char* list) {
  const double since = seconds_of(clock_of_system(CLOCK_MONOTONIC)) - started;
  long sum = 0;
  while (list && *list) {
    char* end = nullptr;
    const double after = std::strtod(list, &end);
    if (end == list || *end != ':') break;
    const char* by = end + 1;
    const long seconds = std::strtol(by, &end, 10);
    if (since >= after) sum += seconds;
    list = *end == ',' ? end + 1 : nullptr;
  }
  return sum;
}

long time_of_day_jumped() { return jumped(std::getenv("HEADLIGHT_CLOCK_JUMPS")); }
long steady_jumped() { return jumped(std::getenv("HEADLIGHT_CLOCK_SLEEPS")); }

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* out) noexcept {
  const long result = ::syscall(SYS_clock_gettime, clock, out);
  if (result != 0) return -1;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
    out->tv_sec += time_of_day_jumped();
  if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME)
    out->tv_sec += steady_jumped();
  return 0;
}

time_t time(time_t* out) noexcept {
  const time_t now = clock_of_system(CLOCK_REALTIME).tv_sec + time_of_day_jumped();
  if (out) *out = now;
  return now;
}

int gettimeofday(timeval* out, void*) noexcept {
  const timespec now = clock_of_system(CLOCK_REALTIME);
  out->tv_sec = now.tv_sec + time_of_day_jumped();
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}
}
