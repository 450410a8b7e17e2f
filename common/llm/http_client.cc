#include "common/llm/http_client.h"

#include <unistd.h>

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/http/retry.h"
#include "common/llm/wire.h"

namespace galen::llm {
namespace {

// An attempt that its caller gave less than this says nothing about the endpoint when it is late.
constexpr absl::Duration kFairChance = absl::Seconds(1);
// An attempt has at least this share of a time limit, since the limit is a call's and starts before
// the attempt.
constexpr double kFairShare = 0.9;
constexpr char kAccept[] = "application/json, text/event-stream";
// Length of a vector's component as JSON; more than a model writes.
constexpr std::size_t kBytesOfComponent = 32;

double RandomChance() {
  thread_local std::minstd_rand generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

bool SleepFor(absl::Duration duration, const Cancellation& cancellation) {
  return cancellation.SleepFor(duration);
}

// The error of a code other than 2xx. `text` is the endpoint's message, without the key.
absl::Status StatusOfCode(int code, absl::string_view text) {
  const std::string said = text.empty() ? "" : absl::StrCat(": \"", text, "\"");
  // The endpoint's message about a key may hold parts of it, so it is not repeated.
  if (code == 401 || code == 403) {
    return absl::PermissionDeniedError(absl::StrCat(
        "HTTP ", code, ", the key is refused; see key_file, key_environment and authorization"));
  }
  if (code == 429) {
    return absl::ResourceExhaustedError(absl::StrCat("HTTP 429, too many requests", said));
  }
  if (code >= 300 && code < 400) {
    return absl::InvalidArgumentError(
        absl::StrCat("HTTP ", code,
                     ", it leads elsewhere, and that is not followed; write the address that it "
                     "leads to as url"));
  }
  if (code == 404) {
    return absl::InvalidArgumentError(
        absl::StrCat("HTTP 404", said, "; see url (it ends in /v1 for most servers) and model"));
  }
  // Servers answer 501 to requests that they do not support.
  if (code == 408 || (code >= 500 && code != 501)) {
    return absl::UnavailableError(absl::StrCat("HTTP ", code, said));
  }
  return absl::InvalidArgumentError(absl::StrCat("HTTP ", code, said));
}

bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
}

// `fair`: whether it had the time that an answer may take.
Outcome OutcomeOf(const absl::Status& status, bool fair) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return Outcome::kGood;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kPermissionDenied:
      return Outcome::kBad;
    case absl::StatusCode::kDeadlineExceeded:
      return fair ? Outcome::kBad : Outcome::kNeither;
    default:
      return Outcome::kNeither;
  }
}

absl::Status CheckReadable(const std::string& file, absl::string_view what) {
  if (file.empty() || access(file.c_str(), R_OK) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(what, " ", file, ": cannot be read"));
}

}  // namespace

struct HttpClient::Call {
  int attempts = 0;
  absl::Duration latency;
};

absl::StatusOr<std::unique_ptr<HttpClient>> HttpClient::Make(const Endpoint& endpoint,
                                                             Dependencies dependencies) {
  GALEN_RETURN_IF_ERROR(CheckReadable(endpoint.ca_file, "ca_file"));
  GALEN_RETURN_IF_ERROR(CheckReadable(endpoint.certificate_file, "certificate_file"));
  GALEN_RETURN_IF_ERROR(CheckReadable(endpoint.certificate_key_file, "certificate_key_file"));
  GALEN_ASSIGN_OR_RETURN(http::Secret key, ReadKey(endpoint));
  if (!dependencies.chance) dependencies.chance = RandomChance;
  if (!dependencies.sleep) dependencies.sleep = SleepFor;
  return std::unique_ptr<HttpClient>(
      new HttpClient(endpoint, std::move(key), std::move(dependencies)));
}

HttpClient::HttpClient(const Endpoint& endpoint, http::Secret key, Dependencies dependencies)
    : endpoint_(endpoint),
      dependencies_(std::move(dependencies)),
      transport_({.key_header = endpoint.authorization == Authorization::kBearer
                                    ? "Authorization: Bearer "
                                    : "api-key: ",
                  .ca_file = endpoint.ca_file,
                  .certificate_file = endpoint.certificate_file,
                  .certificate_key_file = endpoint.certificate_key_file,
                  .proxy = endpoint.proxy,
                  .connect = endpoint.connect,
                  .most_at_once = endpoint.concurrency,
                  .most_idle = static_cast<std::size_t>(endpoint.concurrency)}),
      key_(std::move(key)),
      circuit_(endpoint.circuit) {}

Settings HttpClient::SettingsOf(absl::string_view purpose) const {
  return SettingsFor(endpoint_, purpose);
}

http::Secret HttpClient::key() const {
  const MutexLock lock(mu_);
  return key_;
}

bool HttpClient::RenewKey() {
  absl::StatusOr<http::Secret> read = ReadKey(endpoint_);
  if (!read.ok()) return false;
  const MutexLock lock(mu_);
  if (*read == key_) return false;
  key_ = *std::move(read);
  return true;
}

Health HttpClient::health() const {
  const absl::Time now =
      dependencies_.clock != nullptr ? dependencies_.clock->Now() : system_clock_.Now();
  const MutexLock lock(mu_);
  Health health = health_;
  health.circuit = circuit_.state(now);
  health.opened = circuit_.opened();
  return health;
}

absl::Status HttpClient::Named(const absl::Status& status) const {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("llm ", endpoint_.url, ": ", status.message()));
}

void HttpClient::CountAttempt(const absl::Status& status, int sent) {
  const MutexLock lock(mu_);
  health_.attempts += sent;
  if (sent > 1) health_.hedges += sent - 1;
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      ++health_.unavailable;
      break;
    case absl::StatusCode::kResourceExhausted:
      ++health_.throttled;
      break;
    case absl::StatusCode::kDeadlineExceeded:
      ++health_.late;
      break;
    case absl::StatusCode::kDataLoss:
      ++health_.bad_answers;
      break;
    case absl::StatusCode::kPermissionDenied:
      ++health_.denied;
      break;
    case absl::StatusCode::kInvalidArgument:
      ++health_.rejected;
      break;
    default:
      break;
  }
}

void HttpClient::CountUsage(const Usage& usage) {
  const MutexLock lock(mu_);
  health_.usage.reported = health_.usage.reported || usage.reported;
  health_.usage.prompt_tokens += usage.prompt_tokens;
  health_.usage.cached_tokens += usage.cached_tokens;
  health_.usage.completion_tokens += usage.completion_tokens;
}

absl::Status HttpClient::RunCounted(http::Request& request, const CallOptions& options,
                                    const std::function<absl::Status(http::Reply&)>& take,
                                    const std::function<void()>& begin,
                                    const std::function<bool()>& started, Call& call) {
  const Clock& clock = dependencies_.clock != nullptr ? *dependencies_.clock
                                                      : static_cast<const Clock&>(system_clock_);
  const Cancellation& cancellation =
      options.cancellation != nullptr ? *options.cancellation : Cancellation::Never();
  const absl::Time deadline = std::min(options.deadline, absl::Now() + endpoint_.total);
  request.deadline = ToSteady(deadline);
  request.cancellation = options.cancellation;
  const absl::Duration fair_chance =
      kFairShare * std::min({kFairChance, endpoint_.total,
                             request.on_bytes ? endpoint_.first_byte : absl::InfiniteDuration()});
  bool renewed = false;
  absl::Status status;
  for (int retry = 0;;) {
    std::optional<std::int64_t> ticket;
    absl::Duration closed_for;
    {
      const MutexLock lock(mu_);
      ticket = circuit_.Admit(clock.Now());
      closed_for = circuit_.open_until() - clock.Now();
      if (!ticket.has_value() && call.attempts == 0) ++health_.refused;
    }
    if (!ticket.has_value()) {
      if (!status.ok()) return status;  // the failure that opened it
      return absl::UnavailableError(
          absl::StrCat("its circuit is open after repeated failures, nothing is sent for ",
                       absl::FormatDuration(
                           std::max(absl::Trunc(closed_for, absl::Seconds(1)) + absl::Seconds(1),
                                    absl::ZeroDuration()))));
    }
    begin();
    const absl::Time now = absl::Now();
    if (request.on_bytes) request.first_byte_by = SteadyNow() + endpoint_.first_byte;
    const http::Secret key = this->key();
    http::Sent sent;
    request.sent = &sent;
    absl::StatusOr<http::Reply> reply = transport_.Send(request, key);
    status = reply.status();
    if (reply.ok()) {
      status = reply->code >= 200 && reply->code < 300
                   ? take(*reply)
                   : StatusOfCode(reply->code, ErrorText(reply->body, key));
    }
    call.latency = absl::Now() - now;
    call.attempts += sent.requests;
    CountAttempt(status, sent.requests);
    {
      const MutexLock lock(mu_);
      circuit_.Report(*ticket, OutcomeOf(status, call.latency >= fair_chance), clock.Now(),
                      dependencies_.chance());
    }
    if (status.ok() || started()) return status;
    if (absl::IsPermissionDenied(status) && !renewed && RenewKey()) {
      renewed = true;
      continue;
    }
    // No connection was free: to wait again is to wait for the same.
    if (!MayPass(status) || sent.requests == 0 || retry >= endpoint_.retry.most) return status;
    ++retry;
    const auto asked = reply.ok() ? reply->retry_after : std::nullopt;
    const absl::Duration pause = http::Pause(endpoint_.retry, retry, asked, dependencies_.chance());
    if (absl::Now() + pause >= deadline) {
      if (!asked.has_value()) return status;
      return absl::Status(status.code(),
                          absl::StrCat(status.message(), ", to be asked again in ",
                                       absl::FormatDuration(*asked), ", after the deadline"));
    }
    if (dependencies_.sleep(pause, cancellation)) {
      return absl::CancelledError("stopped by the caller");
    }
    const MutexLock lock(mu_);
    ++health_.retries;
  }
}

absl::Status HttpClient::Run(http::Request request, const CallOptions& options,
                             const std::function<absl::Status(http::Reply&)>& take,
                             const std::function<void()>& begin,
                             const std::function<bool()>& started, Call& call) {
  {
    const MutexLock lock(mu_);
    ++health_.calls;
  }
  const absl::Status status = RunCounted(request, options, take, begin, started, call);
  if (status.ok()) {
    const MutexLock lock(mu_);
    ++health_.answers;
    health_.latencies.Add(call.latency);
  }
  return Named(status);
}

absl::StatusOr<ChatAnswer> HttpClient::Chat(const ChatRequest& request,
                                            const CallOptions& options) {
  const bool stream = endpoint_.stream || static_cast<bool>(options.on_text);
  const bool json = request.schema.has_value();
  absl::StatusOr<std::string> body = ChatBody(endpoint_, request, stream);
  if (!body.ok()) return Named(body.status());
  http::Request http;
  http.accept = kAccept;
  http.target =
      ChatUrl(endpoint_, request.model.empty() ? SettingsOf(request.purpose).model : request.model);
  http.method = "POST";
  http.content_type = "application/json";
  http.body = *std::move(body);
  http.most_bytes = endpoint_.most_bytes;
  http.hedge_after = endpoint_.hedge_after;

  ChatAnswer answer;
  std::optional<StreamedAnswer> streamed;
  // A server that does not stream answers with one document all the same.
  std::string document;
  bool is_document = false;
  bool handed_on = false;
  StreamedAnswer::OnText on_text;
  if (options.on_text) {
    on_text = [&](absl::string_view piece) {
      handed_on = true;
      return options.on_text(piece);
    };
  }
  if (stream) {
    // Events take many times the room of their text.
    constexpr std::size_t kEnvelope = 64;
    http.most_bytes = endpoint_.most_bytes * kEnvelope;
    http.on_bytes = [&](absl::string_view bytes) -> absl::Status {
      if (document.empty() && !streamed.has_value()) is_document = absl::StartsWith(bytes, "{");
      if (!is_document) {
        if (!streamed.has_value()) streamed.emplace(endpoint_.most_bytes, on_text, key());
        return streamed->Take(bytes);
      }
      if (document.size() + bytes.size() > endpoint_.most_bytes) {
        return absl::DataLossError("the answer is longer than most_bytes");
      }
      document.append(bytes.data(), bytes.size());
      return absl::OkStatus();
    };
  }
  const auto begin = [&] {
    streamed.reset();
    document.clear();
    is_document = false;
  };
  const auto take = [&](http::Reply& reply) -> absl::Status {
    if (stream && !is_document) {
      if (!streamed.has_value()) return absl::DataLossError("the answer is empty");
      GALEN_ASSIGN_OR_RETURN(answer, std::move(*streamed).Finish(json));
      return absl::OkStatus();
    }
    GALEN_ASSIGN_OR_RETURN(answer, ParseChatAnswer(stream ? document : reply.body, json));
    if (answer.text.size() > endpoint_.most_bytes) {
      return absl::DataLossError("the answer is longer than most_bytes");
    }
    if (on_text && !on_text(answer.text)) return absl::CancelledError("stopped by the caller");
    return absl::OkStatus();
  };
  Call call;
  GALEN_RETURN_IF_ERROR(Run(
      std::move(http), options, take, begin, [&] { return handed_on; }, call));
  answer.attempts = call.attempts;
  answer.latency = call.latency;
  CountUsage(answer.usage);
  return answer;
}

absl::StatusOr<Embeddings> HttpClient::Embed(const EmbedRequest& request,
                                             const CallOptions& options) {
  const std::string& model = request.model.empty() ? endpoint_.embedding_model : request.model;
  if (model.empty()) {
    return Named(
        absl::InvalidArgumentError("no embedding model is set; write embedding: {model: "
                                   "..., dimensions: ...}"));
  }
  absl::StatusOr<std::string> body = EmbedBody(request, model);
  if (!body.ok()) return Named(body.status());
  http::Request http;
  http.accept = kAccept;
  http.target = EmbeddingsUrl(endpoint_, model);
  http.method = "POST";
  http.content_type = "application/json";
  http.body = *std::move(body);
  constexpr std::size_t kUsualDimensions = 4096;
  http.most_bytes =
      endpoint_.most_bytes + request.texts.size() * kUsualDimensions * kBytesOfComponent;
  Embeddings embeddings;
  const auto take = [&](http::Reply& reply) -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(embeddings, ParseEmbeddings(reply.body, request.texts.size()));
    return absl::OkStatus();
  };
  Call call;
  GALEN_RETURN_IF_ERROR(Run(
      std::move(http), options, take, [] {}, [] { return false; }, call));
  embeddings.attempts = call.attempts;
  CountUsage(embeddings.usage);
  return embeddings;
}

absl::StatusOr<std::vector<std::string>> HttpClient::Models(const CallOptions& options) {
  http::Request http;
  http.accept = kAccept;
  http.target = ModelsUrl(endpoint_);
  http.most_bytes = endpoint_.most_bytes;
  std::vector<std::string> models;
  const auto take = [&](http::Reply& reply) -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(models, ParseModels(reply.body));
    return absl::OkStatus();
  };
  Call call;
  GALEN_RETURN_IF_ERROR(Run(
      std::move(http), options, take, [] {}, [] { return false; }, call));
  return models;
}

}  // namespace galen::llm
