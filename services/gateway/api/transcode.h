#ifndef SERVICES_GATEWAY_API_TRANSCODE_H_
#define SERVICES_GATEWAY_API_TRANSCODE_H_

#include <google/protobuf/message.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/gateway/api/field_filter.h"
#include "services/gateway/api/routes.h"
#include "services/gateway/http/message.h"

namespace galen::gateway {

// The parameters of a query, decoded, in order.
using Query = std::vector<std::pair<std::string, std::string>>;
// INVALID_ARGUMENT: the percent-encoding is invalid, or there are more than 100 parameters.
absl::StatusOr<Query> ParseQuery(absl::string_view query);

// A request as the message of its method.
struct Transcoded {
  std::shared_ptr<google::protobuf::Message> request;
  // The part of the answer that is wanted (query parameter `fields`).
  FieldFilter filter;
};

// Makes the request of `match` from path, query, headers and body, as google.api.http and ProtoJSON
// define it: proto or JSON names, unknown ones refused. `Idempotency-Key` is the field `request_id`
// if there is one. INVALID_ARGUMENT, mostly with the field that is wrong.
absl::StatusOr<Transcoded> TranscodeRequest(const Match& match, absl::string_view query,
                                            const http::Request& request);

// ProtoJSON on one line, without fields that have their default.
absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_TRANSCODE_H_
