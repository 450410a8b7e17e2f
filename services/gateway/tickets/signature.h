#ifndef SERVICES_GATEWAY_TICKETS_SIGNATURE_H_
#define SERVICES_GATEWAY_TICKETS_SIGNATURE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::gateway::tickets {

// `webhook-signature` of Standard Webhooks 1.0.0, "v1,BASE64": HMAC-SHA256 over "id.timestamp.body"
// with the key in `secret`, "whsec_" and base64. INVALID_ARGUMENT: the secret has another form, or
// its key is not 24 to 64 bytes long; the message does not repeat it.
absl::StatusOr<std::string> StandardSignature(absl::string_view secret, absl::string_view id,
                                              absl::string_view timestamp, absl::string_view body);

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_SIGNATURE_H_
