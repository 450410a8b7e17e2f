// kube_node: `kubectl describe node` (kubernetes/kubectl pkg/describe/describe.go, describeNode)
// and the YAML of a Node, whole or in part, as `kubectl get node NODE -o json` prints it: the name,
// the capacity, its allocatable part, and the condition Ready.
// kube_pod: `kubectl describe pod` (describePod) as it is, and a Pod in YAML or JSON if it has the
// pod's name, its state and how its containers ended.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/pasted.h"
#include "nlohmann/json.hpp"
#include "re2/re2.h"

namespace galen::intake {
absl::StatusOr<Converted> KubeNode(absl::string_view text, absl::string_view) {
  static const RE2 section(R"(\s*(?i:(capacity|allocatable)):\s*)");
  static const RE2 amount(R"#(\s+"?([\w.\-]+/?[\w.\-]*)"?:\s+"?(\d+\w*)"?,?\s*)#");
  static const RE2 name(R"(\s*[Nn]ame:\s+([\w.\-]+)\s*)");
  static const RE2 ready(R"(\s+Ready\s+(True|False|Unknown)\s.*)");
  nlohmann::json node = {{"kind", "Node"}};
  nlohmann::json* amounts = nullptr;
  std::size_t indent = 0;
  bool any = false;
  std::string key;
  std::string value;
  for (const absl::string_view line : PastedLines(text)) {
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    if (RE2::FullMatch(Piece(line), section, &key)) {
      // The text may show two nodes, or one before and after: the first one counts.
      const std::string field = absl::AsciiStrToLower(key);
      if (node["status"].contains(field)) break;
      amounts = &(node["status"][field] = nlohmann::json::object());
      indent = IndentOf(line);
    } else if (amounts != nullptr && IndentOf(line) > indent &&
               RE2::FullMatch(Piece(line), amount, &key, &value)) {
      (*amounts)[key] = value;
      any = true;
    } else {
      amounts = nullptr;
      if (!node.contains("metadata") && RE2::FullMatch(Piece(line), name, &value)) {
        node["metadata"]["name"] = value;
      } else if (!node["status"].contains("conditions") &&
                 RE2::FullMatch(Piece(line), ready, &value)) {
        node["status"]["conditions"] = {{{"type", "Ready"}, {"status", value}}};
        any = true;
      }
    }
  }
  if (!any) return Unreadable("kube_node", "tells nothing of a node");
  return Converted{.text = node.dump()};
}

namespace {

constexpr std::size_t kMostPodLines = 100'000;

// A line of YAML or JSON: "reason: OOMKilled", "\"exitCode\": 137,".
bool ReadPodField(absl::string_view line, std::string* key, std::string* value) {
  static const LazyRE2 kField = {R"re(^\s*(?:- )?"?([A-Za-z][\w./-]*)"?\s*:\s*(.*?),?\s*$)re"};
  if (!RE2::FullMatch(Piece(line), *kField, key, value)) return false;
  absl::string_view bare = *value;
  if (bare.size() >= 2 && (bare[0] == '"' || bare[0] == '\'') && bare.back() == bare[0]) {
    *value = std::string(bare.substr(1, bare.size() - 2));
  }
  return true;
}

// A Pod, as `kubectl get pod -o yaml` prints it, read by its indentation: names of fields at the
// places where the API has them.
class PodReader {
 public:
  void Line(absl::string_view line) {
    std::string key;
    std::string value;
    if (!ReadPodField(line, &key, &value)) return;
    std::size_t indent = IndentOf(line);
    // A list's sign belongs to the indentation.
    if (absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "- ")) indent += 2;
    while (!path_.empty() && path_.back().first >= indent) path_.pop_back();
    const std::string above = path_.empty() ? "" : path_.back().second;
    const bool opens = value.empty() || value == "{" || value == "[";
    if (opens) {
      if (path_.size() < 64) path_.emplace_back(indent, key);
      if (key == "terminated") ends_.emplace_back();
      return;
    }
    if (path_.empty() && key == "kind" && value != "Pod") other_ = true;
    if (above == "metadata" && path_.size() == 1 && key == "name") name_ = value;
    if (above == "spec" && path_.size() == 1 && key == "nodeName") node_ = value;
    if (above == "status" && path_.size() == 1) {
      if (key == "phase") phase_ = value;
      if (key == "reason") reason_ = value;
      if (key == "message") message_ = value;
    }
    if (above == "limits" && key == "memory") memory_ = value;
    if (above == "terminated" && !ends_.empty()) {
      if (key == "reason") ends_.back().reason = value;
      if (key == "exitCode") ends_.back().code = value;
    }
    if (above == "waiting" && key == "reason") waits_ = value;
    if (above == "waiting" && key == "message") wait_message_ = value;
  }

  const std::string& name() const { return name_; }
  bool any() const { return !other_ && (!phase_.empty() || !ends_.empty() || !waits_.empty()); }

  // In the format of `kubectl describe pod`.
  std::string Description() const {
    std::string text = absl::StrCat("Name:             ", name_, "\n");
    const auto field = [&](absl::string_view title, absl::string_view value) {
      if (!value.empty()) absl::StrAppend(&text, title, value, "\n");
    };
    field("Node:             ", node_);
    field("Status:           ", phase_);
    field("Reason:           ", reason_);
    field("Message:          ", message_);
    absl::StrAppend(&text, "Containers:\n  container:\n");
    for (const End& end : ends_) {
      absl::StrAppend(&text, "    Last State:     Terminated\n");
      field("      Reason:       ", end.reason);
      field("      Exit Code:    ", end.code);
    }
    if (!waits_.empty()) {
      absl::StrAppend(&text, "    State:          Waiting\n");
      field("      Reason:       ", waits_);
      field("      Message:      ", wait_message_);
    }
    if (!memory_.empty()) {
      absl::StrAppend(&text, "    Limits:\n      memory:  ", memory_, "\n");
    }
    return text;
  }

 private:
  struct End {
    std::string reason;
    std::string code;
  };
  std::vector<std::pair<std::size_t, std::string>> path_;  // indentation and key of what is open
  bool other_ = false;                                     // an object of another kind
  std::string name_;
  std::string node_;
  std::string phase_;
  std::string reason_;
  std::string message_;
  std::string memory_;
  std::string waits_;
  std::string wait_message_;
  std::vector<End> ends_;
};

}  // namespace

absl::StatusOr<Converted> KubePod(absl::string_view text, absl::string_view command) {
  static const LazyRE2 kName = {R"(^Name:\s+([a-z0-9][a-z0-9.-]*)\s*$)"};
  const TypedCommand typed(command, "kubectl");
  Converted converted;
  PodReader reader;
  bool described = false;
  std::size_t lines = 0;
  for (const absl::string_view line : PastedLines(text)) {
    std::string name;
    if (RE2::FullMatch(Piece(line), *kName, &name)) {
      // A second pod's description begins.
      if (described && name != converted.argument) break;
      described = true;
      converted.argument = name;
    }
    absl::StrAppend(&converted.text, line, "\n");
    if (++lines <= kMostPodLines) reader.Line(line);
  }
  converted.partial = typed.filtered();
  if (described) return converted;
  if (reader.name().empty() || !reader.any()) {
    // The typed command names the pod, and the pasted part may hold its events.
    if (absl::StrContains(command, "describe")) return converted;
    return Unreadable("kube_pod", "no line has the name and the state of a pod");
  }
  converted.text = reader.Description();
  converted.argument = reader.name();
  converted.partial = true;
  return converted;
}

}  // namespace galen::intake
