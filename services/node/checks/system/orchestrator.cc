#include "services/node/checks/system/orchestrator.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/wanted_lines.h"

namespace galen::node {
namespace {

// The host's own of the nodes that a view of the whole cluster lists.
absl::StatusOr<NodeObject> OwnOf(absl::string_view json, const std::string& name) {
  GALEN_ASSIGN_OR_RETURN(std::vector<NodeObject> nodes, ParseSlurmNodes(json));
  for (NodeObject& node : nodes) {
    if (node.name == name) return std::move(node);
  }
  return absl::UnavailableError(absl::StrCat("Slurm's list of nodes does not name ", name));
}

// The node object under the host's name, or under the one that was captured.
absl::StatusOr<NodeObject> Find(const host::Host& host) {
  absl::Status why = absl::UnavailableError("no orchestrator was asked for the node");
  std::vector<std::vector<std::string>> kube = host.Captured({"kubectl", "get", "node"});
  std::vector<std::vector<std::string>> slurm = host.Captured({"scontrol", "show", "node"});
  if (host.live()) {
    kube.push_back({"kubectl", "get", "node", host.name(), "-o", "json"});
    slurm.push_back({"scontrol", "show", "node", host.name()});
  }
  for (const std::vector<std::string>& command : kube) {
    const auto text = Output(host, command);
    if (text.ok()) return ParseKubeNode(*text);
    why = text.status();
  }
  for (const std::vector<std::string>& command : slurm) {
    const auto text = Output(host, command);
    if (text.ok()) return ParseScontrolNode(*text);
    if (!IsAbsent(text.status())) why = text.status();
  }
  // The captured lists of the whole cluster, in any of their forms.
  std::vector<std::vector<std::string>> lists = host.Captured({"sinfo"});
  for (auto& command : host.Captured({"scontrol", "show", "nodes"})) {
    lists.push_back(std::move(command));
  }
  for (const std::vector<std::string>& command : lists) {
    if (command.back() != "--json") continue;
    const auto text = Output(host, command);
    absl::StatusOr<NodeObject> own = text.ok() ? OwnOf(*text, host.name()) : text.status();
    if (own.ok()) return own;
    why = own.status();
  }
  return why;
}

v1::LogEvent EventOf(absl::string_view code, absl::string_view text, std::int64_t order) {
  v1::LogEvent event;
  event.set_code(std::string(code));
  event.set_text(CleanText(text, 512));
  event.set_count(1);
  event.set_order(order);
  return event;
}

}  // namespace

std::vector<PodObject> JobPods(const host::Host& host) {
  std::vector<std::vector<std::string>> commands = host.Captured({"kubectl", "describe", "pod"});
  if (host.live()) {
    const auto environment = host.JobEnvironment();
    // A container's host name is its pod's.
    if (environment.ok() && environment->contains("KUBERNETES_SERVICE_HOST") &&
        environment->contains("HOSTNAME")) {
      commands.push_back({"kubectl", "describe", "pod", environment->at("HOSTNAME")});
    }
  }
  std::vector<PodObject> pods;
  for (const std::vector<std::string>& command : commands) {
    const auto text = Output(host, command);
    if (!text.ok()) continue;
    if (auto pod = ParsePodDescription(*text); pod.ok()) pods.push_back(*std::move(pod));
  }
  return pods;
}

const LogWant kOrchestratorWant = {
    .name = "device plugin", .expressions = [](const knowledge::Knowledge& knowledge) {
      return TextsOf(PatternsOf(knowledge, "system.orchestrator", "marked_unhealthy"));
    }};

absl::StatusOr<CheckOutput> CheckOrchestrator(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data,
                         CheckData::Of(context.knowledge, "system.orchestrator"));
  const auto found = Find(host);
  const std::vector<PodObject> pods = JobPods(host);
  const auto marks = data.Patterns("marked_unhealthy");
  std::string marked;
  bool plugin_log = false;
  const auto is_plugins = [](const host::JobLog& log) {
    return absl::StrContains(log.name, "plugin") || log.kind == "scheduler";
  };
  const auto scanned = ForEachWantedLine(
      context, LogsOf::kThisNode, kOrchestratorWant,
      [&](const LogLine& line) {
        if (!is_plugins(*line.log)) return;
        if (!CheckData::FirstMatch(marks, line.text).empty()) marked = CleanText(line.text, 300);
      },
      [&](const host::JobLog& log, std::int64_t lines) {
        plugin_log = plugin_log || (is_plugins(log) && lines > 0);
      });
  static_cast<void>(scanned);  // no log: nothing is known of the plugin
  if (!found.ok() && pods.empty() && !plugin_log) return found.status();
  CheckOutput output;
  std::vector<std::string> remarks;
  const auto add = [&](v1::Finding finding) { output.findings.push_back(std::move(finding)); };
  const auto count = [&](const char* name, std::optional<std::int64_t> value) {
    add(value.has_value() ? IntFinding(name, node, "", *value) : UnknownFinding(name, node, ""));
  };
  const NodeObject object = found.ok() ? *found : NodeObject();
  count("allocatable_gpus", object.allocatable_gpus);
  count("capacity_gpus", object.gpus);
  add(object.ready.has_value() ? BoolFinding("node_ready", node, "", *object.ready)
                               : UnknownFinding("node_ready", node, ""));
  if (object.ready.has_value()) {
    remarks.push_back(
        absl::StrCat("the node is ", *object.ready ? "in service" : "not in service",
                     object.state.empty() ? "" : absl::StrCat(" (", object.state, ")"),
                     object.reason.empty() ? "" : absl::StrCat(": ", object.reason)));
  }
  if (object.gpus.has_value() && object.allocatable_gpus.has_value()) {
    remarks.push_back(
        absl::StrCat(*object.allocatable_gpus, " of ", *object.gpus, " GPUs are handed out"));
  }
  add(plugin_log || !marked.empty()
          ? TextFinding("plugin_marked_unhealthy", node, "", marked.empty() ? "none" : marked)
          : UnknownFinding("plugin_marked_unhealthy", node, ""));
  if (!marked.empty()) remarks.push_back(absl::StrCat("the device plugin says: ", marked));

  const std::vector<std::string> evictions = data.Texts("evictions");
  const std::set<std::string> reasons(evictions.begin(), evictions.end());
  std::int64_t order = 0;
  bool evicted = false;
  for (const PodObject& pod : pods) {
    const std::string device = absl::StrCat("pod:", pod.name);
    std::string code;
    std::string text;
    std::int64_t times = 0;
    if (reasons.contains(pod.reason)) {
      code = pod.reason;
      text = pod.message;
      times = 1;
    }
    for (const PodObject::Event& event : pod.events) {
      if (!reasons.contains(event.reason)) continue;
      if (code.empty()) {
        code = event.reason;
        text = event.message;
      }
      ++times;
    }
    if (times == 0) continue;
    evicted = true;
    v1::LogEvent event = EventOf(code, text, order++);
    event.set_count(times);
    add(EventFinding("eviction", node, device, std::move(event)));
    remarks.push_back(absl::StrCat("pod ", pod.name, ": ", code));
  }
  if (!evicted) {
    add(pods.empty() ? UnknownFinding("eviction", node, "")
                     : EventFinding("eviction", node, "", v1::LogEvent()));
  }
  output.message =
      remarks.empty() ? "the orchestrator says nothing of note" : absl::StrJoin(remarks, "; ");
  return output;
}

}  // namespace galen::node
