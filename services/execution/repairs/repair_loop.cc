#include "services/execution/repairs/repair_loop.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/transient.h"
#include "services/execution/repairs/recovery.h"

namespace galen::execution {
namespace {

using galen::v1::Action;
using node::v1::RepairResponse;
using remediation::RunAction;

constexpr char kRun[] = "galen-execution";  // of all replicas
constexpr absl::Duration kCallMargin = absl::Seconds(30);

// A node that is not registered at the moment may be so again.
bool MayPass(const absl::Status& status) { return IsTransient(status) || absl::IsNotFound(status); }

}  // namespace

RepairLoop::RepairLoop(remediation::ApprovalStore& approvals,
                       remediation::RepairCircuitBreaker& breaker, std::vector<RunAction> known,
                       const Clock& clock, Ask ask, Check check, Options options)
    : approvals_(approvals),
      breaker_(breaker),
      known_(std::move(known)),
      clock_(clock),
      ask_(std::move(ask)),
      check_(std::move(check)),
      options_(std::move(options)),
      thread_([this] { Loop(); }) {}

RepairLoop::~RepairLoop() {
  cancellation_.Cancel();
  thread_.join();
  Join(/*all=*/true);
}

void RepairLoop::Tell(const std::string& news) const {
  if (options_.tell) options_.tell(news);
}

void RepairLoop::TellChange(const std::string& of, const std::string& news) {
  {
    const std::lock_guard<std::mutex> lock(mu_);
    std::string& last = told_[of];
    if (std::exchange(last, news) == news) return;
    if (news.empty()) told_.erase(of);
  }
  if (!news.empty()) Tell(news);
}

void RepairLoop::Loop() {
  do {
    const absl::Status status = Round();
    if (cancellation_.cancelled()) return;
    TellChange("store", status.ok() ? ""
                                    : absl::StrCat("what was approved is not carried out: ",
                                                   status.message()));
  } while (!cancellation_.SleepFor(options_.every));
}

absl::Status RepairLoop::Round() {
  Join(/*all=*/false);
  GALEN_ASSIGN_OR_RETURN(const remediation::ApprovalStore::Entries due,
                         approvals_.Due(clock_.Now()));
  for (const Action& action : due.actions) {
    if (absl::StartsWith(action.run(), "node.")) Start(action);
  }
  return due.unreadable;
}

void RepairLoop::Start(const Action& action) {
  const std::lock_guard<std::mutex> lock(mu_);
  if (running_.count(action.name()) > 0 ||
      running_.size() >= static_cast<std::size_t>(options_.at_once)) {
    return;
  }
  Running& running = running_[action.name()];
  running.thread = std::thread([this, action] {
    const absl::Status status = Serve(action);
    if (!cancellation_.cancelled()) {
      TellChange(action.name(), status.ok() ? ""
                                            : absl::StrCat(action.name(), " (", action.run(),
                                                           "): waits: ", status.message()));
    }
    const std::lock_guard<std::mutex> ended(mu_);
    running_[action.name()].ended = true;
  });
}

void RepairLoop::Join(bool all) {
  std::vector<std::thread> threads;
  {
    const std::lock_guard<std::mutex> lock(mu_);
    for (auto it = running_.begin(); it != running_.end();) {
      if (!all && !it->second.ended) {
        ++it;
        continue;
      }
      threads.push_back(std::move(it->second.thread));
      it = all ? std::next(it) : running_.erase(it);
    }
  }
  for (std::thread& thread : threads) thread.join();
}

absl::Status RepairLoop::Serve(const Action& action) {
  const bool begun = action.state() == Action::CONSUMED;
  if (begun && action.consumed_by() != kRun) return absl::OkStatus();  // somebody else's
  const auto how = std::find_if(known_.begin(), known_.end(),
                                [&](const RunAction& one) { return one.name == action.run(); });
  // Another program offers it; this one lets it be, and the approval expires.
  if (how == known_.end()) {
    return absl::FailedPreconditionError("it is not carried out here (--node_actions)");
  }
  GALEN_RETURN_IF_ERROR(breaker_.Begin(action.name(), action.target().node(), clock_.Now()));
  const absl::StatusOr<Action> taken =
      approvals_.Consume(action.name(), action.content_hash(), kRun, clock_.Now());
  if (absl::IsPermissionDenied(taken.status())) {  // taken back, or expired
    return breaker_.End(action.name(), /*failed=*/false, clock_.Now());
  }
  GALEN_RETURN_IF_ERROR(taken.status());
  if (!begun) {
    const std::lock_guard<std::mutex> lock(mu_);
    unsent_.insert(action.name());
  }
  absl::StatusOr<Outcome> outcome = Do(*taken, *how);
  if (cancellation_.cancelled()) return absl::OkStatus();
  if (!outcome.ok()) {
    const bool tired = clock_.Now() - ToTime(taken->consume_time()) > options_.patience;
    if (MayPass(outcome.status()) && !tired) return outcome.status();
    outcome = GivenUp(action, outcome.status());
  }
  Tell(absl::StrCat(action.name(), " (", action.run(), ", approved by ", taken->decided_by(),
                    "): ", outcome->text));
  absl::Status finished =
      approvals_.Finish(action.name(), kRun, {outcome->began, outcome->succeeded, outcome->text});
  if (!finished.ok() && !absl::IsAborted(finished)) return finished;  // another of us said it first
  {
    const std::lock_guard<std::mutex> lock(mu_);
    unsent_.erase(action.name());
  }
  return breaker_.End(action.name(), outcome->began && !outcome->succeeded, clock_.Now());
}

RepairLoop::Outcome RepairLoop::GivenUp(const Action& action, const absl::Status& why) {
  // An executor that answers knows what it did: an error says that it did nothing.
  bool unknown = MayPass(why);
  if (unknown) {
    const std::lock_guard<std::mutex> lock(mu_);
    unknown = unsent_.count(action.name()) == 0;
  }
  return {unknown, false,
          absl::StrCat(unknown ? "not known whether it was done: " : "not done: ", why.message())};
}

absl::StatusOr<RepairLoop::Outcome> RepairLoop::Do(const Action& action, const RunAction& how) {
  node::v1::RepairRequest request;
  *request.mutable_action() = action;
  GALEN_ASSIGN_OR_RETURN(*request.mutable_warrant(), approvals_.WarrantOf(action.name(), kRun));
  const Asked asked = ask_(action.target().node(), request, how.time + kCallMargin, cancellation_);
  if (asked.sent) {
    const std::lock_guard<std::mutex> lock(mu_);
    unsent_.erase(action.name());
  }
  GALEN_ASSIGN_OR_RETURN(const RepairResponse response, asked.answer);
  switch (response.state()) {
    case RepairResponse::DONE:
    case RepairResponse::INTERRUPTED:
      return Verify(action, how, response.text());
    case RepairResponse::FAILED:
      return Outcome{true, false, response.text()};
    case RepairResponse::REFUSED:
      return Outcome{false, false, response.text()};
    default:
      return absl::InternalError("the node's executor gave no outcome");
  }
}

RepairLoop::Outcome RepairLoop::Verify(const Action& action, const RunAction& how,
                                       std::string before) {
  if (how.verify.empty()) return {true, true, std::move(before)};
  std::set<std::string> names;
  for (const RunAction::Recovery& promise : how.verify) names.insert(promise.check);
  const std::vector<std::string> checks(names.begin(), names.end());
  if (cancellation_.SleepFor(how.settle)) return {};
  const absl::Time begin = clock_.Now();
  for (;;) {
    const Recovered now = RecoveryOf(how.verify, action.target(),
                                     check_(action.target().node(), checks, cancellation_));
    const absl::Duration since = clock_.Now() - begin;
    if (now.all || since >= how.recover || cancellation_.SleepFor(options_.look)) {
      return {true, now.all, absl::StrCat(before, "; afterwards ", now.text)};
    }
  }
}

}  // namespace galen::execution
