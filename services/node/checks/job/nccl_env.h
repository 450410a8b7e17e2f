#ifndef SERVICES_NODE_CHECKS_JOB_NCCL_ENV_H_
#define SERVICES_NODE_CHECKS_JOB_NCCL_ENV_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"
#include "services/node/checks/rdma/ports.h"

namespace galen::node {

// A network interface of the node.
struct Interface {
  std::string name;
  bool loopback = false;
  bool bridge = false;  // docker0, cni0, virbr0, ...: reaches this host's containers only
  bool has_address = false;
};

// The network devices that the environment is compared with; nothing where they are unknown.
struct NetworkDevices {
  std::optional<std::vector<RdmaPort>> ports;  // empty: known to have none
  std::optional<std::vector<Interface>> interfaces;
  // The interfaces are the host's, and the job may have a network of its own: that it names one
  // which the host lacks then proves nothing.
  bool job_may_have_own = false;
};

// The faults of the environment. Lists hold plain names, without "VARIABLE names device".
struct NcclEnvFaults {
  std::optional<std::vector<std::string>> absent;  // nothing: unknown
  std::optional<std::vector<std::string>> non_fabric;
  std::vector<std::string> malformed;  // whole settings, "NCCL_IB_HCA=^=a,^=b"
  std::vector<std::string> disabling;  // whole settings, "NCCL_P2P_DISABLE=1"
  std::optional<bool> unroutable;
  std::string message;
};

// Pure.
NcclEnvFaults JudgeNcclEnv(const std::map<std::string, std::string>& environment,
                           const NetworkDevices& devices);

// Interfaces of `ip -j addr show`; nothing when the text is not that. Pure.
std::optional<std::vector<Interface>> ParseIpAddr(absl::string_view json);

// The same of `ip -o -4 addr show`. Pure.
std::vector<Interface> ParseIpAddrLines(absl::string_view text);

// Lines NAME=value of /etc/nccl.conf; comments (#) and blank lines are left out. Pure.
std::map<std::string, std::string> ParseNcclConf(absl::string_view text);

// The job's environment with /etc/nccl.conf below it: what is set in the environment wins.
absl::StatusOr<std::map<std::string, std::string>> NcclEnvironment(const host::Host& host);

// nccl.env.
absl::StatusOr<CheckOutput> CheckNcclEnv(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_JOB_NCCL_ENV_H_
