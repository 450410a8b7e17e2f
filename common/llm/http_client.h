#ifndef COMMON_LLM_HTTP_CLIENT_H_
#define COMMON_LLM_HTTP_CLIENT_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/cancellation.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/http/curl_transport.h"
#include "common/http/secret.h"
#include "common/llm/circuit.h"
#include "common/llm/client.h"
#include "common/llm/endpoint.h"

namespace galen::llm {

// Dependencies beside the endpoint; tests replace them.
struct Dependencies {
  const Clock* clock = nullptr;    // of the circuit; outlives the client; null: the system's
  std::function<double()> chance;  // in [0, 1); thread-safe; empty: random
  // Waits, or returns true at once when it is cancelled. Thread-safe; empty: sleeps.
  std::function<bool(absl::Duration, const Cancellation&)> sleep;
};

// A client of one endpoint. Requests that failed in a way that may pass are sent again while there
// is time; a circuit breaker refuses calls to an endpoint that is down, at once.
class HttpClient final : public LlmClient {
 public:
  // Reads the key and looks whether the files of `tls` can be read. FAILED_PRECONDITION names what
  // is missing. It sends nothing.
  static absl::StatusOr<std::unique_ptr<HttpClient>> Make(const Endpoint& endpoint,
                                                          Dependencies dependencies = {});

  absl::StatusOr<ChatAnswer> Chat(const ChatRequest& request, const CallOptions& options) override;
  absl::StatusOr<Embeddings> Embed(const EmbedRequest& request,
                                   const CallOptions& options) override;
  absl::StatusOr<std::vector<std::string>> Models(const CallOptions& options) override;
  Settings SettingsOf(absl::string_view purpose) const override;
  std::string name() const override { return endpoint_.url; }
  Health health() const override;

 private:
  struct Call;

  HttpClient(const Endpoint& endpoint, http::Secret key, Dependencies dependencies);

  // Sends until `take` has taken a reply, an error is final, or there is no time left. `take` turns
  // a reply with code 2xx into an answer; `started` says that nothing may be sent again.
  absl::Status Run(http::Request request, const CallOptions& options,
                   const std::function<absl::Status(http::Reply&)>& take,
                   const std::function<void()>& begin, const std::function<bool()>& started,
                   Call& call);
  absl::Status RunCounted(http::Request& request, const CallOptions& options,
                          const std::function<absl::Status(http::Reply&)>& take,
                          const std::function<void()>& begin, const std::function<bool()>& started,
                          Call& call);
  void CountAttempt(const absl::Status& status, int sent);
  void CountUsage(const Usage& usage);
  // Reads the key again. True when it has changed.
  bool RenewKey();
  http::Secret key() const;
  absl::Status Named(const absl::Status& status) const;

  const Endpoint endpoint_;
  const Dependencies dependencies_;
  const SystemClock system_clock_;
  http::CurlTransport transport_;
  mutable Mutex mu_;
  http::Secret key_ ABSL_GUARDED_BY(mu_);
  Circuit circuit_ ABSL_GUARDED_BY(mu_);
  Health health_ ABSL_GUARDED_BY(mu_);  // without the state of the circuit
};

}  // namespace galen::llm

#endif  // COMMON_LLM_HTTP_CLIENT_H_
