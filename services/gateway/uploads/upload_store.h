#ifndef SERVICES_GATEWAY_UPLOADS_UPLOAD_STORE_H_
#define SERVICES_GATEWAY_UPLOADS_UPLOAD_STORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/periodic_task.h"
#include "common/host/file_descriptor.h"
#include "galen/v1/incident.pb.h"
#include "services/gateway/uploads/upload.h"

namespace galen::gateway {

// Uploads below one directory, which gateways and the services that read them share. Each tenant
// has a folder. An upload is there whole or not at all: it is made in `.incoming` and renamed.
// Blocks for the disk. Thread-safe.
class UploadStore {
 public:
  struct Options {
    std::string directory;
    std::int64_t most_bytes = std::int64_t{4} << 30;     // of one upload as it is sent
    std::int64_t tenant_bytes = std::int64_t{32} << 30;  // of a tenant, unpacked
    int tenant_uploads = 1000;
    int at_once = 16;  // that come in at the same time
    int tenant_at_once = 4;
    absl::Duration keep = absl::Hours(24 * 7);
    // A bundle may unpack to this many times its size, or to `unpacked_floor` if that is more.
    std::int64_t unpacked_ratio = 100;
    std::int64_t unpacked_floor = std::int64_t{256} << 20;
    std::int64_t files = 200'000;  // and directories
    absl::Duration unpack_time = absl::Minutes(10);
    absl::Duration sweep = absl::Minutes(10);
  };
  // Makes the directory if it is missing. INVALID_ARGUMENT, PERMISSION_DENIED: it cannot be used.
  static absl::StatusOr<std::unique_ptr<UploadStore>> Open(Options options, const Clock& clock);
  ~UploadStore();

  // An upload in transit. If it is dropped before Finish() returned it, nothing of it stays.
  class Incoming {
   public:
    ~Incoming();
    Incoming(const Incoming&) = delete;
    Incoming& operator=(const Incoming&) = delete;
    // RESOURCE_EXHAUSTED: it is too large, the tenant has used up its share, or the disk is full.
    absl::Status Write(absl::string_view piece);
    // INVALID_ARGUMENT: it is empty, or not a bundle; RESOURCE_EXHAUSTED: it unpacks to too much.
    absl::StatusOr<Upload> Finish();

   private:
    friend class UploadStore;
    Incoming(UploadStore& store, std::string tenant) : store_(store), tenant_(std::move(tenant)) {}
    absl::Status Unpack(Upload& upload);

    UploadStore& store_;
    const std::string tenant_;
    UploadKind kind_ = UploadKind::kLog;
    std::string id_;
    std::string file_name_;
    std::string place_;  // .incoming/ID
    host::FileDescriptor file_{-1};
    std::int64_t written_ = 0;
    std::int64_t left_ = 0;  // of the tenant's share
  };

  // `tenant` must be the name of one. RESOURCE_EXHAUSTED: too many uploads at a time, or the tenant
  // has used up its share; `length`: as the client states it, 0 if unknown.
  absl::StatusOr<std::unique_ptr<Incoming>> Begin(const std::string& tenant, UploadKind kind,
                                                  absl::string_view file_name, std::int64_t length);

  // Newest first.
  absl::StatusOr<std::vector<Upload>> List(const std::string& tenant) const;
  // NOT_FOUND; also when it has expired.
  absl::StatusOr<Upload> Get(const std::string& tenant, absl::string_view id) const;
  absl::Status Delete(const std::string& tenant, absl::string_view id);

  // Replaces names of uploads of `tenant` in an incident by the uploads: a bundle, together with
  // its own incident data, and logs. NOT_FOUND: there is no such upload of this tenant;
  // INVALID_ARGUMENT: it is of the other kind.
  // `at`: the path of the incident in its request, for errors: "diagnosis.incident".
  absl::Status Resolve(const std::string& tenant, absl::string_view at,
                       galen::v1::Incident& incident) const;
  // The reverse, for a text that customers see: replaces the path of an upload of the tenant by its
  // name, before the file in it: "tenants/acme/uploads/4f1c/file/train.log".
  std::string WithNames(const std::string& tenant, std::string text) const;

  // Removes expired uploads, and those that were never completed.
  void Sweep();

  const Options& options() const { return options_; }

 private:
  UploadStore(Options options, const Clock& clock);
  std::string PlaceOf(const std::string& tenant, absl::string_view id) const;
  absl::StatusOr<Upload> Read(const std::string& tenant, absl::string_view id) const;
  absl::StatusOr<Upload> Named(const std::string& tenant, absl::string_view name,
                               absl::string_view field) const;

  const Options options_;
  const Clock& clock_;
  Mutex mu_;
  std::map<std::string, int> coming_ ABSL_GUARDED_BY(mu_);  // by tenant
  std::map<std::string, std::int64_t> reserved_ ABSL_GUARDED_BY(mu_);
  int all_coming_ ABSL_GUARDED_BY(mu_) = 0;
  std::optional<PeriodicTask> sweeper_;
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_UPLOADS_UPLOAD_STORE_H_
