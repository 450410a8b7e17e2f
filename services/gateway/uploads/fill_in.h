#ifndef SERVICES_GATEWAY_UPLOADS_FILL_IN_H_
#define SERVICES_GATEWAY_UPLOADS_FILL_IN_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "services/gateway/uploads/upload_store.h"

namespace galen::gateway {

// UploadStore::Resolve() for requests that have an incident; others stay unchanged.
absl::Status FillInUploads(const UploadStore& store, const std::string& tenant,
                           google::protobuf::Message& request);

// UploadStore::WithNames() for every text of an answer to the tenant.
void NameUploads(const UploadStore& store, const std::string& tenant,
                 google::protobuf::Message& answer);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_UPLOADS_FILL_IN_H_
