#include "services/gateway/kubernetes/diagnosis_object.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/base/time_text.h"
#include "services/gateway/api/customer_rules.h"

namespace galen::gateway::kubernetes {
namespace {

using galen::v1::Diagnosis;
using kube::Json;

constexpr std::size_t kMostText = 1000;
constexpr std::size_t kMostLabel = 200;
constexpr int kMostSteps = 10;
constexpr char kRefused[] = "Refused";
constexpr char kWaiting[] = "Waiting";

// In the style of Kubernetes: "AwaitingFeedback".
std::string StateText(Diagnosis::State state) {
  switch (state) {
    case Diagnosis::RUNNING:
      return "Running";
    case Diagnosis::AWAITING_FEEDBACK:
      return "AwaitingFeedback";
    case Diagnosis::SUCCEEDED:
      return "Succeeded";
    case Diagnosis::FAILED:
      return "Failed";
    case Diagnosis::CANCELLED:
      return "Cancelled";
    case Diagnosis::ESCALATED:
      return "Escalated";
    default:
      return "Pending";
  }
}

bool IsLastState(absl::string_view state) {
  return state == "Succeeded" || state == "Failed" || state == "Cancelled" ||
         state == "Escalated" || state == kRefused;
}

std::int64_t GenerationOf(const Json& object) {
  const auto metadata = object.find("metadata");
  if (metadata == object.end() || !metadata->is_object()) return 0;
  const auto generation = metadata->find("generation");
  return generation != metadata->end() && generation->is_number_integer()
             ? generation->get<std::int64_t>()
             : 0;
}

const Json& StatusNow(const Json& object) {
  static const Json none = Json::object();
  const auto status = object.find("status");
  return status != object.end() && status->is_object() ? *status : none;
}

// A condition by the conventions of the API; since `now`, unless the object has it already.
Json Condition(const Json& object, absl::string_view type, absl::string_view value,
               absl::string_view reason, absl::string_view message, absl::Time now) {
  std::string since = TimeText(now);
  const Json& status = StatusNow(object);
  const auto conditions = status.find("conditions");
  if (conditions != status.end() && conditions->is_array()) {
    for (const Json& before : *conditions) {
      if (TextAt(before, {"type"}) != type || TextAt(before, {"status"}) != value) continue;
      const std::string time = TextAt(before, {"lastTransitionTime"});
      if (!time.empty()) since = time;
    }
  }
  return {{"type", std::string(type)},     {"status", std::string(value)},
          {"reason", std::string(reason)}, {"message", CleanText(message, kMostText)},
          {"lastTransitionTime", since},   {"observedGeneration", GenerationOf(object)}};
}

std::string DeviceText(const galen::v1::Cause& cause) {
  if (cause.devices().empty()) return "";
  const galen::v1::Device& device = cause.devices(0);
  std::string text = device.node();
  if (!device.device().empty()) absl::StrAppend(&text, text.empty() ? "" : "/", device.device());
  if (cause.devices_size() > 1) absl::StrAppend(&text, " +", cause.devices_size() - 1);
  return CleanText(text, kMostLabel);
}

void AddReport(const galen::v1::Report& report, Json& status) {
  const auto add = [&status](const char* field, absl::string_view text, std::size_t most) {
    if (!text.empty()) status[field] = CleanText(text, most);
  };
  add("summary", report.headline(), kMostText);
  if (report.has_primary_cause()) {
    const galen::v1::Cause& cause = report.primary_cause();
    add("cause", cause.label(), kMostLabel);
    add("title", cause.title(), kMostLabel);
    add("device", DeviceText(cause), kMostLabel);
    add("severity", cause.severity(), kMostLabel);
    status["probability"] = std::round(cause.probability() * 100) / 100;
  }
  if (report.has_presumed_cause()) {
    add("presumedCause", report.presumed_cause().label(), kMostLabel);
  }
  add("owner", report.owner(), kMostLabel);
  Json others = Json::array();
  for (const galen::v1::Cause& cause : report.other_causes()) {
    others.push_back(CleanText(cause.label(), kMostLabel));
    if (others.size() == kMostSteps) break;
  }
  if (!others.empty()) status["otherCauses"] = others;
  Json steps = Json::array();
  for (const std::string& step : report.next_steps()) {
    steps.push_back(CleanText(step, kMostText));
    if (steps.size() == kMostSteps) break;
  }
  if (!steps.empty()) status["nextSteps"] = steps;
  if (report.has_checks()) {
    status["checks"] = {{"pass", report.checks().pass()},
                        {"fail", report.checks().fail()},
                        {"skipped", report.checks().skipped()},
                        {"error", report.checks().error()}};
  }
}

// Logs of the object in the form of the incident: the text is included, as bytes.
absl::StatusOr<Json> LogsOf(const Json& logs) {
  Json made = Json::array();
  if (!logs.is_array()) return absl::InvalidArgumentError("spec.logs: is not a list");
  for (const Json& log : logs) {
    if (!log.is_object()) return absl::InvalidArgumentError("spec.logs: an entry is not a map");
    const std::string name = TextAt(log, {"name"});
    const std::string text = TextAt(log, {"text"});
    if (name.empty() || text.empty()) {
      return absl::InvalidArgumentError("spec.logs: each needs a name and a text");
    }
    Json one = {{"path", name}, {"content", absl::Base64Escape(text)}};
    for (const char* field : {"node", "rank"}) {
      if (const auto found = log.find(field); found != log.end()) one[field] = *found;
    }
    if (const std::string kind = TextAt(log, {"kind"}); !kind.empty()) {
      one["kind"] = absl::AsciiStrToUpper(kind);
    }
    made.push_back(std::move(one));
  }
  return made;
}

}  // namespace

const kube::Resource& Diagnoses() {
  static const kube::Resource diagnoses{"galen.io", "v1alpha1", "diagnoses"};
  return diagnoses;
}

std::string DiagnosisIdOf(const Json& object) {
  const std::string uid = TextAt(object, {"metadata", "uid"});
  const bool good =
      !uid.empty() && uid.size() <= 50 && std::all_of(uid.begin(), uid.end(), [](char c) {
        return absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
               absl::ascii_islower(static_cast<unsigned char>(c)) || c == '-';
      });
  return good ? absl::StrCat("kube-", uid) : "";
}

std::string NameOf(const Json& object) {
  return absl::StrCat(CleanText(TextAt(object, {"metadata", "namespace"}), 63), "/",
                      CleanText(TextAt(object, {"metadata", "name"}), 253));
}

std::string DiagnosisOf(const Json& object) { return TextAt(object, {"status", "diagnosis"}); }

bool IsOver(const Json& object) { return IsLastState(TextAt(object, {"status", "state"})); }

absl::StatusOr<galen::v1::CreateDiagnosisRequest> RequestOf(const Json& object,
                                                            const std::string& tenant) {
  const std::string id = DiagnosisIdOf(object);
  if (id.empty())
    return absl::InvalidArgumentError(
        "metadata.uid is missing or is not one that Kubernetes gives");
  const auto spec = object.find("spec");
  if (spec == object.end() || !spec->is_object()) {
    return absl::InvalidArgumentError("spec: is not there; give a description");
  }
  Json incident = Json::object();
  std::string strategy;
  for (const auto& [field, value] : spec->items()) {
    if (field == "strategy") {
      strategy = value.is_string() ? value.get<std::string>() : "";
    } else if (field == "logs") {
      GALEN_ASSIGN_OR_RETURN(incident["logs"], LogsOf(value));
    } else if (field == "bundle") {
      return absl::InvalidArgumentError("spec.bundle: names a directory of a server");
    } else if (field != "job") {  // its pods tell the nodes, which RequestOf() has no part in
      incident[field] = value;
    }
  }
  galen::v1::CreateDiagnosisRequest request;
  google::protobuf::util::JsonParseOptions strict;
  strict.ignore_unknown_fields = false;
  const auto parsed = google::protobuf::util::JsonStringToMessage(
      incident.dump(-1, ' ', false, Json::error_handler_t::replace),
      request.mutable_diagnosis()->mutable_incident(), strict);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("spec: ", CleanText(std::string(parsed.message()), kMostText)));
  }
  request.set_parent(absl::StrCat("tenants/", tenant));
  request.mutable_diagnosis()->set_strategy(strategy);
  request.set_diagnosis_id(id);
  request.set_request_id(id);
  GALEN_RETURN_IF_ERROR(CheckForCustomer(request));
  return request;
}

Json StatusOf(const Json& object, const Diagnosis& diagnosis, absl::Time now) {
  const std::string state = StateText(diagnosis.state());
  const bool over = IsLastState(state);
  Json status = {{"observedGeneration", GenerationOf(object)},
                 {"diagnosis", diagnosis.name()},
                 {"state", state}};
  if (diagnosis.has_create_time()) status["startTime"] = TimeText(ToTime(diagnosis.create_time()));
  if (over && diagnosis.has_update_time()) {
    status["completionTime"] = TimeText(ToTime(diagnosis.update_time()));
  }
  if (diagnosis.has_report()) {
    AddReport(diagnosis.report(), status);
  } else if (!diagnosis.summary().text().empty()) {
    status["summary"] = CleanText(diagnosis.summary().text(), kMostText);
  }
  std::string message = status.value("summary", "");
  if (diagnosis.state() == Diagnosis::FAILED) {
    message = diagnosis.error().message();
    status["summary"] = CleanText(message, kMostText);
  }
  status["conditions"] = {
      Condition(object, "Accepted", "True", "Accepted", diagnosis.name(), now),
      Condition(object, "Finished", over ? "True" : "False", state, message, now)};
  return status;
}

Json StatusRefused(const Json& object, absl::string_view reason, absl::string_view message,
                   absl::Time now) {
  return {{"observedGeneration", GenerationOf(object)},
          {"state", kRefused},
          {"summary", CleanText(message, kMostText)},
          {"conditions",
           {Condition(object, "Accepted", "False", reason, message, now),
            Condition(object, "Finished", "True", kRefused, message, now)}}};
}

Json StatusWaiting(const Json& object, absl::string_view reason, absl::string_view message,
                   absl::Time now) {
  return {{"observedGeneration", GenerationOf(object)},
          {"state", kWaiting},
          {"summary", CleanText(message, kMostText)},
          {"conditions",
           {Condition(object, "Accepted", "Unknown", reason, message, now),
            Condition(object, "Finished", "False", kWaiting, message, now)}}};
}

std::optional<Json> PatchTo(const Json& object, const Json& status) {
  const Json& before = StatusNow(object);
  if (before == status) return std::nullopt;
  Json change = status;
  for (const auto& [field, value] : before.items()) {
    if (!status.contains(field)) change[field] = nullptr;
  }
  return Json{{"metadata", {{"resourceVersion", TextAt(object, {"metadata", "resourceVersion"})}}},
              {"status", std::move(change)}};
}

}  // namespace galen::gateway::kubernetes
