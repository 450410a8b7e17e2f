#include "common/rpc/health_port.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/steady.h"

namespace galen::rpc {
namespace {

constexpr char kReadiness[] = "readiness";
constexpr char kLiveness[] = "liveness";

// Anyone may connect, so little is spent on it: a request is a short name.
constexpr int kMaxRequestBytes = 1024;
constexpr int kMaxCallsPerConnection = 16;
constexpr std::size_t kQuotaBytes = std::size_t{8} << 20;

// Ends every other call: a program that links gRPC's reflection has it in each of its servers.
class HealthAlone final : public grpc::experimental::Interceptor {
 public:
  explicit HealthAlone(grpc::experimental::ServerRpcInfo* call) : call_(call) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* batch) override {
    if (batch->QueryInterceptionHookPoint(
            grpc::experimental::InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      call_->server_context()->TryCancel();
    }
    batch->Proceed();
  }

 private:
  grpc::experimental::ServerRpcInfo* const call_;
};

class HealthAloneFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* call) override {
    const bool health = absl::StartsWith(call->method(), "/grpc.health.v1.Health/");
    return health ? nullptr : new HealthAlone(call);
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<HealthPort>> HealthPort::Open(const std::string& address) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
  builder.SetResourceQuota(grpc::ResourceQuota("health").Resize(kQuotaBytes));
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxCallsPerConnection);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(std::make_unique<HealthAloneFactory>());
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  auto nothing = std::make_unique<grpc::CallbackGenericService>();
  builder.RegisterCallbackGenericService(nothing.get());
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return absl::UnavailableError(
        absl::StrCat(address, ": cannot listen; choose another --health address"));
  }
  server->GetHealthCheckService()->SetServingStatus(kLiveness, true);
  std::unique_ptr<HealthPort> health(new HealthPort(std::move(nothing), std::move(server), port));
  health->SetReady(false);
  return health;
}

HealthPort::HealthPort(std::unique_ptr<grpc::CallbackGenericService> nothing,
                       std::unique_ptr<grpc::Server> server, int port)
    : nothing_(std::move(nothing)), server_(std::move(server)), port_(port) {}

// Streams of those who watch end at once.
HealthPort::~HealthPort() { server_->Shutdown(ClockIn(absl::ZeroDuration())); }

void HealthPort::Serve() { SetReady(true); }

void HealthPort::Drain() { SetReady(false); }

void HealthPort::SetReady(bool ready) {
  server_->GetHealthCheckService()->SetServingStatus("", ready);
  server_->GetHealthCheckService()->SetServingStatus(kReadiness, ready);
}

}  // namespace galen::rpc
