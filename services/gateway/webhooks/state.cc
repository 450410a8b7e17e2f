#include "services/gateway/webhooks/state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "services/gateway/webhooks/signature.h"

namespace galen::gateway::webhooks {
namespace {

// An open incident is written to the journal again after this time at the latest, so that it is not
// forgotten while its sender still reports it.
constexpr absl::Duration kHearAgain = absl::Hours(24);

absl::Time EventTime(const v1::WebhookEvent& event) {
  return event.has_event_time() ? ToTime(event.event_time()) : absl::InfinitePast();
}

std::string KeyOf(absl::string_view endpoint, absl::string_view id) {
  return absl::StrCat(endpoint, "/", id);
}

}  // namespace

absl::string_view NameOf(Outcome::What what) {
  switch (what) {
    case Outcome::kOpened:
      return "opened";
    case Outcome::kRepeated:
      return "repeated";
    case Outcome::kUpdated:
      return "updated";
    case Outcome::kClosed:
      return "closed";
    case Outcome::kUnknown:
      break;
  }
  return "unknown";
}

std::string DiagnosisIdOf(absl::string_view endpoint, const v1::WebhookEvent& event) {
  const std::string hash = Sha256(
      absl::StrCat(endpoint, "/", event.incident().size(), ":", event.incident(), event.event()));
  return absl::StrCat("wh-", absl::BytesToHexString(hash).substr(0, 40));
}

std::optional<Outcome> State::Apply(std::int64_t position, const v1::WebhookRecord& record) {
  if (record.has_delivered()) waiting_.erase(record.delivered().name());
  if (record.has_cursor()) cursors_[record.endpoint()] = {record.cursor().value(), position};
  if (!record.has_event()) return std::nullopt;
  return ApplyEvent(position, ToTime(record.time()), record);
}

Outcome State::ApplyEvent(std::int64_t position, absl::Time time, const v1::WebhookRecord& record) {
  const v1::WebhookEvent& event = record.event();
  const std::string key = KeyOf(record.endpoint(), event.event());
  if (const auto it = events_.find(key); it != events_.end()) {
    return {Outcome::kRepeated, it->second};
  }
  const std::string incident_key = KeyOf(record.endpoint(), event.incident());
  auto it = incidents_.find(incident_key);
  if (it == incidents_.end() && !event.open_name().empty()) {
    it = incidents_
             .emplace(incident_key, Incident{event.open_name(), true, time, absl::InfinitePast(),
                                             absl::InfinitePast()})
             .first;
  }
  const bool known = it != incidents_.end();
  Outcome outcome;
  if (event.action() == v1::WebhookEvent::OPEN) {
    // An event from before the incident was closed has come late.
    const bool stale =
        known && !it->second.open && event.has_event_time() && EventTime(event) < it->second.closed;
    if (known && (it->second.open || stale)) {
      outcome = {Outcome::kRepeated, it->second.name};
    } else {
      const std::string id = DiagnosisIdOf(record.endpoint(), event);
      outcome = {Outcome::kOpened, absl::StrCat(event.request().parent(), "/diagnoses/", id)};
      incidents_[incident_key] = {outcome.name, true, time, EventTime(event), absl::InfinitePast()};
      Waiting& waiting = waiting_[outcome.name];
      waiting = {event.request(), record.endpoint(), time, position};
      waiting.request.set_diagnosis_id(id);
      waiting.request.set_request_id(id);
    }
  } else if (known) {
    outcome = {Outcome::kUpdated, it->second.name};
    const bool stale = event.has_event_time() && EventTime(event) < it->second.opened;
    if (event.action() == v1::WebhookEvent::CLOSE && it->second.open && !stale) {
      it->second.open = false;
      it->second.closed = EventTime(event);
      outcome.what = Outcome::kClosed;
    }
  }
  if (known) incidents_[incident_key].heard = time;
  events_.emplace(key, outcome.name);
  seen_.push_back({position, time, key});
  return outcome;
}

std::optional<Outcome> State::Foresee(const std::string& endpoint, const v1::WebhookEvent& event,
                                      absl::Time now) const {
  if (const auto it = events_.find(KeyOf(endpoint, event.event())); it != events_.end()) {
    return Outcome{Outcome::kRepeated, it->second};
  }
  if (event.action() == v1::WebhookEvent::OPEN) return std::nullopt;
  const auto it = incidents_.find(KeyOf(endpoint, event.incident()));
  if (it == incidents_.end()) return Outcome{};
  if (event.action() == v1::WebhookEvent::CLOSE && it->second.open) return std::nullopt;
  if (it->second.open && now - it->second.heard > kHearAgain) return std::nullopt;
  return Outcome{Outcome::kUpdated, it->second.name};
}

std::string State::OpenName(const std::string& endpoint, const v1::WebhookEvent& event) const {
  const auto it = incidents_.find(KeyOf(endpoint, event.incident()));
  return it != incidents_.end() && it->second.open ? it->second.name : "";
}

std::int64_t State::Forget(absl::Time before) {
  std::int64_t position = 0;
  std::int64_t needed = std::numeric_limits<std::int64_t>::max();
  for (const auto& [name, waiting] : waiting_) needed = std::min(needed, waiting.position);
  while (!seen_.empty() && seen_.front().time < before && seen_.front().position < needed) {
    position = seen_.front().position;
    events_.erase(seen_.front().event);
    seen_.pop_front();
  }
  if (position == 0) return 0;
  for (auto it = incidents_.begin(); it != incidents_.end();) {
    it = it->second.heard < before ? incidents_.erase(it) : std::next(it);
  }
  return position;
}

std::string State::CursorOf(const std::string& endpoint) const {
  const auto it = cursors_.find(endpoint);
  return it == cursors_.end() ? "" : it->second.value;
}

std::map<std::string, std::string> State::CursorsUpTo(std::int64_t position) const {
  std::map<std::string, std::string> found;
  for (const auto& [endpoint, cursor] : cursors_) {
    if (cursor.position <= position) found[endpoint] = cursor.value;
  }
  return found;
}

}  // namespace galen::gateway::webhooks
