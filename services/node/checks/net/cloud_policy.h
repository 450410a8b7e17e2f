#ifndef SERVICES_NODE_CHECKS_NET_CLOUD_POLICY_H_
#define SERVICES_NODE_CHECKS_NET_CLOUD_POLICY_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// Whether a security group lets all traffic from and to its own members through, which EFA needs
// (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html).
struct GroupPolicy {
  bool self_in = false;
  bool self_out = false;
};

// `aws ec2 describe-security-group-rules`, by group. INVALID_ARGUMENT: not such JSON. Pure.
absl::StatusOr<std::map<std::string, GroupPolicy>> ParseSecurityGroupRules(absl::string_view json);

// net.cloud_policy: of the group of parameter `group`, else of those captured. Whether a group
// lacks a rule that another one has is unknown: one instance may have both.
absl::StatusOr<CheckOutput> CheckCloudPolicy(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_NET_CLOUD_POLICY_H_
