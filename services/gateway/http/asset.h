#ifndef SERVICES_GATEWAY_HTTP_ASSET_H_
#define SERVICES_GATEWAY_HTTP_ASSET_H_

#include <optional>
#include <string>

#include "services/gateway/http/message.h"

namespace galen::gateway::http {

// A body that is the same for everybody: compressed once, and sent again only to those who do not
// have it. Immutable and thread-safe.
class Asset {
 public:
  Asset(std::string type, std::string body);

  // The answer to a GET or HEAD: the body, or 304 to who has it (RFC 9110 13.1.2). What may be kept
  // is asked for again each time.
  Response AnswerTo(const Request& request) const;

 private:
  std::string type_;
  std::string body_;
  std::optional<std::string> packed_;
  std::string tag_;
};

}  // namespace galen::gateway::http

#endif  // SERVICES_GATEWAY_HTTP_ASSET_H_
