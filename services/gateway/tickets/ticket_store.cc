#include "services/gateway/tickets/ticket_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "services/gateway/tickets/delivery_planner.h"

namespace galen::gateway::tickets {
namespace {

constexpr char kTickets[] = "tickets";
constexpr char kNames[] = "tickets.names";
constexpr char kDead[] = "tickets.dead";
constexpr int kPage = 200;
// Attempts of a change when others interfere.
constexpr int kTries = 20;

std::string DueSpace(const std::string& target) { return absl::StrCat("tickets.due.", target); }
std::string KeyOf(const std::string& target, const std::string& name) {
  return absl::StrCat(target, "/", name);
}

template <typename Message>
absl::StatusOr<Stored<Message>> Parse(absl::string_view space, const store::Record& record) {
  Stored<Message> stored;
  stored.version = record.version;
  if (stored.value.ParseFromString(record.value)) return stored;
  return absl::DataLossError(absl::StrCat("records ", space, ": ", CleanText(record.key, 200),
                                          ": is no ", stored.value.GetTypeName()));
}

template <typename Message>
absl::StatusOr<std::optional<Stored<Message>>> Get(store::Records& records,
                                                   const std::string& space,
                                                   const std::string& key) {
  GALEN_ASSIGN_OR_RETURN(const std::optional<store::Record> record, records.Get(space, key));
  if (!record) return std::nullopt;
  GALEN_ASSIGN_OR_RETURN(Stored<Message> stored, Parse<Message>(space, *record));
  return stored;
}

// Looks ahead only: keeps nothing of the failed attempts but their possible effects.
void Revive(absl::Time now, v1::TicketDue& due) {
  due.clear_dead_time();
  due.clear_not_before();
  due.clear_owner();
  due.clear_lease_expires();
  due.set_attempts(0);
  *due.mutable_first_due() = ToTimestamp(now);
}

}  // namespace

absl::Status TicketStore::MakeDue(const std::string& target, const std::string& diagnosis,
                                  std::int64_t sequence, absl::Time now) {
  const std::string space = DueSpace(target);
  absl::Status status;
  for (int i = 0; i < kTries; ++i) {
    GALEN_ASSIGN_OR_RETURN(std::optional<Due> due, GetDue(target, diagnosis));
    if (due && due->value.sequence() >= sequence) return absl::OkStatus();
    const auto dead = Get<v1::TicketDue>(records_, kDead, KeyOf(target, diagnosis));
    if (!dead.ok()) return dead.status();
    if (!due) {
      due.emplace();
      if (*dead) due->value = (*dead)->value;
      due->value.set_diagnosis(diagnosis);
      Revive(now, due->value);
    }
    due->value.set_sequence(sequence);
    status = PutDue(target, *due);
    if (absl::IsAborted(status)) continue;
    GALEN_RETURN_IF_ERROR(status);
    if (*dead) {
      const absl::Status removed =
          records_.Remove(kDead, KeyOf(target, diagnosis), (*dead)->version);
      if (!removed.ok() && !absl::IsAborted(removed)) return removed;
    }
    return absl::OkStatus();
  }
  return status;
}

absl::StatusOr<std::optional<TicketStore::Due>> TicketStore::GetDue(const std::string& target,
                                                                    const std::string& diagnosis) {
  return Get<v1::TicketDue>(records_, DueSpace(target), diagnosis);
}

absl::StatusOr<std::vector<TicketStore::Due>> TicketStore::ListDue(const std::string& target,
                                                                   const std::string& after,
                                                                   int limit) {
  const std::string space = DueSpace(target);
  GALEN_ASSIGN_OR_RETURN(const std::vector<store::Record> records,
                         records_.List(space, after, limit));
  std::vector<Due> all;
  for (const store::Record& record : records) {
    GALEN_ASSIGN_OR_RETURN(Due due, Parse<v1::TicketDue>(space, record));
    all.push_back(std::move(due));
  }
  return all;
}

absl::Status TicketStore::PutDue(const std::string& target, Due& due) {
  GALEN_ASSIGN_OR_RETURN(due.version, records_.Put(DueSpace(target), due.value.diagnosis(),
                                                   due.value.SerializeAsString(), due.version));
  return absl::OkStatus();
}

absl::Status TicketStore::RemoveDue(const std::string& target, const Due& due) {
  return records_.Remove(DueSpace(target), due.value.diagnosis(), due.version);
}

absl::Status TicketStore::MoveToDeadLetters(const std::string& target, const Due& due) {
  // Written there first, then removed here: after a crash in between it is in both, and is tried
  // again.
  const std::string key = KeyOf(target, due.value.diagnosis());
  GALEN_ASSIGN_OR_RETURN(const std::optional<store::Record> there, records_.Get(kDead, key));
  v1::TicketDue letter = due.value;
  letter.clear_owner();
  letter.clear_lease_expires();
  GALEN_RETURN_IF_ERROR(
      records_.Put(kDead, key, letter.SerializeAsString(), there ? there->version : 0).status());
  return RemoveDue(target, due);
}

absl::StatusOr<std::vector<TicketStore::DeadLetter>> TicketStore::ListDead(
    const std::string& target) {
  std::vector<DeadLetter> letters;
  std::string after = target.empty() ? "" : absl::StrCat(target, "/");
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<store::Record> records,
                           records_.List(kDead, after, kPage));
    for (const store::Record& record : records) {
      if (!target.empty() && !absl::StartsWith(record.key, absl::StrCat(target, "/"))) {
        return letters;
      }
      GALEN_ASSIGN_OR_RETURN(const Due due, Parse<v1::TicketDue>(kDead, record));
      letters.push_back({record.key.substr(0, record.key.find('/')), due.value});
      after = record.key;
    }
    if (records.size() < static_cast<std::size_t>(kPage)) return letters;
  }
}

absl::Status TicketStore::Replay(const std::string& target, const std::string& diagnosis,
                                 absl::Time now) {
  const auto dead = Get<v1::TicketDue>(records_, kDead, KeyOf(target, diagnosis));
  if (!dead.ok()) return dead.status();
  if (!*dead) {
    return absl::NotFoundError(absl::StrCat(CleanText(target, 80), " ", CleanText(diagnosis, 200),
                                            ": there is no such dead letter; see galen tickets "
                                            "dead"));
  }
  return MakeDue(target, diagnosis, (*dead)->value.sequence(), now);
}

absl::StatusOr<std::optional<TicketStore::Ticket>> TicketStore::GetTicket(
    const std::string& target, const std::string& diagnosis) {
  return Get<v1::Ticket>(records_, kTickets, KeyOf(target, diagnosis));
}

absl::Status TicketStore::PutTicket(Ticket& ticket) {
  const v1::Ticket& value = ticket.value;
  // The name first: a ticket whose updates cannot be assigned would be worse than a name too many.
  v1::TicketName name;
  name.set_diagnosis(value.diagnosis());
  const std::string key = KeyOf(value.target(), value.id());
  GALEN_ASSIGN_OR_RETURN(const std::optional<store::Record> there, records_.Get(kNames, key));
  if (!there || there->value != name.SerializeAsString()) {
    GALEN_RETURN_IF_ERROR(
        records_.Put(kNames, key, name.SerializeAsString(), there ? there->version : 0).status());
  }
  GALEN_ASSIGN_OR_RETURN(ticket.version,
                         records_.Put(kTickets, KeyOf(value.target(), value.diagnosis()),
                                      value.SerializeAsString(), ticket.version));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::string>> TicketStore::DiagnosisOf(const std::string& target,
                                                                    const std::string& id) {
  if (id.empty() || id.size() > 500) return std::nullopt;
  const auto name = Get<v1::TicketName>(records_, kNames, KeyOf(target, id));
  if (!name.ok()) return name.status();
  if (!*name) return std::nullopt;
  return (*name)->value.diagnosis();
}

absl::StatusOr<std::vector<v1::Ticket>> TicketStore::ListTickets(const std::string& after,
                                                                 int limit) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<store::Record> records,
                         records_.List(kTickets, after, limit));
  std::vector<v1::Ticket> tickets;
  for (const store::Record& record : records) {
    GALEN_ASSIGN_OR_RETURN(Ticket ticket, Parse<v1::Ticket>(kTickets, record));
    tickets.push_back(std::move(ticket.value));
  }
  return tickets;
}

}  // namespace galen::gateway::tickets
