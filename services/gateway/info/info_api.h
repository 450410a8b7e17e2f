#ifndef SERVICES_GATEWAY_INFO_INFO_API_H_
#define SERVICES_GATEWAY_INFO_INFO_API_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/base/hot_swap.h"
#include "common/knowledge/knowledge.h"
#include "common/store/node_table.h"
#include "services/gateway/api/access.h"
#include "services/gateway/http/asset.h"
#include "services/gateway/http/handler.h"

namespace galen::gateway {

// The taxonomy and the catalogue of checks as JSON, for people: what each label means, which checks
// decide it, and what each check reads. Pure.
std::string KnowledgeJson(const knowledge::Knowledge& knowledge);

// Endpoints beside diagnoses: the client's identity (/v1/whoami), the knowledge (/v1/knowledge),
// and for operators the node executors that announced themselves (/v1/nodes). Thread-safe.
class InfoApi final : public http::Handler {
 public:
  // `knowledge` may hold null: the gateway has none. All must outlive it; `executor` waits for the
  // store. `uploads`: whether the gateway accepts any.
  InfoApi(Access& access, store::NodeTable& nodes, const Clock& clock, Executor& executor,
          HotSwap<http::Asset>* knowledge, bool uploads);

  void Handle(http::Request request, std::shared_ptr<http::Exchange> exchange) override;
  http::Response Refuse(int status, const std::string& why) override;

 private:
  absl::StatusOr<std::string> NodesJson() const;

  Access& access_;
  store::NodeTable& nodes_;
  const Clock& clock_;
  Executor& executor_;
  HotSwap<http::Asset>* const knowledge_;
  const bool uploads_;
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_INFO_INFO_API_H_
