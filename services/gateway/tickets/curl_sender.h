#ifndef SERVICES_GATEWAY_TICKETS_CURL_SENDER_H_
#define SERVICES_GATEWAY_TICKETS_CURL_SENDER_H_

#include <atomic>

#include "services/gateway/tickets/courier.h"

namespace galen::gateway::tickets {

// HTTP/1.1 with TLS by libcurl, a connection for each request. Redirects are not followed (a ticket
// system that moved is for a person to say), certificates and host names are verified, answers of
// more than 8 MiB are refused. Thread-safe.
class CurlSender final : public Sender {
 public:
  absl::StatusOr<HttpAnswer> Send(const HttpCall& call, absl::Duration timeout) override;
  // Ends what is under way, and what comes later at once.
  void Stop() { stopping_.store(true); }

 private:
  std::atomic<bool> stopping_ = false;
};

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_CURL_SENDER_H_
