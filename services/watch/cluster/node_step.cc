#include "services/watch/cluster/node_step.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace galen::watch::cluster {
namespace {

using actions::NodeAction;
using kube::Json;
using kube::TextAt;

constexpr char kByAnnotation[] = "galen.io/taken-out-by";
constexpr std::size_t kMostShown = 5;

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

// A label's value of Kubernetes, of a label of ours: dots and underscores may stand in both.
std::string TaintValue(const std::string& label) { return label.substr(0, 63); }

// "diagnoses/D/actions/A": whose it was is no cluster's to know.
std::string ByOf(const std::string& name) {
  const std::size_t at = name.find("/diagnoses/");
  return at == std::string::npos ? name : name.substr(at + 1);
}

}  // namespace

NodeStep StepFor(const galen::v1::Action& action, const NodeAction& how, const Json& node,
                 absl::Span<const Json> out, int most) {
  NodeStep step;
  const std::string name = TextAt(node, {"metadata", "name"});
  const std::string version = TextAt(node, {"metadata", "resourceVersion"});
  if (name != action.target().node() || version.empty()) {
    step.refused = true;
    step.text = absl::StrCat("the API server told of another node than ", action.target().node());
    return step;
  }
  Json spec = Json::object();
  std::string what;
  if (how.what == NodeAction::Do::kCordon) {
    what = "cordoned";
    if (IsCordoned(node)) {
      step.text = absl::StrCat("node ", name, " was cordoned before; nothing was done");
      return step;
    }
    spec["unschedulable"] = true;
  } else {
    what = absl::StrCat("tainted with ", how.taint_key, "=", TaintValue(action.label()), ":",
                        how.taint_effect);
    Json taints = TaintsOf(node);
    for (const Json& taint : taints) {
      if (TextAt(taint, {"key"}) == how.taint_key &&
          TextAt(taint, {"effect"}) == how.taint_effect) {
        step.text = absl::StrCat("node ", name, " was tainted with ", how.taint_key, ":",
                                 how.taint_effect, " before; nothing was done");
        return step;
      }
    }
    taints.push_back({{"key", how.taint_key},
                      {"value", TaintValue(action.label())},
                      {"effect", how.taint_effect}});
    spec["taints"] = std::move(taints);
  }
  std::vector<std::string> others;
  for (const Json& one : out) {
    const std::string other = TextAt(one, {"metadata", "name"});
    if (other != name && IsOut(one)) others.push_back(other);
  }
  if (others.size() >= static_cast<std::size_t>(most)) {
    step.refused = true;
    const std::size_t shown = std::min(others.size(), kMostShown);
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

}  // namespace galen::watch::cluster
