#ifndef SERVICES_GATEWAY_HTTP_ASSET_H_
#define SERVICES_GATEWAY_HTTP_ASSET_H_

#include <optional>
#include <string>

#include "services/gateway/http/message.h"

namespace galen::gateway::http {

// A body that is the same for all clients: compressed once, and sent only to clients that do not
// have it. Immutable and thread-safe.
class Asset {
 public:
  Asset(std::string type, std::string body);

  // The answer to a GET or HEAD: the body, or 304 for a client that has it (RFC 9110 13.1.2). A
  // client may cache the body but must revalidate it each time.
  Response AnswerTo(const Request& request) const;

 private:
  std::string type_;
  std::string body_;
  std::optional<std::string> packed_;
  std::string tag_;
};

}  // namespace galen::gateway::http

#endif  // SERVICES_GATEWAY_HTTP_ASSET_H_
