#include "services/node/repair/repairer.h"

#include <algorithm>
#include <cstdint>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/base/text.h"
#include "common/remediation/proposals.h"

namespace galen::node {
namespace {

using galen::v1::Action;
using remediation::Argv;
using remediation::RunAction;
using v1::RepairResponse;

constexpr std::size_t kMostOutput = 2000;
constexpr std::size_t kMostSteps = 100;
constexpr absl::Duration kLookAgain = absl::Milliseconds(500);
constexpr absl::Duration kRemember = absl::Hours(24);
constexpr char kSame[] = "the gateway and this executor need the same knowledge/actions";

absl::string_view EndOf(const std::string& text) {
  const absl::string_view all = absl::StripAsciiWhitespace(text);
  return all.substr(all.size() - std::min(all.size(), kMostOutput));
}

// Runs it and writes down what came; null: it could not be run.
const host::CommandResult* Note(const Argv& argv, const absl::StatusOr<host::CommandResult>& result,
                                RepairResponse& response) {
  if (static_cast<std::size_t>(response.steps_size()) >= kMostSteps) {
    response.mutable_steps()->RemoveLast();
  }
  RepairResponse::Step& step = *response.add_steps();
  step.set_command(CleanText(absl::StrJoin(argv, " "), kMostOutput));
  if (!result.ok()) {
    step.set_error(CleanText(std::string(result.status().message()), kMostOutput));
    return nullptr;
  }
  step.set_exit_code(result->exit_code);
  step.set_output(
      CleanText(std::string(EndOf(result->out.empty() ? result->err : result->out)), kMostOutput));
  return &*result;
}

}  // namespace

struct Repairer::Ready {
  const RunAction* action = nullptr;
  remediation::Filled filled;
  Action own;  // the request's, with the text and plan that it has here
};

Repairer::Repairer(Options options, std::vector<RunAction> known,
                   const security::WarrantVerifier& verifier, UsedWarrants& used_warrants, Run run,
                   const Clock& clock)
    : options_(std::move(options)),
      known_(std::move(known)),
      verifier_(verifier),
      used_warrants_(used_warrants),
      run_(std::move(run)),
      clock_(clock) {}

absl::StatusOr<std::unique_ptr<Repairer>> Repairer::Make(Options options,
                                                         std::vector<RunAction> known,
                                                         const security::WarrantVerifier& verifier,
                                                         UsedWarrants& used_warrants, Run run,
                                                         const Clock& clock) {
  std::vector<RunAction> allowed;
  for (const std::string& name : options.allowed) {
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const RunAction& one) { return one.name == name; });
    if (found == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, ": the knowledge has no such action; there are ",
          absl::StrJoin(known, ", ",
                        [](std::string* out, const RunAction& one) { out->append(one.name); })));
    }
    allowed.push_back(*found);
  }
  return std::unique_ptr<Repairer>(new Repairer(std::move(options), std::move(allowed), verifier,
                                                used_warrants, std::move(run), clock));
}

absl::StatusOr<Repairer::Ready> Repairer::Find(const Action& action) const {
  Ready ready;
  for (const RunAction& one : known_) {
    if (one.name == action.run()) ready.action = &one;
  }
  if (ready.action == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        CleanText(action.run(), 100), ": is not carried out on this machine (--repairs)"));
  }
  if (action.target().node() != options_.node) {
    return absl::PermissionDeniedError(absl::StrCat("this is ", options_.node, ", and not ",
                                                    CleanText(action.target().node(), 100)));
  }
  GALEN_ASSIGN_OR_RETURN(ready.filled, remediation::Fill(*ready.action, action.target()));
  ready.own = action;
  ready.own.set_text(CleanText(ready.filled.text, 4096));
  ready.own.clear_plan();
  for (std::string& line : remediation::PlanOf(*ready.action, ready.filled)) {
    ready.own.add_plan(std::move(line));
  }
  ready.own.set_content_hash(remediation::ContentHash(ready.own));
  return ready;
}

absl::StatusOr<Repairer::Ready> Repairer::Prepare(const Action& action) const {
  GALEN_ASSIGN_OR_RETURN(Ready ready, Find(action));
  // Only the approved action runs here: text, commands and all.
  if (ready.own.content_hash() != action.content_hash()) {
    return absl::PermissionDeniedError(
        absl::StrCat(action.run(), ": is something else here than what was approved; ", kSame));
  }
  return ready;
}

absl::StatusOr<security::Warrant> Repairer::Believe(const v1::RepairRequest& request) const {
  GALEN_ASSIGN_OR_RETURN(security::Warrant warrant, verifier_.Read(request.warrant()));
  if (warrant.node != options_.node || warrant.action != request.action().name() ||
      warrant.content_hash != request.action().content_hash()) {
    return absl::PermissionDeniedError("warrant of an approval: it is for something else");
  }
  return warrant;
}

bool Repairer::Holds(const RunAction::Condition& condition, absl::Duration time,
                     RepairResponse& response) const {
  host::ProcessLimits limits;
  limits.time = time;
  const auto result = run_(condition.argv, limits);
  const host::CommandResult* const ran = Note(condition.argv, result, response);
  // The output of a program that fails proves nothing.
  if (ran == nullptr || ran->exit_code != 0 || ran->truncated) return false;
  const absl::string_view printed = absl::StripAsciiWhitespace(ran->out);
  return std::any_of(condition.prints.begin(), condition.prints.end(),
                     [printed](const std::string& one) { return one == printed; });
}

void Repairer::Look(const std::vector<RunAction::Condition>& conditions, bool afterwards,
                    absl::Time until, galen::v1::DryRun& dry_run) const {
  for (const RunAction::Condition& condition : conditions) {
    RepairResponse noted;
    const absl::Duration left = until - SteadyNow();
    galen::v1::DryRun::Look& look = *dry_run.add_looks();
    look.set_text(CleanText(condition.text, kMostOutput));
    look.set_afterwards(afterwards);
    if (left <= absl::ZeroDuration()) {
      look.set_command(CleanText(absl::StrJoin(condition.argv, " "), kMostOutput));
      look.set_error("not checked: the conditions before it took too long");
      continue;
    }
    look.set_holds(Holds(condition, left, noted));
    const RepairResponse::Step& step = noted.steps(0);
    look.set_command(step.command());
    look.set_exit_code(step.exit_code());
    look.set_output(step.output());
    look.set_error(step.error());
  }
}

absl::StatusOr<RepairResponse> Repairer::DryRun(const Action& action) {
  const std::unique_lock<std::mutex> alone(one_look_, std::try_to_lock);
  if (!alone.owns_lock()) {
    return absl::AbortedError("another dry run of this machine is under way; try again");
  }
  if (at_work_) return absl::AbortedError("a repair of this machine is under way");
  GALEN_ASSIGN_OR_RETURN(const Ready ready, Find(action));
  RepairResponse response;
  galen::v1::DryRun& dry_run = *response.mutable_dry_run();
  dry_run.set_content_hash(ready.own.content_hash());
  *dry_run.mutable_plan() = ready.own.plan();
  dry_run.set_same_plan(ready.own.content_hash() == action.content_hash());
  *dry_run.mutable_look_time() = ToTimestamp(clock_.Now());
  std::vector<std::string> missing;
  if (dry_run.same_plan()) {
    const absl::Time until = SteadyNow() + options_.look_time;
    Look(ready.filled.before, /*afterwards=*/false, until, dry_run);
    Look(ready.filled.after, /*afterwards=*/true, until, dry_run);
    for (const galen::v1::DryRun::Look& look : dry_run.looks()) {
      if (!look.afterwards() && !look.holds()) missing.push_back(look.text());
    }
    dry_run.set_text(missing.empty() ? "it would be run as it is planned"
                                     : absl::StrCat("nothing would be run: it is not so that ",
                                                    absl::StrJoin(missing, ", nor that ")));
  } else {
    dry_run.set_text(absl::StrCat(
        action.run(), ": is something else here than what is proposed, and would be refused; ",
        kSame));
  }
  dry_run.set_would_run(dry_run.same_plan() && missing.empty());
  response.set_state(dry_run.would_run() ? RepairResponse::WOULD_RUN : RepairResponse::REFUSED);
  response.set_text(dry_run.text());
  return response;
}

RepairResponse Repairer::Carry(const Ready& ready) const {
  RepairResponse response;
  const absl::Time until = SteadyNow() + ready.action->time;
  const auto left = [until] { return until - SteadyNow(); };
  const std::string over =
      absl::StrCat("its time of ", absl::FormatDuration(ready.action->time), " was over before: ");
  for (const RunAction::Condition& condition : ready.filled.before) {
    if (left() <= absl::ZeroDuration()) {
      response.set_state(RepairResponse::REFUSED);
      response.set_text(absl::StrCat("nothing was done: ", over, condition.text));
      return response;
    }
    if (Holds(condition, left(), response)) continue;
    response.set_state(RepairResponse::REFUSED);
    response.set_text(absl::StrCat("nothing was done: it is not so that ", condition.text));
    return response;
  }
  for (const Argv& step : ready.filled.steps) {
    host::ProcessLimits limits;
    limits.time = left();
    if (limits.time <= absl::ZeroDuration()) {
      response.set_state(RepairResponse::FAILED);
      response.set_text(absl::StrCat(over, CleanText(absl::StrJoin(step, " "), kMostOutput)));
      return response;
    }
    const auto result = run_(step, limits);
    const host::CommandResult* const ran = Note(step, result, response);
    if (ran != nullptr && ran->exit_code == 0) continue;
    const RepairResponse::Step& last = response.steps(response.steps_size() - 1);
    response.set_state(RepairResponse::FAILED);
    response.set_text(absl::StrCat(
        last.command(), ": ",
        ran == nullptr ? last.error()
                       : absl::StrCat("exit code ", last.exit_code(), ": ", last.output())));
    return response;
  }
  for (const RunAction::Condition& condition : ready.filled.after) {
    if (left() <= absl::ZeroDuration()) {
      response.set_state(RepairResponse::FAILED);
      response.set_text(absl::StrCat("all was run, and ", over, condition.text));
      return response;
    }
    bool holds = Holds(condition, left(), response);
    while (!holds && SteadyNow() + kLookAgain < until) {
      std::this_thread::sleep_for(absl::ToChronoMilliseconds(kLookAgain));
      if (left() <= absl::ZeroDuration()) break;
      response.mutable_steps()->RemoveLast();
      holds = Holds(condition, left(), response);
    }
    if (holds) continue;
    response.set_state(RepairResponse::FAILED);
    response.set_text(absl::StrCat("all was run, and it is not so that ", condition.text));
    return response;
  }
  response.set_state(RepairResponse::DONE);
  response.set_text(absl::StrCat(ready.filled.steps.size(),
                                 ready.filled.steps.size() == 1 ? " command" : " commands",
                                 " ran and did not fail"));
  return response;
}

absl::StatusOr<RepairResponse> Repairer::Repair(const v1::RepairRequest& request) {
  if (request.dry_run()) return DryRun(request.action());
  const std::unique_lock<std::mutex> alone(one_, std::try_to_lock);
  if (!alone.owns_lock()) return absl::AbortedError("another repair of this machine is under way");
  GALEN_ASSIGN_OR_RETURN(const Ready ready, Prepare(request.action()));
  GALEN_ASSIGN_OR_RETURN(const security::Warrant warrant, Believe(request));
  GALEN_ASSIGN_OR_RETURN(std::optional<RepairResponse> before, used_warrants_.Find(warrant.nonce));
  if (before.has_value()) return *std::move(before);
  used_warrants_.Forget(clock_.Now() - kRemember);
  GALEN_RETURN_IF_ERROR(used_warrants_.Begin(warrant.nonce));
  const std::string what = absl::StrCat(request.action().name(), " (", request.action().run(),
                                        ", approved by ", warrant.approver, ")");
  if (options_.tell) options_.tell(absl::StrCat(what, ": begins"));
  at_work_ = true;
  const RepairResponse response = Carry(ready);
  at_work_ = false;
  if (options_.tell) options_.tell(absl::StrCat(what, ": ", response.text()));
  GALEN_RETURN_IF_ERROR(used_warrants_.End(warrant.nonce, response));
  return response;
}

}  // namespace galen::node
