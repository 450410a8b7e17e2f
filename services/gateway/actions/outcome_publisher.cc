#include "services/gateway/actions/outcome_publisher.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace galen::gateway::actions {
namespace {

using galen::v1::Action;

constexpr std::size_t kMostBy = 150;  // bytes; the orchestrator accepts 256 in all

// Whether a later attempt may succeed.
bool MayPass(const absl::Status& status) {
  return !absl::IsNotFound(status) && !absl::IsFailedPrecondition(status) &&
         !absl::IsInvalidArgument(status);
}

}  // namespace

galen::v1::SubmitFeedbackRequest ConfirmationBy(const Action& action,
                                                const galen::remediation::NodeActions& offered,
                                                const galen::v1::Diagnosis& diagnosis) {
  if (!offered.LooksAfter(action.run()) || action.state() != Action::SUCCEEDED) return {};
  // The repair of another cause does not show why the job failed.
  if (diagnosis.report().primary_cause().label() != action.label()) return {};
  galen::v1::SubmitFeedbackRequest request;
  request.set_name(diagnosis.name());
  request.set_request_id(
      absl::StrCat("repair/", action.content_hash(), "/", action.consume_time().seconds()));
  request.set_confirmed_label(action.label());
  request.set_confirmed_by(absl::StrCat("recovery after ", action.run(), ", approved by ",
                                        CleanText(action.decided_by(), kMostBy)));
  request.set_text(absl::StrCat(action.text(), " ", action.outcome()));
  // Our own confirmation may be incomplete: repeating it does no harm.
  const galen::v1::Confirmation& there = diagnosis.confirmation();
  if (diagnosis.has_confirmation() &&
      (there.by() != request.confirmed_by() || there.label() != request.confirmed_label())) {
    return {};
  }
  return request;
}

OutcomePublisher::OutcomePublisher(galen::remediation::ApprovalStore& approvals,
                                   galen::remediation::RepairOutcomeStore& outcomes,
                                   galen::remediation::NodeActions offered, Read read,
                                   Submit submit, Options options)
    : approvals_(approvals),
      outcomes_(outcomes),
      offered_(std::move(offered)),
      read_(std::move(read)),
      submit_(std::move(submit)),
      options_(std::move(options)) {
  if (offered_.actions.empty() || options_.every <= absl::ZeroDuration()) return;
  thread_ = std::thread([this] { Loop(); });
}

OutcomePublisher::~OutcomePublisher() {
  cancellation_.Cancel();
  if (thread_.joinable()) thread_.join();
}

void OutcomePublisher::Loop() {
  bool failing = false;
  do {
    const absl::Status status = Round();
    if (cancellation_.cancelled() || !options_.tell) continue;
    if (!status.ok() && !std::exchange(failing, true)) {
      options_.tell(absl::StrCat("outcomes of repairs wait to be published: ", status.message()));
    } else if (status.ok() && std::exchange(failing, false)) {
      options_.tell("outcomes of repairs are published again");
    }
  } while (!cancellation_.SleepFor(options_.every));
}

absl::Status OutcomePublisher::Round() {
  GALEN_ASSIGN_OR_RETURN(const galen::remediation::ApprovalStore::Entries results,
                         approvals_.UnacknowledgedResults());
  absl::Status failed = results.unreadable;
  for (const Action& action : results.actions) {
    // One that waits holds up no other.
    if (const absl::Status status = Publish(action); !status.ok()) failed = status;
    if (cancellation_.cancelled()) break;
  }
  return failed;
}

absl::Status OutcomePublisher::Publish(const Action& action) {
  if (offered_.LooksAfter(action.run())) GALEN_RETURN_IF_ERROR(outcomes_.Add(action));
  const std::string diagnosis = action.name().substr(0, action.name().find("/actions/"));
  const absl::StatusOr<galen::v1::Diagnosis> read = read_(diagnosis);
  if (!read.ok() && MayPass(read.status())) return read.status();
  if (read.ok()) {
    const galen::v1::SubmitFeedbackRequest request = ConfirmationBy(action, offered_, *read);
    if (!request.name().empty()) {
      const absl::Status submitted = submit_(request);
      if (!submitted.ok() && MayPass(submitted)) return submitted;
      if (!submitted.ok() && options_.tell) {
        options_.tell(absl::StrCat(
            action.name(), ": its recovery is not taken as a confirmation: ", submitted.message()));
      }
    }
  }
  return approvals_.Acknowledge(action);
}

}  // namespace galen::gateway::actions
