#include "services/watch/kubernetes/node_repairs.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/transient.h"
#include "services/watch/kubernetes/node_step.h"

namespace galen::watch::kubernetes {
namespace {

using kube::Json;

constexpr char kRun[] = "galen-watch";  // of all of them
constexpr absl::Duration kRepairCall = absl::Seconds(20);

const kube::Resource kRepairNodes{"", "v1", "nodes"};

}  // namespace

NodeRepairs::NodeRepairs(kube::Client& client, remediation::ApprovalStore& approvals,
                         remediation::NodeActions known, const Clock& clock, Options options,
                         std::function<void(const std::string&)> tell)
    : client_(client),
      approvals_(approvals),
      known_(std::move(known)),
      clock_(clock),
      options_(options),
      tell_(std::move(tell)),
      thread_([this] { Loop(); }) {}

NodeRepairs::~NodeRepairs() {
  cancellation_.Cancel();
  thread_.join();
}

void NodeRepairs::Loop() {
  bool failing = false;
  do {
    const absl::Status status = Round();
    if (cancellation_.cancelled()) return;
    if (!status.ok() && !std::exchange(failing, true)) {
      tell_(
          absl::StrCat("what was approved is not done on the cluster's nodes: ", status.message()));
    } else if (status.ok() && std::exchange(failing, false)) {
      tell_("what is approved is done on the cluster's nodes again");
    }
  } while (!cancellation_.SleepFor(options_.every));
}

absl::Status NodeRepairs::Round() {
  GALEN_ASSIGN_OR_RETURN(const remediation::ApprovalStore::Entries due,
                         approvals_.Due(clock_.Now()));
  absl::Status failed = due.unreadable;
  for (const galen::v1::Action& action : due.actions) {
    // An action that cannot be done does not block the others.
    if (const absl::Status status = Serve(action); !status.ok()) failed = status;
    if (cancellation_.cancelled()) return absl::OkStatus();
  }
  return failed;
}

absl::Status NodeRepairs::Serve(const galen::v1::Action& action) {
  if (absl::StartsWith(action.run(), "node.")) return absl::OkStatus();  // execution's
  const bool begun = action.state() == galen::v1::Action::CONSUMED;
  if (begun && action.consumed_by() != kRun) return absl::OkStatus();  // somebody else's
  Outcome outcome;
  const remediation::NodeAction* how = known_.Find(action.run());
  if (how == nullptr || how->TextFor(action.target().node(), action.label()) != action.text()) {
    outcome.text = absl::StrCat("not done: ", action.run(),
                                " is something else here than what was approved, or nothing; "
                                "gateway and galen-watch need the same kubernetes/actions.yaml");
    how = nullptr;
  }
  const absl::StatusOr<galen::v1::Action> taken =
      approvals_.Consume(action.name(), action.content_hash(), kRun, clock_.Now());
  if (absl::IsPermissionDenied(taken.status())) return absl::OkStatus();  // withdrawn, or expired
  GALEN_RETURN_IF_ERROR(taken.status());
  if (how != nullptr) {
    absl::StatusOr<Outcome> done = Do(*taken, *how);
    if (!done.ok()) {
      const bool tired = clock_.Now() - ToTime(taken->consume_time()) > options_.patience;
      const bool again = IsTransient(done.status()) || absl::IsUnauthenticated(done.status());
      if (again && !tired) return done.status();
      done = Outcome{false, false, absl::StrCat("not done: ", done.status().message())};
    }
    outcome = *std::move(done);
  }
  tell_(absl::StrCat(action.name(), " (", action.run(), ", approved by ", action.decided_by(),
                     "): ", outcome.text));
  const absl::Status finished =
      approvals_.Finish(action.name(), kRun, {outcome.began, outcome.succeeded, outcome.text});
  // Another instance recorded it first.
  return absl::IsAborted(finished) ? absl::OkStatus() : finished;
}

absl::StatusOr<NodeRepairs::Outcome> NodeRepairs::Do(const galen::v1::Action& action,
                                                     const remediation::NodeAction& how) {
  const kube::Call call{kRepairCall, &cancellation_};
  const absl::StatusOr<Json> node = client_.Get(kRepairNodes, {"", action.target().node()}, call);
  if (absl::IsNotFound(node.status())) {
    return Outcome{false, false,
                   absl::StrCat("not done: the cluster has no node ", action.target().node())};
  }
  GALEN_RETURN_IF_ERROR(node.status());
  GALEN_ASSIGN_OR_RETURN(const kube::Listing out,
                         client_.List({kRepairNodes, "", kOutLabel, ""}, call));
  const NodeStep step = StepFor(action, how, *node, out.items, known_.most);
  if (!step.patch.has_value()) return Outcome{step.done_before, !step.refused, step.text};
  kube::Patch patch;
  patch.content = *step.patch;
  GALEN_RETURN_IF_ERROR(
      client_.Apply(kRepairNodes, {"", action.target().node()}, patch, call).status());
  return Outcome{true, true, step.text};
}

}  // namespace galen::watch::kubernetes
