#ifndef COMMON_HTTP_CURL_TRANSPORT_H_
#define COMMON_HTTP_CURL_TRANSPORT_H_

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/base/mutex.h"
#include "common/http/secret.h"

namespace galen::http {

// The server that requests go to, and how.
struct Options {
  // "https://10.0.0.1:443", and a path that precedes all targets; "": targets are whole URLs.
  std::string server;
  std::string what;  // with `server` before messages: "API server", "Prometheus"; "": neither
  // The header that has the secret, up to it; for "Basic" the secret is base64 of name:password.
  std::string key_header = "Authorization: Bearer ";
  std::string ca_file;           // PEM; "": those of the system
  std::string certificate_file;  // PEM, our own; "": none
  std::string certificate_key_file;
  std::string proxy = "none";  // "environment": as http_proxy and so on say; or a URL
  absl::Duration connect = absl::Seconds(10);
  int most_at_once = std::numeric_limits<int>::max();  // further requests wait
  std::size_t most_idle = 8;                           // connections that are kept
};

// How much of a request left, whether it failed or not.
struct Sent {
  int requests = 0;               // the hedge counts
  bool may_have_arrived = false;  // false: nothing of it left this machine
};

struct Request {
  std::string method = "GET";
  std::string target;  // path and query
  std::string accept = "application/json";
  std::string content_type;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // further ones
  // When set, the bytes of a success (2xx) go there as they come, on the caller's thread, and not
  // into the reply. An error ends the request.
  std::function<absl::Status(absl::string_view bytes)> on_bytes;
  // On SteadyNow()'s scale.
  absl::Time deadline = absl::InfiniteFuture();
  absl::Time first_byte_by = absl::InfiniteFuture();
  const Cancellation* cancellation = nullptr;
  std::size_t most_bytes = 1 << 20;  // of a success
  // The same request is sent once more after so long without a byte, and the first good reply
  // counts; 0: never.
  absl::Duration hedge_after = absl::ZeroDuration();
  Sent* sent = nullptr;  // filled when set
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
  // DEADLINE_EXCEEDED: deadline or first_byte_by passed; CANCELLED; UNAVAILABLE: not reached, or
  // cut off; RESOURCE_EXHAUSTED: no free connection until the deadline; PERMISSION_DENIED: a
  // certificate is not trusted; DATA_LOSS: too large, or no HTTP; and what on_bytes returned.
  // Messages hold nothing of request or key.
  virtual absl::StatusOr<Reply> Send(const Request& request, const Secret& key) = 0;
};

// HTTP/1.1 with TLS by libcurl. Connections are kept and used again; the CA file is read with each
// new one. Redirects are not followed, nothing is unpacked, certificates and host names verified.
class CurlTransport final : public Transport {
 public:
  explicit CurlTransport(const Options& options);
  ~CurlTransport() override;
  absl::StatusOr<Reply> Send(const Request& request, const Secret& key) override;

 private:
  struct Connection;
  struct Transfer;

  absl::StatusOr<std::unique_ptr<Connection>> Take(const Request& request);
  void Return(std::unique_ptr<Connection> connection);
  void Prepare(Transfer& transfer, const Request& request, const Secret& key) const;
  absl::StatusOr<Reply> Exchange(Connection& connection, const Request& request, const Secret& key,
                                 Sent& sent) const;

  const Options options_;
  Mutex mu_;
  std::condition_variable freed_;
  int busy_ ABSL_GUARDED_BY(mu_) = 0;
  // The last one was used last.
  std::vector<std::unique_ptr<Connection>> idle_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::http

#endif  // COMMON_HTTP_CURL_TRANSPORT_H_
