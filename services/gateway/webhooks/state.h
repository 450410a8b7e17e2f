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

// What became of an event.
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

// The fold of the journal of webhooks: every gateway that reads the same records knows the same.
// Not thread-safe.
class State {
 public:
  // What is still to be asked for.
  struct Waiting {
    galen::v1::CreateDiagnosisRequest request;
    std::string endpoint;
    absl::Time since;           // by the record
    std::int64_t position = 0;  // in the journal
  };

  // Applies one record. Of an event: what became of it.
  std::optional<Outcome> Apply(std::int64_t position, const v1::WebhookRecord& record);

  // What Apply() would make of an event if nothing came between; nothing when only a record in the
  // journal can tell.
  std::optional<Outcome> Foresee(const std::string& endpoint, const v1::WebhookEvent& event,
                                 absl::Time now) const;
  // The diagnosis of an incident that is open, "" when it is not.
  std::string OpenName(const std::string& endpoint, const v1::WebhookEvent& event) const;

  // Forgets what was not heard of since `before`, and gives the position up to which the journal
  // holds nothing that is still needed; 0: nothing new.
  std::int64_t Forget(absl::Time before);

  const std::map<std::string, Waiting>& waiting() const { return waiting_; }  // by name
  std::string CursorOf(const std::string& endpoint) const;
  // Those whose record stands at or before `position`.
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

// The last part of a diagnosis's name, and its request id: the same for the same event, so that
// it is made once, whoever asks how often.
std::string DiagnosisIdOf(absl::string_view endpoint, const v1::WebhookEvent& event);

}  // namespace galen::gateway::webhooks

#endif  // SERVICES_GATEWAY_WEBHOOKS_STATE_H_
