#include "services/watch/kubernetes/node_step.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace galen::watch::kubernetes {
namespace {

using kube::Json;
using remediation::NodeAction;

constexpr char kByAnnotation[] = "galen.io/taken-out-by";
constexpr std::size_t kMostShownNodes = 5;

bool IsCordoned(const Json& node) {
  const auto spec = node.find("spec");
  if (spec == node.end() || !spec->is_object()) return false;
  const auto found = spec->find("unschedulable");
  return found != spec->end() && found->is_boolean() && found->get<bool>();
}

Json TaintsOf(const Json& node) {
  const auto spec = node.find("spec");
  if (spec == node.end() || !spec->is_object()) return Json::array();
  const auto taints = spec->find("taints");
  return taints != spec->end() && taints->is_array() ? *taints : Json::array();
}

bool IsOut(const Json& node) {
  const Json taints = TaintsOf(node);
  return IsCordoned(node) || std::any_of(taints.begin(), taints.end(), [](const Json& taint) {
           return absl::StartsWith(TextAt(taint, {"key"}), "galen.io/");
         });
}

// Whether a label of ours can be a taint's value unchanged: the written value must be the one in
// the approved text, not a part of it.
bool IsTaintValue(absl::string_view label) {
  return label.size() <= 63 && !label.empty() &&
         absl::ascii_isalnum(static_cast<unsigned char>(label.front())) &&
         absl::ascii_isalnum(static_cast<unsigned char>(label.back())) &&
         std::all_of(label.begin(), label.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' ||
                  c == '-';
         });
}

// "diagnoses/D/actions/A": without the tenant, which must not leak into the cluster.
std::string ByOf(const std::string& name) {
  const std::size_t at = name.find("/diagnoses/");
  return at == std::string::npos ? name : name.substr(at + 1);
}

// Nothing is left to do: this action did it before its end was recorded, or somebody else did.
NodeStep Already(const galen::v1::Action& action, const Json& node, const std::string& what) {
  NodeStep step;
  const std::string name = TextAt(node, {"metadata", "name"});
  step.done_before =
      TextAt(node, {"metadata", "annotations", kByAnnotation}) == ByOf(action.name());
  step.text = step.done_before
                  ? absl::StrCat("node ", name, " is ", what)
                  : absl::StrCat("node ", name, " was ", what, " before; nothing was done");
  return step;
}

}  // namespace

NodeStep StepFor(const galen::v1::Action& action, const NodeAction& how, const Json& node,
                 absl::Span<const Json> out, int most) {
  NodeStep step;
  const std::string name = TextAt(node, {"metadata", "name"});
  const std::string version = TextAt(node, {"metadata", "resourceVersion"});
  if (name != action.target().node() || version.empty()) {
    step.refused = true;
    step.text =
        absl::StrCat("the API server answered with another node than ", action.target().node());
    return step;
  }
  Json spec = Json::object();
  std::string what;
  if (how.what == NodeAction::Do::kCordon) {
    what = "cordoned";
    if (IsCordoned(node)) return Already(action, node, what);
    spec["unschedulable"] = true;
  } else {
    if (!IsTaintValue(action.label())) {
      step.refused = true;
      step.text = absl::StrCat("not done: ", action.label(),
                               " cannot be the value of a taint, which has at most 63 letters, "
                               "digits, dots, dashes and underscores; cordon the node instead");
      return step;
    }
    what = absl::StrCat("tainted with ", how.taint_key, "=", action.label(), ":", how.taint_effect);
    Json taints = TaintsOf(node);
    for (const Json& taint : taints) {
      if (TextAt(taint, {"key"}) == how.taint_key &&
          TextAt(taint, {"effect"}) == how.taint_effect) {
        return Already(action, node,
                       absl::StrCat("tainted with ", how.taint_key, ":", how.taint_effect));
      }
    }
    taints.push_back(
        {{"key", how.taint_key}, {"value", action.label()}, {"effect", how.taint_effect}});
    spec["taints"] = std::move(taints);
  }
  std::vector<std::string> others;
  for (const Json& one : out) {
    const std::string other = TextAt(one, {"metadata", "name"});
    if (other != name && IsOut(one)) others.push_back(other);
  }
  if (others.size() >= static_cast<std::size_t>(most)) {
    step.refused = true;
    const std::size_t shown = std::min(others.size(), kMostShownNodes);
    step.text = absl::StrCat(
        "not done: ", others.size(), " nodes are out by Galen's hand (",
        absl::StrJoin(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
        others.size() > shown ? ", ..." : "", "), and at most ", most,
        " may be; put nodes back (kubectl uncordon), or raise `most` of kubernetes/actions.yaml");
    return step;
  }
  step.patch =
      Json{{"metadata",
            {{"resourceVersion", version},
             {"labels", {{kOutLabel, how.what == NodeAction::Do::kCordon ? "cordon" : "taint"}}},
             {"annotations", {{kByAnnotation, ByOf(action.name())}}}}},
           {"spec", std::move(spec)}};
  step.text = absl::StrCat("node ", name, " is ", what);
  return step;
}

}  // namespace galen::watch::kubernetes
