#ifndef SERVICES_GATEWAY_WEBHOOKS_SELECTOR_H_
#define SERVICES_GATEWAY_WEBHOOKS_SELECTOR_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/gateway/http/message.h"
#include "services/gateway/webhooks/document.h"

namespace galen::gateway::webhooks {

// One event as rules and templates see it.
struct Event {
  Document body;
  http::Headers headers;
};

// Where something stands: "/a/b" in the body, "header:Name", or several of them with "|" between,
// of which the first that finds anything counts.
class Selector {
 public:
  // INVALID_ARGUMENT.
  static absl::StatusOr<Selector> Parse(absl::string_view text);
  std::vector<std::string> Texts(const Event& event) const;

 private:
  struct Place {
    std::string header;  // "": in the body
    Pointer pointer;
  };
  std::vector<Place> places_;
};

// A text with selectors in braces: "{/alert/message} on {/alert/entity | header:X-Host}". What a
// selector finds stands there with ", " between. "{{" is a brace.
class Template {
 public:
  // INVALID_ARGUMENT a brace that is not closed, or no selector in one.
  static absl::StatusOr<Template> Parse(absl::string_view text);
  // Cleaned, and cut to `most_bytes`. "" when it has selectors and none of them found anything: of
  // "Severity: {/severity}" nothing is left when there is none.
  std::string Fill(const Event& event, std::size_t most_bytes) const;

 private:
  struct Piece {
    std::string text;
    bool selects = false;
    Selector selector;
  };
  std::vector<Piece> pieces_;
};

}  // namespace galen::gateway::webhooks

#endif  // SERVICES_GATEWAY_WEBHOOKS_SELECTOR_H_
