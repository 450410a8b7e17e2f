#ifndef SERVICES_NODE_CHECKS_LOG_COLLECTIVE_TRACE_H_
#define SERVICES_NODE_CHECKS_LOG_COLLECTIVE_TRACE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"
#include "services/node/checks/system/log_wants.h"

namespace galen::node {

// One collective of a rank, as PyTorch's flight recorder keeps it. Point-to-point operations are
// left out: they concern two ranks and have sequences of their own.
struct TracedCollective {
  std::string group;  // name of the process group
  std::string description;
  std::int64_t sequence = 0;
  std::string op;     // "nccl:all_to_all"
  std::string sizes;  // of the input, "[[2048,5120]]"
  bool completed = false;
};

// The dump of one rank.
struct FlightRecord {
  std::string version;
  std::map<std::string, std::set<int>> groups;  // ranks by group
  std::vector<TracedCollective> collectives;    // in the order that they were enqueued
};

// A dump as TORCH_NCCL_DUMP_ON_TIMEOUT writes it: a pickle, or the same as JSON. DATA_LOSS: not
// that. Nothing of a pickle is run.
absl::StatusOr<FlightRecord> ParseFlightRecord(absl::string_view bytes);

// What the dumps of several ranks say together.
struct TraceVerdict {
  std::set<int> missing;  // ranks that did not enqueue what others wait for
  bool sequence_mismatch = false;
  bool shape_mismatch = false;
  std::vector<std::string> reasons;
};

// `equal_sizes`: the collectives whose inputs have one size on all ranks.
TraceVerdict JudgeTraces(const std::map<int, FlightRecord>& ranks,
                         const std::set<std::string>& equal_sizes);

// job.collective_trace.
extern const LogWant kCollectiveTraceWant;
absl::StatusOr<CheckOutput> CheckCollectiveTrace(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_LOG_COLLECTIVE_TRACE_H_
