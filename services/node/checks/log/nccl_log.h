#ifndef SERVICES_NODE_CHECKS_LOG_NCCL_LOG_H_
#define SERVICES_NODE_CHECKS_LOG_NCCL_LOG_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"
#include "services/node/checks/system/log_wants.h"

namespace galen::node {

// The log messages of the NCCL or RCCL of one host. Bounded: no set grows beyond kMax.
struct NcclHost {
  static constexpr std::size_t kMax = 1024;
  std::set<std::string> networks;  // "IB", "Socket", "AWS Libfabric"
  // "internal", "IBext_v8", "aws-ofi-nccl 1.14.0": by the number of the log that says so, for two
  // runs of a host may load different ones.
  std::map<int, std::set<std::string>> plugins;
  std::string devices;            // "mlx5_0:1/IB mlx5_1:1/IB"
  std::string interface;          // "eth0:10.0.0.1", of the bootstrap
  std::int64_t gdr_channels = 0;  // over the network with GPUDirect
  std::int64_t net_channels = 0;  // over a network that could have it, without
  std::optional<bool> gdr_said;   // "GPU Direct RDMA Enabled/Disabled"
  std::string warning;            // the first one
  std::int64_t warnings = 0;
  std::optional<int> warning_rank;
  std::string async_event;
  // Rank that sends over each NIC of the host, by NIC number.
  std::map<int, std::set<int>> ranks_of_nic;
};

// A whole log, fed line by line; memory grows with hosts and ranks only.
class NcclLog {
 public:
  static constexpr std::size_t kMaxHosts = 16'384;

  // `log` distinguishes the logs, if there are several.
  void Add(absl::string_view line, int log = 0);

  // Which network plug-in the hosts load: "same", or each with its hosts, where one run's differ;
  // empty when no line says. Logs that hold several hosts are compared each by itself, logs of one
  // host each with one another: those are then the parts of one run.
  std::string Plugins() const;

  const std::map<std::string, NcclHost>& hosts() const { return hosts_; }
  const std::string& version() const { return version_; }
  std::int64_t lines() const { return lines_; }
  // Ranks came up on more hosts than one: their addresses reach each other.
  bool connected() const { return initialised_.size() > 1; }
  // Two hosts announce one bootstrap address to their peers, so that one of them dials itself: an
  // address of a bridge that every host has. Unknown with the address of one host only.
  std::optional<bool> AddressShared() const;
  // All ranks of the largest communicator are on one host, and no channel uses the network.
  bool IsOnOneMachine() const;
  std::optional<int> first_error_rank() const { return first_error_rank_; }

  // The messages of `node`: its own lines if it has some, else all together.
  NcclHost Of(absl::string_view node) const;

 private:
  std::map<std::string, NcclHost> hosts_;
  std::map<std::string, int> rank_of_process_;  // "host:pid"
  std::set<std::string> initialised_;
  int most_ranks_ = 0;           // of a communicator
  std::set<int> ranks_of_most_;  // those that its lines name
  bool over_network_ = false;    // some channel
  std::string version_;
  std::int64_t lines_ = 0;
  std::optional<int> first_error_rank_;
};

// Reads NCCL's messages from the logs of all nodes. Errors as ForEachLogLine().
extern const LogWant kNcclLogWant;
absl::StatusOr<std::shared_ptr<const NcclLog>> ReadNcclLog(const CheckContext& context);

// nccl.log.
absl::StatusOr<CheckOutput> CheckNcclLog(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_LOG_NCCL_LOG_H_
