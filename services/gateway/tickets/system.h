#ifndef SERVICES_GATEWAY_TICKETS_SYSTEM_H_
#define SERVICES_GATEWAY_TICKETS_SYSTEM_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/gateway/tickets/blocks.h"
#include "services/gateway/tickets/template.h"

namespace galen::gateway::tickets {

// The form of a request to a ticket system, and of its answer. Texts may contain ${values}.
struct RequestForm {
  std::string method;
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<Json> body;

  // Parts of the answer, each a JSON pointer ("/result/sys_id") or a text with ${values}; "": none.
  std::string id;
  std::string key;
  std::string link;

  // find: the place of the list of tickets, and the text of one that must contain ${...} for it to
  // be ours (both "": each in the list is).
  std::string items;
  std::string match_at;
  std::string match;
  int pages = 1;  // looked through at most, by ${page}
  int per_page = 0;
  // The time for which a search may miss a new ticket.
  absl::Duration settles;
};

// The interface of one kind of ticket system: one file of knowledge/tickets. docs/tickets.md has
// the format.
struct TicketSystem {
  std::string id;
  std::string title;

  struct Variable {
    bool required = false;
    std::string standard;
  };
  std::map<std::string, Variable> variables;  // the site's own values

  struct Auth {
    std::string kind;  // "header", "basic", "standard_webhooks", "body" (in the body), "none"
    std::string header;
    std::string value;
  };
  std::vector<std::pair<std::string, Auth>> auths;  // by name; the first one is the usual one

  std::vector<std::pair<std::string, std::string>> headers;  // of all requests

  Form form = Form::kPlain;
  std::size_t most_text = 10'000;     // bytes of ${body}
  std::size_t most_comment = 10'000;  // bytes of ${comment}

  // Values derived from others: "impact" from "severity", with the rest under "else"; that may
  // contain ${values} of a document.
  struct Map {
    std::string from;
    std::map<std::string, std::string> words;
    std::string otherwise;
  };
  std::map<std::string, Map> maps;

  // For systems that report errors with status 200: the answer is good if the value at `ok_at` (a
  // JSON pointer; "": not checked) is `ok_is`; else the value at `reason_at` is the reason, and the
  // reasons in `again` are temporary.
  std::string ok_at;
  std::string ok_is;
  std::string reason_at;
  std::vector<std::string> again;

  std::map<std::string, RequestForm> requests;  // "find", "open", "update", "comment", "resolve"
  const RequestForm* Find(absl::string_view request) const;
};

// Reads one file. INVALID_ARGUMENT "file:line: what; remedy".
absl::StatusOr<TicketSystem> ParseSystem(absl::string_view text, absl::string_view file);

// All DIRECTORY/tickets/*.yaml of the knowledge directories; a file of a later directory replaces
// one of the same id. NOT_FOUND: there is none.
absl::StatusOr<std::map<std::string, TicketSystem>> LoadSystems(
    const std::vector<std::string>& directories);

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_SYSTEM_H_
