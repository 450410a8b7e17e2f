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

// The public API over HTTP: finds the method of a request, who sends it and whether they may, puts
// it to the mesh and writes the answer as JSON. Knows the methods by their descriptors alone.
// Thread-safe.
class Api final : public http::Handler {
 public:
  struct Options {
    // What a call may take when the client does not say (X-Server-Timeout: seconds), and at most.
    absl::Duration timeout = absl::Seconds(30);
    absl::Duration most_timeout = absl::Seconds(120);
    WatchStreams::Options watch;
    // Streams that one key has open at a time.
    int streams_per_key = 256;
    // What is put into a request of a tenant before it goes out: uploads in place of their names.
    // May block for the disk. Without it requests go out as they are.
    std::function<absl::Status(const std::string& tenant, google::protobuf::Message& request)>
        fill_in;
    // Which causes people may confirm; null: any.
    IsCause is_cause = nullptr;
    // The reverse of `fill_in`, in what customers of the tenant are answered. Must not block.
    std::function<void(const std::string& tenant, google::protobuf::Message& answer)> name_again;
  };
  // `redactor`: what customers are not shown. `openapi`: the description of all routes, as JSON.
  // All references must outlive it.
  Api(std::vector<Route> routes, Upstream& upstream, Access& access, RateLimiter& rates,
      const CustomerRedactor& redactor, std::string openapi, const Options& options);

  void Handle(http::Request request, std::shared_ptr<http::Exchange> exchange) override;
  // Who has no key has no body read.
  http::HeadVerdict LookAtHead(const http::Request& head) override;
  http::Response Refuse(int status, const std::string& why) override;

  // Ends the streams; their clients go on elsewhere.
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
