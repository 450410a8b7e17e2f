#include "services/gateway/tickets/delivery_planner.h"

#include <algorithm>
#include <cmath>

#include "common/base/proto_time.h"
#include "services/gateway/tickets/document.h"

namespace galen::gateway::tickets {
namespace {

constexpr absl::Duration kFirstPause = absl::Seconds(5);
constexpr absl::Duration kLongestPause = absl::Minutes(5);
constexpr absl::Duration kMostRetryAfter = absl::Hours(1);

Decision ForTicket(const Target& target, const Situation& situation) {
  const v1::Ticket& ticket = *situation.ticket;
  // A ticket that a person closed stays as it is.
  if (ticket.has_close_time() || ticket.resolved()) return {Step::kDone, {}};
  // Another round is running: its end is reported.
  if (situation.state == galen::v1::Diagnosis::PENDING ||
      situation.state == galen::v1::Diagnosis::RUNNING) {
    return {Step::kDone, {}};
  }
  const std::int64_t sequence = situation.due.sequence();
  if (ticket.updated_sequence() < sequence && target.system.Find("update") != nullptr) {
    return {Step::kUpdate, {}};
  }
  if (ticket.commented_sequence() < sequence && target.system.Find("comment") != nullptr) {
    return {Step::kComment, {}};
  }
  if (situation.state == galen::v1::Diagnosis::CANCELLED && target.resolve_cancelled &&
      target.system.Find("resolve") != nullptr) {
    return {Step::kResolve, {}};
  }
  return {Step::kDone, {}};
}

}  // namespace

absl::string_view NameOf(Step step) {
  switch (step) {
    case Step::kDone:
      return "done";
    case Step::kWait:
      return "wait";
    case Step::kFind:
      return "find";
    case Step::kOpen:
      return "open";
    case Step::kUpdate:
      return "update";
    case Step::kComment:
      return "comment";
    case Step::kResolve:
      return "resolve";
  }
  return "";
}

Decision NextStep(const Target& target, const Situation& situation, absl::Time now) {
  const v1::TicketDue& due = situation.due;
  if (due.has_not_before() && ToTime(due.not_before()) > now) {
    return {Step::kWait, ToTime(due.not_before())};
  }
  if (situation.ticket) return ForTicket(target, situation);
  const RequestForm* find = target.system.Find("find");
  // Searches for a ticket that may exist already, even if none would be opened now.
  const bool unsure = due.has_opening_since();
  if (!unsure && target.when.count(std::string(StateName(situation.state))) == 0) {
    return {Step::kDone, {}};
  }
  if (find == nullptr) return {Step::kOpen, {}};
  if (situation.looked) {
    return {
        target.when.count(std::string(StateName(situation.state))) > 0 ? Step::kOpen : Step::kDone,
        {}};
  }
  if (due.has_opening_last()) {
    const absl::Time known = ToTime(due.opening_last()) + find->settles;
    if (now < known) return {Step::kWait, known};
  }
  return {Step::kFind, {}};
}

absl::Duration PauseAfter(int failures, double chance) {
  const int doublings = std::clamp(failures - 1, 0, 20);
  const absl::Duration limit = std::min(kLongestPause, kFirstPause * std::pow(2.0, doublings));
  return limit * (0.5 + 0.5 * chance);
}

void Fail(const Outcome& outcome, absl::Time now, double chance, v1::TicketDue& due) {
  due.set_attempts(due.attempts() + 1);
  due.set_last_error(outcome.detail);
  const bool given_up = due.has_first_due() && now - ToTime(due.first_due()) > kGiveUpAfter;
  if (outcome.kind == Outcome::Kind::kRefused || given_up) {
    *due.mutable_dead_time() = ToTimestamp(now);
    return;
  }
  absl::Duration pause = PauseAfter(due.attempts(), chance);
  if (outcome.retry_after) {
    pause = std::max(pause, std::min(*outcome.retry_after, kMostRetryAfter));
  }
  *due.mutable_not_before() = ToTimestamp(now + pause);
}

bool IsDead(const v1::TicketDue& due) { return due.has_dead_time(); }

}  // namespace galen::gateway::tickets
