#ifndef SERVICES_NODE_CHECKS_SYSTEM_LOG_WANTS_H_
#define SERVICES_NODE_CHECKS_SYSTEM_LOG_WANTS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/knowledge/knowledge.h"
#include "services/node/checks/system/log_lines.h"

namespace galen::node {

// A summary of the lines of all logs of a job, fed in the order of the logs. Its memory is bounded,
// whatever the lines are.
class LogFold {
 public:
  virtual ~LogFold() = default;
  // A line of LogWant::expressions, or any other one. `line` is good during the call only.
  virtual void Add(const LogLine& line) = 0;
};

// The parameters of a fold.
struct FoldBasis {
  const knowledge::Knowledge& knowledge;  // during the call only
  absl::Time window_end = absl::InfiniteFuture();
};

// Which lines of the job's logs a check looks at. A constant, so that all checks' wants are known
// before the first line is read, and one reading serves them all.
struct LogWant {
  // Unique among the wants of a program.
  absl::string_view name;
  // RE2 expressions: a line that matches none of them is of no use. Those of the catalogue where it
  // has them. Pure.
  std::vector<std::string> (*expressions)(const knowledge::Knowledge& knowledge);
  // Makes the fold of the lines of all nodes; it is the same for every node that asks. nullptr: the
  // lines themselves are given out (ForEachWantedLine).
  std::unique_ptr<LogFold> (*fold)(const FoldBasis& basis) = nullptr;
  // Whether LogLine::dated is filled in.
  bool dated = false;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_LOG_WANTS_H_
