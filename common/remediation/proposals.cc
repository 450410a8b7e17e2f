#include "common/remediation/proposals.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check_id.h"
#include "common/base/text.h"
#include "common/crypto/sha256.h"

namespace galen::remediation {
namespace {

constexpr std::size_t kMost = 200;
constexpr std::size_t kMostActionText = 4096;

// Parts with their lengths: no two lists of parts give the same text.
std::string Joined(std::initializer_list<absl::string_view> parts) {
  std::string joined;
  for (const absl::string_view part : parts) absl::StrAppend(&joined, part.size(), ":", part);
  return joined;
}

// Collects the actions of a diagnosis, each once.
class Proposals {
 public:
  explicit Proposals(const std::string& diagnosis) : diagnosis_(diagnosis) {}

  void Add(const std::string& label, const std::string& text, const galen::v1::Device& device,
           const std::string& run, const std::vector<std::string>& plan = {}) {
    if (actions_.size() >= kMost) return;
    galen::v1::Action action;
    action.set_state(galen::v1::Action::PROPOSED);
    action.set_label(label);
    action.set_text(CleanText(text, kMostActionText));
    action.set_run(run);
    for (const std::string& line : plan) action.add_plan(line);
    *action.mutable_target() = device;
    // (The address identifies the device; its serial number is for providers.)
    action.mutable_target()->clear_serial();
    const std::string id =
        Sha256Hex(Joined({label, device.node(), device.device(), device.pci_address(), run}));
    action.set_name(absl::StrCat(diagnosis_, "/actions/", id.substr(0, 16)));
    if (!names_.insert(action.name()).second) return;
    action.set_content_hash(ContentHash(action));
    actions_.push_back(std::move(action));
  }
  std::vector<galen::v1::Action> Take() { return std::move(actions_); }

 private:
  const std::string& diagnosis_;
  std::set<std::string> names_;
  std::vector<galen::v1::Action> actions_;
};

// Proposes the actions that Galen can carry out, on each node where checks show the cause.
void ProposeRuns(const galen::v1::Cause& cause, const NodeActions& offered, Proposals& proposals) {
  if (cause.owner() == "customer") return;
  std::set<absl::string_view> checked;
  for (const std::string& id : cause.evidence_ids()) checked.insert(NodeOfCheckId(id));
  for (const galen::v1::Device& device : cause.devices()) {
    if (device.node().empty() || checked.count(device.node()) == 0) continue;
    galen::v1::Device node;
    node.set_node(device.node());
    for (const NodeAction& action : offered.actions) {
      if (!action.IsFor(cause.label())) continue;
      if (action.run.has_value()) {
        const bool whole = action.run->target == RunAction::Target::kNode;
        const absl::StatusOr<Filled> filled = Fill(*action.run, whole ? node : device);
        // If the device is not known well enough, people do it.
        if (filled.ok()) {
          proposals.Add(cause.label(), filled->text, whole ? node : device, action.name,
                        PlanOf(*action.run, *filled));
        }
        continue;
      }
      proposals.Add(cause.label(), action.TextFor(node.node(), cause.label()), node, action.name);
    }
  }
}

}  // namespace

std::string ContentHash(const galen::v1::Action& action) {
  std::string plan;
  for (const std::string& line : action.plan()) plan += Joined({line});
  return Sha256Hex(Joined({"galen.action/3", action.name(), action.label(), action.text(),
                           action.target().node(), action.target().device(),
                           action.target().pci_address(), action.run(), plan}));
}

std::vector<galen::v1::Action> ProposedBy(const galen::v1::Diagnosis& diagnosis,
                                          const NodeActions& offered) {
  const galen::v1::Report& report = diagnosis.report();
  if (report.outcome() != galen::v1::Report::CAUSE_CONFIRMED) return {};
  std::vector<const galen::v1::Cause*> causes;
  if (report.has_primary_cause()) causes.push_back(&report.primary_cause());
  for (const galen::v1::Cause& cause : report.other_causes()) causes.push_back(&cause);
  Proposals proposals(diagnosis.name());
  for (const galen::v1::Cause* cause : causes) {
    if (diagnosis.incident().bundle().empty()) ProposeRuns(*cause, offered, proposals);
    if (cause->mitigation().empty()) continue;
    for (const galen::v1::Device& device : cause->devices()) {
      proposals.Add(cause->label(), cause->mitigation(), device, "");
    }
    if (cause->devices().empty()) {
      proposals.Add(cause->label(), cause->mitigation(), galen::v1::Device(), "");
    }
  }
  return proposals.Take();
}

}  // namespace galen::remediation
