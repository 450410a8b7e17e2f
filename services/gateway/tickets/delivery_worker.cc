#include "services/gateway/tickets/delivery_worker.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"

namespace galen::gateway::tickets {
namespace {

constexpr int kDuePage = 100;
constexpr int kMostDeliverySteps = 30;
constexpr absl::Duration kLook = absl::Minutes(1);
// Clocks of gateways differ: a ticket may be a little older than expected.
constexpr absl::Duration kSlack = absl::Minutes(10);

// The longest time between taking a lease and sending; the lease then covers the request, and more.
constexpr absl::Duration kMostDelay = absl::Seconds(5);

absl::Duration LeaseOf(const Target& target) { return 2 * target.timeout + 3 * kMostDelay; }

absl::string_view WordOf(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::kDone:
      return "done";
    case Outcome::Kind::kNone:
    case Outcome::Kind::kMore:
      return "none";
    case Outcome::Kind::kAgain:
      return "again";
    case Outcome::Kind::kRefused:
      return "refused";
  }
  return "";
}

}  // namespace

// One due item, while we hold its lease.
struct DeliveryWorker::Round {
  TicketStore::Due due;
  galen::v1::Diagnosis diagnosis;
  TicketDocument document;
  std::optional<TicketStore::Ticket> ticket;
  bool looked = false;
  int page = 1;
  absl::Time leased_at;  // on SteadyNow()'s scale
};

DeliveryWorker::DeliveryWorker(const Target& target, std::string console_url,
                               Dependencies dependencies)
    : target_(target),
      console_url_(std::move(console_url)),
      dependencies_(std::move(dependencies)),
      tickets_(*dependencies_.records) {}

DeliveryWorker::Counts DeliveryWorker::counts() const {
  const MutexLock lock(mu_);
  return counts_;
}

void DeliveryWorker::Count(Step step, const Outcome& outcome) {
  const MutexLock lock(mu_);
  ++counts_.requests[{std::string(NameOf(step)), std::string(WordOf(outcome))}];
  if (outcome.kind != Outcome::Kind::kAgain) {
    failures_ = 0;
    paused_until_ = absl::InfinitePast();
    return;
  }
  // One worker at a time tries a system that is down.
  ++failures_;
  absl::Duration pause = PauseAfter(failures_, dependencies_.chance());
  if (outcome.retry_after) pause = std::max(pause, std::min(*outcome.retry_after, absl::Hours(1)));
  if (failures_ > 1 || outcome.retry_after) paused_until_ = dependencies_.clock->Now() + pause;
}

absl::StatusOr<absl::Time> DeliveryWorker::WorkOnce() {
  const absl::Time now = dependencies_.clock->Now();
  std::string me;
  {
    const MutexLock lock(mu_);
    if (now < paused_until_) return std::min(paused_until_, now + absl::Minutes(5));
    me = absl::StrCat(dependencies_.owner, "#", ++last_worker_);
  }
  absl::Time next = now + kLook;
  std::string after;
  std::int64_t count = 0;
  absl::Duration oldest;
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(std::vector<TicketStore::Due> page,
                           tickets_.ListDue(target_.name, after, kDuePage));
    for (TicketStore::Due& due : page) {
      after = due.value.diagnosis();
      ++count;
      oldest = std::max(oldest, now - ToTime(due.value.first_due()));
      absl::Time from = now;
      if (due.value.has_not_before()) from = std::max(from, ToTime(due.value.not_before()));
      if (!due.value.owner().empty()) from = std::max(from, ToTime(due.value.lease_expires()));
      if (from > now) {
        next = std::min(next, from);
        continue;
      }
      due.value.set_owner(me);
      *due.value.mutable_lease_expires() = ToTimestamp(now + LeaseOf(target_));
      const absl::Status taken = tickets_.PutDue(target_.name, due);
      if (absl::IsAborted(taken)) continue;
      GALEN_RETURN_IF_ERROR(taken);
      const absl::Status dealt = Process(std::move(due));
      // (ABORTED: it is another one's by now.)
      if (!dealt.ok() && !absl::IsAborted(dealt)) return dealt;
      return now;
    }
    if (page.size() < static_cast<std::size_t>(kDuePage)) break;
  }
  const MutexLock lock(mu_);
  counts_.due = count;
  counts_.oldest = oldest;
  return next;
}

absl::Status DeliveryWorker::PutMine(Round& round) {
  const absl::Time now = dependencies_.clock->Now();
  for (;;) {
    *round.due.value.mutable_lease_expires() = ToTimestamp(now + LeaseOf(target_));
    round.leased_at = SteadyNow();
    const absl::Status put = tickets_.PutDue(target_.name, round.due);
    if (!absl::IsAborted(put)) return put;
    // Meanwhile the scanner may have found a later event; another worker must not have taken the
    // item.
    GALEN_ASSIGN_OR_RETURN(const std::optional<TicketStore::Due> there,
                           tickets_.GetDue(target_.name, round.due.value.diagnosis()));
    if (!there || there->value.owner() != round.due.value.owner()) return put;
    round.due.version = there->version;
    round.due.value.set_sequence(std::max(round.due.value.sequence(), there->value.sequence()));
  }
}

// Stores the failure, and releases the lease.
absl::Status DeliveryWorker::Finish(const Outcome& failure, Round& round) {
  v1::TicketDue& due = round.due.value;
  Fail(failure, dependencies_.clock->Now(), dependencies_.chance(), due);
  const std::string owner = due.owner();
  if (IsDead(due)) {
    GALEN_RETURN_IF_ERROR(PutMine(round));
    GALEN_RETURN_IF_ERROR(tickets_.MoveToDeadLetters(target_.name, round.due));
    const MutexLock lock(mu_);
    ++counts_.dead;
    return absl::OkStatus();
  }
  GALEN_RETURN_IF_ERROR(PutMine(round));
  due.clear_owner();
  due.clear_lease_expires();
  const absl::Status put = tickets_.PutDue(target_.name, round.due);
  // (The scanner was faster: the lease expires.)
  return absl::IsAborted(put) ? absl::OkStatus() : put;
}

absl::Status DeliveryWorker::ReadDiagnosis(Round& round) {
  GALEN_ASSIGN_OR_RETURN(round.diagnosis, dependencies_.source->Get(round.due.value.diagnosis()));
  if (round.diagnosis.last_sequence() < round.due.value.sequence()) {
    return absl::UnavailableError("the diagnosis that was read is older than its log");
  }
  if (target_.audience == Reader::kCustomer && dependencies_.redact) {
    const std::vector<std::string> parts = absl::StrSplit(round.diagnosis.name(), '/');
    dependencies_.redact(parts.size() > 1 ? parts[1] : "", round.diagnosis);
  }
  round.document = DocumentOf(round.diagnosis, console_url_, target_.audience);
  return absl::OkStatus();
}

absl::Status DeliveryWorker::Process(TicketStore::Due taken) {
  Round round;
  round.due = std::move(taken);
  const std::string name = round.due.value.diagnosis();
  GALEN_ASSIGN_OR_RETURN(round.ticket, tickets_.GetTicket(target_.name, name));
  for (int i = 0; i < kMostDeliverySteps; ++i) {
    if (round.diagnosis.name().empty() ||
        round.diagnosis.last_sequence() < round.due.value.sequence()) {
      if (const absl::Status read = ReadDiagnosis(round); !read.ok()) {
        Outcome failure;
        failure.kind = absl::IsNotFound(read) ? Outcome::Kind::kRefused : Outcome::Kind::kAgain;
        failure.detail = absl::StrCat("the diagnosis cannot be read: ", read.message());
        return Finish(failure, round);
      }
    }
    Situation situation;
    situation.due = round.due.value;
    if (round.ticket) situation.ticket = round.ticket->value;
    situation.state = round.diagnosis.state();
    situation.looked = round.looked;
    const Decision decision = NextStep(target_, situation, dependencies_.clock->Now());
    if (decision.step == Step::kDone) {
      const absl::Status removed = tickets_.RemoveDue(target_.name, round.due);
      if (!absl::IsAborted(removed)) return removed;
      // The scanner found a later event, which is still to be reported.
      GALEN_RETURN_IF_ERROR(PutMine(round));
      continue;
    }
    if (decision.step == Step::kWait) {
      *round.due.value.mutable_not_before() = ToTimestamp(decision.at);
      round.due.value.clear_owner();
      round.due.value.clear_lease_expires();
      return tickets_.PutDue(target_.name, round.due);
    }
    GALEN_ASSIGN_OR_RETURN(const bool on, Perform(decision.step, round));
    if (!on) return absl::OkStatus();
  }
  Outcome failure;
  failure.kind = Outcome::Kind::kAgain;
  failure.detail = "too many steps at once";
  return Finish(failure, round);
}

absl::StatusOr<Outcome> DeliveryWorker::Exchange(Step step, Round& round) {
  const RequestForm& form = *target_.system.Find(NameOf(step));
  const v1::TicketDue& due = round.due.value;
  const absl::Time since =
      (due.has_opening_since() ? ToTime(due.opening_since()) : ToTime(due.first_due())) - kSlack;
  Values values =
      ValuesFor(target_, round.document, round.ticket ? &round.ticket->value : nullptr, since);
  if (step == Step::kFind) values["page"] = absl::StrCat(round.page);
  const absl::StatusOr<HttpCall> call = MakeCall(target_, form, values, dependencies_.clock->Now());
  if (!call.ok()) {
    Outcome refused;
    refused.kind = Outcome::Kind::kRefused;
    refused.detail = std::string(call.status().message());
    return refused;
  }
  // A worker that was suspended after it took the lease must not send: another may be doing so.
  if (SteadyNow() - round.leased_at > kMostDelay) {
    return absl::AbortedError("the lease may be over");
  }
  Outcome outcome = ReadAnswer(target_, NameOf(step), form, std::move(values),
                               dependencies_.sender->Send(*call, target_.timeout));
  Count(step, outcome);
  return outcome;
}

absl::StatusOr<bool> DeliveryWorker::Perform(Step step, Round& round) {
  if (step == Step::kOpen) {
    const absl::Time now = dependencies_.clock->Now();
    v1::TicketDue& due = round.due.value;
    if (!due.has_opening_since()) *due.mutable_opening_since() = ToTimestamp(now);
    *due.mutable_opening_last() = ToTimestamp(now);
  }
  GALEN_RETURN_IF_ERROR(PutMine(round));
  GALEN_ASSIGN_OR_RETURN(const Outcome outcome, Exchange(step, round));
  switch (outcome.kind) {
    case Outcome::Kind::kAgain:
    case Outcome::Kind::kRefused:
      if (step == Step::kOpen && !outcome.may_have_happened) {
        round.due.value.clear_opening_last();
      }
      GALEN_RETURN_IF_ERROR(Finish(outcome, round));
      return false;
    case Outcome::Kind::kNone:
      round.looked = true;
      return true;
    case Outcome::Kind::kMore:
      if (++round.page <= target_.system.Find("find")->pages) return true;
      round.looked = true;
      return true;
    case Outcome::Kind::kDone:
      break;
  }
  round.due.value.set_attempts(0);
  round.due.value.clear_last_error();
  GALEN_RETURN_IF_ERROR(Note(step, outcome, round));
  return true;
}

absl::Status DeliveryWorker::Note(Step step, const Outcome& outcome, Round& round) {
  const std::int64_t told = round.diagnosis.last_sequence();
  if (step == Step::kFind || step == Step::kOpen) {
    TicketStore::Ticket ticket;
    ticket.value.set_diagnosis(round.due.value.diagnosis());
    ticket.value.set_target(target_.name);
    ticket.value.set_id(outcome.id);
    ticket.value.set_key(outcome.key);
    ticket.value.set_url(outcome.url);
    *ticket.value.mutable_open_time() = ToTimestamp(dependencies_.clock->Now());
    // A ticket that was opened without our knowledge has an unknown state: its text is written
    // again.
    const bool opened = step == Step::kOpen;
    const bool can_update = target_.system.Find("update") != nullptr;
    ticket.value.set_updated_sequence(opened ? told : 0);
    ticket.value.set_commented_sequence(opened || can_update ? told : 0);
    const absl::Status put = tickets_.PutTicket(ticket);
    if (absl::IsAborted(put)) {
      GALEN_ASSIGN_OR_RETURN(round.ticket,
                             tickets_.GetTicket(target_.name, round.due.value.diagnosis()));
      return round.ticket ? absl::OkStatus() : put;
    }
    GALEN_RETURN_IF_ERROR(put);
    round.ticket = std::move(ticket);
    return absl::OkStatus();
  }
  for (;;) {
    v1::Ticket& value = round.ticket->value;
    if (step == Step::kUpdate) value.set_updated_sequence(told);
    if (step == Step::kComment) value.set_commented_sequence(told);
    if (step == Step::kResolve) value.set_resolved(true);
    const absl::Status put = tickets_.PutTicket(*round.ticket);
    if (!absl::IsAborted(put)) return put;
    // News of the ticket came in between.
    GALEN_ASSIGN_OR_RETURN(round.ticket,
                           tickets_.GetTicket(target_.name, round.due.value.diagnosis()));
    if (!round.ticket) return put;
  }
}

}  // namespace galen::gateway::tickets
