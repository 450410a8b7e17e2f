#include "services/node/checks/net/cloud_policy.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/json_access.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

using nlohmann::json;

constexpr std::size_t kMostGroups = 256;
constexpr absl::string_view kAllTraffic = "-1";

bool IsGroup(absl::string_view text) {
  if (text.size() > 32 || !absl::ConsumePrefix(&text, "sg-") || text.empty()) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); });
}

std::string Word(const json& entry, const char* name) {
  const auto it = entry.find(name);
  return it != entry.end() && it->is_string() ? it->get<std::string>() : std::string();
}

}  // namespace

absl::StatusOr<std::map<std::string, GroupPolicy>> ParseSecurityGroupRules(absl::string_view text) {
  const json root = ParseJson(text);
  if (!root.is_object() || !root.contains("SecurityGroupRules") ||
      !root["SecurityGroupRules"].is_array()) {
    return absl::InvalidArgumentError("aws ec2: the output lists no SecurityGroupRules");
  }
  std::map<std::string, GroupPolicy> groups;
  for (const json& rule : root["SecurityGroupRules"]) {
    if (!rule.is_object() || groups.size() >= kMostGroups) continue;
    const std::string group = Word(rule, "GroupId");
    if (!IsGroup(group)) continue;
    GroupPolicy& policy = groups[group];
    const auto referenced = rule.find("ReferencedGroupInfo");
    const bool self = referenced != rule.end() && referenced->is_object() &&
                      Word(*referenced, "GroupId") == group;
    const auto egress = rule.find("IsEgress");
    if (!self || Word(rule, "IpProtocol") != kAllTraffic || egress == rule.end() ||
        !egress->is_boolean()) {
      continue;
    }
    (egress->get<bool>() ? policy.self_out : policy.self_in) = true;
  }
  return groups;
}

absl::StatusOr<CheckOutput> CheckCloudPolicy(const CheckContext& context) {
  const host::Host& host = context.host;
  std::vector<std::vector<std::string>> calls =
      host.Captured(std::vector<std::string>{"aws", "ec2", "describe-security-group-rules"});
  if (const std::string& group = context.parameters.Text("group"); !group.empty()) {
    if (!IsGroup(group)) return absl::InvalidArgumentError("group: not the id of a security group");
    calls = {{"aws", "ec2", "describe-security-group-rules", "--filters",
              absl::StrCat("Name=group-id,Values=", group)}};
  }
  if (calls.empty()) {
    return absl::FailedPreconditionError("no security group is named: set parameter group");
  }
  std::map<std::string, GroupPolicy> all;
  // The union of all groups. The rules of the groups of one instance add up, and the output does
  // not show which groups belong to one instance: if one group has a rule, another may lack it.
  GroupPolicy any;
  for (const auto& argv : calls) {
    GALEN_ASSIGN_OR_RETURN(const std::string text, Output(host, argv));
    GALEN_ASSIGN_OR_RETURN(const auto groups, ParseSecurityGroupRules(text));
    for (const auto& [group, policy] : groups) {
      all[group].self_in |= policy.self_in;
      all[group].self_out |= policy.self_out;
      any.self_in |= policy.self_in;
      any.self_out |= policy.self_out;
    }
  }
  if (all.empty()) return absl::NotFoundError("the cloud lists no rule of the security group");
  CheckOutput output;
  std::vector<std::string> said;
  for (const auto& [group, policy] : all) {
    const std::string device = absl::StrCat("group:", group);
    const auto add = [&](absl::string_view name, bool has, bool another_has) {
      output.findings.push_back(!has && another_has ? UnknownFinding(name, host.name(), device)
                                                    : BoolFinding(name, host.name(), device, has));
    };
    add("self_reference_in", policy.self_in, any.self_in);
    add("self_reference_out", policy.self_out, any.self_out);
    said.push_back(absl::StrCat(group, policy.self_in ? " takes" : " does not take",
                                " all traffic from itself and ",
                                policy.self_out ? "lets" : "does not let", " all out to itself"));
  }
  output.message = absl::StrJoin(said, "; ");
  return output;
}

}  // namespace galen::node
