#ifndef SERVICES_GATEWAY_API_API_H_
#define SERVICES_GATEWAY_API_API_H_

#include <google/protobuf/message.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/observability/metrics/calls.h"
#include "services/gateway/api/access.h"
#include "services/gateway/api/confirmation.h"
#include "services/gateway/api/routes.h"
#include "services/gateway/api/upstream.h"
#include "services/gateway/api/watch_stream.h"
#include "services/gateway/http/handler.h"
#include "services/gateway/redaction/customer_redactor.h"

namespace galen::gateway {

// The public API over HTTP: finds the method of a request, authenticates and admits its sender,
// calls the mesh and writes the answer as JSON. It knows the methods by their descriptors alone.
// Thread-safe.
class Api final : public http::Handler {
 public:
  struct Options {
    // Time limit of a call whose client names none (X-Server-Timeout: seconds), and the longest
    // that a client may name.
    absl::Duration timeout = absl::Seconds(30);
    absl::Duration most_timeout = absl::Seconds(120);
    WatchStreams::Options watch;
    // Streams that one key has open at a time.
    int streams_per_key = 256;
    // Completes a request of a tenant before it goes out: replaces names of uploads by the uploads.
    // May block for the disk. Null: requests go out as they are.
    std::function<absl::Status(const std::string& tenant, google::protobuf::Message& request)>
        fill_in;
    // The causes that people may confirm; null: any.
    IsCause is_cause = nullptr;
    // The reverse of `fill_in`, for answers to customers of the tenant. Must not block.
    std::function<void(const std::string& tenant, google::protobuf::Message& answer)> name_again;
  };
  // `redactor` removes what customers must not see. `openapi`: the description of all routes, as
  // JSON. All references must outlive it.
  Api(std::vector<Route> routes, Upstream& upstream, Access& access, RateLimiter& rates,
      const CustomerRedactor& redactor, std::string openapi, const Options& options);

  void Handle(http::Request request, std::shared_ptr<http::Exchange> exchange) override;
  // Refuses a request without a key before its body is read.
  http::HeadVerdict LookAtHead(const http::Request& head) override;
  http::Response Refuse(int status, const std::string& why) override;

  // Ends the streams; their clients connect elsewhere.
  void EndStreams() { streams_.EndAll(); }
  std::size_t streams() const { return streams_.open(); }
  // Requests by method and status code.
  const std::shared_ptr<metrics::Calls>& calls() const { return calls_; }

 private:
  class Inquiry;
  class StreamsOfKeys;
  void Find(const std::shared_ptr<Inquiry>& inquiry);
  void Admit(const std::shared_ptr<Inquiry>& inquiry);
  void Ask(const std::shared_ptr<Inquiry>& inquiry);

  const RouteTable table_;
  Upstream& upstream_;
  Access& access_;
  RateLimiter& rates_;
  const CustomerRedactor& redactor_;
  const std::string openapi_;
  const Options options_;
  const std::shared_ptr<metrics::Calls> calls_;
  const std::shared_ptr<StreamsOfKeys> of_keys_;
  WatchStreams streams_;
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_API_H_
