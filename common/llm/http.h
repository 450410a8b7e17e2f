#ifndef COMMON_LLM_HTTP_H_
#define COMMON_LLM_HTTP_H_

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/llm/endpoint.h"
#include "common/llm/secret.h"

namespace galen::llm {

struct HttpRequest {
  std::string url;
  std::string body;  // a POST of JSON; without one it is a GET
  // When set, the bytes of a success (2xx) go there as they come, on the caller's thread, and not
  // into the reply. An error ends the request.
  std::function<absl::Status(absl::string_view bytes)> on_bytes;

  absl::Time deadline = absl::InfiniteFuture();
  absl::Time first_byte_by = absl::InfiniteFuture();
  const Cancellation* cancellation = nullptr;
  std::size_t most_bytes = 1 << 20;  // of a success; of an error the first 16 KiB are kept
  // The same request is sent once more after so long without a byte, and the first good reply
  // counts; 0: never.
  absl::Duration hedge_after = absl::ZeroDuration();
};

struct HttpReply {
  int code = 0;  // 200
  std::string body;
  std::optional<absl::Duration> retry_after;
};

// HTTP/1.1 with TLS by libcurl, to one endpoint. Connections are kept and used again; at most
// Endpoint::concurrency requests are under way, further ones wait. Redirects are not followed,
// nothing is unpacked, certificates and host names are verified. Thread-safe; a request blocks its
// thread.
class Http {
 public:
  explicit Http(const Endpoint& endpoint);
  ~Http();

  // `sent` is set to the number of requests that went out, also with an error.
  //
  // DEADLINE_EXCEEDED: deadline or first_byte_by passed; UNAVAILABLE: not reached in the
  // endpoint's time for that, or cut off; RESOURCE_EXHAUSTED: no free connection until the
  // deadline; PERMISSION_DENIED: a certificate is not trusted; DATA_LOSS: too large, or no HTTP;
  // CANCELLED; and what on_bytes returned. Messages hold nothing of request or key.
  absl::StatusOr<HttpReply> Send(const HttpRequest& request, const Secret& key, int& sent);

 private:
  struct Connection;
  struct Transfer;

  absl::StatusOr<std::unique_ptr<Connection>> Take(const HttpRequest& request);
  void Return(std::unique_ptr<Connection> connection);
  void Prepare(Transfer& transfer, const HttpRequest& request, const Secret& key) const;
  absl::StatusOr<HttpReply> Exchange(Connection& connection, const HttpRequest& request,
                                     const Secret& key, int& sent);

  const Endpoint endpoint_;
  std::mutex mu_;
  std::condition_variable freed_;
  int free_;                                       // guarded by mu_
  std::vector<std::unique_ptr<Connection>> idle_;  // guarded by mu_; the last one was used last
};

}  // namespace galen::llm

#endif  // COMMON_LLM_HTTP_H_
