#ifndef SERVICES_GATEWAY_API_CONFIRMATION_H_
#define SERVICES_GATEWAY_API_CONFIRMATION_H_

#include <google/protobuf/message.h>

#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "services/gateway/api/access.h"

namespace galen::gateway {

// Whether a label is a cause of the taxonomy.
using IsCause = std::function<bool(absl::string_view label)>;

// Signs a request that confirms a cause: puts the credential that confirms before the name that the
// client claims ("key/4f1c (customer): ana"), since anybody may claim any name. Other requests stay
// unchanged. INVALID_ARGUMENT: it is neither a known cause nor kCauseInWords; null `is_cause`: this
// is not checked.
absl::Status SignConfirmation(const Principal& asker, const IsCause& is_cause,
                              google::protobuf::Message& request);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_CONFIRMATION_H_
