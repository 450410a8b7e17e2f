#ifndef SERVICES_NODE_WATCH_KERNEL_READER_H_
#define SERVICES_NODE_WATCH_KERNEL_READER_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/host/file_descriptor.h"

namespace galen::node {

// Follows the kernel log from where it stands. Not thread-safe.
class KernelReader {
 public:
  virtual ~KernelReader() = default;
  // Becomes readable when there is a new line; -1: ask once a second.
  virtual int descriptor() const = 0;
  // Gives the lines that came since the last call, in a form that ParseKernelLine reads, and how
  // many there were that the kernel had dropped already; never blocks, and takes a bounded number
  // at a time. The error when no more can be read.
  virtual absl::Status Read(absl::FunctionRef<void(absl::string_view line)> on_line,
                            absl::FunctionRef<void(std::int64_t lost)> on_lost) = 0;
};

// A read(2) of the device: one record a call, -1 with errno.
using ReadRecord = std::function<ssize_t(char* buffer, std::size_t size)>;

// By records of /dev/kmsg. `descriptor` must not block.
std::unique_ptr<KernelReader> ReadKmsg(host::FileDescriptor descriptor, ReadRecord read);

// By copies of the whole log (syslog(2)), each compared with the one before: for containers without
// /dev/kmsg. `read` gives the log, or an error.
std::unique_ptr<KernelReader> ReadCopies(std::function<absl::StatusOr<std::string>()> read);

// /dev/kmsg, or copies where that cannot be opened. PERMISSION_DENIED when neither may be read.
absl::StatusOr<std::unique_ptr<KernelReader>> OpenKernelLog();

// The text of a record ("6,1234,5678,-;message\n KEY=value\n") as one line, its escapes (\x0a)
// replaced by the bytes they stand for, where printable, else by a blank.
std::string LineOfRecord(absl::string_view record);

}  // namespace galen::node

#endif  // SERVICES_NODE_WATCH_KERNEL_READER_H_
