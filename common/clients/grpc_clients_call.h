#ifndef COMMON_CLIENTS_GRPC_CLIENTS_CALL_H_
#define COMMON_CLIENTS_GRPC_CLIENTS_CALL_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/steady.h"
#include "common/clients/call.h"
#include "common/observability/trace/trace.h"
#include "common/rpc/observe.h"
#include "common/rpc/replicas/replicas.h"
#include "common/rpc/status.h"

// A call of a client over gRPC (grpc_clients.h): unary, or with a stream of answers.
//
// Calls of all our agents only read, so one that never reached its replica is made once more, at
// once and at another one. More than that is the orchestrator's to try.
//
// A context keeps its channel. The last owner of a channel must not be a thread of gRPC's own,
// which would then wait for itself and abort: so each call lets go of its context before it says
// that it is done.
namespace galen::clients {

inline void SetDeadline(grpc::ClientContext& context, absl::Time deadline) {
  // Not by absl::Now(), which goes on by the old clock for seconds when the clock is set.
  if (deadline != absl::InfiniteFuture()) {
    context.set_deadline(ClockIn(ToSteady(deadline) - SteadyNow()));
  }
}

// A request that may be sent a second time. gRPC reads it as the call begins and never after, so
// the caller's own will do where no second attempt can be; then nobody owns it.
template <typename Request>
Shared<Request> Kept(const Request& request, const rpc::Replicas& replicas) {
  if (replicas.several()) return std::make_shared<const Request>(request);
  return Shared<Request>(Shared<void>(), &request);
}

// Gets the context of each attempt, for its metadata.
using Prepare = std::function<void(grpc::ClientContext&)>;

// One unary call. `start` is the stub's asynchronous method: start(stub, context, request,
// response, callback).
template <typename Service, typename Request, typename Response, typename Start>
class UnaryCall
    : public std::enable_shared_from_this<UnaryCall<Service, Request, Response, Start>> {
 public:
  UnaryCall(rpc::Replicas& replicas, Shared<Request> request, absl::Time deadline,
            Done<Response> done, Start start, Prepare prepare)
      : replicas_(replicas),
        request_(std::move(request)),
        deadline_(deadline),
        done_(std::move(done)),
        start_(std::move(start)),
        prepare_(std::move(prepare)) {}

  void Run(rpc::Replicas::Turn turn) {
    turn_.emplace(std::move(turn));
    SetDeadline(context_.emplace(), deadline_);
    if (prepare_) prepare_(*context_);
    auto& stub = turn_->replica().template Stub<Service>();
    observed_.Begin(*context_, [&] {
      start_(stub, &*context_, request_.get(), &response_,
             [self = this->shared_from_this()](const grpc::Status& status) { self->End(status); });
    });
  }

 private:
  void End(const grpc::Status& status) {
    observed_.End(status.error_code());
    context_.reset();
    const bool reached = !rpc::IsUnreachable(status);
    const std::string at = turn_->replica().address();
    turn_->End(reached);
    turn_.reset();
    if (!reached && request_.use_count() > 0 && !std::exchange(again_, true)) {
      if (std::optional<rpc::Replicas::Turn> other = replicas_.BeginAgain(at)) {
        const trace::Scope scope(work_);
        response_.Clear();
        Run(*std::move(other));
        return;
      }
    }
    if (status.ok()) {
      std::move(done_)(std::move(response_));
    } else {
      std::move(done_)(rpc::StatusOf(status));
    }
  }

  rpc::Replicas& replicas_;
  const Shared<Request> request_;
  const absl::Time deadline_;
  Done<Response> done_;
  const Start start_;
  const Prepare prepare_;
  const trace::Work work_ = trace::Current();  // a second attempt belongs to the same
  std::optional<rpc::Replicas::Turn> turn_;
  std::optional<grpc::ClientContext> context_;
  rpc::ClientCall observed_;
  Response response_;
  bool again_ = false;
};

template <typename Service, typename Request, typename Response, typename Start>
void Unary(rpc::Replicas& replicas, Shared<Request> request, absl::Time deadline,
           Done<Response> done, Start start, Prepare prepare = nullptr) {
  std::make_shared<UnaryCall<Service, Request, Response, Start>>(
      replicas, std::move(request), deadline, std::move(done), std::move(start), std::move(prepare))
      ->Run(replicas.Begin());
}

// The two attempts that a stream may take, and whether it was cancelled.
struct Attempts {
  Mutex mu;
  bool cancelled ABSL_GUARDED_BY(mu) = false;
  std::weak_ptr<grpc::ClientContext> context ABSL_GUARDED_BY(mu);  // of the one under way
};

// One server-streaming call; deletes itself when gRPC is done with it. `start` is the stub's
// asynchronous method: start(stub, context, request, reactor).
template <typename Service, typename Request, typename Message, typename Start>
class Reader final : public grpc::ClientReadReactor<Message> {
 public:
  struct Call {
    rpc::Replicas& replicas;
    Shared<Request> request;
    absl::Time deadline;
    OnMessage<Message> on_message;
    absl::AnyInvocable<void(absl::Status) &&> done;
    Start start;
    Prepare prepare;
    trace::Work work;
    std::shared_ptr<Attempts> attempts;
  };
  static void Run(Call call, rpc::Replicas::Turn turn, bool again) {
    auto* reader = new Reader(std::move(call), std::move(turn), again);
    SetDeadline(*reader->context_, reader->call_.deadline);
    if (reader->call_.prepare) reader->call_.prepare(*reader->context_);
    auto& stub = reader->turn_.replica().template Stub<Service>();
    reader->observed_.Begin(*reader->context_, [&] {
      reader->call_.start(stub, reader->context_.get(), reader->call_.request.get(), reader);
    });
    reader->StartRead(&reader->message_);
    reader->StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    again_ = true;  // a stream that has delivered a message is not started again
    call_.on_message(std::move(message_));
    message_.Clear();
    this->StartRead(&message_);
  }
  void OnDone(const grpc::Status& status) override {
    observed_.End(status.error_code());
    bool cancelled = false;
    {
      MutexLock lock(call_.attempts->mu);
      cancelled = call_.attempts->cancelled;
    }
    const bool reached = cancelled || !rpc::IsUnreachable(status);
    const std::string at = turn_.replica().address();
    const bool again = again_;
    Call call = std::move(call_);
    rpc::Replicas::Turn turn = std::move(turn_);
    delete this;
    turn.End(reached);
    if (!reached && !again && call.request.use_count() > 0) {
      std::optional<rpc::Replicas::Turn> other = AnotherTurn(call, at);
      if (other.has_value()) {
        const trace::Scope scope(call.work);
        Run(std::move(call), *std::move(other), /*again=*/true);
        return;
      }
    }
    std::move(call.done)(cancelled ? rpc::FromGrpcStatus(status) : rpc::StatusOf(status));
  }

 private:
  static std::optional<rpc::Replicas::Turn> AnotherTurn(const Call& call, const std::string& at) {
    // A caller that has cancelled may have destroyed the client.
    MutexLock lock(call.attempts->mu);
    if (call.attempts->cancelled) return std::nullopt;
    return call.replicas.BeginAgain(at);
  }
  Reader(Call call, rpc::Replicas::Turn turn, bool again)
      : call_(std::move(call)), turn_(std::move(turn)), again_(again) {
    MutexLock lock(call_.attempts->mu);
    call_.attempts->context = context_;
    if (call_.attempts->cancelled) context_->TryCancel();
  }

  Call call_;
  rpc::Replicas::Turn turn_;
  bool again_;
  // Shared with those who may want to cancel.
  const std::shared_ptr<grpc::ClientContext> context_ = std::make_shared<grpc::ClientContext>();
  rpc::ClientCall observed_;
  Message message_;
};

template <typename Service, typename Request, typename Message, typename Start>
Cancel ServerStream(rpc::Replicas& replicas, Shared<Request> request, absl::Time deadline,
                    OnMessage<Message> on_message, absl::AnyInvocable<void(absl::Status) &&> done,
                    Start start, Prepare prepare = nullptr) {
  auto attempts = std::make_shared<Attempts>();
  Reader<Service, Request, Message, Start>::Run(
      {replicas, std::move(request), deadline, std::move(on_message), std::move(done),
       std::move(start), std::move(prepare), trace::Current(), attempts},
      replicas.Begin(), /*again=*/false);
  return [attempts] {
    std::shared_ptr<grpc::ClientContext> live;
    {
      MutexLock lock(attempts->mu);
      attempts->cancelled = true;
      live = attempts->context.lock();
    }
    if (live != nullptr) live->TryCancel();
  };
}

}  // namespace galen::clients

#endif  // COMMON_CLIENTS_GRPC_CLIENTS_CALL_H_
