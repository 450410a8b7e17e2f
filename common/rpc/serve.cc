#include "common/rpc/serve.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <signal.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/observability/log/log.h"
#include "common/rpc/health_port.h"
#include "common/rpc/observe.h"

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

void AwaitTermination() {
  BlockTerminationSignals();
  const sigset_t signals = TerminationSignals();
  int received = 0;
  sigwait(&signals, &received);
}

void BlockHangup() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

absl::StatusOr<std::unique_ptr<grpc::Server>> StartServer(
    const ServeOptions& options, const std::vector<grpc::Service*>& services, int& port) {
  std::unique_ptr<Security> none;
  const Security* security = options.security;
  if (security == nullptr) {
    GALEN_ASSIGN_OR_RETURN(none, Security::Open({}));
    security = none.get();
  }
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ServerCredentials> credentials,
                         security->ForServer(options.address));
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  // As for channels. Compressed messages of clients are read all the same.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
  // Two servers on one port would share its calls at random.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  if (security->tls()) {
    builder.AddChannelArgument(
        GRPC_ARG_MAX_CONNECTION_AGE_MS,
        static_cast<int>(absl::ToInt64Milliseconds(security->max_connection_age())));
  }
  // gRPC takes them in one call only.
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors =
      ServerObservers();
  if (auto audit = security->MakeInterceptors()) interceptors.push_back(std::move(audit));
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  port = 0;
  builder.AddListeningPort(options.address, credentials, &port);
  for (grpc::Service* service : services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return absl::UnavailableError(
        absl::StrCat(options.address,
                     ": cannot listen; choose another --listen address, or end the program "
                     "that holds it"));
  }
  return server;
}

absl::Status ServeUntilSignal(const ServeOptions& options,
                              const std::vector<grpc::Service*>& services) {
  BlockTerminationSignals();
  if (options.on_hangup) BlockHangup();
  std::unique_ptr<HealthPort> health;
  if (!options.health_address.empty()) {
    GALEN_ASSIGN_OR_RETURN(health, HealthPort::Open(options.health_address));
    log::Info(
        absl::StrCat("health at ", options.health_address, " (health port ", health->port(), ")"));
  }
  int port = 0;
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<grpc::Server> server,
                         StartServer(options, services, port));
  if (health != nullptr) health->Serve();
  log::Info(absl::StrCat("listening on ", options.address, " (port ", port, ")"));
  if (options.on_listening) options.on_listening(port);

  sigset_t signals = TerminationSignals();
  if (options.on_hangup) sigaddset(&signals, SIGHUP);
  int received = 0;
  for (sigwait(&signals, &received); received == SIGHUP; sigwait(&signals, &received)) {
    options.on_hangup();
  }
  log::Info(absl::StrCat("draining for at most ", absl::FormatDuration(options.drain_grace)));
  server->GetHealthCheckService()->Shutdown();
  if (health != nullptr) health->Drain();
  if (options.on_drain) options.on_drain();
  server->Shutdown(ClockIn(options.drain_grace));
  return absl::OkStatus();
}

}  // namespace galen::rpc
