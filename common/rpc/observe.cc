#include "common/rpc/observe.h"

#include <atomic>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "common/base/steady.h"
#include "common/observability/log/log.h"
#include "common/observability/metrics/calls.h"
#include "common/rpc/authorizer.h"
#include "common/security/claims/claim.h"

namespace galen::rpc {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;

absl::string_view ViewOf(const grpc::string_ref& text) { return {text.data(), text.size()}; }

// A call from its begin to its end. gRPC destroys the interceptor with the call; one that got no
// status by then has been given up.
class CallObserver : public grpc::experimental::Interceptor {
 public:
  explicit CallObserver(metrics::Calls::Method& method) : method_(method), begun_(SteadyNow()) {
    method_.Begin();
  }
  ~CallObserver() override {
    if (!ended_) End(grpc::StatusCode::CANCELLED);
  }

 protected:
  const metrics::Calls::Method& method() const { return method_; }
  absl::Duration age() const { return SteadyNow() - begun_; }
  void End(grpc::StatusCode code) {
    ended_ = true;
    method_.End(static_cast<int>(code), SteadyNow() - begun_);
  }

 private:
  metrics::Calls::Method& method_;
  const absl::Time begun_;
  bool ended_ = false;
};

std::atomic<bool> calls_are_logged = false;

// The trace in the metadata; nothing unless there is exactly one, and it is valid.
template <typename Metadata>
std::optional<trace::Context> TraceIn(const Metadata& metadata) {
  const auto [first, last] = metadata.equal_range(trace::kTraceparent);
  if (first == last || std::next(first) != last) return std::nullopt;
  return trace::Parse(ViewOf(first->second));
}

class ServerObserver final : public CallObserver {
 public:
  ServerObserver(metrics::Calls::Method& method, grpc::ServerContextBase& context)
      : CallObserver(method), context_(context) {}
  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      BeginTrace(*methods->GetRecvInitialMetadata());
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      const grpc::StatusCode code = methods->GetSendStatus().error_code();
      End(code);
      if (calls_are_logged.load(std::memory_order_relaxed) && !IsHealthCheck()) Log(code);
    }
    methods->Proceed();
  }

 private:
  // So that all who look at this call's metadata see one trace.
  void BeginTrace(std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
    if (TraceIn(metadata).has_value()) return;
    begun_trace_ = trace::Format(trace::NewTrace());
    metadata.erase(trace::kTraceparent);
    metadata.emplace(trace::kTraceparent, begun_trace_);
  }
  // Each caller makes one every second.
  bool IsHealthCheck() const { return absl::StartsWith(method().path(), "/grpc.health."); }
  void Log(grpc::StatusCode code) const {
    const trace::Scope scope(WorkOf(context_));
    log::Info("call", {{"method", method().path()},
                       {"code", absl::StatusCodeToString(static_cast<absl::StatusCode>(code))},
                       {"seconds", absl::StrFormat("%.6f", absl::ToDoubleSeconds(age()))}});
  }

  grpc::ServerContextBase& context_;
  std::string begun_trace_;  // metadata refer to it
};

// Sends the trace context, the diagnosis and the asker of the calling thread as metadata.
void SendWork(absl::FunctionRef<void(const char* key, std::string value)> put) {
  const trace::Work& work = trace::Current();
  if (!work.asker.empty()) put(security::kAskerKey, work.asker);
  if (!work.context.valid()) return;
  put(trace::kTraceparent, trace::Format(trace::ChildOf(work.context)));
  if (!work.diagnosis.empty()) put(trace::kDiagnosis, work.diagnosis);
}

class ClientObserver final : public CallObserver {
 public:
  using CallObserver::CallObserver;
  void Intercept(InterceptorBatchMethods* methods) override {
    // On the thread that calls.
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      std::multimap<std::string, std::string>& metadata = *methods->GetSendInitialMetadata();
      SendWork([&metadata](const char* key, std::string value) {
        metadata.emplace(key, std::move(value));
      });
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_STATUS)) {
      End(methods->GetRecvStatus()->error_code());
    }
    methods->Proceed();
  }
};

// The call that this thread is making.
thread_local ClientCall* calling = nullptr;

class ServerObserverFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    return new ServerObserver(calls_.Of(info->method()), *info->server_context());
  }

 private:
  metrics::Calls& calls_ = *metrics::ServerCalls();
};

}  // namespace

class ClientObserverFactory final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo* info) override {
    metrics::Calls::Method& method = calls_.Of(info->method());
    // Only this one call: its end may begin another on this thread, before it is made.
    ClientCall* const own = std::exchange(calling, nullptr);
    if (own == nullptr) return new ClientObserver(method);
    own->method_ = &method;
    own->begun_ = SteadyNow();
    method.Begin();
    return nullptr;
  }

 private:
  metrics::Calls& calls_ = *metrics::ClientCalls();
};

ClientCall::~ClientCall() { End(grpc::StatusCode::CANCELLED); }

void ClientCall::Begin(grpc::ClientContext& context, absl::FunctionRef<void()> start) {
  SendWork(
      [&context](const char* key, const std::string& value) { context.AddMetadata(key, value); });
  calling = this;
  start();
  calling = nullptr;  // the call and this object may be destroyed by now
}

void ClientCall::End(grpc::StatusCode code) {
  if (method_ == nullptr) return;
  std::exchange(method_, nullptr)->End(static_cast<int>(code), SteadyNow() - begun_);
}

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
  const std::optional<trace::Context> caller = TraceIn(metadata);
  work.context = caller.has_value() ? trace::ChildOf(*caller) : trace::NewTrace();
  if (const auto named = metadata.find(trace::kDiagnosis); named != metadata.end()) {
    work.diagnosis = std::string(trace::DiagnosisName(ViewOf(named->second)));
  }
  if (const std::shared_ptr<const grpc::AuthContext> connection = context.auth_context()) {
    grpc::string_ref uri;
    if (const std::optional<security::Identity> peer = PeerOf(*connection, uri)) {
      work.asker = AskerOf(peer->role, metadata);
    }
  }
  return work;
}

void LogCalls(bool log) { calls_are_logged = log; }

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
