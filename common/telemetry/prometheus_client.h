#ifndef COMMON_TELEMETRY_PROMETHEUS_CLIENT_H_
#define COMMON_TELEMETRY_PROMETHEUS_CLIENT_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/http/credentials.h"
#include "common/http/curl_transport.h"
#include "common/http/secret.h"
#include "common/telemetry/prometheus_answer.h"
#include "common/telemetry/source.h"

namespace galen::telemetry {

struct PrometheusOptions {
  // "https://prometheus:9090", with a path for those that have a prefix
  // ("http://mimir/prometheus").
  http::Options http;
  http::Secret key;       // as http.key_header says: a bearer's token, or base64 of name:password
  http::Headers headers;  // further ones, such as the tenant of a Mimir: X-Scope-OrgID
  // A call without a deadline gets this one.
  absl::Duration most_time = absl::Seconds(30);
};

// INVALID_ARGUMENT: no http(s) address, name and password within it, or a key that would go out
// unencrypted to another machine.
absl::Status Check(const PrometheusOptions& options);

// Any server with Prometheus' HTTP API: Prometheus, Thanos, Mimir, VictoriaMetrics. Long questions
// go as POST. An answer with warnings (Thanos' partial responses), or one that VictoriaMetrics
// marks as partial, is incomplete. It does not retry: the caller may.
class PrometheusClient final : public Source {
 public:
  explicit PrometheusClient(PrometheusOptions options);
  // Over another transport.
  PrometheusClient(PrometheusOptions options, std::unique_ptr<http::Transport> transport)
      : options_(std::move(options)), transport_(std::move(transport)) {}

  std::string name() const override;
  bool evaluates() const override { return true; }
  absl::StatusOr<Answer> Instant(const std::string& query, absl::Time at,
                                 const Call& call) override;
  absl::StatusOr<Answer> RangeOf(const std::string& query, const Range& range,
                                 const Call& call) override;
  absl::StatusOr<Answer> Samples(const std::string& selector, absl::Time start, absl::Time end,
                                 const Call& call) override;
  absl::StatusOr<Answer> SeriesOf(const std::string& selector, absl::Time start, absl::Time end,
                                  const Call& call) override;
  absl::StatusOr<std::vector<std::string>> LabelValues(const std::string& label,
                                                       const std::string& selector,
                                                       absl::Time start, absl::Time end,
                                                       const Call& call, bool* complete) override;

  // Whether it is ready to answer: UNAVAILABLE or NOT_FOUND while it is not.
  absl::Status Ready(const Call& call);
  // The value of one of its command-line flags.
  absl::StatusOr<std::string> Flag(const std::string& flag, const Call& call);
  // Range of the samples that are not yet in blocks; empty (first after last) without any.
  struct Head {
    absl::Time first = absl::InfiniteFuture();
    absl::Time last = absl::InfinitePast();
  };
  absl::StatusOr<Head> HeadTimes(const Call& call);

 private:
  using Parameters = std::vector<std::pair<std::string, std::string>>;

  absl::StatusOr<ApiBody> Ask(const std::string& path, const Parameters& parameters, bool may_post,
                              const Call& call);
  absl::StatusOr<std::string> Fetch(http::Request request);
  // A text below one of the pages /api/v1/status/...
  absl::StatusOr<std::string> Status(const std::string& page, const Call& call);
  void Into(ApiBody body, const Call& call, Answer& answer) const;

  const PrometheusOptions options_;
  const std::unique_ptr<http::Transport> transport_;
};

}  // namespace galen::telemetry

#endif  // COMMON_TELEMETRY_PROMETHEUS_CLIENT_H_
