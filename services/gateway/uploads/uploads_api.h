#ifndef SERVICES_GATEWAY_UPLOADS_UPLOADS_API_H_
#define SERVICES_GATEWAY_UPLOADS_UPLOADS_API_H_

#include <memory>
#include <optional>
#include <string>

#include "common/base/executor.h"
#include "services/gateway/api/access.h"
#include "services/gateway/api/path_template.h"
#include "services/gateway/http/handler.h"
#include "services/gateway/uploads/upload_store.h"

namespace galen::gateway {

// Uploads over HTTP (docs/api.md#uploads): the body of a POST is the file itself, and goes to disk
// as it comes. Thread-safe.
class UploadsApi final : public http::Handler {
 public:
  // All must outlive it. `executor` waits for the disk.
  UploadsApi(UploadStore& store, Access& access, RateGate& rates, Executor& executor);

  void Handle(http::Request request, std::shared_ptr<http::Exchange> exchange) override;
  std::optional<http::BodyRules> TakesPieces(const http::Request& head) override;
  http::Response Refuse(int status, const std::string& why) override;

 private:
  class Call;
  void Do(const std::shared_ptr<Call>& call);
  void Begin(const std::shared_ptr<Call>& call);
  void Next(const std::shared_ptr<Call>& call);
  void End(const std::shared_ptr<Call>& call);
  void Later(const std::shared_ptr<Call>& call,
             void (UploadsApi::*work)(const std::shared_ptr<Call>&));

  UploadStore& store_;
  Access& access_;
  RateGate& rates_;
  Executor& executor_;
  const PathTemplate collection_;
  const PathTemplate one_;
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_UPLOADS_UPLOADS_API_H_
