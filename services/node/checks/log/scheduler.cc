#include "services/node/checks/log/scheduler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/orchestrator.h"
#include "services/node/checks/system/wanted_lines.h"

namespace galen::node {
namespace {

using Record = std::map<std::string, std::string>;

std::string Field(const Record& record, const char* name) {
  const auto found = record.find(name);
  return found == record.end() ? std::string() : found->second;
}

// States of Slurm, and of Kubernetes in its own case.
bool Failed(absl::string_view state) {
  for (const absl::string_view fine : {"COMPLETED", "RUNNING", "PENDING", "COMPLETING", "REQUEUED",
                                       "RESIZING", "SUCCEEDED", "UNKNOWN"}) {
    if (absl::EqualsIgnoreCase(state, fine)) return false;
  }
  return !state.empty();
}

// Whether a record is of `job`: its own ("71244"), of one of its steps ("71244.batch"), or of a
// part of an array ("71244_3") or of a heterogeneous job ("71244+0").
bool IsOf(absl::string_view id, absl::string_view job) {
  if (!absl::ConsumePrefix(&id, job)) return false;
  return id.empty() || id[0] == '.' || id[0] == '_' || id[0] == '+';
}

// The fields of Slurm's record.
struct Seen {
  std::string state;
  std::string reason;
  std::optional<double> memory_gib;
  std::string failures;
};

void ReadRecords(const std::vector<Record>& records, const std::string& job, Seen* seen) {
  std::map<std::string, std::pair<int, int>> by_node;  // failed, all
  // Asked by its raw number a task of an array is listed as one of that array ("71244_3").
  const bool all_asked = std::none_of(records.begin(), records.end(), [&](const Record& record) {
    return IsOf(Field(record, "JobID"), job);
  });
  for (const Record& record : records) {
    const std::string id = Field(record, "JobID");
    const std::string state = PlainState(Field(record, "State"));
    // Steps ("71244.0", "71244.batch") belong to a job that has its own line.
    const bool step = absl::StrContains(id, ".");
    if (!step) {
      const std::string nodes = Field(record, "NodeList");
      if (!nodes.empty() && nodes != "None assigned") {
        auto& [failed, all] = by_node[nodes];
        ++all;
        failed += Failed(state) ? 1 : 0;
      }
    }
    if (!job.empty() && !all_asked && !IsOf(id, job)) continue;
    // The worst state of a job's steps is more informative than the job's "FAILED".
    if (seen->state.empty() || (!Failed(seen->state) && Failed(state)) ||
        (seen->state == "FAILED" && state == "OUT_OF_MEMORY")) {
      seen->state = state;
      seen->reason = Field(record, "Reason");
      if (seen->reason == "None") seen->reason.clear();
      if (const std::string code = Field(record, "ExitCode"); Failed(state) && !code.empty()) {
        absl::StrAppend(&seen->reason, seen->reason.empty() ? "" : ", ", "exit code ", code);
      }
      if (state == "NODE_FAIL") seen->reason = absl::StrCat("NODE_FAIL ", seen->reason);
    }
    if (!seen->memory_gib.has_value()) seen->memory_gib = MemoryGib(Field(record, "ReqMem"));
  }
  std::vector<std::string> texts;
  if (by_node.size() > 1 || (by_node.size() == 1 && by_node.begin()->second.second > 1)) {
    for (const auto& [nodes, counts] : by_node) {
      if (texts.size() < 32) {
        texts.push_back(absl::StrCat(nodes, " ", counts.first, "/", counts.second));
      }
    }
  }
  seen->failures = absl::StrJoin(texts, ", ");
}

// A container that was sent SIGTERM says nothing of who wanted it: no failure of the job's own.
constexpr absl::string_view kAskedToEnd = "Error";
constexpr int kSigtermCode = 128 + 15;

// The heavier of two states of a job is the more informative one.
int Weight(absl::string_view state) {
  if (state.empty()) return 0;
  if (!Failed(state)) return 1;
  if (state == kAskedToEnd) return 2;
  if (state == "OOMKilled" || state == "OUT_OF_MEMORY") return 5;
  // Its containers fail as well, since they are killed.
  return state == "PREEMPTED" ? 4 : 3;
}

struct Told {
  std::string state;
  std::string reason;
};

// The state of the job by a pod: the worst end of one of its containers, even if the container was
// restarted, or the end of the pod; else its present state. `preempted`: reasons of a pod that was
// evicted from its node.
Told TellPod(const PodObject& pod, const std::vector<std::string>& preempted) {
  Told told;
  const auto consider = [&](absl::string_view state, const std::string& reason) {
    if (Weight(state) > Weight(told.state)) told = {std::string(state), reason};
  };
  for (const Termination& end : pod.terminations) {
    if (end.reason == "Completed" && end.exit_code.value_or(0) == 0) continue;
    if (end.reason.empty() && !end.exit_code.has_value()) continue;
    consider(end.reason == "OOMKilled"       ? "OOMKilled"
             : end.exit_code == kSigtermCode ? kAskedToEnd
                                             : "FAILED",
             absl::StrCat(
                 pod.name, "/", end.container, ": ", end.reason,
                 end.exit_code.has_value() ? absl::StrCat(", exit code ", *end.exit_code) : ""));
  }
  const std::string why = pod.reason.empty() ? "" : absl::StrCat(pod.reason, ": ", pod.message);
  const bool taken = std::find(preempted.begin(), preempted.end(), pod.reason) != preempted.end();
  consider(taken ? "PREEMPTED" : pod.status == "Failed" ? "FAILED" : pod.status, why);
  return told;
}

}  // namespace

absl::StatusOr<std::vector<std::map<std::string, std::string>>> ParseSacct(absl::string_view text) {
  const absl::string_view heading = text.substr(0, text.find('\n'));
  const std::string delimiter = absl::StrContains(heading, "|#") ? "|#" : "|";
  std::vector<std::string> names = absl::StrSplit(heading, delimiter);
  for (std::string& name : names) absl::StripAsciiWhitespace(&name);
  bool known = false;
  for (const std::string& name : names) known = known || name == "JobID" || name == "State";
  if (!known || names.size() < 2) return absl::DataLossError("not the output of sacct -P");
  // -p ends each line with the delimiter.
  const bool trailing = names.back().empty();
  std::vector<Record> records;
  std::vector<std::string> values;
  text.remove_prefix(std::min(text.size(), heading.size() + 1));
  while (!text.empty() && records.size() < kMaxRecords) {
    const absl::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::vector<std::string> parts = absl::StrSplit(line, delimiter);
    if (values.empty()) {
      values = parts;
    } else {
      absl::StrAppend(&values.back(), "\n", parts.front());
      values.insert(values.end(), parts.begin() + 1, parts.end());
    }
    if (values.size() < names.size()) continue;
    Record record;
    for (std::size_t i = 0; i + (trailing ? 1 : 0) < names.size(); ++i) {
      if (!values[i].empty()) record[names[i]] = CleanText(values[i], 512);
    }
    if (!record.empty()) records.push_back(std::move(record));
    values.clear();
  }
  return records;
}

std::string PlainState(absl::string_view state) {
  const absl::string_view first = state.substr(0, state.find(' '));
  if (absl::StartsWith(first, "OUT_OF_ME")) return "OUT_OF_MEMORY";
  return std::string(absl::StripSuffix(first, "+"));
}

std::optional<double> MemoryGib(absl::string_view text) {
  const std::optional<double> number = LeadingDouble(text);
  if (!number.has_value()) return std::nullopt;
  const std::size_t unit = text.find_first_not_of("0123456789.");
  if (unit == absl::string_view::npos) return std::nullopt;
  switch (text[unit]) {
    case 'K':
      return *number / (1 << 20);
    case 'M':
      return *number / 1024;
    case 'G':
      return *number;
    case 'T':
      return *number * 1024;
    default:
      return std::nullopt;
  }
}

const LogWant kSchedulerWant = {.name = "scheduler",
                                .expressions = [](const knowledge::Knowledge& knowledge) {
                                  return TextsOf(PatternsOf(knowledge, "job.scheduler"));
                                }};

absl::StatusOr<CheckOutput> CheckScheduler(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "job.scheduler"));
  Seen seen;
  std::vector<std::vector<std::string>> commands = host.Captured({"sacct"});
  if (const auto environment = host.JobEnvironment(); host.live() && environment.ok()) {
    if (const auto id = environment->find("SLURM_JOB_ID"); id != environment->end()) {
      commands.push_back({"sacct", "-j", id->second, "-P"});
    }
  }
  bool known = false;
  CheckOutput output;
  for (const std::vector<std::string>& command : commands) {
    const auto text = Output(host, command);
    if (!text.ok()) continue;
    const auto records = ParseSacct(*text);
    if (!records.ok()) continue;
    known = true;
    const auto job = std::find(command.begin(), command.end(), "-j");
    ReadRecords(*records, job != command.end() && job + 1 != command.end() ? *(job + 1) : "",
                &seen);
    absl::StrAppend(&output.excerpt, text->substr(0, 2048));
  }
  const std::vector<std::string> preempted = data.Texts("pod_preempted");
  for (const PodObject& pod : JobPods(host)) {
    known = true;
    if (!seen.memory_gib.has_value()) seen.memory_gib = MemoryGib(pod.memory_limit);
    const Told told = TellPod(pod, preempted);
    if (Weight(told.state) <= Weight(seen.state)) continue;
    seen.state = told.state;
    seen.reason = told.reason;
  }
  // Messages of the scheduler in the job's own output.
  const auto words = data.Patterns();
  std::string said;
  std::string told_state;
  const auto lines =
      ForEachWantedLine(context, LogsOf::kAllNodes, kSchedulerWant, [&](const LogLine& line) {
        if (!told_state.empty()) return;
        const std::string match = CheckData::FirstMatch(words, line.text);
        if (match.empty()) return;
        told_state = match;
        said = CleanText(line.text, 300);
      });
  if (!told_state.empty() && (seen.state.empty() || !Failed(seen.state))) {
    known = true;
    seen.state = told_state;
    seen.reason = said;
  }
  if (!known) {
    return lines.ok() ? absl::UnavailableError("no scheduler has a record of the job")
                      : lines.status();
  }
  const auto text = [&](const char* name, const std::string& value) {
    output.findings.push_back(value.empty() ? UnknownFinding(name, node, "")
                                            : TextFinding(name, node, "", CleanText(value, 512)));
  };
  text("state", seen.state);
  text("reason", seen.reason);
  output.findings.push_back(seen.memory_gib.has_value()
                                ? FloatFinding("requested_memory_gib", node, "", *seen.memory_gib)
                                : UnknownFinding("requested_memory_gib", node, ""));
  text("failures_by_node", seen.failures);
  output.message = absl::StrCat(
      "the scheduler's state of the job is ", seen.state.empty() ? "not known" : seen.state,
      seen.reason.empty() ? "" : absl::StrCat(": ", CleanText(seen.reason, 300)),
      seen.failures.empty() ? "" : absl::StrCat("; failed jobs: ", seen.failures));
  return output;
}

}  // namespace galen::node
