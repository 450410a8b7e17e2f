#ifndef SERVICES_GATEWAY_TICKETS_EXCHANGE_H_
#define SERVICES_GATEWAY_TICKETS_EXCHANGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "galen/gateway/v1/tickets.pb.h"
#include "services/gateway/tickets/document.h"
#include "services/gateway/tickets/site.h"

namespace galen::gateway::tickets {

// One request over HTTP. Contains secrets: must not be logged.
struct HttpCall {
  std::string method;
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

struct HttpAnswer {
  int status = 0;
  std::string body;
  std::optional<absl::Duration> retry_after;
};

// The result of a request.
struct Outcome {
  enum class Kind : std::uint8_t {
    kDone,     // carried out; of find: found
    kNone,     // find: there is none
    kMore,     // find: not on this page, and there may be another one
    kAgain,    // failed in a way that may pass
    kRefused,  // will fail again: for a person
  };
  Kind kind = Kind::kDone;
  bool may_have_happened = false;  // kAgain: the system may have done it all the same
  std::string id;
  std::string key;
  std::string url;
  std::string detail;  // of a failure, one line without secrets
  std::optional<absl::Duration> retry_after;
};

// The values that a template may use: the document, the texts in the system's form, the target's
// variables, the ticket (null: none yet), `since` (a ticket found by a search is not older). Pure.
Values ValuesFor(const Target& target, const TicketDocument& document, const v1::Ticket* ticket,
                 absl::Time since);

// A request of `form` at `now`, signed if the target signs. INVALID_ARGUMENT: its URL is not an
// http(s) address. Pure.
absl::StatusOr<HttpCall> MakeCall(const Target& target, const RequestForm& form,
                                  const Values& values, absl::Time now);

// The outcome of `step` ("find", "open", ...) by its answer, or by the error in place of an answer:
// NOT_FOUND and FAILED_PRECONDITION mean that nothing was sent. Pure.
Outcome ReadAnswer(const Target& target, absl::string_view step, const RequestForm& form,
                   Values values, const absl::StatusOr<HttpAnswer>& answer);

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_EXCHANGE_H_
