#ifndef SERVICES_GATEWAY_HTTP_ROUTER_H_
#define SERVICES_GATEWAY_HTTP_ROUTER_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/gateway/http/handler.h"

namespace galen::gateway::http {

// Passes each request to the handler of the longest prefix of its path: the parts of the gateway
// (API, webhooks, console) do not know each other. A prefix ends with '/', which a path equal to
// the prefix may lack: "/hooks/" matches "/hooks" and "/hooks/a", but not "/hooks2". A segment `*`
// of a prefix is any one segment: "/v1/tenants/*/uploads/". The prefix "/" matches the path "/"
// alone. Thread-safe once every part was added.
class Router final : public Handler {
 public:
  // `rest`: answers requests of no prefix, and those that the server refuses unread. It and every
  // part must outlive this.
  explicit Router(Handler& rest) : fallback_(rest) {}
  // An existing prefix is replaced.
  void Add(std::string prefix, Handler& part);

  void Handle(Request request, std::shared_ptr<Exchange> exchange) override;
  std::optional<BodyRules> TakesPieces(const Request& head) override;
  HeadVerdict LookAtHead(const Request& head) override;
  Response Refuse(int status, const std::string& why) override;

 private:
  Handler& PartOf(const Request& request) const;

  Handler& fallback_;
  std::vector<std::pair<std::string, Handler*>> parts_;  // the longest prefix first
};

}  // namespace galen::gateway::http

#endif  // SERVICES_GATEWAY_HTTP_ROUTER_H_
