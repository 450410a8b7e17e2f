#ifndef TESTS_TESTING_LEASED_FILE_H_
#define TESTS_TESTING_LEASED_FILE_H_

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <string>

namespace galen::testing {

// Simulates a file on a file system that does not answer: opening or executing it waits until the
// lease (fcntl(2), F_SETLEASE) is released, at most for /proc/sys/fs/lease-break-time.
class LeasedFile {
 public:
  // The file must not be open anywhere.
  explicit LeasedFile(const std::string& path)
      // The kernel asks for the lease by SIGIO.
      : before_(signal(SIGIO, SIG_IGN)), fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    held_ = fd_ >= 0 && fcntl(fd_, F_SETLEASE, F_WRLCK) == 0;
  }
  ~LeasedFile() {
    GiveBack();
    if (fd_ >= 0) close(fd_);
    signal(SIGIO, before_);
  }
  LeasedFile(const LeasedFile&) = delete;
  LeasedFile& operator=(const LeasedFile&) = delete;

  // False if the file system does not support leases.
  bool held() const { return held_; }
  void GiveBack() {
    if (held_) fcntl(fd_, F_SETLEASE, F_UNLCK);
    held_ = false;
  }

 private:
  void (*before_)(int);
  int fd_ = -1;
  bool held_ = false;
};

}  // namespace galen::testing

#endif  // TESTS_TESTING_LEASED_FILE_H_
