#ifndef SERVICES_NODE_CHECKS_RDMA_SUBNET_MANAGER_H_
#define SERVICES_NODE_CHECKS_RDMA_SUBNET_MANAGER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"
#include "services/node/checks/system/log_wants.h"

namespace galen::node {

// The findings in OpenSM's log, fed line by line. Lines of other programs change nothing. Bounded.
class OpenSmLog {
 public:
  static constexpr std::size_t kMaxCodes = 256;

  // True when the line is one of OpenSM.
  bool Add(absl::string_view line);

  std::int64_t lines() const { return lines_; }
  const std::string& version() const { return version_; }  // "3.3.24", "5.17.0.MLNX20230515"
  // "ERR 3111" by how often.
  const std::map<std::string, std::int64_t>& errors() const { return errors_; }

 private:
  std::int64_t lines_ = 0;
  std::string version_;
  std::map<std::string, std::int64_t> errors_;
};

// "3.3.24" of package opensm in `rpm -qa` or `dpkg-query -W`; empty: none. Pure.
std::string OpenSmPackage(absl::string_view packages);

// rdma.subnet_manager.
extern const LogWant kSubnetManagerWant;
absl::StatusOr<CheckOutput> CheckSubnetManager(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_SUBNET_MANAGER_H_
