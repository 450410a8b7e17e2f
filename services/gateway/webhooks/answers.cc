#include "services/gateway/webhooks/answers.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/gateway/api/errors.h"

namespace galen::gateway::webhooks {
namespace {

using nlohmann::json;

http::Response Json(int status, const json& body) {
  http::Response response;
  response.status = status;
  response.headers.Add("Content-Type", "application/json");
  response.headers.Add("Cache-Control", "no-store");
  response.body = body.dump(-1, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace) + "\n";
  return response;
}

http::Response ForSlack(const std::string& text) {
  return Json(200, {{"response_type", "ephemeral"}, {"text", text}});
}

}  // namespace

http::Response ProbeAnswer() { return Json(200, {{"status", "ok"}}); }

http::Response AcceptedAnswer(Sender::Answer form, const std::vector<Outcome>& outcomes,
                              const std::vector<std::string>& ignored) {
  if (form == Sender::Answer::kSlack) {
    if (!outcomes.empty() && !outcomes[0].name.empty()) {
      return ForSlack(absl::StrCat(
          "Diagnosis ", outcomes[0].name, " ",
          outcomes[0].what == Outcome::kOpened ? "is started." : "was started before."));
    }
    return ForSlack("Nothing is started: say in a sentence what is wrong, and on which nodes.");
  }
  json body = {{"status", "accepted"}};
  json diagnoses = json::array();
  for (const Outcome& outcome : outcomes) {
    json one = {{"outcome", std::string(NameOf(outcome.what))}};
    if (!outcome.name.empty()) one["name"] = outcome.name;
    diagnoses.push_back(std::move(one));
  }
  if (outcomes.size() == 1 && !outcomes[0].name.empty()) body["name"] = outcomes[0].name;
  body["events"] = std::move(diagnoses);
  if (!ignored.empty()) body["ignored"] = ignored;
  return Json(202, body);
}

http::Response OverloadAnswer(const Sender& sender, const absl::Status& status) {
  if (sender.answer == Sender::Answer::kSlack) {
    return ForSlack("Galen has too much to do at the moment: try again in a few seconds.");
  }
  http::Response response = ErrorResponse(status, sender.overload);
  if (!response.headers.Has("Retry-After")) response.headers.Add("Retry-After", "5");
  return response;
}

}  // namespace galen::gateway::webhooks
