#ifndef SERVICES_GATEWAY_MCP_MCP_H_
#define SERVICES_GATEWAY_MCP_MCP_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "common/base/executor.h"
#include "common/base/timers.h"
#include "services/gateway/http/handler.h"
#include "services/gateway/mcp/message.h"

namespace galen::gateway::mcp {

// The Model Context Protocol at POST /mcp, so that assistants can have Galen diagnose: streamable
// HTTP in both eras, without sessions. Each tool is a request of the public API in the name of its
// client, so keys, tenants, limits and redaction apply here without being implemented here.
// Thread-safe.
class Mcp final : public http::Handler {
 public:
  struct Options {
    // Sites whose pages may send requests, from --cors_origins. A page of any other site is
    // refused: a name server may have led it here (MCP 2026-07-28, transports, DNS rebinding).
    std::vector<std::string> origins;
  };
  // `api` serves /v1/..., `timers` end waits; all must outlive this.
  Mcp(http::Handler& api, Executor& executor, Timers& timers, Options options);

  void Handle(http::Request request, std::shared_ptr<http::Exchange> exchange) override;
  // A client without a credential may list the tools, in a body of at most 64 KiB.
  http::HeadVerdict LookAtHead(const http::Request& head) override;
  http::Response Refuse(int status, const std::string& why) override {
    return api_.Refuse(status, why);
  }

 private:
  class Call;
  void Answer(const http::Request& request, std::shared_ptr<http::Exchange> exchange);
  nlohmann::json Discovered(const Ask& ask) const;
  void CallTool(Ask ask, const http::Request& request, std::shared_ptr<http::Exchange> exchange);

  http::Handler& api_;
  Executor& executor_;
  Timers& timers_;
  const Options options_;
  const absl::flat_hash_set<std::string> origins_;
};

}  // namespace galen::gateway::mcp

#endif  // SERVICES_GATEWAY_MCP_MCP_H_
