#include "services/gateway/api/api.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/base/mutex.h"
#include "common/base/retry_hint.h"
#include "common/base/steady.h"
#include "common/observability/metrics/catalogue.h"
#include "common/observability/trace/trace.h"
#include "common/security/identity.h"
#include "services/gateway/api/admission.h"
#include "services/gateway/api/customer_rules.h"
#include "services/gateway/api/errors.h"
#include "services/gateway/api/transcode.h"

namespace galen::gateway {
namespace {

constexpr char kNoRoute[] = "/http/(no method)";

trace::Work WorkOf(const http::Request& request) {
  const auto parent = request.headers.Count(trace::kTraceparent) == 1
                          ? trace::Parse(request.headers.Get(trace::kTraceparent))
                          : std::nullopt;
  return {parent ? trace::ChildOf(*parent) : trace::NewTrace(), ""};
}

// Sets the position at which a client that lost its stream resumes: the last event that it saw. A
// text that is not one of our numbers is beyond every log, so the stream starts over.
void ResumeFrom(absl::string_view last_event_id, google::protobuf::Message& request) {
  const auto* field = request.GetDescriptor()->FindFieldByName("after_sequence");
  if (last_event_id.empty() || field == nullptr) return;
  std::int64_t sequence = 0;
  if (!absl::SimpleAtoi(last_event_id, &sequence) || sequence < 0) {
    sequence = std::numeric_limits<std::int64_t>::max();
  }
  request.GetReflection()->SetInt64(&request, field, sequence);
}

bool HasRequestId(const google::protobuf::Message& request) {
  const auto* field = request.GetDescriptor()->FindFieldByName("request_id");
  return field != nullptr && !request.GetReflection()->GetString(request, field).empty();
}

// The call to cancel when the client hangs up, which may happen before the call is known.
class HangUp {
 public:
  void Set(clients::Cancel cancel) {
    bool gone = false;
    {
      const MutexLock lock(mu_);
      gone = gone_;
      if (!gone) cancel_ = std::move(cancel);
    }
    if (gone) cancel();  // NOLINT(bugprone-use-after-move): then it was not moved
  }
  void Gone() {
    clients::Cancel cancel;
    {
      const MutexLock lock(mu_);
      gone_ = true;
      cancel = std::exchange(cancel_, nullptr);
    }
    if (cancel) cancel();
  }

 private:
  Mutex mu_;
  bool gone_ ABSL_GUARDED_BY(mu_) = false;
  clients::Cancel cancel_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

// A request in flight. Answered once; if never, the exchange answers with an error.
class Api::Inquiry {
 public:
  Inquiry(http::Request asked, std::shared_ptr<http::Exchange> exchange)
      : request(std::move(asked)), work(WorkOf(request)), exchange_(std::move(exchange)) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(request.target, absl::MaxSplits('?', 1));
    path = std::string(parts.first);
    query = std::string(parts.second);
    headers.Add("X-Request-Id", trace::TraceIdOf(work.context));
    headers.Add("X-Content-Type-Options", "nosniff");
  }
  ~Inquiry() { End(absl::InternalError("")); }
  Inquiry(const Inquiry&) = delete;
  Inquiry& operator=(const Inquiry&) = delete;

  // Under which name it is counted. Once.
  void CountAs(metrics::Calls::Method& method) {
    method.Begin();
    counted_.store(&method);
  }

  void Answer(http::Response response, const absl::Status& status) {
    for (const auto& [name, value] : headers.all()) response.headers.Set(name, value);
    End(status);
    Take()->Respond(std::move(response));
  }
  void Answer(http::Response response) { Answer(std::move(response), absl::OkStatus()); }
  void Fail(const absl::Status& status) { Answer(ErrorResponse(status), status); }

  // For a caller that answers in another way and then calls End().
  std::shared_ptr<http::Exchange> Take() { return exchange_; }
  void End(const absl::Status& status) {
    metrics::Calls::Method* const counted = counted_.exchange(nullptr);
    if (counted != nullptr) counted->End(static_cast<int>(status.code()), SteadyNow() - begun_);
  }

  const http::Request request;
  const trace::Work work;
  std::string path;
  std::string query;
  Match match;
  Principal principal;
  http::Headers headers;  // of the answer, whatever it is

 private:
  const std::shared_ptr<http::Exchange> exchange_;
  const absl::Time begun_ = SteadyNow();
  std::atomic<metrics::Calls::Method*> counted_ = nullptr;
};

// The number of open streams of each key. Thread-safe.
class Api::StreamsOfKeys {
 public:
  explicit StreamsOfKeys(int most) : most_(most) {}
  bool Take(const std::string& key) {
    const std::lock_guard lock(mu_);
    int& open = open_[key];
    if (open >= most_) return false;
    ++open;
    return true;
  }
  void GiveBack(const std::string& key) {
    const std::lock_guard lock(mu_);
    const auto it = open_.find(key);
    if (--it->second == 0) open_.erase(it);
  }

 private:
  const int most_;
  std::mutex mu_;
  std::map<std::string, int> open_;
};

Api::Api(std::vector<gateway::Route> routes, Upstream& upstream, Access& access, RateLimiter& rates,
         const CustomerRedactor& redactor, std::string openapi, const Options& options)
    : table_(std::move(routes)),
      upstream_(upstream),
      access_(access),
      rates_(rates),
      redactor_(redactor),
      openapi_(std::move(openapi)),
      options_(options),
      calls_(std::make_shared<metrics::Calls>(metrics::Calls::Names{
          metrics::kHttpRequests, metrics::kHttpInFlight, metrics::kHttpSeconds})),
      of_keys_(std::make_shared<StreamsOfKeys>(options.streams_per_key)),
      streams_(upstream, options.watch) {}

http::Response Api::Refuse(int status, const std::string& why) {
  absl::StatusCode code = absl::StatusCode::kInvalidArgument;
  if (status == 503) code = absl::StatusCode::kUnavailable;
  if (status >= 500 && status != 503) code = absl::StatusCode::kInternal;
  absl::Status error(code, why);
  if (status == 413) error = WithReason(std::move(error), "REQUEST_TOO_LARGE");
  if (status == 431) error = WithReason(std::move(error), "HEADERS_TOO_LARGE");
  if (status == 503) error = WithRetryAfter(std::move(error), absl::Seconds(1));
  return ErrorResponse(error, status);
}

http::HeadVerdict Api::LookAtHead(const http::Request& head) {
  const absl::StatusOr<Principal> principal = access_.Authenticate(head);
  if (!principal.ok()) return {.refusal = ErrorResponse(principal.status())};
  return {.payer = principal->tenant == "*" ? absl::StrCat("key ", principal->id)
                                            : absl::StrCat("tenant ", principal->tenant)};
}

void Api::Handle(http::Request request, std::shared_ptr<http::Exchange> exchange) {
  const auto inquiry = std::make_shared<Inquiry>(std::move(request), std::move(exchange));
  const trace::Scope scope(inquiry->work);
  const bool reads = inquiry->request.method == "GET" || inquiry->request.method == "HEAD";
  if (reads && inquiry->path == "/healthz") {
    http::Response response;
    response.headers.Add("Content-Type", "text/plain");
    response.body = "ok\n";
    return inquiry->Answer(std::move(response));
  }
  if (reads && inquiry->path == "/openapi.json") {
    http::Response response;
    response.headers.Add("Content-Type", "application/json");
    response.headers.Add("Cache-Control", "public, max-age=300");
    response.body = openapi_;
    return inquiry->Answer(std::move(response));
  }
  Find(inquiry);
}

void Api::Find(const std::shared_ptr<Inquiry>& inquiry) {
  std::string allowed;
  const std::string& method = inquiry->request.method;
  absl::StatusOr<Match> found =
      table_.Find(method == "HEAD" ? "GET" : method, inquiry->path, allowed);
  if (!allowed.empty()) {
    http::Response response = ErrorResponse(WithReason(found.status(), "METHOD_NOT_ALLOWED"), 405);
    response.headers.Add("Allow", allowed);
    inquiry->CountAs(calls_->Of(kNoRoute));
    return inquiry->Answer(std::move(response), found.status());
  }
  if (!found.ok()) {
    inquiry->CountAs(calls_->Of(kNoRoute));
    return inquiry->Fail(found.status());
  }
  inquiry->match = *std::move(found);
  inquiry->CountAs(calls_->Of(inquiry->match.route->full_method.c_str()));
  Admit(inquiry);
}

void Api::Admit(const std::shared_ptr<Inquiry>& inquiry) {
  const gateway::Route& route = *inquiry->match.route;
  const std::string& resource = inquiry->match.fields[route.tenant_field];
  // A create names its collection in the path, the other posts "*".
  const Admission wanted{.resource = resource,
                         .scope = route.writes() ? kScopeWrite : kScopeRead,
                         .starts = route.verb == "POST" && route.body != "*"};
  gateway::Admit(access_, rates_, inquiry->request, wanted, inquiry->headers,
                 [this, inquiry](absl::StatusOr<Principal> principal) {
                   if (!principal.ok()) return inquiry->Fail(principal.status());
                   inquiry->principal = *std::move(principal);
                   Ask(inquiry);
                 });
}

void Api::Ask(const std::shared_ptr<Inquiry>& inquiry) {
  trace::Work work = inquiry->work;
  work.asker = NameOf(inquiry->principal);
  const trace::Scope scope(std::move(work));
  const gateway::Route& route = *inquiry->match.route;
  absl::StatusOr<Transcoded> made =
      TranscodeRequest(inquiry->match, inquiry->query, inquiry->request);
  if (!made.ok()) return inquiry->Fail(made.status());
  const std::string tenant(security::TenantOf(inquiry->match.fields[route.tenant_field]));
  std::function<void(google::protobuf::Message&)> view;
  if (inquiry->principal.role == UserRole::kCustomer) {
    if (absl::Status status = CheckForCustomer(*made->request, options_.fill_in != nullptr);
        !status.ok()) {
      return inquiry->Fail(status);
    }
    view = [this, tenant](google::protobuf::Message& answer) {
      if (options_.name_again) options_.name_again(tenant, answer);
      redactor_.ForCustomer(tenant, answer);
    };
  }
  if (absl::Status status = SignConfirmation(inquiry->principal, options_.is_cause, *made->request);
      !status.ok()) {
    return inquiry->Fail(status);
  }
  if (options_.fill_in != nullptr) {
    if (absl::Status status = options_.fill_in(tenant, *made->request); !status.ok()) {
      return inquiry->Fail(status);
    }
  }
  Upstream::Call call;
  call.method = route.method;
  call.resource = inquiry->match.fields[route.tenant_field];
  call.asker = inquiry->principal;
  if (route.streams) {
    if (inquiry->request.method != "GET") {
      return inquiry->Fail(absl::UnimplementedError("a stream is read with GET"));
    }
    const std::string key = inquiry->principal.id;
    if (!of_keys_->Take(key)) {
      return inquiry->Fail(WithRetryAfter(
          WithReason(absl::ResourceExhaustedError(absl::StrCat(
                         options_.streams_per_key, " streams of this key are open: end one first")),
                     "TOO_MANY_STREAMS"),
          absl::Seconds(5)));
    }
    ResumeFrom(inquiry->request.headers.Get("Last-Event-ID"), *made->request);
    call.request = std::move(made->request);
    streams_.Start({.exchange = inquiry->Take(),
                    .call = std::move(call),
                    .filter = std::move(made->filter),
                    .view = std::move(view),
                    .headers = inquiry->headers,
                    .on_end = [inquiry, key, of_keys = of_keys_](const absl::Status& status) {
                      of_keys->GiveBack(key);
                      inquiry->End(status);
                    }});
    return;
  }
  absl::Duration timeout = options_.timeout;
  if (const absl::string_view wanted = inquiry->request.headers.Get("X-Server-Timeout");
      !wanted.empty()) {
    double seconds = 0;
    if (!absl::SimpleAtod(wanted, &seconds) || !(seconds > 0)) {
      return inquiry->Fail(FieldError("X-Server-Timeout", "is not a number of seconds above 0"));
    }
    timeout = std::min(absl::Seconds(seconds), options_.most_timeout);
  }
  call.deadline = absl::Now() + timeout;
  call.again = !route.writes() || HasRequestId(*made->request);
  call.request = std::move(made->request);
  const auto exchange = inquiry->Take();
  // The client may be gone before there is a call to cancel.
  auto hang_up = std::make_shared<HangUp>();
  exchange->OnHangUp([hang_up] { hang_up->Gone(); });
  hang_up->Set(upstream_.Ask(std::move(call),
                             [inquiry, filter = std::move(made->filter),
                              view = std::move(view)](absl::StatusOr<Upstream::Answer> answer) {
                               if (!answer.ok()) return inquiry->Fail(answer.status());
                               // The texts to redact depend on the whole answer.
                               if (view) view(**answer);
                               filter.Apply(**answer);
                               absl::StatusOr<std::string> json = ToJson(**answer);
                               if (!json.ok()) return inquiry->Fail(json.status());
                               http::Response response;
                               response.headers.Add("Content-Type", "application/json");
                               response.headers.Add("Cache-Control", "no-store");
                               response.body = *std::move(json) + "\n";
                               inquiry->Answer(std::move(response));
                             }));
}

}  // namespace galen::gateway
