// Webhooks: what anybody may send, and the files of senders and endpoints.
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"
#include "services/gateway/webhooks/endpoints.h"
#include "services/gateway/webhooks/payload_parser.h"
#include "services/gateway/webhooks/sender.h"
#include "services/gateway/webhooks/signature.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

using namespace gateway::webhooks;  // NOLINT(google-build-using-namespace)
namespace http = gateway::http;

constexpr absl::string_view kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

void Require(bool holds) {
  if (!holds) __builtin_trap();
}

const std::map<std::string, Sender>& Senders() {
  static const auto* const senders = [] {
    auto loaded = LoadSenders({std::string(GALEN_SOURCE_DIR "/knowledge")});
    if (!loaded.ok()) {
      std::cerr << loaded.status() << '\n';
      std::abort();
    }
    return new std::map<std::string, Sender>(*std::move(loaded));
  }();
  return *senders;
}

const std::vector<Endpoint>& Endpoints() {
  static const auto* const endpoints = [] {
    auto* const made = new std::vector<Endpoint>;
    for (const auto& [name, sender] : Senders()) {
      for (const Scheme& scheme : sender.schemes) {
        Endpoint endpoint;
        endpoint.name = name;
        endpoint.sender = &sender;
        endpoint.tenant = "acme";
        endpoint.scheme = scheme;
        if (scheme.kind != Scheme::Kind::kEd25519) {
          endpoint.keys.push_back(Key::Make(scheme, kSecret).value());
        }
        made->push_back(std::move(endpoint));
      }
    }
    return made;
  }();
  return *endpoints;
}

void CheckText(const std::string& text, std::size_t most) {
  Require(text.size() <= most && IsUtf8(text));
}

// Requires that the orchestrator accepts the requests that any delivery leads to.
void CheckReading(const absl::StatusOr<ParsedDelivery>& reading) {
  if (!reading.ok()) {
    Require(reading.status().code() == absl::StatusCode::kInvalidArgument);
    return;
  }
  for (const gateway::v1::WebhookEvent& event : reading->events) {
    Require(event.incident().size() == 32 && event.event().size() == 32);
    if (event.action() != gateway::v1::WebhookEvent::OPEN) continue;
    Require(event.request().parent() == "tenants/acme");
    const galen::v1::Incident& incident = event.request().diagnosis().incident();
    Require(!incident.description().empty());
    CheckText(incident.description(), 64 << 10);
    CheckText(incident.workload().name(), 1 << 10);
    Require(incident.nodes_size() <= 1'000);
    for (const std::string& node : incident.nodes()) {
      Require(!node.empty() && node.size() <= 253);
      for (const char c : node) {
        Require((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                c == '-' || c == '.' || c == '_');
      }
    }
    for (const auto& [name, value] : incident.environment().attributes()) {
      CheckText(name, 256);
      CheckText(value, 1 << 10);
    }
    Require(incident.bundle().empty() && incident.logs_size() == 0);
  }
}

// The first line is the value of every header that senders use; the rest is the body.
http::Request RequestOf(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('\n', 1));
  http::Request request;
  request.method = "POST";
  request.target = absl::StrCat("/hooks/a?token=", parts.first);
  for (const absl::string_view name :
       {"X-GitHub-Event", "webhook-id", "webhook-timestamp", "webhook-signature", "Authorization",
        "X-Hub-Signature", "X-Hub-Signature-256", "X-Slack-Signature", "X-Slack-Request-Timestamp",
        "X-PagerDuty-Signature", "X-Grafana-Alerting-Signature", "X-Galen-Token"}) {
    request.headers.Add(name, parts.first);
  }
  request.body = std::string(parts.second);
  return request;
}

// A caller without the secret is refused, and the refusal does not reveal it.
void Proof(absl::string_view text) {
  const http::Request request = RequestOf(text);
  for (const Endpoint& endpoint : Endpoints()) {
    const absl::Status status =
        Verify(endpoint.scheme, endpoint.keys, request, absl::FromUnixSeconds(1'794'972'100));
    Require(!absl::StrContains(status.message(), kSecret));
    Require(!status.ok() || absl::StrContains(text, kSecret));
  }
}

void Body(absl::string_view text) {
  const http::Request request = RequestOf(text);
  for (const auto& [name, sender] : Senders()) {
    Endpoint endpoint;
    endpoint.name = name;
    endpoint.sender = &sender;
    endpoint.tenant = "acme";
    CheckReading(ParseDelivery(endpoint, request));
  }
}

void Item(absl::string_view text) {
  const auto item = Document::FromJson(text);
  if (!item.ok()) return;
  for (const Endpoint& endpoint : Endpoints()) {
    if (endpoint.sender->poll.has_value()) CheckReading(ParsePolledItem(endpoint, *item));
  }
}

void Form(absl::string_view text) {
  const auto form = Document::FromForm(text);
  if (form.ok()) Require(Document::FromJson(form->ToJson()).ok());
}

void Json(absl::string_view text) {
  const auto document = Document::FromJson(text);
  if (!document.ok()) return;
  const auto again = Document::FromJson(document->ToJson());
  Require(again.ok() && again->ToJson() == document->ToJson());
}

// The first line is a template, the rest a body.
void Fill(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('\n', 1));
  const auto made = Template::Parse(parts.first);
  const auto body = Document::FromJson(parts.second);
  if (!made.ok() || !body.ok()) return;
  CheckText(made->Fill({*body, {}}, 100), 100);
}

void Time(absl::string_view text) {
  const auto time = ParseEventTime(text);
  if (!time.has_value()) return;
  Require(*time >= absl::FromUnixSeconds(946'684'800) &&
          *time <= absl::FromUnixSeconds(7'258'118'400));
}

void SenderFile(absl::string_view text) {
  std::vector<knowledge::Problem> problems;
  const auto sender = ParseSender(text, "own.yaml", problems);
  Require(sender.has_value() == problems.empty());
  if (!sender.has_value()) return;
  Require(!sender->schemes.empty() && !sender->name.empty());
  Endpoint endpoint;
  endpoint.sender = &*sender;
  endpoint.tenant = "acme";
  Use(ParseDelivery(endpoint, RequestOf("x\n{\"id\": 1, \"a\": [1, {\"b\": \"c\"}]}")));
}

void SiteFile(absl::string_view text) {
  const auto site = ParseSite(
      text, "hooks.yaml", Senders(),
      +[](const std::string&) -> absl::StatusOr<std::string> { return std::string(kSecret); });
  if (!site.ok()) {
    // (libFuzzer watches comparisons, and so may have put the secret there itself.)
    Require(!absl::StrContains(site.status().message(), kSecret) ||
            absl::StrContains(text, kSecret));
    return;
  }
  for (const auto& [name, endpoint] : site->endpoints) {
    Require(endpoint.sender != nullptr && !endpoint.keys.empty() && !endpoint.tenant.empty());
  }
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> parsers = {
      {"proof", Proof},        {"body", Body}, {"item", Item}, {"form", Form},
      {"json", Json},          {"fill", Fill}, {"time", Time}, {"sender_file", SenderFile},
      {"site_file", SiteFile},
  };
  return parsers;
}

}  // namespace galen::fuzz
