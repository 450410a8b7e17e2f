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

// The place of a value: "/a/b" in the body, "header:Name", or several separated by "|", of which
// the first with a value counts.
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

// A text with selectors in braces: "{/alert/message} on {/alert/entity | header:X-Host}". The
// values of a selector are joined with ", ". "{{" is a brace.
class Template {
 public:
  // INVALID_ARGUMENT: a brace is not closed, or has no selector.
  static absl::StatusOr<Template> Parse(absl::string_view text);
  // The text, cleaned, and cut to `most_bytes`. "" if it has selectors and none of them finds
  // anything: "Severity: {/severity}" becomes "" without a severity.
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
