#include "services/gateway/uploads/fill_in.h"

#include "galen/v1/diagnosis_service.pb.h"

namespace galen::gateway {

absl::Status FillInUploads(const UploadStore& store, const std::string& tenant,
                           google::protobuf::Message& request) {
  if (request.GetDescriptor() != galen::v1::CreateDiagnosisRequest::descriptor()) {
    return absl::OkStatus();
  }
  auto& create = static_cast<galen::v1::CreateDiagnosisRequest&>(request);
  return store.Resolve(tenant, *create.mutable_diagnosis()->mutable_incident());
}

}  // namespace galen::gateway
