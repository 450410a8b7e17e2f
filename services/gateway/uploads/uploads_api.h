#ifndef SERVICES_GATEWAY_UPLOADS_UPLOADS_API_H_
#define SERVICES_GATEWAY_UPLOADS_UPLOADS_API_H_

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "common/base/executor.h"
#include "common/base/mutex.h"
#include "services/gateway/api/access.h"
#include "services/gateway/api/path_template.h"
#include "services/gateway/http/handler.h"
#include "services/gateway/uploads/upload_store.h"

namespace galen::gateway {

// Uploads over HTTP (docs/api.md#uploads): the body of a POST is the file itself, and is written to
// disk while it arrives. Thread-safe.
class UploadsApi final : public http::Handler {
 public:
  // All must outlive it. `executor` waits for the disk; `unpacking` runs long tasks, one at a time
  // for each tenant.
  UploadsApi(UploadStore& store, Access& access, RateLimiter& rates, Executor& executor,
             Executor& unpacking);

  void Handle(http::Request request, std::shared_ptr<http::Exchange> exchange) override;
  std::optional<http::BodyRules> TakesPieces(const http::Request& head) override;
  http::Response Refuse(int status, const std::string& why) override;

 private:
  class Call;
  void Do(const std::shared_ptr<Call>& call);
  void Begin(const std::shared_ptr<Call>& call);
  void Next(const std::shared_ptr<Call>& call);
  void End(const std::shared_ptr<Call>& call);
  void Finish(const std::shared_ptr<Call>& call);
  // Ends the tenant's first upload that waits to be unpacked, and starts the next.
  void EndNext(const std::string& tenant);
  void Later(const std::shared_ptr<Call>& call,
             void (UploadsApi::*work)(const std::shared_ptr<Call>&));

  UploadStore& store_;
  Access& access_;
  RateLimiter& rates_;
  Executor& executor_;
  Executor& unpacking_;
  Mutex mu_;
  // By tenant, complete uploads that wait to be unpacked; the first one is being unpacked.
  std::map<std::string, std::deque<std::shared_ptr<Call>>> ending_ ABSL_GUARDED_BY(mu_);
  const PathTemplate collection_;
  const PathTemplate one_;
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_UPLOADS_UPLOADS_API_H_
