#ifndef COMMON_KUBE_HTTP_H_
#define COMMON_KUBE_HTTP_H_

#include "absl/status/statusor.h"
#include "common/http/curl_transport.h"
#include "common/kube/config.h"
#include "common/llm/secret.h"

namespace galen::kube {

using HttpRequest = http::Request;
using HttpReply = http::Reply;
// How requests reach the API server.
using Transport = http::Transport;

// The same over libcurl, with what a cluster's configuration says.
class CurlTransport final : public Transport {
 public:
  explicit CurlTransport(const Options& options)
      : transport_({.server = options.server,
                    .what = "API server",
                    .ca_file = options.ca_file,
                    .connect = options.connect}) {}
  absl::StatusOr<HttpReply> Send(const HttpRequest& request, const llm::Secret& token) override {
    return transport_.Send(request, token);
  }

 private:
  http::CurlTransport transport_;
};

}  // namespace galen::kube

#endif  // COMMON_KUBE_HTTP_H_
