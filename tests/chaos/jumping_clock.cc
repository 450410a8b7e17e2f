// Preloaded into a program: its time of day is that of the machine plus the number of nanoseconds
// in the file that GALEN_CHAOS_CLOCK names, an int64 that may change at any time. Steady clocks are
// unchanged. A wait until a time of day follows the changed clock, like after somebody sets the
// clock of the machine: it is cut into short ones, and waits may end early by their own definition.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kSlice = kSecond / 10;
// Smaller values are not a time of day, but a time since the machine began.
constexpr std::int64_t kTimesOfDay = 1'000'000'000;

std::int64_t Offset() {
  static const volatile std::int64_t* const offset = [] {
    static const std::int64_t none = 0;
    const char* name = std::getenv("GALEN_CHAOS_CLOCK");
    const int fd = name == nullptr ? -1 : open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return &none;
    void* at = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    return at == MAP_FAILED ? &none : static_cast<const std::int64_t*>(at);
  }();
  return *offset;
}

template <typename F>
F* Real(const char* name, const char* version = nullptr) {
  return reinterpret_cast<F*>(version == nullptr ? dlsym(RTLD_NEXT, name)
                                                 : dlvsym(RTLD_NEXT, name, version));
}

int RealTime(clockid_t clock, timespec* time) {
  static const auto real = Real<int(clockid_t, timespec*)>("clock_gettime");
  return real(clock, time);
}

std::int64_t Nanoseconds(const timespec& time) {
  // Later times count as infinite.
  return std::min<std::int64_t>(time.tv_sec, std::int64_t{1} << 32) * kSecond + time.tv_nsec;
}

timespec Time(std::int64_t nanoseconds) {
  return {static_cast<time_t>(nanoseconds / kSecond), static_cast<long>(nanoseconds % kSecond)};
}

std::int64_t MachinesTime() {
  timespec now{};
  RealTime(CLOCK_REALTIME, &now);
  return Nanoseconds(now);
}

bool IsPast(const timespec& until) { return MachinesTime() + Offset() >= Nanoseconds(until); }

// Until when to wait by the machine's clock, at most for a slice.
timespec Slice(const timespec& until) {
  const std::int64_t now = MachinesTime();
  return Time(std::clamp(Nanoseconds(until) - Offset(), now, now + kSlice));
}

bool IsTimeOfDay(const timespec* until) { return until != nullptr && until->tv_sec > kTimesOfDay; }

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int result = RealTime(clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    *time = Time(Nanoseconds(*time) + Offset());
  }
  return result;
}

int gettimeofday(timeval* time, void*) noexcept {
  const timespec now = Time(MachinesTime() + Offset());
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* time) noexcept {
  const time_t now = (MachinesTime() + Offset()) / kSecond;
  if (time != nullptr) *time = now;
  return now;
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
  static const auto real = Real<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)>(
      "pthread_cond_timedwait", "GLIBC_2.3.2");
  if (!IsTimeOfDay(until)) return real(condition, mutex, until);
  if (IsPast(*until)) return ETIMEDOUT;
  const timespec slice = Slice(*until);
  const int result = real(condition, mutex, &slice);
  return result == ETIMEDOUT && !IsPast(*until) ? 0 : result;
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  static const auto real = Real<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>(
      "pthread_cond_clockwait");
  if (clock == CLOCK_REALTIME) return pthread_cond_timedwait(condition, mutex, until);
  return real(condition, mutex, clock, until);
}

int sem_timedwait(sem_t* semaphore, const timespec* until) {
  static const auto real = Real<int(sem_t*, const timespec*)>("sem_timedwait");
  for (;;) {
    const timespec slice = Slice(*until);
    const int result = real(semaphore, &slice);
    if (result == 0 || errno != ETIMEDOUT || IsPast(*until)) return result;
  }
}

// Abseil waits with this one.
long syscall(long number, ...) noexcept {
  static const auto real = Real<long(long, ...)>("syscall");
  va_list list;
  va_start(list, number);
  long words[6];
  for (long& word : words) word = va_arg(list, long);
  va_end(list);
  const auto* until = reinterpret_cast<const timespec*>(words[3]);
  const bool waits = number == SYS_futex && (words[1] & FUTEX_CLOCK_REALTIME) != 0 &&
                     (words[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && IsTimeOfDay(until);
  if (!waits) return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
  const timespec slice = Slice(*until);
  const long result = real(number, words[0], words[1], words[2], &slice, words[4], words[5]);
  if (result == -1 && errno == ETIMEDOUT && !IsPast(*until)) errno = EINTR;
  return result;
}

}  // extern "C"
