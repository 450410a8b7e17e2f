#include "common/rpc/serve.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <signal.h>

#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/base/steady.h"

namespace galen::rpc {
namespace {

sigset_t TerminationSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

}  // namespace

void BlockTerminationSignals() {
  const sigset_t signals = TerminationSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

void BlockHangup() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

absl::Status ServeUntilSignal(const ServeOptions& options,
                              const std::vector<grpc::Service*>& services) {
  BlockTerminationSignals();
  if (options.on_hangup) BlockHangup();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  // Two servers on one port would share its calls at random.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  int port = 0;
  builder.AddListeningPort(options.address, grpc::InsecureServerCredentials(), &port);
  for (grpc::Service* service : services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return absl::UnavailableError(
        absl::StrCat(options.address,
                     ": cannot listen; choose another --listen address, or end the program "
                     "that holds it"));
  }
  std::cerr << "listening on " << options.address << " (port " << port << ")" << std::endl;
  if (options.on_listening) options.on_listening(port);

  sigset_t signals = TerminationSignals();
  if (options.on_hangup) sigaddset(&signals, SIGHUP);
  int received = 0;
  for (sigwait(&signals, &received); received == SIGHUP; sigwait(&signals, &received)) {
    options.on_hangup();
  }
  std::cerr << "draining for at most " << options.drain_grace << std::endl;
  server->GetHealthCheckService()->Shutdown();
  if (options.on_drain) options.on_drain();
  server->Shutdown(ClockIn(options.drain_grace));
  return absl::OkStatus();
}

}  // namespace galen::rpc
