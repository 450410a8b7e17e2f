#include "services/gateway/tickets/exchange.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/json_access.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/base/time_text.h"
#include "services/gateway/tickets/signature.h"

namespace galen::gateway::tickets {
namespace {

constexpr std::size_t kMostDetail = 300;
constexpr std::size_t kMostId = 200;
constexpr std::size_t kMostUrl = 1000;

// The scalar at a pointer as text; "" if there is none.
std::string At(const Json& tree, const std::string& pointer) {
  const Json::json_pointer where(pointer);
  if (!tree.contains(where)) return "";
  const Json& value = tree.at(where);
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  return "";
}

std::string ReadPart(const std::string& how, const Json& answer, const Values& values,
                     std::size_t most, Escaping escaping = Escaping::kNone) {
  if (how.empty()) return "";
  const std::string read =
      absl::StartsWith(how, "/") ? At(answer, how) : FillText(how, values, escaping);
  // Cut, an id would name another ticket.
  return read.size() > most ? "" : CleanText(read, most);
}

// Fills in the fields that identify a ticket; false if there is no id.
bool ReadTicket(const RequestForm& form, const Json& item, Values values, Outcome& outcome) {
  outcome.id = ReadPart(form.id, item, values, kMostId);
  outcome.key = ReadPart(form.key, item, values, kMostId);
  values["id"] = outcome.id;
  values["key"] = outcome.key;
  outcome.url = ReadPart(form.link, item, values, kMostUrl, Escaping::kUrl);
  return !outcome.id.empty();
}

void ReadFound(const RequestForm& form, const Json& answer, const Values& values,
               Outcome& outcome) {
  const Json::json_pointer where(form.items);
  if (!answer.contains(where) || !answer.at(where).is_array()) {
    outcome.kind = Outcome::Kind::kAgain;
    outcome.detail = absl::StrCat("the answer has no list at \"", form.items, "\"");
    return;
  }
  const Json& items = answer.at(where);
  const std::string wanted = FillText(form.match, values, Escaping::kNone);
  for (const Json& item : items) {
    if (!wanted.empty() && !absl::StrContains(At(item, form.match_at), wanted)) continue;
    if (ReadTicket(form, item, values, outcome)) {
      outcome.kind = Outcome::Kind::kDone;
      return;
    }
  }
  const bool full = form.per_page > 0 && items.size() >= static_cast<std::size_t>(form.per_page);
  outcome.kind = full ? Outcome::Kind::kMore : Outcome::Kind::kNone;
}

bool MayPass(int status) {
  return status >= 500 || status == 408 || status == 425 || status == 429;
}

std::string Shown(const Target& target, absl::string_view text) {
  std::string line = CleanText(target.secret.TakenOutOf(text), kMostDetail);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

}  // namespace

Values ValuesFor(const Target& target, const TicketDocument& document, const v1::Ticket* ticket,
                 absl::Time since) {
  Values values;
  for (const auto& [name, value] : target.variables) values[name] = value;
  for (const auto& [name, value] : document.values) values[name] = value;
  values["user"] = target.user;
  values["body"] = Render(document.body, target.system.form, target.system.most_text);
  values["plain"] =
      Render(document.body, Form::kPlain, std::min<std::size_t>(target.system.most_text, 4000));
  values["comment"] = Render(document.comment, target.system.form, target.system.most_comment);
  values["id"] = ticket == nullptr ? "" : ticket->id();
  values["key"] = ticket == nullptr ? "" : ticket->key();
  values["page"] = "1";
  values["since"] = TimeText(since);
  values["since_epoch"] = absl::StrCat(absl::ToUnixSeconds(since));
  if (target.auth.kind == "body") values["secret"] = target.secret.Reveal();
  for (const auto& [name, map] : target.system.maps) {
    const auto from = values.find(map.from);
    const std::string word =
        from != values.end() && from->second.is_string() ? from->second.get<std::string>() : "";
    const auto it = map.words.find(word);
    values[name] =
        it != map.words.end() ? it->second : FillText(map.otherwise, values, Escaping::kNone);
  }
  return values;
}

absl::StatusOr<HttpCall> MakeCall(const Target& target, const RequestForm& form,
                                  const Values& values, absl::Time now) {
  HttpCall call;
  call.method = form.method;
  call.url = FillText(form.url, values, Escaping::kUrl);
  if (!absl::StartsWith(call.url, "https://") && !absl::StartsWith(call.url, "http://")) {
    return absl::InvalidArgumentError("the request's url is not an http(s) address");
  }
  std::string webhook_id;
  for (const auto* headers : {&target.system.headers, &form.headers}) {
    for (const auto& [name, value] : *headers) {
      call.headers.emplace_back(name, FillText(value, values, Escaping::kHeader));
      if (name == "webhook-id") webhook_id = call.headers.back().second;
    }
  }
  if (form.body) {
    call.body = FillJson(*form.body, values).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  const TicketSystem::Auth& auth = target.auth;
  if (auth.kind == "header") {
    const Values known = {{"secret", target.secret.Reveal()}, {"user", target.user}};
    call.headers.emplace_back(auth.header, FillText(auth.value, known, Escaping::kHeader));
  } else if (auth.kind == "basic") {
    call.headers.emplace_back(
        "Authorization", absl::StrCat("Basic ", absl::Base64Escape(absl::StrCat(
                                                    target.user, ":", target.secret.Reveal()))));
  } else if (auth.kind == "standard_webhooks") {
    const std::string timestamp = absl::StrCat(absl::ToUnixSeconds(now));
    GALEN_ASSIGN_OR_RETURN(
        std::string signature,
        StandardSignature(target.secret.Reveal(), webhook_id, timestamp, call.body));
    call.headers.emplace_back("webhook-timestamp", timestamp);
    call.headers.emplace_back("webhook-signature", std::move(signature));
  }
  return call;
}

Outcome ReadAnswer(const Target& target, absl::string_view step, const RequestForm& form,
                   Values values, const absl::StatusOr<HttpAnswer>& answer) {
  Outcome outcome;
  if (!answer.ok()) {
    outcome.kind = Outcome::Kind::kAgain;
    outcome.may_have_happened =
        !absl::IsNotFound(answer.status()) && !absl::IsFailedPrecondition(answer.status());
    outcome.detail = Shown(target, answer.status().message());
    return outcome;
  }
  outcome.retry_after = answer->retry_after;
  if (answer->status < 200 || answer->status > 299) {
    outcome.kind = MayPass(answer->status) ? Outcome::Kind::kAgain : Outcome::Kind::kRefused;
    outcome.may_have_happened = answer->status >= 500;
    outcome.detail = Shown(target, absl::StrCat("HTTP ", answer->status, ": ", answer->body));
    return outcome;
  }
  const bool must_parse = step == "find" || !target.system.ok_at.empty() ||
                          (step == "open" && absl::StartsWith(form.id, "/"));
  const Json tree = ParseJson(answer->body);
  if (must_parse && tree.is_discarded()) {
    outcome.kind = Outcome::Kind::kAgain;
    outcome.may_have_happened = true;
    outcome.detail = Shown(target, absl::StrCat("the answer is not JSON: ", answer->body));
    return outcome;
  }
  if (!target.system.ok_at.empty() && At(tree, target.system.ok_at) != target.system.ok_is) {
    const std::string reason = At(tree, target.system.reason_at);
    const auto& again = target.system.again;
    outcome.kind = std::find(again.begin(), again.end(), reason) != again.end()
                       ? Outcome::Kind::kAgain
                       : Outcome::Kind::kRefused;
    outcome.may_have_happened = true;
    outcome.detail = Shown(target, absl::StrCat("refused: ", reason));
    return outcome;
  }
  if (step == "find") {
    ReadFound(form, tree, values, outcome);
  } else if (step == "open" && !ReadTicket(form, tree, std::move(values), outcome)) {
    outcome.kind = Outcome::Kind::kAgain;
    outcome.may_have_happened = true;
    outcome.detail = absl::StrCat("the answer has no id at \"", form.id, "\"");
  }
  return outcome;
}

}  // namespace galen::gateway::tickets
