#include "services/gateway/tickets/inbound_updates.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/base/transient.h"
#include "common/crypto/sha256.h"
#include "services/gateway/tickets/document.h"

namespace galen::gateway::tickets {
namespace {

constexpr std::size_t kMostText = 16 << 10;

// Lines that quote another text are not the author's.
std::string WithoutQuotes(absl::string_view text) {
  std::string own;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const absl::string_view start = absl::StripLeadingAsciiWhitespace(line);
    if (absl::StartsWith(start, ">") || absl::StartsWith(start, "&gt;")) continue;
    absl::StrAppend(&own, line, "\n");
  }
  return own;
}

// Whether a later attempt may succeed.
bool WillPass(const absl::Status& status) {
  return IsTransient(status) || absl::IsInternal(status) || absl::IsUnknown(status);
}

}  // namespace

std::string ConfirmedIn(absl::string_view text) {
  for (const absl::string_view line : absl::StrSplit(WithoutQuotes(text), '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.size() < 3 || !absl::EqualsIgnoreCase(words[0], "galen") ||
        !absl::EqualsIgnoreCase(words[1], "confirm")) {
      continue;
    }
    const absl::string_view label = words[2];
    const bool good =
        label.size() <= 200 && std::all_of(label.begin(), label.end(), [](char c) {
          return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_';
        });
    if (good) return std::string(label);
  }
  return "";
}

bool IsOurs(absl::string_view text, const std::string& diagnosis) {
  const std::string own = WithoutQuotes(text);
  return absl::StrContains(own, absl::StrCat("Galen, ", MarkOf(diagnosis))) ||
         absl::StrContains(own, absl::StrCat("<!-- ", MarkOf(diagnosis))) ||
         absl::StrContains(own, absl::StrCat("Galen, ", diagnosis));
}

InboundUpdates::InboundUpdates(const Site& site, store::Records& records, DiagnosisSource& source,
                               const Clock& clock, SubmitFeedback submit)
    : site_(site), tickets_(records), source_(source), clock_(clock), submit_(std::move(submit)) {}

absl::Status InboundUpdates::RecordClosing(const TicketUpdate& update,
                                           const std::string& diagnosis) {
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(std::optional<TicketStore::Ticket> ticket,
                           tickets_.GetTicket(update.target, diagnosis));
    if (!ticket || ticket->value.has_close_time()) return absl::OkStatus();
    *ticket->value.mutable_close_time() = ToTimestamp(clock_.Now());
    ticket->value.set_closed_by(CleanText(update.author, 256));
    ticket->value.set_close_text(CleanText(update.text, 2000));
    const absl::Status put = tickets_.PutTicket(*ticket);
    if (!absl::IsAborted(put)) return put;
  }
}

absl::StatusOr<UpdateResult> InboundUpdates::Apply(const TicketUpdate& update) {
  UpdateResult result;
  const auto target = std::find_if(site_.targets.begin(), site_.targets.end(),
                                   [&](const Target& one) { return one.name == update.target; });
  if (target == site_.targets.end()) {
    result.detail = "there is no such target";
    return result;
  }
  GALEN_ASSIGN_OR_RETURN(const std::optional<std::string> diagnosis,
                         tickets_.DiagnosisOf(update.target, update.ticket_id));
  if (!diagnosis) {
    result.detail = "no ticket of ours";
    return result;
  }
  result.diagnosis = *diagnosis;
  if (target->own_accounts.count(update.author) > 0 || IsOurs(update.text, *diagnosis)) {
    result.kind = UpdateResult::Kind::kOurs;
    return result;
  }
  galen::v1::SubmitFeedbackRequest request;
  request.set_name(*diagnosis);
  request.set_request_id(
      absl::StrCat("ticket/", Sha256Hex(absl::StrCat(update.target, "/", update.delivery))));
  const std::string by = CleanText(absl::StrCat(update.author, " (", update.target, ")"), 256);
  std::string label = ConfirmedIn(update.text);
  if (update.kind == TicketUpdate::Kind::kClosed) {
    GALEN_RETURN_IF_ERROR(RecordClosing(update, *diagnosis));
    if (label.empty() && target->close_confirms) {
      GALEN_ASSIGN_OR_RETURN(const galen::v1::Diagnosis read, source_.Get(*diagnosis));
      label = read.report().primary_cause().label();
    }
    if (label.empty()) {
      result.kind = UpdateResult::Kind::kRecorded;
      return result;
    }
  }
  const std::string text = CleanText(update.text, kMostText);
  if (label.empty() && absl::StripAsciiWhitespace(text).empty()) {
    result.kind = UpdateResult::Kind::kNotTaken;
    result.detail = "the comment is empty";
    return result;
  }
  if (label.empty()) {
    // (A person's text is data; its author and origin are added.)
    request.set_text(absl::StrCat(by, ": ", text));
  } else {
    request.set_text(text);
    request.set_confirmed_label(label);
    request.set_confirmed_by(by);
  }
  const absl::Status submitted = submit_(request);
  if (submitted.ok()) {
    result.kind = label.empty() ? UpdateResult::Kind::kFeedback : UpdateResult::Kind::kConfirmed;
    return result;
  }
  if (WillPass(submitted)) return submitted;
  result.kind = UpdateResult::Kind::kNotTaken;
  result.detail = CleanText(submitted.message(), 300);
  return result;
}

}  // namespace galen::gateway::tickets
