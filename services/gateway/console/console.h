#ifndef SERVICES_GATEWAY_CONSOLE_CONSOLE_H_
#define SERVICES_GATEWAY_CONSOLE_CONSOLE_H_

#include <map>
#include <memory>
#include <string>

#include "services/gateway/http/asset.h"
#include "services/gateway/http/handler.h"

namespace galen::gateway {

// The web console: a few files that are part of the program (dist/, docs/console.md), at "/" and
// below "/console/". They contain no tenant's data; the page asks the API for it, with the user's
// key. Thread-safe.
class Console final : public http::Handler {
 public:
  Console();
  void Handle(http::Request request, std::shared_ptr<http::Exchange> exchange) override;
  http::Response Refuse(int status, const std::string& why) override;

 private:
  std::map<std::string, http::Asset, std::less<>> files_;  // by path
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_CONSOLE_CONSOLE_H_
