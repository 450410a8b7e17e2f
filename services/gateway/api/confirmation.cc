#include "services/gateway/api/confirmation.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/cause_in_words.h"
#include "common/base/text.h"
#include "galen/v1/diagnosis_service.pb.h"
#include "services/gateway/api/errors.h"

namespace galen::gateway {
namespace {

// With its prefix it is as long as the orchestrator accepts.
constexpr std::size_t kMostName = 160;

}  // namespace

absl::Status SignConfirmation(const Principal& asker, const IsCause& is_cause,
                              google::protobuf::Message& request) {
  auto* const feedback =
      google::protobuf::DynamicCastToGenerated<galen::v1::SubmitFeedbackRequest>(&request);
  if (feedback == nullptr || feedback->confirmed_label().empty()) return absl::OkStatus();
  // The orchestrator refuses words that the report does not have.
  if (is_cause && feedback->confirmed_label() != kCauseInWords &&
      !is_cause(feedback->confirmed_label())) {
    return FieldError("confirmed_label",
                      absl::StrCat("\"", CleanText(feedback->confirmed_label(), 80),
                                   "\" is not a cause of the taxonomy; /v1/knowledge lists them"));
  }
  const std::string said =
      CleanText(absl::StripAsciiWhitespace(feedback->confirmed_by()), kMostName);
  // The orchestrator refuses an empty name.
  if (said.empty()) return absl::OkStatus();
  feedback->set_confirmed_by(
      absl::StrCat("key/", CleanText(asker.id, 64), " (", NameOf(asker.role), "): ", said));
  return absl::OkStatus();
}

}  // namespace galen::gateway
