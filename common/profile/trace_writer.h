#ifndef COMMON_PROFILE_TRACE_WRITER_H_
#define COMMON_PROFILE_TRACE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/profile/json_stream.h"

namespace galen::profile {

// `text` as a string of JSON; its first 512 bytes.
std::string QuotedJson(absl::string_view text);

// Writes what another profiler recorded as events of Chrome's format, which ReadTrace() reads.
// Times are nanoseconds.
class TraceWriter {
 public:
  // `category`: "kernel", "gpu_memcpy" or "gpu_memset".
  void Operation(absl::string_view category, absl::string_view name, absl::string_view device,
                 absl::string_view stream, std::int64_t begin, std::int64_t end);
  // Work of the host for its GPUs.
  void Host(std::int64_t begin, std::int64_t end);
  // A step of one device; `device` "": of all.
  void Step(absl::string_view name, absl::string_view device, std::int64_t begin, std::int64_t end);
  // An event without a valid time.
  void Damaged() { ++damaged_; }
  // For the report.
  void Remark(absl::string_view remark) { remarks_.emplace_back(remark); }
  void Gpu(absl::string_view name) { gpus_.emplace_back(name); }

 private:
  friend class TraceWriterSource;
  void Begin(absl::string_view category, absl::string_view name, std::int64_t begin,
             std::int64_t end);

  std::string out_;
  std::int64_t damaged_ = 0;
  std::vector<std::string> remarks_;
  std::vector<std::string> gpus_;
};

// Writes some more events; false when there are no more. An error ends the trace with a remark.
using WriteMore = std::function<absl::StatusOr<bool>(TraceWriter& writer)>;

// The trace that `more` writes, in pieces.
JsonStream::Source AsTrace(WriteMore more);

}  // namespace galen::profile

#endif  // COMMON_PROFILE_TRACE_WRITER_H_
