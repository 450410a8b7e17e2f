#include "services/gateway/webhooks/payload_parser.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace galen::gateway::webhooks {
namespace {

constexpr std::size_t kMostEvents = 1'000;  // in one delivery
constexpr std::size_t kMostTitle = 1 << 10;
constexpr std::size_t kMostDescription = 64 << 10;
constexpr std::size_t kMostAttribute = 1 << 10;
constexpr std::size_t kMostNodes = 1'000;
constexpr std::size_t kMostNodeName = 253;
// An alert comes after its cause: after its "for", and after the scrapes before that.
constexpr absl::Duration kLead = absl::Minutes(30);

// A hash of the texts of several places, unique to them.
std::string HashOf(const std::vector<Selector>& selectors, const Event& event) {
  std::string all;
  bool any = false;
  for (const Selector& selector : selectors) {
    for (const std::string& text : selector.Texts(event)) {
      absl::StrAppend(&all, text.size(), ":", text);
      any = true;
    }
    absl::StrAppend(&all, ";");
  }
  return any ? Sha256(all) : "";
}

std::optional<absl::Time> TimeOf(const Selector& selector, const Event& event, bool latest) {
  std::optional<absl::Time> best;
  for (const std::string& text : selector.Texts(event)) {
    const std::optional<absl::Time> time = ParseEventTime(text);
    if (!time.has_value()) continue;
    if (!best.has_value() || (latest ? *time > *best : *time < *best)) best = time;
  }
  return best;
}

// The host name in a value that may have a port; "" if it is invalid.
std::string NodeIn(absl::string_view text) {
  const std::size_t colon = text.rfind(':');
  std::uint32_t port = 0;
  if (colon != absl::string_view::npos && absl::SimpleAtoi(text.substr(colon + 1), &port)) {
    text = text.substr(0, colon);
  }
  const bool sound = !text.empty() && text.size() <= kMostNodeName && text[0] != '-' &&
                     text[0] != '.' && std::all_of(text.begin(), text.end(), [](char c) {
                       return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
                              c == '.' || c == '_';
                     });
  return sound ? std::string(text) : "";
}

// False if the event names only nodes that this endpoint may not name.
bool AddNodes(const Endpoint& endpoint, const Event& event, galen::v1::Incident& incident) {
  std::set<std::string> seen;
  bool named = false;
  for (const Selector& selector : endpoint.sender->form.nodes) {
    for (const std::string& text : selector.Texts(event)) {
      std::string node = NodeIn(text);
      if (node.empty()) continue;
      named = true;
      if (seen.size() >= kMostNodes || !endpoint.MayName(node) || !seen.insert(node).second) {
        continue;
      }
      incident.add_nodes(std::move(node));
    }
  }
  if (incident.nodes_size() > 0) return true;
  if (named) return false;
  for (const std::string& node : endpoint.default_nodes) incident.add_nodes(node);
  // No node at all would mean every node: more than a restricted endpoint may ask for.
  return incident.nodes_size() > 0 || endpoint.nodes.empty();
}

std::string DescriptionOf(const IncidentForm& form, const Event& event) {
  std::string text = form.title.Fill(event, kMostTitle);
  absl::StrAppend(&text, "\n");
  for (const TextPart& part : form.text) {
    std::vector<Event> about;
    if (part.each.has_value()) {
      for (Document& item : event.body.Parts(*part.each)) {
        about.push_back({std::move(item), event.headers});
      }
    } else {
      about.push_back(event);
    }
    for (const Event& one : about) {
      const std::string line = part.text.Fill(one, kMostDescription);
      if (!line.empty()) absl::StrAppend(&text, line, "\n");
      if (text.size() > kMostDescription) return CleanText(text, kMostDescription);
    }
  }
  return text;
}

void AddAttributes(const std::map<std::string, Template>& templates, absl::string_view prefix,
                   const Event& event, galen::v1::Environment& environment) {
  for (const auto& [name, text] : templates) {
    std::string value = text.Fill(event, kMostAttribute);
    if (value.empty()) continue;
    (*environment.mutable_attributes())[absl::StrCat(prefix, name)] = std::move(value);
  }
}

// False if the event may not name its nodes here.
bool MakeRequest(const Endpoint& endpoint, const Event& event,
                 galen::v1::CreateDiagnosisRequest& request) {
  const IncidentForm& form = endpoint.sender->form;
  request.set_parent(absl::StrCat("tenants/", endpoint.tenant));
  galen::v1::Diagnosis& diagnosis = *request.mutable_diagnosis();
  diagnosis.set_strategy(endpoint.strategy);
  galen::v1::Incident& incident = *diagnosis.mutable_incident();
  incident.set_description(DescriptionOf(form, event));
  if (absl::StripAsciiWhitespace(incident.description()).empty()) {
    incident.set_description(absl::StrCat(endpoint.sender->title, " reports an incident"));
  }
  if (form.job.has_value()) {
    const std::vector<std::string> jobs = form.job->Texts(event);
    if (!jobs.empty()) incident.mutable_workload()->set_name(CleanText(jobs[0], kMostAttribute));
  }
  if (form.start.has_value()) {
    if (const auto start = TimeOf(*form.start, event, /*latest=*/false)) {
      *incident.mutable_start_time() = ToTimestamp(*start - kLead);
    }
  }
  galen::v1::Environment& environment = *incident.mutable_environment();
  AddAttributes(form.labels, "", event, environment);
  AddAttributes(form.links, "link.", event, environment);
  AddAttributes(form.ticket, "ticket.", event, environment);
  (*environment.mutable_attributes())["webhook.endpoint"] = endpoint.name;
  (*environment.mutable_attributes())["webhook.sender"] = endpoint.sender->name;
  return AddNodes(endpoint, event, incident);
}

const Rule* FirstRule(const Sender& sender, const Event& event) {
  for (const Rule& rule : sender.rules) {
    if (AllHold(rule.when, event)) return &rule;
  }
  return nullptr;
}

bool IsOwn(const Endpoint& endpoint, const Event& event) {
  for (const Selector& selector : endpoint.sender->author) {
    for (const std::string& author : selector.Texts(event)) {
      for (const std::string& own : endpoint.own_authors) {
        if (absl::EqualsIgnoreCase(author, own)) return true;
      }
    }
  }
  return false;
}

// Reads the ticket event in an event, whatever else it holds.
void ReadNote(const Endpoint& endpoint, const Event& event, const std::string& otherwise,
              ParsedDelivery& reading) {
  const std::optional<TicketUpdateForm>& news = endpoint.sender->news;
  if (endpoint.tickets.empty() || !news.has_value()) return;
  TicketEvent note;
  for (const Selector& selector : news->ticket) {
    const std::vector<std::string> ids = selector.Texts(event);
    if (note.ticket.empty() && !ids.empty()) note.ticket = ids.front();
  }
  if (note.ticket.empty()) return;
  note.target = endpoint.tickets;
  note.tenant = endpoint.tenant;
  const auto hold = [&event](const std::vector<Condition>& conditions) {
    return !conditions.empty() && AllHold(conditions, event);
  };
  if (hold(news->comment)) note.kind = TicketEvent::Kind::kComment;
  if (hold(news->closed)) note.kind = TicketEvent::Kind::kClosed;
  for (const Selector& selector : endpoint.sender->author) {
    const std::vector<std::string> authors = selector.Texts(event);
    if (note.author.empty() && !authors.empty()) note.author = CleanText(authors.front(), 256);
  }
  note.text = news->text.Fill(event, kMostDescription);
  note.delivery = HashOf(endpoint.sender->event, event);
  if (note.delivery.empty()) note.delivery = otherwise;
  reading.notes.push_back(std::move(note));
}

// `otherwise`: identifies the event if the sender's selectors find nothing.
absl::Status ReadEvent(const Endpoint& endpoint, const Event& event, const std::string& otherwise,
                       ParsedDelivery& reading) {
  const Sender& sender = *endpoint.sender;
  const Rule* const rule = FirstRule(sender, event);
  const Action action = rule == nullptr ? Action::kIgnore : rule->action;
  if (action == Action::kProbe) {
    reading.probe = true;
    return absl::OkStatus();
  }
  if (IsOwn(endpoint, event)) {
    reading.ignored.emplace_back("it was caused by Galen itself");
    return absl::OkStatus();
  }
  if (action == Action::kIgnore) {
    reading.ignored.emplace_back("no rule takes this kind of event");
    ReadNote(endpoint, event, otherwise, reading);
    return absl::OkStatus();
  }
  ReadNote(endpoint, event, otherwise, reading);
  v1::WebhookEvent found;
  found.set_incident(HashOf(sender.incident, event));
  if (found.incident().empty()) {
    return absl::InvalidArgumentError("body: nothing in it identifies the incident");
  }
  found.set_event(HashOf(sender.event, event));
  if (found.event().empty()) found.set_event(otherwise);
  const std::optional<Selector>& at = rule->time.has_value() ? rule->time : sender.time;
  if (at.has_value()) {
    const auto time = TimeOf(*at, event, /*latest=*/true);
    if (time.has_value()) *found.mutable_event_time() = ToTimestamp(*time);
  }
  switch (action) {
    case Action::kOpen:
      found.set_action(v1::WebhookEvent::OPEN);
      if (!AllHold(endpoint.only, event)) {
        reading.ignored.emplace_back("this endpoint opens nothing for it (`only`)");
        return absl::OkStatus();
      }
      if (!MakeRequest(endpoint, event, *found.mutable_request())) {
        reading.ignored.emplace_back("it is about no node of this endpoint");
        return absl::OkStatus();
      }
      break;
    case Action::kUpdate:
      found.set_action(v1::WebhookEvent::UPDATE);
      break;
    default:
      found.set_action(v1::WebhookEvent::CLOSE);
  }
  reading.events.push_back(std::move(found));
  return absl::OkStatus();
}

absl::StatusOr<ParsedDelivery> ReadWhole(const Endpoint& endpoint, const Event& whole,
                                         const std::string& otherwise) {
  const Sender& sender = *endpoint.sender;
  ParsedDelivery reading;
  // A probe need not meet the conditions for other bodies.
  const Rule* const rule = FirstRule(sender, whole);
  if (rule != nullptr && rule->action == Action::kProbe) {
    reading.probe = true;
    return reading;
  }
  if (!AllHold(sender.expect, whole)) {
    return absl::InvalidArgumentError(
        absl::StrCat("body: is not what ", sender.title, " sends by itself"));
  }
  if (!sender.events.has_value()) {
    GALEN_RETURN_IF_ERROR(ReadEvent(endpoint, whole, otherwise, reading));
    return reading;
  }
  std::vector<Document> parts = whole.body.Parts(*sender.events);
  if (parts.size() > kMostEvents) {
    return absl::InvalidArgumentError(
        absl::StrCat("body: has ", parts.size(), " events, at most ", kMostEvents, " are taken"));
  }
  for (Document& part : parts) {
    const std::string hash = Sha256(part.ToJson());
    GALEN_RETURN_IF_ERROR(ReadEvent(endpoint, {std::move(part), whole.headers}, hash, reading));
  }
  return reading;
}

}  // namespace

absl::StatusOr<ParsedDelivery> ParseDelivery(const Endpoint& endpoint,
                                             const http::Request& request) {
  Event whole;
  whole.headers = request.headers;
  GALEN_ASSIGN_OR_RETURN(whole.body, endpoint.sender->body == Sender::Body::kForm
                                         ? Document::FromForm(request.body)
                                         : Document::FromJson(request.body));
  return ReadWhole(endpoint, whole, Sha256(request.body));
}

absl::StatusOr<ParsedDelivery> ParsePolledItem(const Endpoint& endpoint, const Document& item) {
  const Poll& poll = *endpoint.sender->poll;
  Event whole;
  whole.body = item.Within(poll.put);
  for (const auto& [place, text] : poll.set) {
    GALEN_ASSIGN_OR_RETURN(const Pointer pointer, Pointer::Parse(place));
    whole.body.Set(pointer, text);
  }
  for (const auto& [name, value] : poll.headers) whole.headers.Add(name, value);
  return ReadWhole(endpoint, whole, Sha256(whole.body.ToJson()));
}

std::optional<absl::Time> ParseEventTime(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (text.empty() || text.size() > 40) return std::nullopt;
  absl::Time time;
  std::string error;
  bool parsed = false;
  if (std::int64_t number = 0; absl::SimpleAtoi(text, &number)) {
    parsed = true;
    // Seconds since 1970 have ten digits until 2286; each unit below has three more.
    if (number < 100'000'000'000) {
      time = absl::FromUnixSeconds(number);
    } else if (number < 100'000'000'000'000) {
      time = absl::FromUnixMillis(number);
    } else if (number < 100'000'000'000'000'000) {
      time = absl::FromUnixMicros(number);
    } else {
      time = absl::FromUnixNanos(number);
    }
  } else {
    parsed = absl::ParseTime(absl::RFC3339_full, text, &time, &error) ||
             absl::ParseTime("%Y-%m-%d%ET%H:%M:%E*S%z", text, &time, &error) ||
             absl::ParseTime("%Y-%m-%d %H:%M:%E*S", text, &time, &error);
  }
  // 0001-01-01 is how some say "not yet".
  if (!parsed || time < absl::FromUnixSeconds(946'684'800) ||
      time > absl::FromUnixSeconds(7'258'118'400)) {
    return std::nullopt;
  }
  return time;
}

}  // namespace galen::gateway::webhooks
