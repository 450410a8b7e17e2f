#ifndef COMMON_HTTP_CURL_TRANSPORT_H_
#define COMMON_HTTP_CURL_TRANSPORT_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/base/mutex.h"
#include "common/llm/secret.h"

namespace galen::http {

// Whom requests go to.
struct Options {
  std::string server;           // "https://10.0.0.1:443", and a path that stands before all targets
  std::string what = "server";  // in messages: "API server", "Prometheus"
  std::string scheme =
      "Bearer";  // of the Authorization header; "Basic": the secret is base64 of name:password
  std::string ca_file;           // PEM; "": those of the system
  std::string certificate_file;  // PEM, our own; "": none
  std::string certificate_key_file;
  absl::Duration connect = absl::Seconds(10);
};

struct Request {
  std::string method = "GET";
  std::string target;  // path and query
  std::string content_type;
  std::string body;
  // When set, the bytes of a success (2xx) go there as they come, on the caller's thread, and not
  // into the reply, in any number. An error ends the request.
  std::function<absl::Status(absl::string_view bytes)> on_bytes;
  absl::Time deadline = absl::InfiniteFuture();  // on SteadyNow()'s scale
  const Cancellation* cancellation = nullptr;
  std::size_t most_bytes = 0;  // of a success that goes into the reply
};

struct Reply {
  int code = 0;
  std::string body;  // of an error the first 64 KiB
  std::optional<absl::Duration> retry_after;
};

// How requests reach a server. Thread-safe; a request blocks its thread.
class Transport {
 public:
  virtual ~Transport() = default;
  // DEADLINE_EXCEEDED, CANCELLED; UNAVAILABLE: not reached, or cut off; PERMISSION_DENIED: its
  // certificate is not trusted; DATA_LOSS: too large, or no HTTP; and what on_bytes returned.
  virtual absl::StatusOr<Reply> Send(const Request& request, const llm::Secret& token) = 0;
};

// HTTP/1.1 with TLS by libcurl. Connections are kept and used again; the CA file is read with each
// new one. Redirects are not followed, proxies not used, certificates and host names verified.
class CurlTransport final : public Transport {
 public:
  explicit CurlTransport(const Options& options);
  ~CurlTransport() override;
  absl::StatusOr<Reply> Send(const Request& request, const llm::Secret& token) override;

 private:
  struct Connections;

  const Options options_;
  Mutex mu_;
  std::vector<std::unique_ptr<Connections>> idle_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::http

#endif  // COMMON_HTTP_CURL_TRANSPORT_H_
