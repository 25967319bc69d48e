// A library to preload (LD_PRELOAD) with which the clocks of a process can be set while it runs
// (set_clock.h), for all of it: what reads a clock, and what waits until a time by one. As the
// kernel does when a clock is set, a wait goes by what the clock shows by then, not by what it
// showed when the wait began: it is done in slices, and each reads the offset anew. A library that
// hooked the readings alone would show the opposite of the truth. Relative waits (poll, nanosleep)
// go by no clock that can be set.
#include "tests/integration/client/set_clock.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

constexpr int64_t kSecond = 1'000'000'000;  // nanoseconds
constexpr int64_t kSlice = kSecond / 20;
// 20 years. Readings in a loop take the wall clock no further: 64 bits end, and so must the loop.
constexpr int64_t kFarthest = kSecond * 3600 * 24 * 365 * 20;

// The next definition of `name`. Without a guard, which might wait itself.
template <typename Function>
Function Next(std::atomic<Function>* kept, const char* name, const char* version = nullptr) {
  if (Function known = kept->load(); known != nullptr) return known;
  void* found = version != nullptr ? dlvsym(RTLD_NEXT, name, version) : nullptr;
  if (found == nullptr) found = dlsym(RTLD_NEXT, name);
  kept->store(reinterpret_cast<Function>(found));
  return kept->load();
}

halograph::ClockOffsets* MapOffsets() {
  static halograph::ClockOffsets right;
  const char* path = std::getenv(halograph::kClockVariable);
  const int fd = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return &right;
  void* mapped = mmap(nullptr, sizeof(right), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return mapped == MAP_FAILED ? &right : static_cast<halograph::ClockOffsets*>(mapped);
}

halograph::ClockOffsets& Offsets() {
  static std::atomic<halograph::ClockOffsets*> mapped{nullptr};
  if (mapped.load() == nullptr) mapped.store(MapOffsets());
  return *mapped.load();
}

int64_t OffsetOf(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
      return Offsets().wall_ns;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
      return Offsets().steady_ns;
    default:
      return 0;
  }
}

int64_t ToNs(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }

timespec ToTime(int64_t ns) {
  int64_t seconds = ns / kSecond;
  if (ns % kSecond < 0) --seconds;
  return {.tv_sec = seconds, .tv_nsec = ns - seconds * kSecond};
}

int RealTime(clockid_t clock, timespec* time) {
  static std::atomic<int (*)(clockid_t, timespec*)> next{nullptr};
  return Next(&next, "clock_gettime")(clock, time);
}

int Read(clockid_t clock, timespec* time) {
  const int result = RealTime(clock, time);
  if (result != 0) return result;
  *time = ToTime(ToNs(*time) + OffsetOf(clock));
  if (clock == CLOCK_REALTIME && std::abs(Offsets().wall_ns.load()) < kFarthest) {
    Offsets().wall_ns += Offsets().wall_ns_a_reading;
  }
  if (clock == CLOCK_MONOTONIC && Offsets().readings_to_hour > 0 &&
      --Offsets().readings_to_hour == 0) {
    Offsets().steady_ns += kSecond * 3600;
  }
  return 0;
}

// One slice of a wait until `clock` shows `until`.
struct Slice {
  Slice(clockid_t clock, const timespec& until) {
    timespec now{};
    RealTime(clock, &now);
    const int64_t target = ToNs(until) - OffsetOf(clock);
    last = target <= ToNs(now) + kSlice;
    end = ToTime(std::max<int64_t>(0, std::min(target, ToNs(now) + kSlice)));
  }
  timespec end;  // by the clock as it really is
  bool last;     // the clock shows `until` by then
};

// A wait that can be begun again without missing what it waits for. `wait` returns -1 with errno.
template <typename Wait>
long InSlices(clockid_t clock, const timespec& until, Wait wait) {
  while (true) {
    const Slice slice(clock, until);
    const long result = wait(slice.end);
    if (result != -1 || errno != ETIMEDOUT || slice.last) return result;
  }
}

// Of a condition variable, which may be woken without a reason: that is what the end of a slice is.
int CondResult(int result, const Slice& slice) {
  return result == ETIMEDOUT && !slice.last ? 0 : result;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept { return Read(clock, time); }

int gettimeofday(timeval* time, void* /*zone*/) noexcept {
  timespec now{};
  Read(CLOCK_REALTIME, &now);
  *time = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* time) noexcept {
  timespec now{};
  Read(CLOCK_REALTIME, &now);
  if (time != nullptr) *time = now.tv_sec;
  return now.tv_sec;
}

int pthread_cond_timedwait(pthread_cond_t* cond, pthread_mutex_t* mutex, const timespec* until) {
  static std::atomic<int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*)> next{nullptr};
  const bool steady = (cond->__data.__wrefs & 2U) != 0;  // as pthread_condattr_setclock has set it
  const Slice slice(steady ? CLOCK_MONOTONIC : CLOCK_REALTIME, *until);
  const auto wait = Next(&next, "pthread_cond_timedwait", "GLIBC_2.3.2");
  return CondResult(wait(cond, mutex, &slice.end), slice);
}

int pthread_cond_clockwait(pthread_cond_t* cond, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  static std::atomic<int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)> next{
      nullptr};
  const Slice slice(clock, *until);
  return CondResult(Next(&next, "pthread_cond_clockwait")(cond, mutex, clock, &slice.end), slice);
}

int sem_timedwait(sem_t* semaphore, const timespec* until) {
  static std::atomic<int (*)(sem_t*, const timespec*)> next{nullptr};
  return static_cast<int>(InSlices(CLOCK_REALTIME, *until, [&](const timespec& end) -> long {
    return Next(&next, "sem_timedwait")(semaphore, &end);
  }));
}

// gRPC's thread of callbacks sleeps for a tenth of a second where it has been idle, until a time
// that it has just read: it reads the clock once more for how long that is. No clock that is set in
// the microseconds between may keep a test for an hour.
int nanosleep(const timespec* time, timespec* rest) {
  static std::atomic<int (*)(const timespec*, timespec*)> next{nullptr};
  constexpr timespec kIdle = {.tv_sec = 0, .tv_nsec = kSecond / 10};
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof(name));
  const bool idle = std::string_view(name) == "nexting_thread" && ToNs(*time) > ToNs(kIdle);
  return Next(&next, "nanosleep")(idle ? &kIdle : time, rest);
}

// Abseil, and so gRPC, waits by futexes of its own.
long syscall(long number, ...) noexcept {
  static std::atomic<long (*)(long, ...)> next{nullptr};
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& argument : a) argument = va_arg(list, long);
  va_end(list);
  const auto call = Next(&next, "syscall");
  if (number == SYS_clock_gettime) {
    return Read(static_cast<clockid_t>(a[0]), reinterpret_cast<timespec*>(a[1]));
  }
  const auto* until = reinterpret_cast<const timespec*>(a[3]);
  const bool waits_until =
      number == SYS_futex && until != nullptr && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
  if (!waits_until) return call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  const clockid_t clock = (a[1] & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  return InSlices(clock, *until, [&](const timespec& end) {
    return call(number, a[0], a[1], a[2], &end, a[4], a[5]);
  });
}

}  // extern "C"
