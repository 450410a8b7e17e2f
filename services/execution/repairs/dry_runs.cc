#include "services/execution/repairs/dry_runs.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "services/execution/node_dispatcher.h"
#include "services/execution/repairs/recovery.h"

namespace galen::execution {
namespace {

using galen::v1::Action;
using galen::v1::CheckResult;
using galen::v1::DryRun;
using node::v1::RepairResponse;
using remediation::RunAction;

constexpr int kMostLines = 100;
constexpr std::size_t kMostText = 4096;
// Part of the deadline reserved for the answer's way back.
constexpr absl::Duration kReturn = absl::Seconds(1);

absl::Status CheckRequest(const v1::DryRunRepairRequest& request) {
  if (request.diagnosis().empty() ||
      !absl::StartsWith(request.action().name(), absl::StrCat(request.diagnosis(), "/actions/"))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "action: ", CleanText(request.action().name(), 300),
        ": is not an action of the diagnosis \"", CleanText(request.diagnosis(), 300), "\""));
  }
  return absl::OkStatus();
}

// The executor's error, in words for the caller of the dry run.
absl::Status OfNode(const std::string& node, const absl::Status& status, absl::Duration time) {
  const std::string name = CleanText(node, 253);
  if (absl::IsNotFound(status)) {
    return absl::NotFoundError(absl::StrCat(name, ": ", NoExecutor().message()));
  }
  if (absl::IsDeadlineExceeded(status)) {
    return absl::DeadlineExceededError(absl::StrCat(name, ": did not answer within ",
                                                    absl::FormatDuration(time),
                                                    ", so that nothing is known of it"));
  }
  const std::string why = absl::StrCat(name, ": ", CleanText(status.message(), 1000));
  if (absl::IsInvalidArgument(status) || absl::IsPermissionDenied(status) ||
      absl::IsUnimplemented(status)) {
    return absl::FailedPreconditionError(why);
  }
  return absl::Status(status.code(), why);
}

void Clean(std::string& text) { text = CleanText(text, kMostText); }

// (A node's answer is untrusted: control characters are removed, and its length is limited.)
DryRun Cleaned(DryRun said) {
  if (said.plan_size() > kMostLines) {
    said.mutable_plan()->DeleteSubrange(kMostLines, said.plan_size() - kMostLines);
  }
  if (said.looks_size() > kMostLines) {
    said.mutable_looks()->DeleteSubrange(kMostLines, said.looks_size() - kMostLines);
  }
  Clean(*said.mutable_content_hash());
  Clean(*said.mutable_text());
  for (std::string& line : *said.mutable_plan()) Clean(line);
  for (DryRun::Look& look : *said.mutable_looks()) {
    Clean(*look.mutable_text());
    Clean(*look.mutable_command());
    Clean(*look.mutable_output());
    Clean(*look.mutable_error());
  }
  said.clear_checks();
  return said;
}

// The results with what they say of the target, one for each check.
std::vector<CheckResult> AboutTarget(const std::vector<std::string>& checks,
                                     const galen::v1::Device& target,
                                     std::vector<CheckResult> results) {
  std::vector<CheckResult> all;
  for (const std::string& check : checks) {
    const auto found = std::find_if(results.begin(), results.end(), [&](const CheckResult& result) {
      return result.check() == check && result.node() == target.node();
    });
    CheckResult& result = all.emplace_back();
    if (found == results.end()) {
      result.set_check(check);
      result.set_node(target.node());
      result.set_status(CheckResult::ERROR);
      result.set_message("no answer in time");
      continue;
    }
    result = std::move(*found);
    result.clear_excerpt();
    result.clear_courses();
    auto* const findings = result.mutable_findings();
    findings->erase(std::remove_if(findings->begin(), findings->end(),
                                   [&](const galen::v1::Finding& finding) {
                                     return !IsAbout(finding, target);
                                   }),
                    findings->end());
  }
  return all;
}

}  // namespace

struct DryRuns::Run {
  Run(std::shared_ptr<std::atomic<int>> counted, clients::Done<DryRun> on_done)
      : under_way(std::move(counted)), done(std::move(on_done)) {}
  ~Run() { --*under_way; }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const std::shared_ptr<std::atomic<int>> under_way;
  clients::Done<DryRun> done;
  Check check;
  galen::v1::Device target;
  std::vector<std::string> checks;
  absl::Time check_deadline;
  absl::Duration node_time;
};

DryRuns::DryRuns(std::vector<RunAction> known, const Clock& clock, Sees sees, Ask ask, Check check,
                 Options options)
    : known_(std::move(known)),
      clock_(clock),
      sees_(std::move(sees)),
      ask_(std::move(ask)),
      check_(std::move(check)),
      options_(options) {}

void DryRuns::Start(const v1::DryRunRepairRequest& request, absl::Time deadline,
                    clients::Done<DryRun> done) {
  if (const absl::Status status = CheckRequest(request); !status.ok()) {
    return std::move(done)(status);
  }
  const Action& action = request.action();
  const std::string& node = action.target().node();
  if (!sees_(request.diagnosis(), node)) {
    return std::move(done)(OfNode(node, NoExecutor(), absl::ZeroDuration()));
  }
  const auto how = std::find_if(known_.begin(), known_.end(),
                                [&](const RunAction& one) { return one.name == action.run(); });
  if (how == known_.end()) {
    return std::move(done)(
        absl::FailedPreconditionError(absl::StrCat(CleanText(action.run(), 100),
                                                   ": is not carried out by this execution agent "
                                                   "(--node_actions)")));
  }
  const absl::Time now = clock_.Now();
  const absl::Duration time = std::min(deadline - kReturn - now, options_.node_time);
  if (time <= absl::ZeroDuration()) {
    return std::move(done)(absl::DeadlineExceededError("there is no time left to ask the machine"));
  }
  const bool full = ++*under_way_ > options_.at_once;
  const auto run = std::make_shared<Run>(under_way_, std::move(done));
  if (full) {
    return std::move(run->done)(absl::ResourceExhaustedError(
        absl::StrCat("there are ", options_.at_once, " dry runs under way; try again")));
  }
  run->target = action.target();
  run->node_time = time;
  run->check = check_;
  run->check_deadline = std::min(deadline - kReturn, now + time + options_.check_time);
  std::set<std::string> checks;
  for (const RunAction::Recovery& promise : how->verify) checks.insert(promise.check);
  run->checks.assign(checks.begin(), checks.end());
  node::v1::RepairRequest ask;
  *ask.mutable_action() = action;
  ask.set_dry_run(true);
  ask_(node, ask, now + time,
       [run](absl::StatusOr<RepairResponse> answer) { Answered(run, std::move(answer)); });
}

void DryRuns::Answered(const std::shared_ptr<Run>& run, absl::StatusOr<RepairResponse> answer) {
  const std::string& node = run->target.node();
  if (!answer.ok()) {
    return std::move(run->done)(OfNode(node, answer.status(), run->node_time));
  }
  const bool dry = answer->has_dry_run() && (answer->state() == RepairResponse::WOULD_RUN ||
                                             answer->state() == RepairResponse::REFUSED);
  if (!dry) {
    return std::move(run->done)(
        absl::InternalError(absl::StrCat(CleanText(node, 253),
                                         ": its executor gave no dry run; is it of another "
                                         "version of Galen?")));
  }
  DryRun said = Cleaned(std::move(*answer->mutable_dry_run()));
  said.set_would_run(answer->state() == RepairResponse::WOULD_RUN && said.same_plan());
  // Without checks, or for a plan that would be refused, the target is not checked.
  if (run->checks.empty() || !said.same_plan()) return std::move(run->done)(std::move(said));
  run->check(
      node, run->checks, run->check_deadline,
      [run, said = std::move(said)](std::vector<CheckResult> results) mutable {
        for (CheckResult& result : AboutTarget(run->checks, run->target, std::move(results))) {
          *said.add_checks() = std::move(result);
        }
        std::move(run->done)(std::move(said));
      });
}

}  // namespace galen::execution
