#include "services/gateway/api/customer_rules.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "galen/v1/diagnosis_service.pb.h"
#include "services/gateway/api/errors.h"

namespace galen::gateway {

namespace {

// "from:NAME" stands for what a log source of the site has (orchestrator --log_sources), which
// knows the tenants that may name it.
bool NamesLogSource(absl::string_view path) {
  constexpr std::size_t kMostSourceName = 64;
  if (!absl::ConsumePrefix(&path, "from:") || path.empty() || path.size() > kMostSourceName)
    return false;
  return std::all_of(path.begin(), path.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_';
  });
}

absl::Status CheckIncident(const galen::v1::Incident& incident, absl::string_view at,
                           bool uploads) {
  const auto named = [uploads](absl::string_view text) {
    return uploads && absl::StartsWith(text, "tenants/");
  };
  if (!incident.bundle().empty() && !named(incident.bundle())) {
    return FieldError(absl::StrCat(at, ".bundle"),
                      "names a directory of the server, which a customer's key may not",
                      "SERVER_PATH");
  }
  for (int i = 0; i < incident.logs_size(); ++i) {
    if (!incident.logs(i).content().empty() || named(incident.logs(i).path())) continue;
    if (NamesLogSource(incident.logs(i).path())) continue;
    return FieldError(absl::StrCat(at, ".logs[", i, "].content"),
                      "is empty: a customer's key sends the log itself, not its path",
                      "SERVER_PATH");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckForCustomer(const google::protobuf::Message& request, bool uploads) {
  if (request.GetDescriptor() == galen::v1::CreateDiagnosisRequest::descriptor()) {
    return CheckIncident(
        static_cast<const galen::v1::CreateDiagnosisRequest&>(request).diagnosis().incident(),
        "diagnosis.incident", uploads);
  }
  if (request.GetDescriptor() == galen::v1::SubmitFeedbackRequest::descriptor()) {
    return CheckIncident(static_cast<const galen::v1::SubmitFeedbackRequest&>(request).evidence(),
                         "evidence", uploads);
  }
  if (request.GetDescriptor() == galen::v1::DeleteDiagnosisRequest::descriptor()) {
    return absl::PermissionDeniedError(
        "a customer's key deletes no diagnoses: ask an operator, or wait for their retention");
  }
  return absl::OkStatus();
}

}  // namespace galen::gateway
