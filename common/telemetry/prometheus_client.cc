#include "common/telemetry/prometheus_client.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/json_access.h"
#include "common/base/json_depth.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/telemetry/selector.h"

namespace galen::telemetry {
namespace {

// Addresses longer than this are refused by some proxies.
constexpr std::size_t kMostTarget = 1500;

std::string Seconds(absl::Time time) {
  return absl::StrFormat("%.3f", static_cast<double>(absl::ToUnixMillis(time)) / 1000);
}

// `parameters` and two times, either of which may be infinite: then it is left out.
std::vector<std::pair<std::string, std::string>> Between(
    std::vector<std::pair<std::string, std::string>> parameters, absl::Time start, absl::Time end) {
  if (start != absl::InfinitePast()) parameters.push_back({"start", Seconds(start)});
  if (end != absl::InfiniteFuture()) parameters.push_back({"end", Seconds(end)});
  return parameters;
}

}  // namespace

absl::Status Check(const PrometheusOptions& options) {
  return http::CheckServer("Prometheus", options.http.server, options.key, options.headers);
}

PrometheusClient::PrometheusClient(PrometheusOptions options)
    : options_(std::move(options)), transport_(std::make_unique<http::CurlTransport>([this] {
        http::Options http = options_.http;
        http.what = "Prometheus";
        while (absl::EndsWith(http.server, "/")) http.server.pop_back();
        return http;
      }())) {}

std::string PrometheusClient::name() const {
  return absl::StrCat("Prometheus ", options_.http.server);
}

absl::StatusOr<std::string> PrometheusClient::Fetch(http::Request request) {
  http::AddHeaders(options_.headers, request);
  const absl::StatusOr<http::Reply> reply = transport_->Send(request, options_.key);
  const auto named = [this](const absl::Status& status) {
    const std::string what = http::WithoutSecrets(status.message(), options_.key, options_.headers);
    // (Messages of the connection name the server already.)
    return absl::Status(status.code(), absl::StartsWith(what, "Prometheus ")
                                           ? what
                                           : absl::StrCat(name(), ": ", what));
  };
  if (!reply.ok()) {
    // An answer that is too large is not corrupt.
    const bool large = absl::IsDataLoss(reply.status()) &&
                       absl::StrContains(reply.status().message(), "longer than");
    return named(large ? absl::ResourceExhaustedError(reply.status().message()) : reply.status());
  }
  if (reply->code < 200 || reply->code >= 300) return named(ErrorOf(reply->code, reply->body));
  return reply->body;
}

absl::StatusOr<ApiBody> PrometheusClient::Ask(const std::string& path, const Parameters& parameters,
                                              bool may_post, const Call& call) {
  const absl::Time latest = SteadyNow() + options_.most_time;
  http::Request request;
  request.deadline = call.deadline == absl::InfiniteFuture() ? latest : call.deadline;
  request.cancellation = call.cancellation;
  request.most_bytes = call.limits.bytes;
  const absl::Duration left = request.deadline - SteadyNow();
  if (left <= absl::ZeroDuration())
    return absl::DeadlineExceededError(absl::StrCat(name(), ": no time left to ask"));
  std::string form;
  for (const auto& [name, value] : parameters)
    absl::StrAppend(&form, form.empty() ? "" : "&", http::Escaped(name), "=", http::Escaped(value));
  // So that the server does not work on after the caller has given up. (It ignores parameters that
  // it does not have.)
  absl::StrAppend(&form, form.empty() ? "" : "&",
                  "timeout=", std::max<std::int64_t>(1, absl::ToInt64Milliseconds(left)), "ms",
                  "&limit=", call.limits.series + 1);
  if (may_post && path.size() + form.size() > kMostTarget) {
    request.method = "POST";
    request.target = path;
    request.content_type = "application/x-www-form-urlencoded";
    request.body = form;
  } else {
    request.target = absl::StrCat(path, "?", form);
  }
  GALEN_ASSIGN_OR_RETURN(const std::string text, Fetch(request));
  absl::StatusOr<ApiBody> body = ParseApiBody(text, call.limits);
  if (!body.ok())
    return absl::Status(body.status().code(), absl::StrCat(name(), ": ", body.status().message()));
  if (!body->success && !body->cut) {
    const absl::Status error = ErrorOf(*body);
    return absl::Status(error.code(), absl::StrCat(name(), ": ", error.message()));
  }
  return body;
}

void PrometheusClient::Into(ApiBody body, const Call& call, Answer& answer) const {
  answer.source = name();
  answer.series = std::move(body.series);
  for (const std::string& warning : body.warnings) answer.Incomplete(warning);
  if (body.cut) {
    answer.Incomplete(absl::StrCat("more than ", call.limits.series, " series or ",
                                   call.limits.samples, " samples: cut; ask for fewer"));
  }
  if (body.partial) answer.Incomplete(absl::StrCat(name(), ": parts of it do not answer"));
  if (body.histograms) answer.Incomplete("native histograms are left out");
  if (body.disordered) answer.Incomplete("samples that did not come in order of time are left out");
}

absl::StatusOr<Answer> PrometheusClient::Instant(const std::string& query, absl::Time at,
                                                 const Call& call) {
  GALEN_ASSIGN_OR_RETURN(
      ApiBody body, Ask("/api/v1/query", {{"query", query}, {"time", Seconds(at)}}, true, call));
  Answer answer;
  answer.query = query;
  answer.start = answer.end = at;
  Into(std::move(body), call, answer);
  return answer;
}

absl::StatusOr<Answer> PrometheusClient::RangeOf(const std::string& query, const Range& range,
                                                 const Call& call) {
  GALEN_RETURN_IF_ERROR(CheckRange(range, call.limits));
  GALEN_ASSIGN_OR_RETURN(ApiBody body, Ask("/api/v1/query_range",
                                           {{"query", query},
                                            {"start", Seconds(range.start)},
                                            {"end", Seconds(range.end)},
                                            {"step", Seconds(absl::UnixEpoch() + range.step)}},
                                           true, call));
  Answer answer;
  answer.query = query;
  answer.start = range.start;
  answer.end = range.end;
  answer.step = range.step;
  Into(std::move(body), call, answer);
  return answer;
}

absl::StatusOr<Answer> PrometheusClient::Samples(const std::string& selector, absl::Time start,
                                                 absl::Time end, const Call& call) {
  GALEN_RETURN_IF_ERROR(Selector::Parse(selector).status());
  if (start == absl::InfinitePast() || end == absl::InfiniteFuture() || end < start) {
    return absl::InvalidArgumentError("samples: they need a finite start, and an end not before");
  }
  // (From 3.0 on the beginning of a range does not belong to it: a millisecond more.)
  const std::string query =
      absl::StrCat(selector, "[", absl::ToInt64Milliseconds(end - start) + 1, "ms]");
  GALEN_ASSIGN_OR_RETURN(
      ApiBody body, Ask("/api/v1/query", {{"query", query}, {"time", Seconds(end)}}, true, call));
  Answer answer;
  answer.query = query;
  answer.start = start;
  answer.end = end;
  Into(std::move(body), call, answer);
  return answer;
}

absl::StatusOr<Answer> PrometheusClient::SeriesOf(const std::string& selector, absl::Time start,
                                                  absl::Time end, const Call& call) {
  GALEN_ASSIGN_OR_RETURN(
      ApiBody body,
      Ask("/api/v1/series", Between({{"match[]", selector}}, start, end), true, call));
  Answer answer;
  answer.query = selector;
  answer.start = start;
  answer.end = end;
  Into(std::move(body), call, answer);
  return answer;
}

absl::StatusOr<std::vector<std::string>> PrometheusClient::LabelValues(
    const std::string& label, const std::string& selector, absl::Time start, absl::Time end,
    const Call& call, bool* complete) {
  Parameters parameters = Between({}, start, end);
  if (!selector.empty()) parameters.push_back({"match[]", selector});
  GALEN_ASSIGN_OR_RETURN(
      ApiBody body, Ask(absl::StrCat("/api/v1/label/", http::Escaped(label), "/values"), parameters,
                        false, call));
  if (complete != nullptr) *complete = !body.cut && !body.partial && body.warnings.empty();
  std::sort(body.values.begin(), body.values.end());
  return std::move(body.values);
}

absl::Status PrometheusClient::Ready(const Call& call) {
  http::Request request;
  request.target = "/-/ready";
  request.deadline =
      call.deadline == absl::InfiniteFuture() ? SteadyNow() + options_.most_time : call.deadline;
  request.cancellation = call.cancellation;
  request.most_bytes = 64 << 10;
  return Fetch(request).status();
}

absl::StatusOr<std::string> PrometheusClient::Status(const std::string& page, const Call& call) {
  http::Request request;
  request.target = absl::StrCat("/api/v1/status/", page);
  request.deadline =
      call.deadline == absl::InfiniteFuture() ? SteadyNow() + options_.most_time : call.deadline;
  request.cancellation = call.cancellation;
  request.most_bytes = 1 << 20;
  GALEN_ASSIGN_OR_RETURN(std::string text, Fetch(request));
  if (JsonNestsDeeperThan(text, 8))
    return absl::DataLossError(absl::StrCat(name(), ": ", page, " cannot be read"));
  return text;
}

absl::StatusOr<std::string> PrometheusClient::Flag(const std::string& flag, const Call& call) {
  GALEN_ASSIGN_OR_RETURN(const std::string text, Status("flags", call));
  const auto json = ParseJson(text);
  const auto pointer = nlohmann::json::json_pointer("/data") / flag;
  if (json.is_discarded() || !json.contains(pointer) || !json[pointer].is_string()) {
    return absl::DataLossError(absl::StrCat(name(), ": its flags cannot be read"));
  }
  return json[pointer].get<std::string>();
}

absl::StatusOr<PrometheusClient::Head> PrometheusClient::HeadTimes(const Call& call) {
  GALEN_ASSIGN_OR_RETURN(const std::string text, Status("tsdb", call));
  const auto json = ParseJson(text);
  const nlohmann::json::json_pointer first("/data/headStats/minTime");
  const nlohmann::json::json_pointer last("/data/headStats/maxTime");
  if (json.is_discarded() || !json.contains(first) || !json.contains(last) ||
      !json[first].is_number_integer() || !json[last].is_number_integer()) {
    return absl::DataLossError(absl::StrCat(name(), ": its state cannot be read"));
  }
  return Head{absl::FromUnixMillis(json[first].get<std::int64_t>()),
              absl::FromUnixMillis(json[last].get<std::int64_t>())};
}

}  // namespace galen::telemetry
