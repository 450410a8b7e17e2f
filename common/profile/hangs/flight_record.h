#ifndef COMMON_PROFILE_HANGS_FLIGHT_RECORD_H_
#define COMMON_PROFILE_HANGS_FLIGHT_RECORD_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::hangs {

// One collective of a rank, as PyTorch's flight recorder keeps it. Point-to-point operations are
// left out: they concern two ranks and have sequences of their own.
struct TracedCollective {
  std::string group;  // name of the process group
  std::string description;
  std::int64_t sequence = 0;
  std::string op;     // "nccl:all_to_all"
  std::string sizes;  // of the input, "[[2048,5120]]"
  bool completed = false;
  std::int64_t created = 0;  // nanoseconds since the epoch; 0: unknown
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

// A collective that is missing some ranks of its group.
struct MissedCollective {
  std::string group;
  std::string description;
  std::int64_t sequence = 0;  // the first that others wait in and these ranks are missing from
  std::string op;
  std::string sizes;
  std::set<int> waiting;     // ranks that are in it
  std::set<int> missing;     // ranks that are not
  std::int64_t created = 0;  // when the first of those that wait enqueued it
  // The first collective that some of `missing` are missing from: the job hangs there. Ranks
  // continue to enqueue while they wait, so later ones follow from it.
  bool first = false;
};

// The combined result of the dumps of several ranks.
struct TraceVerdict {
  std::set<int> missing;                 // ranks that did not enqueue what others wait for
  std::vector<MissedCollective> missed;  // the first enqueued first
  std::set<int> without_dump;            // members of groups without a dump
  bool sequence_mismatch = false;
  bool shape_mismatch = false;
  std::vector<std::string> reasons;
};

// `equal_sizes`: the collectives whose inputs have one size on all ranks.
TraceVerdict JudgeTraces(const std::map<int, FlightRecord>& ranks,
                         const std::set<std::string>& equal_sizes);

}  // namespace galen::hangs

#endif  // COMMON_PROFILE_HANGS_FLIGHT_RECORD_H_
