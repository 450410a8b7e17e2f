// Preloaded into a redis-server: a disk that takes SLOW_FSYNC_US microseconds longer to sync.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

extern "C" int fdatasync(int fd) {  // what Redis syncs with (redis_fsync of its config.h)
  static const auto real = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "fdatasync"));
  static const char* const slow = std::getenv("SLOW_FSYNC_US");
  if (slow != nullptr) usleep(static_cast<useconds_t>(std::atoi(slow)));
  return real(fd);
}
