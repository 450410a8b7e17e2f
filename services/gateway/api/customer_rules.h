#ifndef SERVICES_GATEWAY_API_CUSTOMER_RULES_H_
#define SERVICES_GATEWAY_API_CUSTOMER_RULES_H_

#include <google/protobuf/message.h>

#include "absl/status/status.h"

namespace galen::gateway {

// A customer sends its own data and must not name files of the machines that Galen runs on.
// INVALID_ARGUMENT with the field if a request does: the bundle of an incident or of an answer, or
// a log without its content. With `uploads` both may be the name of an upload ("tenants/..."),
// which is not a file of the server. A log may name a log source of the site ("from:NAME").
// PERMISSION_DENIED: it deletes a diagnosis. OK for other requests. Pure.
absl::Status CheckForCustomer(const google::protobuf::Message& request, bool uploads = false);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_CUSTOMER_RULES_H_
