// The parsers of what orchestrators say.
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/json_access.h"
#include "common/base/text.h"
#include "re2/re2.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/orchestrator.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxEntries = 1000;
constexpr std::size_t kMaxNodes = 100'000;

// Sum of the GPUs of a list of resources: "nvidia.com/gpu": "8", "amd.com/gpu": "8".
std::optional<std::int64_t> Gpus(const nlohmann::json* resources) {
  std::optional<std::int64_t> sum;
  if (resources == nullptr || !resources->is_object()) return sum;
  for (const auto& [name, value] : resources->items()) {
    if (!absl::EndsWith(name, ".com/gpu") || !value.is_string()) continue;
    std::int64_t count = 0;
    if (absl::SimpleAtoi(value.get<std::string>(), &count)) sum = sum.value_or(0) + count;
  }
  return sum;
}

// "gpu:a100:4(S:0-1)", "gpu:4", "gpu:a100:4,gpu:t4:2".
std::optional<std::int64_t> GpusOfGres(absl::string_view gres) {
  static const RE2 entry(R"((?:^|,)gpu(?::[^:,(]*)?:(\d{1,6}))");
  std::optional<std::int64_t> sum;
  re2::StringPiece rest(gres.data(), gres.size());
  std::int64_t count = 0;
  while (RE2::FindAndConsume(&rest, entry, &count)) sum = sum.value_or(0) + count;
  return sum;
}

// In service: no flag and no state that keeps jobs away.
bool InService(absl::string_view state) {
  const std::string upper = absl::AsciiStrToUpper(state);
  for (const absl::string_view bad :
       {"DOWN", "DRAIN", "FAIL", "NOT_RESPONDING", "POWERED_DOWN", "UNKNOWN", "ERROR"}) {
    if (absl::StrContains(upper, bad)) return false;
  }
  // "IDLE*": does not respond.
  return !absl::StrContains(upper, "*");
}

std::string AfterKey(absl::string_view line, absl::string_view key) {
  absl::string_view rest = absl::StripLeadingAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&rest, key)) return "";
  return CleanText(absl::StripAsciiWhitespace(rest), 512);
}

}  // namespace

absl::StatusOr<NodeObject> ParseKubeNode(absl::string_view json) {
  const nlohmann::json tree = ParseJson(json);
  if (TextAt(tree, {"kind"}) != "Node") return absl::DataLossError("not a node of Kubernetes");
  NodeObject node;
  node.name = CleanText(TextAt(tree, {"metadata", "name"}), 256);
  node.gpus = Gpus(At(tree, {"status", "capacity"}));
  node.allocatable_gpus = Gpus(At(tree, {"status", "allocatable"}));
  if (const nlohmann::json* conditions = At(tree, {"status", "conditions"});
      conditions != nullptr && conditions->is_array()) {
    for (const nlohmann::json& condition : *conditions) {
      if (TextAt(condition, {"type"}) != "Ready") continue;
      node.ready = TextAt(condition, {"status"}) == "True";
      if (!*node.ready) node.reason = CleanText(TextAt(condition, {"message"}), 256);
    }
  }
  return node;
}

absl::StatusOr<NodeObject> ParseScontrolNode(absl::string_view text) {
  NodeObject node;
  for (const absl::string_view line : Lines(text)) {
    if (const std::string reason = AfterKey(line, "Reason="); !reason.empty()) {
      node.reason = reason;
      continue;
    }
    for (absl::string_view word : Words(line)) {
      if (absl::ConsumePrefix(&word, "NodeName=")) {
        // A second node: this parser reads the first one.
        if (!node.name.empty()) return node;
        node.name = CleanText(word, 256);
      } else if (absl::ConsumePrefix(&word, "State=")) {
        node.state = CleanText(word, 128);
      } else if (absl::ConsumePrefix(&word, "Gres=")) {
        node.gpus = GpusOfGres(word);
      } else if (absl::ConsumePrefix(&word, "CfgTRES=")) {
        static const RE2 gpus(R"((?:^|,)gres/gpu=(\d{1,6}))");
        std::int64_t count = 0;
        if (RE2::PartialMatch(re2::StringPiece(word.data(), word.size()), gpus, &count)) {
          node.allocatable_gpus = count;
        }
      }
    }
  }
  if (node.name.empty()) return absl::DataLossError("not a node of scontrol");
  if (!node.state.empty()) node.ready = InService(node.state);
  return node;
}

absl::StatusOr<std::vector<NodeObject>> ParseSlurmNodes(absl::string_view json) {
  const nlohmann::json tree = ParseJson(json);
  const nlohmann::json* list = At(tree, {"nodes"});
  if (list == nullptr || !list->is_array()) return absl::DataLossError("not the nodes of Slurm");
  std::vector<NodeObject> nodes;
  for (const nlohmann::json& entry : *list) {
    if (nodes.size() >= kMaxNodes) break;
    NodeObject node;
    node.name = CleanText(TextAt(entry, {"name"}), 256);
    node.reason = CleanText(TextAt(entry, {"reason"}), 256);
    std::vector<std::string> states;
    // One text and flags before Slurm 23.02, a list of both since.
    for (const char* key : {"state", "state_flags"}) {
      const nlohmann::json* value = At(entry, {key});
      if (value == nullptr) continue;
      if (value->is_string()) states.push_back(value->get<std::string>());
      if (!value->is_array()) continue;
      for (const nlohmann::json& flag : *value) {
        if (flag.is_string()) states.push_back(flag.get<std::string>());
      }
    }
    node.state = CleanText(absl::AsciiStrToUpper(absl::StrJoin(states, "+")), 128);
    if (!states.empty()) node.ready = InService(node.state);
    node.gpus = GpusOfGres(TextAt(entry, {"gres"}));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

absl::StatusOr<PodObject> ParsePodDescription(absl::string_view text) {
  PodObject pod;
  bool events = false;
  bool containers = false;
  bool limits = false;
  std::string container;
  for (const absl::string_view line : Lines(text)) {
    const bool top = !line.empty() && line[0] != ' ' && line[0] != '\t';
    if (top) {
      events = absl::StartsWith(line, "Events:");
      containers =
          absl::StartsWith(line, "Containers:") || absl::StartsWith(line, "Init Containers:");
      limits = false;
      if (std::string value = AfterKey(line, "Name:"); !value.empty()) pod.name = value;
      if (std::string value = AfterKey(line, "Status:"); !value.empty()) pod.status = value;
      if (std::string value = AfterKey(line, "Reason:"); !value.empty()) pod.reason = value;
      if (std::string value = AfterKey(line, "Message:"); !value.empty()) pod.message = value;
      continue;
    }
    if (containers) {
      static const RE2 heading(R"(^  (\S+):\s*$)");
      RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), heading, &container);
      const absl::string_view trimmed = absl::StripAsciiWhitespace(line);
      if (trimmed == "Limits:") limits = true;
      if (trimmed == "Requests:" || absl::StartsWith(trimmed, "Environment")) limits = false;
      if (absl::EndsWith(trimmed, "Terminated") && pod.terminations.size() < kMaxEntries) {
        pod.terminations.push_back({container, "", std::nullopt});
      }
      if (!pod.terminations.empty()) {
        Termination& last = pod.terminations.back();
        if (last.reason.empty()) last.reason = AfterKey(line, "Reason:");
        if (const std::string code = AfterKey(line, "Exit Code:"); !code.empty()) {
          int number = 0;
          if (!last.exit_code.has_value() && absl::SimpleAtoi(code, &number)) {
            last.exit_code = number;
          }
        }
      }
      if (limits && pod.memory_limit.empty()) pod.memory_limit = AfterKey(line, "memory:");
    }
    if (events && pod.events.size() < kMaxEntries) {
      // Type  Reason  Age  From  Message; columns are parted by two blanks or more.
      std::vector<std::string> columns;
      for (const absl::string_view column : absl::StrSplit(line, "  ", absl::SkipWhitespace())) {
        columns.emplace_back(absl::StripAsciiWhitespace(column));
      }
      if (columns.size() < 4 || columns[0] == "Type" || absl::StartsWith(columns[0], "----")) {
        continue;
      }
      pod.events.push_back(
          {columns[0], columns[1],
           CleanText(absl::StrJoin(columns.begin() + 4, columns.end(), " "), 512)});
    }
  }
  if (pod.name.empty()) return absl::DataLossError("not the description of a pod");
  return pod;
}

}  // namespace galen::node
