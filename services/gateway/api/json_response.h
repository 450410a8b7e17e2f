#ifndef SERVICES_GATEWAY_API_JSON_RESPONSE_H_
#define SERVICES_GATEWAY_API_JSON_RESPONSE_H_

#include <string>
#include <utility>

#include "services/gateway/http/message.h"

namespace galen::gateway {

// A complete answer of JSON that must not be cached.
inline http::Response JsonResponse(std::string json) {
  http::Response response;
  response.headers.Add("Content-Type", "application/json");
  response.headers.Add("Cache-Control", "no-store");
  response.headers.Add("X-Content-Type-Options", "nosniff");
  response.body = std::move(json) + "\n";
  return response;
}

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_JSON_RESPONSE_H_
