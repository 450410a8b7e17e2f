#include "services/gateway/webhooks/webhook_handler.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/proto_time.h"
#include "common/base/retry_hint.h"
#include "common/base/steady.h"
#include "common/observability/trace/trace.h"
#include "services/gateway/api/errors.h"
#include "services/gateway/webhooks/answers.h"
#include "services/gateway/webhooks/payload_parser.h"
#include "services/gateway/webhooks/signature.h"

namespace galen::gateway::webhooks {
namespace {

constexpr absl::string_view kPrefix = "/hooks/";
constexpr absl::Duration kTryAgain = absl::Seconds(5);
// A delivery is known as a repeat for so long.
constexpr absl::Duration kOldest = WebhookJournal::Options().remember;

absl::string_view EndpointIn(absl::string_view target) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(target, absl::MaxSplits('?', 1));
  absl::string_view name = parts.first;
  return absl::ConsumePrefix(&name, kPrefix) ? name : "";
}

// A signature without a time holds for ever: somebody who recorded a delivery could send it again
// when it is no longer known as a repeat. So nothing is opened for what happened before that.
void IgnoreOld(const Endpoint& endpoint, absl::Time oldest, ParsedDelivery& reading) {
  if (!endpoint.scheme.timestamp_header.empty()) return;
  const auto old = [oldest](const v1::WebhookEvent& event) {
    return event.action() == v1::WebhookEvent::OPEN && event.has_event_time() &&
           ToTime(event.event_time()) < oldest;
  };
  const std::size_t before = reading.events.size();
  std::erase_if(reading.events, old);
  if (reading.events.size() < before) {
    reading.ignored.emplace_back("it happened more than 30 days ago");
  }
}

}  // namespace

// A delivery in flight. Answered once; counted then.
class WebhookHandler::Delivery {
 public:
  Delivery(WebhookHandler& handler, http::Request asked, std::shared_ptr<http::Exchange> exchange)
      : request(std::move(asked)),
        work({trace::NewTrace(), ""}),
        handler_(handler),
        exchange_(std::move(exchange)) {
    at_once = handler_.at_once_.fetch_add(1) + 1;
  }
  ~Delivery() { handler_.at_once_.fetch_sub(1); }
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  void Answer(http::Response response, absl::string_view outcome) {
    response.headers.Set("X-Request-Id", trace::TraceIdOf(work.context));
    response.headers.Set("X-Content-Type-Options", "nosniff");
    handler_.counters_.Delivered(endpoint == nullptr ? "" : endpoint->name, outcome);
    handler_.counters_.Took(SteadyNow() - begun_);
    exchange_->Respond(std::move(response));
  }
  void Fail(const absl::Status& status, absl::string_view outcome, int http_status = 0) {
    Answer(ErrorResponse(status, http_status), outcome);
  }
  // Something is overloaded, or unreachable.
  void Later(const absl::Status& status) {
    Answer(OverloadAnswer(*endpoint->sender, status), "overloaded");
  }

  const http::Request request;
  const trace::Work work;
  const Endpoint* endpoint = nullptr;
  std::size_t at_once = 0;
  ParsedDelivery reading;

 private:
  WebhookHandler& handler_;
  const std::shared_ptr<http::Exchange> exchange_;
  const absl::Time begun_ = SteadyNow();
};

WebhookHandler::WebhookHandler(const Site& site, WebhookJournal& webhook_journal,
                               RateLimiter& rates, const Clock& clock, Executor& executor,
                               WebhookCounters& counters, Options options,
                               TicketUpdateHandler heard)
    : site_(site),
      webhook_journal_(webhook_journal),
      rates_(rates),
      clock_(clock),
      executor_(executor),
      counters_(counters),
      options_(options),
      heard_(std::move(heard)) {}

http::Response WebhookHandler::Refuse(int status, const std::string& why) {
  return ErrorResponse(absl::InvalidArgumentError(why), status);
}

void WebhookHandler::Handle(http::Request request, std::shared_ptr<http::Exchange> exchange) {
  const auto delivery = std::make_shared<Delivery>(*this, std::move(request), std::move(exchange));
  const http::Request& asked = delivery->request;
  const auto it = site_.endpoints.find(std::string(EndpointIn(asked.target)));
  const bool known = it != site_.endpoints.end();
  if (known) delivery->endpoint = &it->second;
  if (asked.method != "POST" && asked.method != "PUT") {
    http::Response response = ErrorResponse(
        WithReason(absl::UnimplementedError("a webhook is sent with POST"), "METHOD_NOT_ALLOWED"),
        405);
    response.headers.Add("Allow", "POST, PUT");
    return delivery->Answer(std::move(response), "malformed");
  }
  if (asked.body.size() > options_.most_body_bytes) {
    return delivery->Fail(WithReason(absl::InvalidArgumentError(absl::StrCat(
                                         "body: has ", asked.body.size(), " bytes, at most ",
                                         options_.most_body_bytes, " are taken")),
                                     "REQUEST_TOO_LARGE"),
                          "malformed", 413);
  }
  if (asked.headers.Has("Content-Encoding") &&
      !absl::EqualsIgnoreCase(asked.headers.Get("Content-Encoding"), "identity")) {
    return delivery->Fail(
        WithReason(absl::InvalidArgumentError("body: is compressed; send it as it is"),
                   "CONTENT_ENCODING"),
        "malformed");
  }
  const absl::Status busy =
      WithRetryAfter(absl::UnavailableError("too many deliveries at a time: try again"), kTryAgain);
  // The answer must not disclose whether the endpoint exists, so an unknown one gets no more than
  // this.
  const auto overloaded = [&] {
    if (delivery->endpoint != nullptr) return delivery->Later(busy);
    delivery->Fail(busy, "overloaded");
  };
  if (delivery->at_once > options_.most_at_once) return overloaded();
  // Parsing a body of a megabyte takes milliseconds: not on this thread, which serves all
  // connections.
  if (!executor_.TrySchedule([this, delivery] { Check(delivery); })) overloaded();
}

void WebhookHandler::Check(const std::shared_ptr<Delivery>& delivery) {
  const trace::Scope scope(delivery->work);
  if (delivery->endpoint == nullptr) {
    VerifyNothing(delivery->request);
    return delivery->Fail(absl::NotFoundError("there is no such endpoint"), "no_endpoint");
  }
  const Endpoint& endpoint = *delivery->endpoint;
  const absl::Time now = clock_.Now();
  if (const absl::Status status = Verify(endpoint.scheme, endpoint.keys, delivery->request, now);
      !status.ok()) {
    return delivery->Fail(status, "refused");
  }
  counters_.Proven(endpoint.name, now);
  Read(delivery);
}

void WebhookHandler::Read(const std::shared_ptr<Delivery>& delivery) {
  absl::StatusOr<ParsedDelivery> reading = ParseDelivery(*delivery->endpoint, delivery->request);
  if (!reading.ok()) return delivery->Fail(reading.status(), "malformed");
  delivery->reading = *std::move(reading);
  IgnoreOld(*delivery->endpoint, clock_.Now() - kOldest, delivery->reading);
  if (HandleTicketUpdates(delivery)) return;
  if (delivery->reading.events.empty()) {
    if (delivery->reading.probe) return delivery->Answer(ProbeAnswer(), "probe");
    return delivery->Answer(
        AcceptedAnswer(delivery->endpoint->sender->answer, {}, delivery->reading.ignored),
        "ignored");
  }
  rates_.Take(delivery->endpoint->tenant, /*starts=*/false,
              [this, delivery](const absl::StatusOr<Allowance>& allowance) {
                if (!allowance.ok()) return delivery->Later(allowance.status());
                if (allowance->wait > absl::ZeroDuration()) {
                  return delivery->Later(WithRetryAfter(
                      absl::UnavailableError("too many requests of this tenant: try again"),
                      std::max(allowance->wait, absl::Seconds(1))));
                }
                Keep(delivery);
              });
}

bool WebhookHandler::HandleTicketUpdates(const std::shared_ptr<Delivery>& delivery) {
  bool ours = false;
  for (const TicketEvent& note : delivery->reading.notes) {
    if (!heard_) break;
    const absl::StatusOr<bool> heard = heard_(note);
    if (!heard.ok()) {
      delivery->Later(WithRetryAfter(absl::UnavailableError("try again"), kTryAgain));
      return true;
    }
    ours = ours || *heard;
  }
  if (!ours) return false;
  // An event about a ticket that we filed does not open an incident.
  delivery->Answer(AcceptedAnswer(delivery->endpoint->sender->answer, {},
                                  {"it is about a ticket that Galen filed"}),
                   "ticket");
  return true;
}

void WebhookHandler::Keep(const std::shared_ptr<Delivery>& delivery) {
  webhook_journal_.Take(delivery->endpoint->name, std::move(delivery->reading.events),
                        [delivery](absl::StatusOr<std::vector<Outcome>> outcomes) {
                          if (!outcomes.ok()) return delivery->Later(outcomes.status());
                          delivery->Answer(AcceptedAnswer(delivery->endpoint->sender->answer,
                                                          *outcomes, delivery->reading.ignored),
                                           NameOf(outcomes->front().what));
                        });
}

}  // namespace galen::gateway::webhooks
