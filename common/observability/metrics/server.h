#ifndef COMMON_OBSERVABILITY_METRICS_SERVER_H_
#define COMMON_OBSERVABILITY_METRICS_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "common/observability/metrics/registry.h"

namespace galen::metrics {

// Serves GET /metrics over HTTP, and nothing else, on a thread of its own: one connection a
// request, heads of at most 8 KiB, at most 32 connections at the same time, each cut off after 5 s.
// Neither encrypted nor authenticated: it is for loopback or a trusted network, and a registry must
// hold nothing that is secret from those who may connect.
class Server {
 public:
  // `address` is "9464" or ":9464" (of the loopback interface), "10.0.0.1:9464" or "[::1]:9464"; a
  // port of 0 chooses a free one. INVALID_ARGUMENT when it is none of these, UNAVAILABLE when it
  // cannot be listened on; both name it. `registry` must outlive the server.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const std::string& address,
                                                       const Registry& registry);
  // Ends at once, whatever is under way.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const { return port_; }

 private:
  Server(const Registry& registry, int listener, int port, int stop_read, int stop_write);
  void Run();

  const Registry& registry_;
  const int listener_;
  const int port_;
  const int stop_read_;  // readable once the server is to stop
  const int stop_write_;
  std::thread thread_;
};

// Starts the server of a program's --metrics flag: null for "", else a server, whose address it
// logs.
absl::StatusOr<std::unique_ptr<Server>> Serve(const std::string& address, const Registry& registry);

}  // namespace galen::metrics

#endif  // COMMON_OBSERVABILITY_METRICS_SERVER_H_
