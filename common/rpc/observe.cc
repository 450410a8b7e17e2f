#include "common/rpc/observe.h"

#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "common/log/log.h"
#include "common/metrics/calls.h"

namespace galen::rpc {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;

absl::string_view ViewOf(grpc::string_ref text) { return {text.data(), text.size()}; }

// A call from its begin to its end. gRPC destroys the interceptor with the call; one that got no
// status by then has been given up.
class CallObserver : public grpc::experimental::Interceptor {
 public:
  explicit CallObserver(metrics::Calls::Method& method) : method_(method), begun_(absl::Now()) {
    method_.Begin();
  }
  ~CallObserver() override {
    if (!ended_) End(grpc::StatusCode::CANCELLED);
  }

 protected:
  void End(grpc::StatusCode code) {
    ended_ = true;
    method_.End(static_cast<int>(code), absl::Now() - begun_);
  }

 private:
  metrics::Calls::Method& method_;
  const absl::Time begun_;
  bool ended_ = false;
};

class ServerObserver final : public CallObserver {
 public:
  using CallObserver::CallObserver;
  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      End(methods->GetSendStatus().error_code());
    }
    methods->Proceed();
  }
};

class ClientObserver final : public CallObserver {
 public:
  using CallObserver::CallObserver;
  void Intercept(InterceptorBatchMethods* methods) override {
    // On the thread that calls.
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      SendWork(*methods->GetSendInitialMetadata());
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_STATUS)) {
      End(methods->GetRecvStatus()->error_code());
    }
    methods->Proceed();
  }

 private:
  static void SendWork(std::multimap<std::string, std::string>& metadata) {
    const trace::Work& work = trace::Current();
    if (!work.context.valid()) return;
    metadata.emplace(trace::kTraceparent, trace::Format(trace::ChildOf(work.context)));
    if (!work.diagnosis.empty()) metadata.emplace(trace::kDiagnosis, work.diagnosis);
  }
};

class ServerObserverFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    return new ServerObserver(calls_.Of(info->method()));
  }

 private:
  metrics::Calls& calls_ = *metrics::ServerCalls();
};

class ClientObserverFactory final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo* info) override {
    return new ClientObserver(calls_.Of(info->method()));
  }

 private:
  metrics::Calls& calls_ = *metrics::ClientCalls();
};

}  // namespace

std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
ServerObservers() {
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> observers;
  observers.push_back(std::make_unique<ServerObserverFactory>());
  return observers;
}

std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>
ClientObservers() {
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> observers;
  observers.push_back(std::make_unique<ClientObserverFactory>());
  return observers;
}

trace::Work WorkOf(const grpc::ServerContextBase& context) {
  const auto& metadata = context.client_metadata();
  trace::Work work;
  const auto [first, last] = metadata.equal_range(trace::kTraceparent);
  if (first != last && std::next(first) == last) {
    if (const std::optional<trace::Context> caller = trace::Parse(ViewOf(first->second))) {
      work.context = trace::ChildOf(*caller);
    }
  }
  if (!work.context.valid()) work.context = trace::NewTrace();
  if (const auto named = metadata.find(trace::kDiagnosis); named != metadata.end()) {
    work.diagnosis = std::string(trace::DiagnosisName(ViewOf(named->second)));
  }
  return work;
}

void TellFault(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDataLoss:
      log::Error(status.message(), {{"code", absl::StatusCodeToString(status.code())}});
      return;
    default:
      return;
  }
}

}  // namespace galen::rpc
