#ifndef COMMON_RPC_SERVE_H_
#define COMMON_RPC_SERVE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/rpc/security.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace galen::rpc {

// Largest message in either direction. An evidence set of a large incident is a few MiB.
inline constexpr int kMaxMessageBytes = 64 << 20;

struct ServeOptions {
  // "127.0.0.1:0" chooses a free port. "unix:PATH" is a socket for this user alone.
  std::string address;
  // Decides who may connect and call; must outlive the server. Null: anyone, on loopback alone.
  const Security* security = nullptr;
  // Address that serves health alone to anyone, without TLS (health_port.h); "": none.
  std::string health_address = "";
  // How long calls in flight may take after SIGTERM.
  absl::Duration drain_grace = absl::Seconds(20);
  // Called with the port once the server listens.
  std::function<void(int port)> on_listening = nullptr;
  // Called when draining begins: the place to end streams that would otherwise last.
  std::function<void()> on_drain = nullptr;
  // Called on SIGHUP; unset, SIGHUP has its default action. A program that sets it calls
  // BlockHangup() in main().
  std::function<void()> on_hangup = nullptr;
};

// Keeps SIGTERM and SIGINT for ServeUntilSignal: call it in main() before any thread is made.
void BlockTerminationSignals();
// Waits for one of them: for programs that serve something else.
void AwaitTermination();
// Likewise SIGHUP, for programs that set ServeOptions::on_hangup.
void BlockHangup();

// Starts to serve the services with gRPC health checks and server reflection. `port` is set to the
// one that is listened on. UNAVAILABLE when the address cannot be, FAILED_PRECONDITION when it is
// not loopback and there are no certificates.
absl::StatusOr<std::unique_ptr<grpc::Server>> StartServer(
    const ServeOptions& options, const std::vector<grpc::Service*>& services, int& port);

// Serves with gRPC health checks and server reflection until SIGTERM or SIGINT, says in the log
// where it listens, then turns health to NOT_SERVING and drains. Errors as of StartServer().
absl::Status ServeUntilSignal(const ServeOptions& options,
                              const std::vector<grpc::Service*>& services);

}  // namespace galen::rpc

#endif  // COMMON_RPC_SERVE_H_
