#include "services/gateway/api/customer_rules.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "galen/v1/diagnosis_service.pb.h"
#include "services/gateway/api/errors.h"

namespace galen::gateway {

absl::Status CheckForCustomer(const google::protobuf::Message& request, bool uploads) {
  if (request.GetDescriptor() != galen::v1::CreateDiagnosisRequest::descriptor())
    return absl::OkStatus();
  const galen::v1::Incident& incident =
      static_cast<const galen::v1::CreateDiagnosisRequest&>(request).diagnosis().incident();
  const auto named = [uploads](absl::string_view text) {
    return uploads && absl::StartsWith(text, "tenants/");
  };
  if (!incident.bundle().empty() && !named(incident.bundle())) {
    return FieldError("diagnosis.incident.bundle",
                      "names a directory of the server, which a customer's key may not",
                      "SERVER_PATH");
  }
  for (int i = 0; i < incident.logs_size(); ++i) {
    if (!incident.logs(i).content().empty() || named(incident.logs(i).path())) continue;
    return FieldError(absl::StrCat("diagnosis.incident.logs[", i, "].content"),
                      "is empty: a customer's key sends the log itself, not its path",
                      "SERVER_PATH");
  }
  return absl::OkStatus();
}

}  // namespace galen::gateway
