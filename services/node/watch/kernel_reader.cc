#include "services/node/watch/kernel_reader.h"

#include <fcntl.h>
#include <sys/klog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace galen::node {
namespace {

// Records that one call takes: a kernel that prints without end must not keep the caller.
constexpr int kMostRecords = 1000;
// The longest record of the kernel (CONSOLE_EXT_LOG_MAX).
constexpr std::size_t kRecordBytes = 8192;

// No gap is larger: a number that says so is wrong.
constexpr std::uint64_t kMostLost = std::uint64_t{1} << 40;

// Number of a record, its second field.
std::optional<std::uint64_t> SequenceOf(absl::string_view record) {
  const std::vector<absl::string_view> fields = absl::StrSplit(record, absl::MaxSplits(',', 2));
  std::uint64_t number = 0;
  if (fields.size() < 3 || !absl::SimpleAtoi(fields[1], &number)) return std::nullopt;
  return number;
}

class KmsgReader final : public KernelReader {
 public:
  KmsgReader(host::FileDescriptor descriptor, ReadRecord read)
      : descriptor_(std::move(descriptor)), read_(std::move(read)) {}

  int descriptor() const override { return descriptor_.get(); }

  absl::Status Read(absl::FunctionRef<void(absl::string_view)> on_line,
                    absl::FunctionRef<void(std::int64_t)> on_lost) override {
    for (int i = 0; i < kMostRecords; ++i) {
      const ssize_t size = read_(buffer_.data(), buffer_.size());
      if (size < 0 && errno == EAGAIN) return absl::OkStatus();
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && errno == EPIPE) continue;  // overrun: the gap in the numbers says how far
      // A record longer than the buffer, which no kernel writes: the next read is of the next one.
      if (size < 0 && errno == EINVAL) continue;
      if (size <= 0) {
        return absl::UnavailableError(
            absl::StrCat("/dev/kmsg: ", size == 0 ? "ended" : std::strerror(errno)));
      }
      const absl::string_view record(buffer_.data(), static_cast<std::size_t>(size));
      const std::optional<std::uint64_t> number = SequenceOf(record);
      if (!number.has_value()) continue;
      if (last_.has_value() && *number > *last_ && *number - *last_ > 1) {
        on_lost(static_cast<std::int64_t>(std::min(*number - *last_ - 1, kMostLost)));
      }
      last_ = number;
      on_line(LineOfRecord(record));
    }
    return absl::OkStatus();
  }

 private:
  const host::FileDescriptor descriptor_;
  const ReadRecord read_;
  std::optional<std::uint64_t> last_;
  std::array<char, kRecordBytes> buffer_;
};

class CopyReader final : public KernelReader {
 public:
  explicit CopyReader(std::function<absl::StatusOr<std::string>()> read) : read_(std::move(read)) {
    // Skips the lines that exist already.
    static_cast<void>(Read([](absl::string_view) {}, [](std::int64_t) {}));
  }

  int descriptor() const override { return -1; }

  absl::Status Read(absl::FunctionRef<void(absl::string_view)> on_line,
                    absl::FunctionRef<void(std::int64_t)> on_lost) override {
    absl::StatusOr<std::string> log = read_();
    if (!log.ok()) return log.status();
    absl::string_view text = *log;
    if (!last_.empty()) {
      // Everything behind the last line that is known. Lines carry their time, so it occurs once.
      const std::size_t at = text.rfind(last_);
      if (at != absl::string_view::npos) {
        text.remove_prefix(std::min(text.size(), at + last_.size()));
      } else {
        on_lost(1);  // at least: the ring went round between two copies
      }
    }
    for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      on_line(WithoutPriority(line));
      last_ = absl::StrCat(line, "\n");
    }
    return absl::OkStatus();
  }

 private:
  // "<6>[    1.5] text"
  static absl::string_view WithoutPriority(absl::string_view line) {
    if (line.empty() || line[0] != '<') return line;
    const std::size_t end = line.find('>');
    return end == absl::string_view::npos || end > 4 ? line : line.substr(end + 1);
  }

  const std::function<absl::StatusOr<std::string>()> read_;
  std::string last_;
};

absl::StatusOr<std::string> CopyOfKernelLog() {
  // Names of these are not in sys/klog.h; man 2 syslog.
  constexpr int kReadAll = 3;
  constexpr int kSizeOfBuffer = 10;
  const int size = klogctl(kSizeOfBuffer, nullptr, 0);
  if (size < 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("the kernel log: ", std::strerror(errno),
                     "; run as root, or give the container CAP_SYSLOG or /dev/kmsg"));
  }
  std::string log(static_cast<std::size_t>(size), '\0');
  const int got = klogctl(kReadAll, log.data(), size);
  if (got < 0) {
    return absl::PermissionDeniedError(absl::StrCat("the kernel log: ", std::strerror(errno)));
  }
  log.resize(static_cast<std::size_t>(got));
  return log;
}

}  // namespace

std::string LineOfRecord(absl::string_view record) {
  // The lines after the first describe the device, in the driver core's format.
  record = record.substr(0, record.find('\n'));
  std::string line;
  line.reserve(record.size());
  for (std::size_t i = 0; i < record.size(); ++i) {
    if (record[i] == '\\' && i + 3 < record.size() && record[i + 1] == 'x') {
      std::uint32_t byte = 0;
      if (absl::SimpleHexAtoi(record.substr(i + 2, 2), &byte)) {
        line += byte >= 0x20 && byte != 0x7f ? static_cast<char>(byte) : ' ';
        i += 3;
        continue;
      }
    }
    line += record[i];
  }
  return line;
}

std::unique_ptr<KernelReader> ReadKmsg(host::FileDescriptor descriptor, ReadRecord read) {
  return std::make_unique<KmsgReader>(std::move(descriptor), std::move(read));
}

std::unique_ptr<KernelReader> ReadCopies(std::function<absl::StatusOr<std::string>()> read) {
  return std::make_unique<CopyReader>(std::move(read));
}

absl::StatusOr<std::unique_ptr<KernelReader>> OpenKernelLog() {
  host::FileDescriptor descriptor(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (descriptor.is_open() && lseek(descriptor.get(), 0, SEEK_END) == 0) {
    const int fd = descriptor.get();
    return ReadKmsg(std::move(descriptor),
                    [fd](char* buffer, std::size_t size) { return read(fd, buffer, size); });
  }
  if (const auto copy = CopyOfKernelLog(); !copy.ok()) return copy.status();
  return ReadCopies(CopyOfKernelLog);
}

}  // namespace galen::node
