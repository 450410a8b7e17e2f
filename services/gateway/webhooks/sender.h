#ifndef SERVICES_GATEWAY_WEBHOOKS_SENDER_H_
#define SERVICES_GATEWAY_WEBHOOKS_SENDER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/knowledge/load.h"
#include "services/gateway/webhooks/document.h"
#include "services/gateway/webhooks/selector.h"
#include "services/gateway/webhooks/signature.h"

namespace galen::gateway::webhooks {

// A condition on an event. All of its fields that are set must hold, each for one of the texts that
// the selector finds.
struct Condition {
  Selector at;
  std::vector<std::string> is;      // one of these, without regard to case
  std::vector<std::string> begins;  // with one of these
  std::optional<bool> exists;       // there is any
  bool Holds(const Event& event) const;
};
bool AllHold(const std::vector<Condition>& conditions, const Event& event);

enum class Action : std::uint8_t {
  kOpen,    // an incident, unless it is open
  kUpdate,  // adds to an open incident
  kClose,   // ends an incident
  kIgnore,  // is not for us
  kProbe,   // tests the connection
};

struct Rule {
  std::vector<Condition> when;
  Action action = Action::kIgnore;
  std::optional<Selector> time;  // instead of the sender's
};

// A line of a description, or one for each part of the body.
struct TextPart {
  std::optional<Pointer> each;
  Template text;
};

// The incident that an event opens.
struct IncidentForm {
  Template title;
  std::vector<TextPart> text;
  std::vector<Selector> nodes;  // each value is a host name, with or without a port
  std::optional<Selector> job;
  std::optional<Selector> start;  // the earliest of its times
  std::map<std::string, Template> labels;
  std::map<std::string, Template> links;
  std::map<std::string, Template> ticket;  // "system", "id", "key", "url"
};

// Events of tickets that Galen filed with the sender (docs/tickets.md).
struct TicketUpdateForm {
  std::vector<Selector> ticket;    // its id, as the answer to its opening gave it
  std::vector<Condition> comment;  // all hold: it is a comment; empty: it never is
  std::vector<Condition> closed;   // all hold: it was closed
  Template text;
};

// A poll of the sender's own API, for events that it may never have sent.
struct Poll {
  std::string url;  // with {since}, {page} or {offset}, and the settings of the endpoint
  std::map<std::string, std::string> settings;  // and their defaults; "": an endpoint must say
  int page_size = 100;
  int first_page = 1;
  Pointer items;
  Selector updated;                        // of an item: its last change
  std::string since;                       // the format of {since} for absl::FormatTime(), in UTC
  Pointer put;                             // the item's place in the body made of it
  std::map<std::string, std::string> set;  // other values of that body, by pointer
  std::map<std::string, std::string> headers;  // and in the headers
};

// The interface of one system: a file in knowledge/webhooks/.
struct Sender {
  enum class Body : std::uint8_t { kJson, kForm };
  enum class Answer : std::uint8_t { kGalen, kSlack };

  std::string name;
  std::string title;
  Body body = Body::kJson;
  Answer answer = Answer::kGalen;
  std::vector<Scheme> schemes;     // the first is what endpoints use that name none
  std::vector<Condition> expect;   // of every body but a probe's; otherwise it is refused
  std::optional<Pointer> events;   // parts that are events of their own
  std::vector<Selector> event;     // which event; none: the whole body identifies it
  std::vector<Selector> incident;  // which incident
  std::optional<Selector> time;    // when it happened
  std::vector<Selector> author;    // its author
  std::vector<Rule> rules;         // the first that fits; none: it is ignored
  IncidentForm form;
  std::optional<TicketUpdateForm> news;
  int overload = 503;
  bool retries = true;  // comes again when it is not answered, or with 503
  std::optional<Poll> poll;
};

// Reads one file. If it is invalid: nothing, and problems with file and line.
std::optional<Sender> ParseSender(absl::string_view text, const std::string& file,
                                  std::vector<knowledge::Problem>& problems);

// All webhooks/*.yaml below the directories; of the same name the last one counts. INVALID_ARGUMENT
// with every problem; NOT_FOUND: a directory cannot be read.
absl::StatusOr<std::map<std::string, Sender>> LoadSenders(
    absl::Span<const std::string> directories);

}  // namespace galen::gateway::webhooks

#endif  // SERVICES_GATEWAY_WEBHOOKS_SENDER_H_
