#include "services/gateway/uploads/uploads.h"

#include "common/base/status_macros.h"

namespace galen::gateway {

absl::StatusOr<std::unique_ptr<Uploads>> Uploads::Open(const UploadStore::Options& options,
                                                       Access& access, RateLimiter& rates,
                                                       const Clock& clock) {
  if (options.directory.empty()) return nullptr;
  if (options.most_bytes < 1 || options.tenant_bytes < 1 || options.keep <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        "--upload_bytes, --uploads_tenant_bytes, --uploads_keep: must be more than 0");
  }
  auto uploads = std::make_unique<Uploads>();
  GALEN_ASSIGN_OR_RETURN(uploads->store, UploadStore::Open(options, clock));
  uploads->disk = std::make_unique<ThreadPool>(/*threads=*/4, /*max_queued=*/1000);
  uploads->unpacking = std::make_unique<ThreadPool>(/*threads=*/4, /*max_queued=*/1000);
  uploads->api = std::make_unique<UploadsApi>(*uploads->store, access, rates, *uploads->disk,
                                              *uploads->unpacking);
  return uploads;
}

}  // namespace galen::gateway
