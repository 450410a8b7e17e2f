#ifndef SERVICES_NODE_CHECKS_LOG_STACKS_H_
#define SERVICES_NODE_CHECKS_LOG_STACKS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"
#include "services/node/checks/system/log_wants.h"

namespace galen::node {

// One thread of a dump of py-spy.
struct ThreadStack {
  std::int64_t id = 0;
  std::string state;  // "active", "idle"
  std::string name;   // "MainThread"
  // "all_reduce (torch/distributed/distributed_c10d.py:1316)", innermost first.
  std::vector<std::string> frames;
};

// `py-spy dump`, of one process or of several one after the other. At most 10,000 threads of 256
// frames. DATA_LOSS: it holds no thread.
absl::StatusOr<std::vector<ThreadStack>> ParsePySpy(absl::string_view text);

// Finds the threads that a debugger's backtraces in a text list ("#0 0x... in ioctl () from ..."),
// fed line by line. At most 10,000 threads of 256 frames.
class BacktraceReader {
 public:
  void Add(absl::string_view line);
  // The lines that follow are of another thread.
  void EndThread();
  std::vector<ThreadStack> Threads() && { return std::move(threads_); }

 private:
  std::vector<ThreadStack> threads_;
  std::int64_t last_ = 0;
  bool open_ = false;
};

// job.stacks.
extern const LogWant kStacksWant;
absl::StatusOr<CheckOutput> CheckStacks(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_LOG_STACKS_H_
