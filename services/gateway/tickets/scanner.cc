#include "services/gateway/tickets/scanner.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "services/gateway/tickets/delivery_planner.h"

namespace galen::gateway::tickets {
namespace {

constexpr char kScan[] = "tickets.scan";
constexpr char kWatch[] = "tickets.watch";
constexpr absl::Duration kLease = absl::Seconds(30);
constexpr int kNamesPage = 256;
constexpr int kMostPages = 100;       // of names that are new at once
constexpr int kFirstPages = 4;        // read when ticketing starts
constexpr std::size_t kRecent = 512;  // names that are remembered: orders of creation may cross
constexpr int kWatchPage = 200;
constexpr int kEvents = 200;
// A diagnosis that is over is followed a little longer: a report or a confirmation may come.
constexpr absl::Duration kAfterEnd = absl::Hours(1);
constexpr absl::Duration kLongestLook = absl::Seconds(30);

// "concluded", ... after this event; nothing if the event changes nothing in a ticket.
std::optional<std::string> StateAfter(const galen::v1::DiagnosisEvent& event,
                                      const std::string& before) {
  switch (event.event_case()) {
    case galen::v1::DiagnosisEvent::kConcluded:
      if (before == "escalated") return before;
      return event.concluded().report().outcome() == galen::v1::Report::CAUSE_CONFIRMED
                 ? "concluded"
                 : "awaiting_feedback";
    case galen::v1::DiagnosisEvent::kEscalated:
      return "escalated";
    case galen::v1::DiagnosisEvent::kFailed:
      return "failed";
    case galen::v1::DiagnosisEvent::kCancelled:
      return "cancelled";
    case galen::v1::DiagnosisEvent::kFeedbackReceived:
      if (!event.feedback_received().confirmed_label().empty()) return before;
      return "running";
    default:
      return std::nullopt;
  }
}

bool IsOver(const std::string& state) {
  return state == "concluded" || state == "escalated" || state == "failed" || state == "cancelled";
}

}  // namespace

Scanner::Scanner(store::EventLog& events, store::Records& records, const Site& site,
                 const Clock& clock, std::string owner)
    : events_(events),
      records_(records),
      site_(site),
      clock_(clock),
      owner_(std::move(owner)),
      tickets_(records) {}

absl::Status Scanner::PutScan() {
  GALEN_ASSIGN_OR_RETURN(
      scan_.version, records_.Put(kScan, "scan", scan_.value.SerializeAsString(), scan_.version));
  return absl::OkStatus();
}

absl::StatusOr<bool> Scanner::Lead() {
  const absl::Time now = clock_.Now();
  GALEN_ASSIGN_OR_RETURN(const std::optional<store::Record> record, records_.Get(kScan, "scan"));
  scan_ = {};
  if (record) {
    scan_.version = record->version;
    if (!scan_.value.ParseFromString(record->value)) {
      return absl::DataLossError("records tickets.scan: is not a TicketScan");
    }
    const bool mine = scan_.value.owner() == owner_;
    const absl::Duration left = ToTime(scan_.value.lease_expires()) - now;
    // (A lease that ends later than any of ours could was taken by a gateway with a wrong clock.)
    if (!mine && left > absl::ZeroDuration() && left <= 2 * kLease) return false;
    if (mine && left > kLease / 2 && left <= kLease) return true;
    if (!mine) followed_.clear();
  } else {
    *scan_.value.mutable_since() = ToTimestamp(now);
    began_now_ = true;
  }
  scan_.value.set_owner(owner_);
  *scan_.value.mutable_lease_expires() = ToTimestamp(now + kLease);
  const absl::Status put = PutScan();
  if (absl::IsAborted(put)) return false;
  GALEN_RETURN_IF_ERROR(put);
  return true;
}

absl::Status Scanner::FindNew() {
  const std::set<std::string> known(scan_.value.recent().begin(), scan_.value.recent().end());
  std::vector<std::string> seen;
  bool changed = false;
  std::string token;
  const int most = began_now_ ? kFirstPages : kMostPages;
  for (int i = 0; i < most; ++i) {
    GALEN_ASSIGN_OR_RETURN(const store::EventLog::Page page, events_.List("", kNamesPage, token));
    bool met = false;
    for (const std::string& name : page.names) {
      if (seen.size() < kRecent) seen.push_back(name);
      if (known.count(name) > 0) {
        met = true;
        continue;
      }
      changed = true;
      const auto put = records_.Put(kWatch, name, v1::TicketWatch().SerializeAsString(), 0);
      // (It exists already: another scanner was faster, or this one crashed here.)
      if (!put.ok() && !absl::IsAborted(put.status())) return put.status();
    }
    token = page.next_page_token;
    if (met || token.empty()) break;
  }
  began_now_ = false;
  if (!changed) return absl::OkStatus();
  scan_.value.mutable_recent()->Clear();
  for (std::string& name : seen) scan_.value.add_recent(std::move(name));
  return PutScan();
}

absl::Status Scanner::MakeDue(const std::string& name, const std::string& state,
                              std::int64_t sequence) {
  const std::vector<std::string> parts = absl::StrSplit(name, '/');
  const std::string tenant = parts.size() > 1 ? parts[1] : "";
  for (const Target& target : site_.targets) {
    if (!target.Serves(tenant)) continue;
    if (target.when.count(state) == 0) {
      // Only if there is a ticket, or may be one.
      GALEN_ASSIGN_OR_RETURN(const auto ticket, tickets_.GetTicket(target.name, name));
      GALEN_ASSIGN_OR_RETURN(const auto due, tickets_.GetDue(target.name, name));
      if (!ticket && !due) continue;
    }
    GALEN_RETURN_IF_ERROR(tickets_.MakeDue(target.name, name, sequence, clock_.Now()));
  }
  return absl::OkStatus();
}

absl::Status Scanner::Look(const std::string& name, const store::Record& record) {
  const absl::Time now = clock_.Now();
  const absl::Time since = ToTime(scan_.value.since());
  auto [it, is_new] = followed_.try_emplace(name);
  Followed& followed = it->second;
  if (is_new) {
    v1::TicketWatch watch;
    if (!watch.ParseFromString(record.value)) {
      return absl::DataLossError(
          absl::StrCat("records tickets.watch: ", name, ": the record is corrupt"));
    }
    followed.told = watch.last_sequence();
  }
  if (now < followed.next_look) return absl::OkStatus();
  // The latest event that a ticket is to report.
  std::int64_t telling = 0;
  for (;;) {
    absl::StatusOr<std::vector<galen::v1::DiagnosisEvent>> events =
        events_.Read(name, followed.last, kEvents);
    if (absl::IsNotFound(events.status())) {
      followed_.erase(it);
      return records_.Remove(kWatch, name, record.version);
    }
    if (!events.ok()) return events.status();
    for (const galen::v1::DiagnosisEvent& event : *events) {
      followed.last = event.sequence();
      followed.last_event = ToTime(event.event_time());
      const std::optional<std::string> state = StateAfter(event, followed.state);
      if (!state) continue;
      followed.state = *state;
      if (*state != "running" && event.sequence() > followed.told && followed.last_event >= since) {
        telling = event.sequence();
      }
    }
    if (events->size() < static_cast<std::size_t>(kEvents)) break;
  }
  std::int64_t version = record.version;
  if (telling > 0 && followed.state != "running") {
    GALEN_RETURN_IF_ERROR(MakeDue(name, followed.state, telling));
    v1::TicketWatch watch;
    watch.set_last_sequence(telling);
    GALEN_ASSIGN_OR_RETURN(version,
                           records_.Put(kWatch, name, watch.SerializeAsString(), record.version));
    followed.told = telling;
  }
  const absl::Duration age = now - followed.last_event;
  if (IsOver(followed.state) && age > kAfterEnd) {
    followed_.erase(it);
    return records_.Remove(kWatch, name, version);
  }
  // A diagnosis that has not changed for long is read less often.
  followed.next_look = now + std::clamp(age / 20, absl::ZeroDuration(), kLongestLook);
  return absl::OkStatus();
}

absl::Status Scanner::Follow() {
  std::string after;
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<store::Record> page,
                           records_.List(kWatch, after, kWatchPage));
    for (const store::Record& record : page) {
      after = record.key;
      absl::Status looked = Look(record.key, record);
      // (ABORTED: another scanner runs, too; both did the same.)
      if (!looked.ok() && !absl::IsAborted(looked)) return looked;
    }
    if (page.size() < static_cast<std::size_t>(kWatchPage)) return absl::OkStatus();
  }
}

absl::Status Scanner::Scan() {
  GALEN_ASSIGN_OR_RETURN(const bool leads, Lead());
  if (!leads) return absl::OkStatus();
  GALEN_RETURN_IF_ERROR(FindNew());
  return Follow();
}

}  // namespace galen::gateway::tickets
