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

// How a request to a ticket system is written and its answer read. Texts may hold ${values}.
struct RequestForm {
  std::string method;
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<Json> body;

  // Of the answer, each a JSON pointer ("/result/sys_id") or a text with ${values}; "": none.
  std::string id;
  std::string key;
  std::string link;

  // find: where the list of tickets stands, and the text of one that must hold ${...} for it to be
  // ours (both "": each in the list is).
  std::string items;
  std::string match_at;
  std::string match;
  int pages = 1;  // looked through at most, by ${page}
  int per_page = 0;
  // For how long a ticket that was just opened may not be found yet.
  absl::Duration settles;
};

// How one kind of ticket system is spoken to: one file of knowledge/tickets. docs/tickets.md has
// the format.
struct TicketSystem {
  std::string id;
  std::string title;

  struct Variable {
    bool required = false;
    std::string standard;
  };
  std::map<std::string, Variable> variables;  // what a site says of its own

  struct Auth {
    std::string kind;  // "header", "basic", "standard_webhooks", "body" (it stands in it), "none"
    std::string header;
    std::string value;
  };
  std::vector<std::pair<std::string, Auth>> auths;  // by name; the first one is the usual one

  std::vector<std::pair<std::string, std::string>> headers;  // of all requests

  Form form = Form::kPlain;
  std::size_t most_text = 10'000;     // bytes of ${body}
  std::size_t most_comment = 10'000;  // bytes of ${comment}

  // Values made of others: "impact" from "severity", with what stands for the rest under "else";
  // that may hold ${values} of a document.
  struct Map {
    std::string from;
    std::map<std::string, std::string> words;
    std::string otherwise;
  };
  std::map<std::string, Map> maps;

  // Systems that say 200 and then no: the answer is good when `ok_at` (a JSON pointer; "": not
  // asked) is `ok_is`; else `reason_at` says why, and the reasons in `again` may pass.
  std::string ok_at;
  std::string ok_is;
  std::string reason_at;
  std::vector<std::string> again;

  std::map<std::string, RequestForm> requests;  // "find", "open", "update", "comment", "resolve"
  const RequestForm* Find(absl::string_view request) const;
};

// Reads one file. INVALID_ARGUMENT "file:line: what; remedy".
absl::StatusOr<TicketSystem> ParseSystem(absl::string_view text, absl::string_view file);

// All of DIRECTORY/tickets/*.yaml of the knowledge directories; a later directory's takes the place
// of an earlier one's of the same id. NOT_FOUND when there is none.
absl::StatusOr<std::map<std::string, TicketSystem>> LoadSystems(
    const std::vector<std::string>& directories);

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_SYSTEM_H_
