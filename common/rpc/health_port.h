#ifndef COMMON_RPC_HEALTH_PORT_H_
#define COMMON_RPC_HEALTH_PORT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace grpc {
class CallbackGenericService;
class Server;
}  // namespace grpc

namespace galen::rpc {

// The standard gRPC health service alone, without TLS and for anyone, on a port of its own: for
// probes that speak no TLS, as a kubelet's. It tells whether this program serves and nothing else.
// Its services are "" and "readiness", which serve between Serve() and Drain(), and "liveness",
// which serves from the first moment to the last. Thread-safe.
class HealthPort {
 public:
  // `address` as of a server, "0.0.0.0:50059"; UNAVAILABLE when it cannot be listened on.
  static absl::StatusOr<std::unique_ptr<HealthPort>> Open(const std::string& address);
  ~HealthPort();
  HealthPort(const HealthPort&) = delete;
  HealthPort& operator=(const HealthPort&) = delete;

  void Serve();
  void Drain();
  int port() const { return port_; }

 private:
  void SetReady(bool ready);
  HealthPort(std::unique_ptr<grpc::CallbackGenericService> nothing,
             std::unique_ptr<grpc::Server> server, int port);

  // gRPC does not build a server with health alone: this service has no methods.
  const std::unique_ptr<grpc::CallbackGenericService> nothing_;
  const std::unique_ptr<grpc::Server> server_;
  const int port_;
};

}  // namespace galen::rpc

#endif  // COMMON_RPC_HEALTH_PORT_H_
