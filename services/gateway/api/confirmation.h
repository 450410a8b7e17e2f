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

// Of a request that says which cause was established, where it is one: it carries whose credential
// said so before what they call themselves ("key/4f1c (customer): ana"), since anybody may call
// themselves anything. INVALID_ARGUMENT the cause is none; null `is_cause`: that cannot be told.
absl::Status SignConfirmation(const Principal& asker, const IsCause& is_cause,
                              google::protobuf::Message& request);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_CONFIRMATION_H_
