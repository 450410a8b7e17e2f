#include "services/gateway/actions/proposals.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "services/gateway/tickets/digest.h"

namespace galen::gateway::actions {
namespace {

constexpr std::size_t kMost = 200;
constexpr std::size_t kMostText = 4096;

// Parts with their lengths: no two lists of parts give the same text.
std::string Joined(std::initializer_list<absl::string_view> parts) {
  std::string joined;
  for (const absl::string_view part : parts) absl::StrAppend(&joined, part.size(), ":", part);
  return joined;
}

void Propose(const galen::v1::Diagnosis& diagnosis, const galen::v1::Cause& cause,
             const galen::v1::Device& device, std::set<std::string>& names,
             std::vector<galen::v1::Action>& actions) {
  if (actions.size() >= kMost) return;
  galen::v1::Action action;
  action.set_state(galen::v1::Action::PROPOSED);
  action.set_label(cause.label());
  action.set_text(CleanText(cause.mitigation(), kMostText));
  *action.mutable_target() = device;
  // (The address tells the device; its serial number is for providers.)
  action.mutable_target()->clear_serial();
  const std::string id = tickets::Sha256Hex(
      Joined({cause.label(), device.node(), device.device(), device.pci_address()}));
  action.set_name(absl::StrCat(diagnosis.name(), "/actions/", id.substr(0, 16)));
  if (!names.insert(action.name()).second) return;
  action.set_content_hash(ContentHash(action));
  actions.push_back(std::move(action));
}

}  // namespace

std::string ContentHash(const galen::v1::Action& action) {
  return tickets::Sha256Hex(
      Joined({"galen.action/1", action.name(), action.label(), action.text(),
              action.target().node(), action.target().device(), action.target().pci_address()}));
}

std::vector<galen::v1::Action> ProposedBy(const galen::v1::Diagnosis& diagnosis) {
  std::vector<galen::v1::Action> actions;
  const galen::v1::Report& report = diagnosis.report();
  if (report.outcome() != galen::v1::Report::CAUSE_CONFIRMED) return actions;
  std::vector<const galen::v1::Cause*> causes;
  if (report.has_primary_cause()) causes.push_back(&report.primary_cause());
  for (const galen::v1::Cause& cause : report.other_causes()) causes.push_back(&cause);
  std::set<std::string> names;
  for (const galen::v1::Cause* cause : causes) {
    if (cause->mitigation().empty()) continue;
    for (const galen::v1::Device& device : cause->devices()) {
      Propose(diagnosis, *cause, device, names, actions);
    }
    if (cause->devices().empty()) {
      Propose(diagnosis, *cause, galen::v1::Device(), names, actions);
    }
  }
  return actions;
}

}  // namespace galen::gateway::actions
