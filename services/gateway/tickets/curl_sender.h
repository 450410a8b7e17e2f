#ifndef SERVICES_GATEWAY_TICKETS_CURL_SENDER_H_
#define SERVICES_GATEWAY_TICKETS_CURL_SENDER_H_

#include "common/base/cancellation.h"
#include "common/http/curl_transport.h"
#include "services/gateway/tickets/delivery_worker.h"

namespace galen::gateway::tickets {

// Uses a connection for each request. Redirects are not followed (a person must enter a new
// address), and answers of more than 8 MiB are refused. Thread-safe.
class CurlSender final : public Sender {
 public:
  absl::StatusOr<HttpAnswer> Send(const HttpCall& call, absl::Duration timeout) override;
  // Ends the requests in flight, and later ones at once.
  void Stop() { stopping_.Cancel(); }

 private:
  Cancellation stopping_;
  galen::http::CurlTransport transport_{{.proxy = "environment", .most_idle = 0}};
};

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_CURL_SENDER_H_
