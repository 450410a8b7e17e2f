#ifndef SERVICES_GATEWAY_HTTP_ROUTER_H_
#define SERVICES_GATEWAY_HTTP_ROUTER_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/gateway/http/handler.h"

namespace galen::gateway::http {

// Hands each request to the handler of the longest prefix that its path begins with: the parts of
// the gateway (API, webhooks, console) do not know each other. A prefix ends with '/', which a path
// may lack that is the prefix itself: "/hooks/" has "/hooks", "/hooks/a", and not "/hooks2". A
// segment `*` of a prefix is any one segment: "/v1/tenants/*/uploads/". The prefix "/" has the path
// "/" alone.
// Thread-safe once every part was added.
class Router final : public Handler {
 public:
  // `rest`: answers what no prefix has, and what the server refuses unread. It and every part must
  // outlive this.
  explicit Router(Handler& rest) : fallback_(rest) {}
  // A prefix that is there already is replaced.
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
