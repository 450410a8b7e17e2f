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

// One thing that is asked of an event. All that are given must hold, each for one of the texts that
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
  kUpdate,  // says more of one that is open
  kClose,   // ends one
  kIgnore,  // is none of ours
  kProbe,   // tests whether anybody is there
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

// What becomes of an event that opens an incident.
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

// What a sender tells of tickets that Galen filed with it (docs/tickets.md).
struct TicketUpdateForm {
  std::vector<Selector> ticket;    // its id, as the answer to its opening gave it
  std::vector<Condition> comment;  // all hold: somebody commented; none: nobody ever does
  std::vector<Condition> closed;   // all hold: it was closed
  Template text;
};

// How a sender's own interface is asked for what it may never have sent.
struct Poll {
  std::string url;  // with {since}, {page} or {offset}, and the settings of the endpoint
  std::map<std::string, std::string> settings;  // and their defaults; "": an endpoint must say
  int page_size = 100;
  int first_page = 1;
  Pointer items;
  Selector updated;   // of an item: its last change
  std::string since;  // how {since} is written, as absl::FormatTime() has it, in UTC
  Pointer put;        // an item stands there in the body that it is turned into
  std::map<std::string, std::string> set;      // what else stands there, by pointer
  std::map<std::string, std::string> headers;  // and in the headers
};

// How one system speaks: a file in knowledge/webhooks/.
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
  std::vector<Selector> event;     // which event; none: the whole body tells
  std::vector<Selector> incident;  // which incident
  std::optional<Selector> time;    // when it happened
  std::vector<Selector> author;    // who did it
  std::vector<Rule> rules;         // the first that fits; none: it is ignored
  IncidentForm form;
  std::optional<TicketUpdateForm> news;
  int overload = 503;
  bool retries = true;  // comes again when it is not answered, or with 503
  std::optional<Poll> poll;
};

// Reads one file. Nothing, and problems with file and line, when it is not sound.
std::optional<Sender> ParseSender(absl::string_view text, const std::string& file,
                                  std::vector<knowledge::Problem>& problems);

// All of webhooks/*.yaml below the directories; of the same name the last one counts.
// INVALID_ARGUMENT with every problem; NOT_FOUND a directory that cannot be read.
absl::StatusOr<std::map<std::string, Sender>> LoadSenders(
    absl::Span<const std::string> directories);

}  // namespace galen::gateway::webhooks

#endif  // SERVICES_GATEWAY_WEBHOOKS_SENDER_H_
