#ifndef COMMON_PROFILE_HANGS_NCCL_RAS_H_
#define COMMON_PROFILE_HANGS_NCCL_RAS_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::hangs {

// A process that NCCL's RAS network does not reach.
struct RasProcess {
  std::int64_t pid = 0;
  std::string node;
  std::string gpus;   // "5", "0,1"
  bool dead = false;  // given up for good; otherwise it did not answer yet
};

// Ranks of a communicator with a common property that others lack.
struct RasRanks {
  std::string what;     // "AllReduce operation 6649", "status FINALIZE"
  std::int64_t at = 0;  // the operation that they launched last; -1: invalid
  std::int64_t count = 0;
  std::set<int> ranks;  // those that are named; there may be more
};

struct RasCommunicator {
  std::string name;  // "#0-0", or its hash if it has no number
  std::string hash;
  std::string error;             // "INCOMPLETE", "MISMATCH"
  std::set<int> missing;         // ranks that were not heard of
  std::vector<RasRanks> groups;  // as its ranks differ
};

// A line of the table of communicators.
struct RasRow {
  std::string group;
  std::int64_t communicators = 0;
  std::int64_t ranks = 0;  // in the group
  std::string status;      // "RUNNING"
  std::string errors;      // "OK", "MISMATCH"
};

// An answer of NCCL's RAS subsystem: `ncclras`, `ncclras -f json`, `ncclras -m`.
struct RasReport {
  std::vector<RasRow> rows;
  std::vector<RasProcess> processes;
  std::vector<RasCommunicator> communicators;  // those with an error
  std::int64_t communicators_read = 0;
  std::int64_t timeouts = 0;

  // A sentence for each problem, those that end a job first; empty: no problem.
  std::vector<std::string> Sentences() const;
  // Ranks that did not answer, or are behind the most.
  std::set<int> Suspects() const;
};

// True when `text` may be such an answer, by its first lines.
bool LooksLikeRas(absl::string_view text);

// Text or JSON. DATA_LOSS: not that. At most 16 MiB, 65,536 ranks.
absl::StatusOr<RasReport> ParseRas(absl::string_view text);

}  // namespace galen::hangs

#endif  // COMMON_PROFILE_HANGS_NCCL_RAS_H_
