#ifndef SERVICES_GATEWAY_UPLOADS_UPLOADS_H_
#define SERVICES_GATEWAY_UPLOADS_UPLOADS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/executor.h"
#include "services/gateway/api/access.h"
#include "services/gateway/uploads/upload_store.h"
#include "services/gateway/uploads/uploads_api.h"

namespace galen::gateway {

// The store of uploads, its side of the API, and the threads that write.
struct Uploads {
  // Null without a directory: no uploads are accepted. INVALID_ARGUMENT: a limit is not above 0;
  // also the errors of UploadStore::Open. All must outlive it.
  static absl::StatusOr<std::unique_ptr<Uploads>> Open(const UploadStore::Options& options,
                                                       Access& access, RateLimiter& rates,
                                                       const Clock& clock);

  std::unique_ptr<UploadStore> store;
  std::unique_ptr<UploadsApi> api;
  std::unique_ptr<ThreadPool> unpacking;
  std::unique_ptr<ThreadPool> disk;  // both finish their tasks before the others end
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_UPLOADS_UPLOADS_H_
