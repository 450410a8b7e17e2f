#ifndef SERVICES_GATEWAY_WEBHOOKS_STATE_H_
#define SERVICES_GATEWAY_WEBHOOKS_STATE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "galen/gateway/v1/webhooks.pb.h"

namespace galen::gateway::webhooks {

// The result of an event.
struct Outcome {
  enum What {
    kOpened,    // an incident, with a diagnosis of its own
    kRepeated,  // it was seen before, or its incident is open: the same diagnosis
    kUpdated,   // an incident that is open, or closed
    kClosed,
    kUnknown,  // there is no such incident: nothing is done
  } what = kUnknown;
  std::string name;  // of the diagnosis, "" for kUnknown
};
// "opened", ...
absl::string_view NameOf(Outcome::What what);

// The state that the journal of webhooks leads to: every gateway that reads the same records has
// the same. Not thread-safe.
class State {
 public:
  // A request that is still to be made.
  struct Waiting {
    galen::v1::CreateDiagnosisRequest request;
    std::string endpoint;
    absl::Time since;           // by the record
    std::int64_t position = 0;  // in the journal
  };

  // Applies one record. Returns the outcome if it is an event.
  std::optional<Outcome> Apply(std::int64_t position, const v1::WebhookRecord& record);

  // The outcome that Apply() would give an event if nothing came between; nothing if only a record
  // in the journal can decide.
  std::optional<Outcome> Foresee(const std::string& endpoint, const v1::WebhookEvent& event,
                                 absl::Time now) const;
  // The diagnosis of an open incident, "" if it is not open.
  std::string OpenName(const std::string& endpoint, const v1::WebhookEvent& event) const;

  // Forgets events and incidents older than `before`, and returns the position up to which the
  // journal holds nothing that is still needed; 0: nothing new.
  std::int64_t Forget(absl::Time before);

  const std::map<std::string, Waiting>& waiting() const { return waiting_; }  // by name
  std::string CursorOf(const std::string& endpoint) const;
  // Cursors whose record is at or before `position`.
  std::map<std::string, std::string> CursorsUpTo(std::int64_t position) const;

 private:
  struct Incident {
    std::string name;
    bool open = false;
    absl::Time heard;   // by the last record
    absl::Time opened;  // by the sender's time, InfinitePast when it gave none
    absl::Time closed;
  };
  struct Cursor {
    std::string value;
    std::int64_t position = 0;
  };
  struct Seen {
    std::int64_t position = 0;
    absl::Time time;
    std::string event;
  };
  Outcome ApplyEvent(std::int64_t position, absl::Time time, const v1::WebhookRecord& record);

  std::unordered_map<std::string, std::string> events_;  // to the name of their diagnosis
  std::deque<Seen> seen_;                                // the same, oldest first
  std::unordered_map<std::string, Incident> incidents_;
  std::map<std::string, Waiting> waiting_;
  std::map<std::string, Cursor> cursors_;
};

// The request id and the last part of a diagnosis's name: the same for the same event, so that the
// diagnosis is made once, however often it is asked for.
std::string DiagnosisIdOf(absl::string_view endpoint, const v1::WebhookEvent& event);

}  // namespace galen::gateway::webhooks

#endif  // SERVICES_GATEWAY_WEBHOOKS_STATE_H_
