#ifndef SERVICES_GATEWAY_API_OPENAPI_H_
#define SERVICES_GATEWAY_API_OPENAPI_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/gateway/api/routes.h"

namespace galen::gateway {

// The public protos with their comments: a serialized google.protobuf.FileDescriptorSet.
absl::string_view PublicApiDescriptors();

// The description of `routes` as OpenAPI 3.1, JSON, from the descriptors, the comments in
// `descriptors`, and the gateway's other endpoints (openapi_extras.h), with uploads or without.
// INVALID_ARGUMENT: the descriptors lack something that the routes name.
absl::StatusOr<std::string> OpenApiOf(const std::vector<Route>& routes,
                                      absl::string_view descriptors, bool uploads);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_OPENAPI_H_
