#ifndef SERVICES_NODE_CHECKS_JOB_LAUNCH_H_
#define SERVICES_NODE_CHECKS_JOB_LAUNCH_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/log_wants.h"

namespace galen::node {

// The ranks of a job's processes, as the logs of several nodes report them. Memory grows with logs
// and ranks only, both bounded.
class LaunchReports {
 public:
  static constexpr std::size_t kMaxLogs = 16'384;
  static constexpr std::size_t kMaxRanks = 262'144;

  // By the patterns of user.launch.
  explicit LaunchReports(const CheckData& data);

  // A line of log number `log`, which `node` wrote; "" when not known.
  void Add(int log, absl::string_view node, absl::string_view line);

  // The size that all logs state; nothing when none does or they differ.
  std::optional<std::int64_t> WorldSize() const;
  // Two nodes state one size each, and not the same.
  bool SizeDiffers() const;
  // Processes that state their rank: different ranks of a node are different processes.
  std::int64_t Processes() const;
  // As many processes as the job has ranks stated theirs, on two nodes or more: whether two of them
  // have one rank, be it a process's or (`--node_rank`) a node's. Nothing: too few did.
  std::optional<bool> DuplicateRank() const;
  // "none", or the ranks that no process has although as many processes as ranks stated theirs ("2,
  // 3"). Nothing: too few stated theirs.
  std::optional<std::string> Missing() const;
  // Processes that the launcher starts on each node, as its command line says. Nothing: no log
  // holds one, or they differ.
  std::optional<std::int64_t> RanksPerNode() const;
  // The greatest number that a line is marked with, as "[rank7]:" is. Nothing: none is.
  std::optional<std::int64_t> GreatestRank() const;
  // Ranks that each hold another part of one model read the same part of its checkpoint. Nothing:
  // the logs do not say what is read, or the model is not divided.
  std::optional<bool> SameShard() const;

 private:
  struct Log {
    std::string node;
    std::set<std::int64_t> ranks;
    std::set<std::int64_t> sizes;
    std::set<std::int64_t> node_ranks;
    std::set<std::int64_t> node_counts;
    bool dynamic = false;  // the rendezvous gives out the ranks
    std::set<std::string> shards;
    std::int64_t model_parallel = 0;
    std::int64_t data_parallel = 0;
  };

  std::map<int, Log> logs_;
  std::set<std::int64_t> ranks_per_node_;
  std::optional<std::int64_t> greatest_rank_;
  std::size_t ranks_ = 0;
  std::vector<CheckData::Pattern> rank_and_size_;
  std::vector<CheckData::Pattern> of_a_group_;
  std::vector<CheckData::Pattern> node_rank_;
  std::vector<CheckData::Pattern> node_count_;
  std::vector<CheckData::Pattern> started_;
  std::vector<CheckData::Pattern> marked_;
  std::vector<CheckData::Pattern> dynamic_;
  std::vector<CheckData::Pattern> shard_;
  std::vector<CheckData::Pattern> model_parallel_;
  std::vector<CheckData::Pattern> data_parallel_;
};

// The reports of the job's logs; null where there are none.
std::shared_ptr<const LaunchReports> ReadLaunch(const CheckContext& context);

// user.launch.
extern const LogWant kLaunchWant;
absl::StatusOr<CheckOutput> CheckUserLaunch(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_JOB_LAUNCH_H_
