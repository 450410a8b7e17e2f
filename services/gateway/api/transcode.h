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
// INVALID_ARGUMENT for what is not percent-encoded as it should be, or more than 100 parameters.
absl::StatusOr<Query> ParseQuery(absl::string_view query);

// A request as its method takes it.
struct Transcoded {
  std::shared_ptr<google::protobuf::Message> request;
  // The part of the answer that is wanted (query parameter `fields`).
  FieldFilter filter;
};

// Makes the request of `match` from path, query, headers and body, as google.api.http and ProtoJSON
// have it: names in either case, unknown ones refused. `Idempotency-Key` is the field `request_id`
// where there is one. INVALID_ARGUMENT, mostly with the field that is wrong.
absl::StatusOr<Transcoded> TranscodeRequest(const Match& match, absl::string_view query,
                                            const http::Request& request);

// ProtoJSON on one line; fields that have their default are left out.
absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_TRANSCODE_H_
