#include "common/rpc/serve.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
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

// The path of a Unix socket; nothing for another address.
std::optional<std::string> SocketPathOf(absl::string_view address) {
  if (!absl::ConsumePrefix(&address, "unix:")) return std::nullopt;
  absl::ConsumePrefix(&address, "//");
  return std::string(address);
}

// gRPC would take the path away from a server that listens there.
absl::Status CheckSocket(const std::string& path) {
  sockaddr_un there{};
  there.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(there.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("unix:", path, ": the path must have 1 to ",
                                                   sizeof(there.sun_path) - 1,
                                                   " bytes; choose another --listen address"));
  }
  path.copy(there.sun_path, path.size());
  const int tried = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (tried < 0) return absl::OkStatus();  // the server meets the same obstacle, and reports it
  const bool taken = connect(tried, reinterpret_cast<const sockaddr*>(&there), sizeof(there)) == 0;
  close(tried);
  if (!taken) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("unix:", path,
                   ": another program listens there; end it, or choose another --listen address"));
}

// Files that are made while it lives are for their user alone.
class PrivateFiles {
 public:
  PrivateFiles() = default;
  ~PrivateFiles() { umask(before_); }
  PrivateFiles(const PrivateFiles&) = delete;
  PrivateFiles& operator=(const PrivateFiles&) = delete;

 private:
  const mode_t before_ = umask(S_IRWXG | S_IRWXO);
};

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
  std::optional<PrivateFiles> made;
  if (const std::optional<std::string> path = SocketPathOf(options.address)) {
    GALEN_RETURN_IF_ERROR(CheckSocket(*path));
    made.emplace();
  }
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
  const bool is_socket = SocketPathOf(options.address).has_value();
  log::Info(absl::StrCat("listening on ", options.address,
                         is_socket ? "" : absl::StrCat(" (port ", port, ")")));
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
