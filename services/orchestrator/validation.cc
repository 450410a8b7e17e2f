#include "services/orchestrator/validation.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/names.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "services/orchestrator/strategy.h"

namespace galen::orchestrator {
namespace {

constexpr std::size_t kMaxDescription = 1 << 20;
constexpr int kMaxNodes = 10'000;
constexpr int kMaxLogs = 1'000;
constexpr std::size_t kMaxLogContent = 2 << 20;
constexpr std::size_t kMaxPath = 4096;
constexpr std::size_t kMaxNodeName = 253;  // of a DNS name
constexpr std::size_t kMaxRequestId = 128;
constexpr std::size_t kMaxFeedback = 1 << 20;
constexpr int kMaxTests = 16;
constexpr std::size_t kMaxLabel = 200;
constexpr std::size_t kMaxConfirmedBy = 256;
constexpr std::size_t kMaxReason = 4 << 10;
constexpr int kMaxPageSize = 1'000;

absl::Status Invalid(absl::string_view field, absl::string_view fact) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", fact));
}

absl::Status TooLarge(absl::string_view field, std::size_t size, std::size_t most,
                      absl::string_view unit) {
  return Invalid(field, absl::StrCat("has ", size, " ", unit, ", at most ", most, " are taken"));
}

absl::Status ValidateText(absl::string_view field, absl::string_view text, std::size_t most) {
  if (text.size() > most) return TooLarge(field, text.size(), most, "bytes");
  if (!IsUtf8(text)) return Invalid(field, "is not valid UTF-8: convert it first");
  return absl::OkStatus();
}

absl::Status ValidateParent(absl::string_view parent) {
  absl::string_view tenant = parent;
  if (absl::ConsumePrefix(&tenant, "tenants/") && IsSegment(tenant)) return absl::OkStatus();
  return Invalid("parent", absl::StrCat("\"", CleanText(parent, 80),
                                        "\" is not of the form tenants/{tenant}, where a tenant is "
                                        "1 to 63 of a-z, 0-9 and \"-\""));
}

absl::Status ValidateLog(const v1::LogSource& log, const std::string& field) {
  if (log.path().empty()) {
    return Invalid(absl::StrCat(field, ".path"),
                   "is empty: name the log, also when it has content");
  }
  GALEN_RETURN_IF_ERROR(ValidateText(absl::StrCat(field, ".path"), log.path(), kMaxPath));
  if (log.content().size() > kMaxLogContent) {
    return Invalid(absl::StrCat(field, ".content"),
                   absl::StrCat("has ", log.content().size(), " bytes, at most ", kMaxLogContent,
                                " are taken: put it in a bundle, or give a path"));
  }
  if (log.has_rank() && log.rank() < 0) {
    return Invalid(absl::StrCat(field, ".rank"), "is negative");
  }
  return absl::OkStatus();
}

absl::Status ValidateLogs(const std::string& field,
                          const google::protobuf::RepeatedPtrField<v1::LogSource>& logs) {
  if (logs.size() > kMaxLogs) {
    return TooLarge(field, static_cast<std::size_t>(logs.size()), kMaxLogs, "entries");
  }
  for (int i = 0; i < logs.size(); ++i) {
    GALEN_RETURN_IF_ERROR(ValidateLog(logs.Get(i), absl::StrCat(field, "[", i, "]")));
  }
  return absl::OkStatus();
}

absl::Status ValidateNodes(const std::string& field,
                           const google::protobuf::RepeatedPtrField<std::string>& nodes) {
  if (nodes.size() > kMaxNodes) {
    return TooLarge(field, static_cast<std::size_t>(nodes.size()), kMaxNodes, "entries");
  }
  for (int i = 0; i < nodes.size(); ++i) {
    const std::string each = absl::StrCat(field, "[", i, "]");
    if (nodes.Get(i).empty()) return Invalid(each, "is empty: give a host name");
    GALEN_RETURN_IF_ERROR(ValidateText(each, nodes.Get(i), kMaxNodeName));
  }
  return absl::OkStatus();
}

absl::Status ValidateIncident(const v1::Incident& incident) {
  constexpr absl::string_view kDescription = "diagnosis.incident.description";
  if (absl::StripAsciiWhitespace(incident.description()).empty() && incident.logs().empty() &&
      incident.bundle().empty()) {
    return Invalid(kDescription, "is empty: say in a sentence what is wrong, or add a log");
  }
  GALEN_RETURN_IF_ERROR(ValidateText(kDescription, incident.description(), kMaxDescription));
  GALEN_RETURN_IF_ERROR(ValidateNodes("diagnosis.incident.nodes", incident.nodes()));
  GALEN_RETURN_IF_ERROR(
      ValidateNodes("diagnosis.incident.baseline.nodes", incident.baseline().nodes()));
  GALEN_RETURN_IF_ERROR(ValidateLogs("diagnosis.incident.logs", incident.logs()));
  if (incident.has_start_time() && incident.has_end_time() &&
      incident.end_time().seconds() < incident.start_time().seconds()) {
    return Invalid("diagnosis.incident.end_time", "lies before start_time");
  }
  return ValidateText("diagnosis.incident.bundle", incident.bundle(), kMaxPath);
}

absl::Status ValidateConfirmation(const v1::SubmitFeedbackRequest& request) {
  const std::string& label = request.confirmed_label();
  const bool is_label =
      label.size() <= kMaxLabel && std::all_of(label.begin(), label.end(), [](char c) {
        return absl::ascii_isupper(static_cast<unsigned char>(c)) ||
               absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '_' || c == '.';
      });
  if (!is_label) {
    return Invalid("confirmed_label", absl::StrCat("\"", CleanText(label, 80),
                                                   "\" is not a label; write MAIN.SUB.DETAIL"));
  }
  if (absl::StripAsciiWhitespace(request.confirmed_by()).empty()) {
    return Invalid("confirmed_by", "is empty: say who confirms the cause");
  }
  return ValidateText("confirmed_by", request.confirmed_by(), kMaxConfirmedBy);
}

bool SaysNothing(const v1::SubmitFeedbackRequest& request) {
  return absl::StripAsciiWhitespace(request.text()).empty() && !request.look_again() &&
         request.allowed_tests().empty() && request.evidence().logs().empty() &&
         request.evidence().nodes().empty() && request.evidence().bundle().empty();
}

}  // namespace

absl::Status Validate(const v1::CreateDiagnosisRequest& request) {
  GALEN_RETURN_IF_ERROR(ValidateParent(request.parent()));
  if (!request.diagnosis_id().empty() && !IsSegment(request.diagnosis_id())) {
    return Invalid("diagnosis_id", absl::StrCat("\"", CleanText(request.diagnosis_id(), 80),
                                                "\" is not 1 to 63 of a-z, 0-9 and \"-\""));
  }
  GALEN_RETURN_IF_ERROR(ValidateText("request_id", request.request_id(), kMaxRequestId));
  if (const std::string& strategy = request.diagnosis().strategy(); !strategy.empty()) {
    GALEN_RETURN_IF_ERROR(ValidateStrategy("diagnosis.strategy", strategy));
  }
  return ValidateIncident(request.diagnosis().incident());
}

absl::Status ValidateStrategy(absl::string_view field, absl::string_view name) {
  if (FindStrategy(name) != nullptr) return absl::OkStatus();
  return Invalid(field, absl::StrCat("\"", CleanText(name, 80),
                                     "\" is not one of: ", absl::StrJoin(StrategyNames(), ", ")));
}

absl::Status Validate(const v1::SubmitFeedbackRequest& request) {
  if (!request.confirmed_label().empty()) {
    GALEN_RETURN_IF_ERROR(ValidateConfirmation(request));
  } else if (SaysNothing(request)) {
    return Invalid("text", "is empty: say what is new, give an output, or ask to look again");
  }
  GALEN_RETURN_IF_ERROR(ValidateLogs("evidence.logs", request.evidence().logs()));
  GALEN_RETURN_IF_ERROR(ValidateNodes("evidence.nodes", request.evidence().nodes()));
  GALEN_RETURN_IF_ERROR(ValidateText("evidence.bundle", request.evidence().bundle(), kMaxPath));
  GALEN_RETURN_IF_ERROR(ValidateText("by", request.by(), kMaxConfirmedBy));
  if (request.allowed_tests_size() > kMaxTests) {
    return TooLarge("allowed_tests", static_cast<std::size_t>(request.allowed_tests_size()),
                    kMaxTests, "entries");
  }
  GALEN_RETURN_IF_ERROR(ValidateText("text", request.text(), kMaxFeedback));
  return ValidateText("request_id", request.request_id(), kMaxRequestId);
}

absl::Status Validate(const v1::ListDiagnosesRequest& request) {
  GALEN_RETURN_IF_ERROR(ValidateParent(request.parent()));
  if (request.page_size() < 0 || request.page_size() > kMaxPageSize) {
    return Invalid("page_size",
                   absl::StrCat(request.page_size(), " is not between 0 and ", kMaxPageSize));
  }
  return absl::OkStatus();
}

absl::Status ValidateReason(absl::string_view reason) {
  return ValidateText("reason", reason, kMaxReason);
}

}  // namespace galen::orchestrator
