#include "tests/unit/services/gateway/tickets/ticket_world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace galen::gateway::tickets {
namespace {

// The delay until the search of a system finds new tickets.
absl::Duration LagOf(const std::string& system) {
  if (system == "jira") return absl::Seconds(60);
  if (system == "servicenow") return absl::Seconds(1);
  return absl::Seconds(5);
}

std::string Between(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from);
  if (begin == std::string::npos) return "";
  const std::size_t start = begin + from.size();
  return text.substr(start, text.find(to, start) - start);
}

std::string HeaderOf(const HttpCall& call, const std::string& wanted) {
  for (const auto& [name, value] : call.headers) {
    if (name == wanted) return value;
  }
  return "";
}

}  // namespace

const std::map<std::string, TicketSystem>& ShippedSystems() {
  static const auto* const systems =
      new std::map<std::string, TicketSystem>(LoadSystems({GALEN_KNOWLEDGE_DIR}).value());
  return *systems;
}

Target TargetOf(const std::string& system) {
  Target target;
  target.name = "t";
  target.system = ShippedSystems().at(system);
  target.tenants = {"*"};
  target.when = {"concluded", "escalated", "awaiting_feedback", "failed"};
  for (const auto& [name, variable] : target.system.variables) {
    target.variables[name] = variable.standard.empty() ? "https://x.example" : variable.standard;
  }
  target.auth = target.system.auths.front().second;
  target.secret = galen::http::Secret(target.auth.kind == "standard_webhooks"
                                          ? "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
                                          : "not-so-secret");
  return target;
}

galen::v1::Diagnosis ADiagnosis(const std::string& name) {
  galen::v1::Diagnosis diagnosis;
  diagnosis.set_name(name);
  diagnosis.set_state(galen::v1::Diagnosis::SUCCEEDED);
  diagnosis.set_last_sequence(9);
  diagnosis.mutable_incident()->set_description("training stalled");
  galen::v1::Report& report = *diagnosis.mutable_report();
  report.set_outcome(galen::v1::Report::CAUSE_CONFIRMED);
  report.set_headline("GPU 3 of n1 fell off the PCIe bus");
  galen::v1::Cause& cause = *report.mutable_primary_cause();
  cause.set_label("GPU.PCIE.FELL_OFF_BUS");
  cause.set_title("GPU fell off the bus");
  cause.set_explanation("Xid 79 on n1.");
  cause.set_severity("critical");
  cause.set_mitigation("Drain the node and reset the GPU.");
  cause.add_evidence_ids("gpu.xid@n1");
  galen::v1::Device& device = *cause.add_devices();
  device.set_node("n1");
  device.set_device("gpu:3");
  device.set_serial("SERIAL-4711");
  galen::v1::Evidence& evidence = *report.add_evidence();
  evidence.set_id("gpu.xid@n1");
  evidence.set_text("Xid 79 stands in the kernel log");
  evidence.set_excerpt("NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.");
  galen::v1::Cause& ruled_out = *report.add_ruled_out();
  ruled_out.set_label("NETWORK.RDMA.LINK_DOWN");
  ruled_out.set_title("RDMA link down");
  ruled_out.set_explanation("All ports of n1 and n2 are up, says rdma.state.");
  report.add_next_steps("Drain n1");
  return diagnosis;
}

HttpAnswer FakeTicketSystem::Open(const std::string& mark, const std::string& text, int status,
                                  const std::function<Json(const Ticket&)>& answer) {
  Ticket ticket;
  ticket.id = absl::StrCat(100 + tickets.size());
  ticket.mark = mark;
  ticket.text = text;
  ticket.opened = clock_.Now();
  tickets.push_back(ticket);
  return {status, answer(ticket).dump(), std::nullopt};
}

HttpAnswer FakeTicketSystem::Do(const HttpCall& call) {
  const Json body = Json::parse(call.body, nullptr, false);
  const auto known = [&](const std::string& mark) {
    std::vector<Ticket*> found;
    for (Ticket& ticket : tickets) {
      if (ticket.mark == mark && clock_.Now() >= ticket.opened + LagOf(system_)) {
        found.push_back(&ticket);
      }
    }
    return found;
  };
  const auto by_id = [&](const std::string& id) {
    return std::find_if(tickets.begin(), tickets.end(),
                        [&](const Ticket& ticket) { return ticket.id == id; });
  };
  const HttpAnswer lost = {404, R"({"error": "no such ticket"})", std::nullopt};
  if (system_ == "pagerduty") {
    const std::string key = body.at("dedup_key");
    const auto it = std::find_if(tickets.begin(), tickets.end(),
                                 [&](const Ticket& ticket) { return ticket.mark == key; });
    if (it != tickets.end()) {
      ++it->updates;
      return {202, R"({"status": "success"})", std::nullopt};
    }
    return Open(key, body.dump(), 202, [](const Ticket&) { return Json({{"status", "success"}}); });
  }
  if (system_ == "generic") {
    const std::string id = HeaderOf(call, "webhook-id");
    if (const auto it = seen_.find(id); it != seen_.end()) return it->second;
    HttpAnswer answer = {200, "", std::nullopt};
    if (absl::EndsWith(id, "_opened")) {
      answer = Open(body.at("data").at("mark"), body.dump(), 200,
                    [](const Ticket&) { return Json::object(); });
    } else if (!tickets.empty()) {
      ++tickets.front().updates;
    }
    return seen_[id] = answer;
  }
  if (system_ == "servicenow") {
    if (call.method == "GET") {
      Json result = Json::array();
      for (const Ticket* ticket : known(Between(call.url, "correlation_id%3D", "%5E"))) {
        result.push_back({{"sys_id", ticket->id}, {"number", "INC" + ticket->id}});
      }
      return {200, Json({{"result", result}}).dump(), std::nullopt};
    }
    if (call.method == "PATCH") {
      const auto it = by_id(Between(call.url, "/table/incident/", "?"));
      if (it == tickets.end()) return lost;
      ++it->comments;
      return {200, R"({"result": {}})", std::nullopt};
    }
    return Open(body.at("correlation_id"), body.dump(), 201, [](const Ticket& ticket) {
      return Json({{"result", {{"sys_id", ticket.id}, {"number", "INC" + ticket.id}}}});
    });
  }
  if (system_ == "jira") {
    if (absl::StrContains(call.url, "/search/jql")) {
      Json issues = Json::array();
      for (const Ticket* ticket : known(Between(body.at("jql"), "labels = \"", "\""))) {
        issues.push_back({{"key", ticket->id}});
      }
      return {200, Json({{"issues", issues}}).dump(), std::nullopt};
    }
    if (call.method == "PUT" || absl::EndsWith(call.url, "/comment")) {
      const auto it = by_id(Between(call.url, "/rest/api/3/issue/", "/"));
      if (it == tickets.end()) return lost;
      ++(call.method == "PUT" ? it->updates : it->comments);
      return {204, "", std::nullopt};
    }
    return Open(body.at("fields").at("labels").at(1), body.dump(), 201, [](const Ticket& ticket) {
      return Json({{"key", ticket.id}});
    });
  }
  if (system_ == "github") {
    if (call.method == "GET") {
      Json issues = Json::array();
      for (const Ticket& ticket : tickets) {
        if (clock_.Now() < ticket.opened + LagOf(system_)) continue;
        issues.push_back({{"number", std::stoi(ticket.id)}, {"body", ticket.text}});
      }
      return {200, issues.dump(), std::nullopt};
    }
    if (call.method == "PATCH" || absl::EndsWith(call.url, "/comments")) {
      const auto it = by_id(Between(call.url, "/issues/", "/"));
      if (it == tickets.end()) return lost;
      ++(call.method == "PATCH" ? it->updates : it->comments);
      return {200, "{}", std::nullopt};
    }
    const std::string text = body.at("body");
    return Open(Between(text, "<!-- ", " -->"), text, 201, [](const Ticket& ticket) {
      return Json({{"number", std::stoi(ticket.id)}, {"html_url", "https://x/" + ticket.id}});
    });
  }
  // Slack.
  if (call.method == "GET") {
    Json messages = Json::array();
    for (const Ticket& ticket : tickets) {
      if (clock_.Now() < ticket.opened + LagOf(system_)) continue;
      messages.push_back(
          {{"ts", ticket.id}, {"metadata", {{"event_payload", {{"mark", ticket.mark}}}}}});
    }
    return {200, Json({{"ok", true}, {"messages", messages}}).dump(), std::nullopt};
  }
  const bool update = absl::EndsWith(call.url, "/chat.update");
  if (update || body.contains("thread_ts")) {
    const auto it = by_id(body.at(update ? "ts" : "thread_ts"));
    if (it == tickets.end()) return {200, R"({"ok": false, "error": "no_message"})", std::nullopt};
    ++(update ? it->updates : it->comments);
    return {200, R"({"ok": true})", std::nullopt};
  }
  return Open(body.at("metadata").at("event_payload").at("mark"), body.dump(), 200,
              [](const Ticket& ticket) {
                return Json({{"ok", true}, {"ts", ticket.id}});
              });
}

absl::StatusOr<HttpAnswer> FakeTicketSystem::Send(const HttpCall& call, absl::Duration timeout) {
  (void)timeout;
  ++requests;
  times.push_back(clock_.Now());
  const Fate what = fate ? fate(requests) : Fate();
  absl::StatusOr<HttpAnswer> answer = HttpAnswer{503, "", std::nullopt};
  if (what.happens) answer = Do(call);
  return what.answer ? *what.answer : answer;
}

absl::StatusOr<std::optional<store::Record>> DyingRecords::Get(absl::string_view space,
                                                               absl::string_view key) {
  if (dead()) return absl::UnavailableError("dead");
  return records_.Get(space, key);
}
absl::StatusOr<std::int64_t> DyingRecords::Put(absl::string_view space, absl::string_view key,
                                               absl::string_view value, std::int64_t seen) {
  if (--changes_left < 0) {
    if (changes_left == -1 && last_is_made) records_.Put(space, key, value, seen).IgnoreError();
    return absl::UnavailableError("dead");
  }
  return records_.Put(space, key, value, seen);
}
absl::Status DyingRecords::Remove(absl::string_view space, absl::string_view key,
                                  std::int64_t seen) {
  if (--changes_left < 0) {
    if (changes_left == -1 && last_is_made) records_.Remove(space, key, seen).IgnoreError();
    return absl::UnavailableError("dead");
  }
  return records_.Remove(space, key, seen);
}
absl::StatusOr<std::vector<store::Record>> DyingRecords::List(absl::string_view space,
                                                              absl::string_view after, int limit) {
  if (dead()) return absl::UnavailableError("dead");
  return records_.List(space, after, limit);
}

World::World(Target one) : system(one.system.id, clock) {
  site.targets.push_back(std::move(one));
  Restart();
}

void World::Restart() {
  ++incarnation;
  records = std::make_unique<DyingRecords>(store->records());
  worker = std::make_unique<DeliveryWorker>(
      site.targets.front(), "https://galen.example",
      DeliveryWorker::Dependencies{records.get(), &source, &system, &clock, [] { return 0.5; },
                                   absl::StrCat("gateway-", incarnation)});
}

void World::Conclude(const std::string& name, std::int64_t sequence) {
  galen::v1::Diagnosis diagnosis = ADiagnosis(name);
  diagnosis.set_last_sequence(sequence);
  source.diagnoses[name] = diagnosis;
  ticket_store.MakeDue("t", name, sequence, clock.Now()).IgnoreError();
}

bool World::AllTold() { return ticket_store.ListDue("t", "", 1).value().empty(); }

void World::RunUntil(absl::Time until) {
  while (clock.Now() < until && !records->dead() && !AllTold()) {
    const absl::StatusOr<absl::Time> next = worker->WorkOnce();
    if (!next.ok()) {
      clock.Advance(absl::Seconds(1));
      continue;
    }
    if (*next > clock.Now()) clock.Advance(std::min(*next, until) - clock.Now());
  }
}

}  // namespace galen::gateway::tickets
