#include "services/watch/kubernetes/findings.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/check_id.h"
#include "common/base/text.h"
#include "common/base/time_text.h"

namespace galen::watch::kubernetes {
namespace {

using kube::Json;

constexpr std::size_t kMostMessage = 1000;  // as in the API for events
constexpr std::size_t kMostReason = 128;
constexpr std::size_t kMostDevices = 4;  // shown
constexpr std::size_t kMostFaults = 1000;

// FNV-1a: the same in each process.
std::string HashOf(absl::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  return absl::StrFormat("%016x", hash);
}

// Whether it can be the name of a node.
bool IsNodeName(absl::string_view name) {
  return !name.empty() && name.size() <= 200 && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) ||
           absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '-' || c == '.';
  });
}

void AddFaults(const galen::v1::Cause& cause, Witness witness, std::vector<Fault>& faults) {
  // A cause that the customer repairs proves nothing about the machine.
  if (cause.label().empty() || cause.owner() == "customer") return;
  std::set<absl::string_view> checked;
  for (const std::string& id : cause.evidence_ids()) checked.insert(NodeOfCheckId(id));
  std::map<std::string, std::vector<std::string>> devices;
  for (const galen::v1::Device& device : cause.devices()) {
    if (!IsNodeName(device.node())) continue;
    if (witness == Witness::kChecks && checked.count(device.node()) == 0) continue;
    std::vector<std::string>& there = devices[device.node()];
    if (!device.device().empty() && there.size() < kMostDevices) there.push_back(device.device());
  }
  for (const auto& [node, there] : devices) {
    if (faults.size() == kMostFaults) return;
    const std::string title = cause.title().empty() ? cause.label() : cause.title();
    const std::string text = absl::StrCat(
        title, there.empty() ? "" : " on ", absl::StrJoin(there, ", "),
        absl::StrFormat(" (%s, probability %.2f)", cause.label(), cause.probability()));
    faults.push_back({node, cause.label(), CleanText(text, kMostMessage / 2)});
  }
}

const Json* ConditionsOf(const Json& node) {
  const auto status = node.find("status");
  if (status == node.end() || !status->is_object()) return nullptr;
  const auto conditions = status->find("conditions");
  return conditions != status->end() && conditions->is_array() ? &*conditions : nullptr;
}

}  // namespace

Conclusion ConclusionOf(const std::string& name, absl::Time time, const galen::v1::Report& report,
                        Witness witness) {
  Conclusion conclusion;
  conclusion.diagnosis = CleanText(name.substr(name.rfind('/') + 1), 63);
  conclusion.time = time;
  if (report.has_primary_cause()) {
    AddFaults(report.primary_cause(), witness, conclusion.faults);
  }
  for (const galen::v1::Cause& cause : report.other_causes()) {
    AddFaults(cause, witness, conclusion.faults);
  }
  for (const galen::v1::Cause& cause : report.ruled_out()) {
    // It has no place, so the nodes follow from the checks that spoke against it: "CHECK@NODE".
    for (const std::string& id : cause.evidence_ids()) {
      const absl::string_view node = NodeOfCheckId(id);
      if (!node.empty()) conclusion.ruled_out.emplace(node, cause.label());
    }
  }
  return conclusion;
}

std::string ReasonOf(absl::string_view label) {
  std::string reason;
  bool begins = true;
  for (const char c : label.substr(0, kMostReason)) {
    const auto byte = static_cast<unsigned char>(c);
    if (!absl::ascii_isalnum(byte)) {
      begins = true;
      continue;
    }
    reason += begins ? absl::ascii_toupper(byte) : absl::ascii_tolower(byte);
    begins = false;
  }
  return reason.empty() ? "Unknown" : reason;
}

Problems ProblemsOf(absl::Span<const Conclusion> conclusions, const NodeRules& rules,
                    absl::Duration hold, absl::Time now) {
  std::vector<const Conclusion*> ordered;
  for (const Conclusion& one : conclusions) {
    if (now - one.time < hold) ordered.push_back(&one);
  }
  std::sort(ordered.begin(), ordered.end(), [](const Conclusion* a, const Conclusion* b) {
    return std::pair(a->time, a->diagnosis) < std::pair(b->time, b->diagnosis);
  });
  Problems problems;
  for (const Conclusion* one : ordered) {
    for (const auto& [node, label] : one->ruled_out) {
      const ConditionRule* rule = rules.For(label);
      const auto found = problems.find(node);
      if (rule == nullptr || found == problems.end()) continue;
      const auto problem = found->second.find(rule->type);
      if (problem != found->second.end() && problem->second.reason == ReasonOf(label)) {
        found->second.erase(problem);
      }
    }
    for (const Fault& fault : one->faults) {
      const ConditionRule* rule = rules.For(fault.label);
      if (rule == nullptr) continue;
      const auto [at, fresh] = problems[fault.node].try_emplace(rule->type);
      Problem& problem = at->second;
      if (fresh) problem.since = one->time;
      problem.seen = one->time;
      problem.reason = ReasonOf(fault.label);
      problem.message = CleanText(
          absl::StrCat(rule->title, ": ", fault.text, "; Galen diagnosis ", one->diagnosis),
          kMostMessage);
    }
  }
  return problems;
}

std::optional<Json> PatchOf(const Json& node, const std::map<std::string, Problem>& problems,
                            const NodeRules& rules, absl::Time now) {
  std::map<std::string, const Json*> ours;  // that are True now
  std::set<std::string> same;
  if (const Json* conditions = ConditionsOf(node); conditions != nullptr) {
    for (const Json& condition : *conditions) {
      const std::string type = TextAt(condition, {"type"});
      if (!rules.IsOurs(type)) continue;
      if (TextAt(condition, {"status"}) != "True") continue;
      ours[type] = &condition;
      const auto problem = problems.find(type);
      if (problem != problems.end() && TextAt(condition, {"reason"}) == problem->second.reason &&
          TextAt(condition, {"message"}) == problem->second.message) {
        same.insert(type);
      }
    }
  }
  Json changes = Json::array();
  for (const auto& [type, problem] : problems) {
    if (same.count(type) > 0) continue;
    std::string since = TimeText(problem.since);
    if (const auto before = ours.find(type); before != ours.end()) {
      const std::string stood = TextAt(*before->second, {"lastTransitionTime"});
      if (!stood.empty()) since = stood;
    }
    changes.push_back({{"type", type},
                       {"status", "True"},
                       {"reason", problem.reason},
                       {"message", problem.message},
                       {"lastTransitionTime", since},
                       {"lastHeartbeatTime", TimeText(problem.seen)}});
  }
  for (const auto& [type, condition] : ours) {
    if (problems.count(type) > 0) continue;
    changes.push_back(
        {{"type", type},
         {"status", "False"},
         {"reason", "NoLongerConfirmed"},
         {"message", "no recent diagnosis confirms it; nothing says that it is healthy"},
         {"lastTransitionTime", TimeText(now)},
         {"lastHeartbeatTime", TimeText(now)}});
  }
  if (changes.empty()) return std::nullopt;
  return Json{{"status", {{"conditions", std::move(changes)}}}};
}

Json EventOf(const Conclusion& conclusion, const Fault& fault) {
  const std::string time = TimeText(conclusion.time);
  return {
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata",
       {{"name",
         absl::StrCat(fault.node, ".galen-",
                      HashOf(absl::StrCat(conclusion.diagnosis, "/", fault.label, "/", time)))},
        {"namespace", "default"}}},
      // As kubelets write it: the name identifies nodes there.
      {"involvedObject",
       {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", fault.node}, {"uid", fault.node}}},
      {"type", "Warning"},
      {"reason", ReasonOf(fault.label)},
      {"message", CleanText(absl::StrCat(fault.text, "; Galen diagnosis ", conclusion.diagnosis),
                            kMostMessage)},
      {"source", {{"component", "galen"}, {"host", fault.node}}},
      {"firstTimestamp", time},
      {"lastTimestamp", time},
      {"count", 1},
      {"reportingComponent", "galen.io/watch"},
      {"reportingInstance", "galen-watch"}};
}

bool HasGpu(const Json& node, const NodeRules& rules) {
  for (const std::string& wanted : rules.gpu_labels) {
    const std::size_t equals = wanted.find('=');
    const std::string name = wanted.substr(0, equals);
    if (TextAt(node, {"metadata", "labels", name.c_str()}) == wanted.substr(equals + 1))
      return true;
  }
  for (const std::string& resource : rules.gpu_resources) {
    int count = 0;
    if (absl::SimpleAtoi(TextAt(node, {"status", "capacity", resource.c_str()}), &count) &&
        count > 0) {
      return true;
    }
  }
  return false;
}

}  // namespace galen::watch::kubernetes
