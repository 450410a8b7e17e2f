#ifndef TESTS_UNIT_SERVICES_GATEWAY_WEBHOOKS_SENDERS_H_
#define TESTS_UNIT_SERVICES_GATEWAY_WEBHOOKS_SENDERS_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "services/gateway/http/message.h"
#include "services/gateway/webhooks/endpoints.h"
#include "services/gateway/webhooks/sender.h"

namespace galen::gateway::webhooks {

// Those of knowledge/webhooks/.
const std::map<std::string, Sender>& ShippedSenders();
const Scheme& SchemeOf(const std::string& sender, const std::string& scheme);

// An endpoint "in" of tenant acme with its sender's first scheme. The secret is good for every
// scheme but ed25519.
Endpoint EndpointOf(const std::string& sender);
inline constexpr absl::string_view kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

// A delivery to /hooks/in, without what proves its origin.
http::Request Post(const std::string& body);

}  // namespace galen::gateway::webhooks

#endif  // TESTS_UNIT_SERVICES_GATEWAY_WEBHOOKS_SENDERS_H_
