#ifndef BENCH_SCAN_LOG_WRITER_H_
#define BENCH_SCAN_LOG_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace galen::bench {

struct LogShape {
  std::int64_t bytes = std::int64_t{1} << 30;  // at least; the last line is whole
  // One line in this many contains one of `messages`; 0: no line does.
  std::int64_t message_every = 1000;
  // One line in this many has terminal colours, one in this many ends with "\r\n"; 0: no line does.
  std::int64_t colour_every = 0;
  std::int64_t carriage_every = 0;
  std::uint64_t seed = 1;
};

// Writes a job's log as launchers merge it from all ranks: iterations, NCCL at INFO, data loading,
// checkpoints, warnings, a scheduler, the kernel. The same shape and messages give the same bytes.
absl::Status WriteLog(const std::string& path, const LogShape& shape,
                      const std::vector<std::string>& messages);

}  // namespace galen::bench

#endif  // BENCH_SCAN_LOG_WRITER_H_
