#include "services/gateway/uploads/fill_in.h"

#include <vector>

#include "galen/v1/diagnosis_service.pb.h"

namespace galen::gateway {

absl::Status FillInUploads(const UploadStore& store, const std::string& tenant,
                           google::protobuf::Message& request) {
  if (request.GetDescriptor() == galen::v1::CreateDiagnosisRequest::descriptor()) {
    auto& create = static_cast<galen::v1::CreateDiagnosisRequest&>(request);
    return store.Resolve(tenant, "diagnosis.incident",
                         *create.mutable_diagnosis()->mutable_incident());
  }
  if (request.GetDescriptor() == galen::v1::SubmitFeedbackRequest::descriptor()) {
    auto& feedback = static_cast<galen::v1::SubmitFeedbackRequest&>(request);
    if (feedback.has_evidence()) {
      return store.Resolve(tenant, "evidence", *feedback.mutable_evidence());
    }
  }
  return absl::OkStatus();
}

void NameUploads(const UploadStore& store, const std::string& tenant,
                 google::protobuf::Message& answer) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *answer.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(answer, &fields);
  for (const FieldDescriptor* field : fields) {
    const int size = field->is_repeated() ? reflection.FieldSize(answer, field) : 1;
    for (int i = 0; i < size; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        NameUploads(store, tenant,
                    *(field->is_repeated() ? reflection.MutableRepeatedMessage(&answer, field, i)
                                           : reflection.MutableMessage(&answer, field)));
      } else if (field->type() == FieldDescriptor::TYPE_STRING && field->is_repeated()) {
        reflection.SetRepeatedString(
            &answer, field, i,
            store.WithNames(tenant, reflection.GetRepeatedString(answer, field, i)));
      } else if (field->type() == FieldDescriptor::TYPE_STRING) {
        reflection.SetString(&answer, field,
                             store.WithNames(tenant, reflection.GetString(answer, field)));
      }
    }
  }
}

}  // namespace galen::gateway
