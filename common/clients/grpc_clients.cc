#include "common/clients/grpc_clients.h"

#include <grpcpp/grpcpp.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "common/base/mutex.h"
#include "common/base/steady.h"
#include "common/observability/trace/trace.h"
#include "common/rpc/observe.h"
#include "common/rpc/replicas/replicas.h"
#include "common/rpc/status.h"
#include "common/security/claims/claim.h"
#include "galen/conclusion/v1/conclusion.grpc.pb.h"
#include "galen/execution/v1/execution.grpc.pb.h"
#include "galen/node/v1/node.grpc.pb.h"
#include "galen/planning/v1/planning.grpc.pb.h"
#include "galen/reflection/v1/reflection.grpc.pb.h"
#include "galen/summarization/v1/summarization.grpc.pb.h"

namespace galen::clients {
namespace {

void SetDeadline(grpc::ClientContext& context, absl::Time deadline) {
  // Not by absl::Now(), which goes on by the old clock for seconds when the clock is set.
  if (deadline != absl::InfiniteFuture()) {
    context.set_deadline(ClockIn(ToSteady(deadline) - SteadyNow()));
  }
}

// A context keeps its channel. The last owner of a channel must not be a thread of gRPC's own,
// which would then wait for itself and abort: so each call lets go of its context before it says
// that it is done.

// A request that may be sent a second time. gRPC reads it as the call begins and never after, so
// the caller's own will do where no second attempt can be; then nobody owns it.
template <typename Request>
Shared<Request> Kept(const Request& request, const rpc::Replicas& replicas) {
  if (replicas.several()) return std::make_shared<const Request>(request);
  return Shared<Request>(Shared<void>(), &request);
}

using Prepare = std::function<void(grpc::ClientContext&)>;

// Calls of all our agents only read, so one that never reached its replica is made once more, at
// once and at another one. More than that is the orchestrator's to try.

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

class GrpcSummarizationClient final : public SummarizationClient {
 public:
  using Service = summarization::v1::SummarizationService;
  explicit GrpcSummarizationClient(std::unique_ptr<rpc::Replicas> replicas)
      : replicas_(std::move(replicas)) {}
  void Summarize(const summarization::v1::SummarizeRequest& request, absl::Time deadline,
                 Done<summarization::v1::SummarizeResponse> done) override {
    Unary<Service>(*replicas_, Kept(request, *replicas_), deadline, std::move(done),
                   [](auto& stub, auto* context, auto* sent, auto* response, auto callback) {
                     stub.async()->Summarize(context, sent, response, std::move(callback));
                   });
  }
  void Look(Shared<summarization::v1::LookRequest> request, absl::Time deadline,
            Done<summarization::v1::LookResponse> done) override {
    Unary<Service>(*replicas_, std::move(request), deadline, std::move(done),
                   [](auto& stub, auto* context, auto* sent, auto* response, auto callback) {
                     stub.async()->Look(context, sent, response, std::move(callback));
                   });
  }

 private:
  const std::unique_ptr<rpc::Replicas> replicas_;
};

class GrpcPlanningClient final : public PlanningClient {
 public:
  using Service = planning::v1::PlanningService;
  explicit GrpcPlanningClient(std::unique_ptr<rpc::Replicas> replicas)
      : replicas_(std::move(replicas)) {}
  void ProposeFromHistory(Shared<planning::v1::ProposeFromHistoryRequest> request,
                          absl::Time deadline,
                          Done<planning::v1::ProposeFromHistoryResponse> done) override {
    Unary<Service>(*replicas_, std::move(request), deadline, std::move(done),
                   [](auto& stub, auto* context, auto* sent, auto* response, auto callback) {
                     stub.async()->ProposeFromHistory(context, sent, response, std::move(callback));
                   });
  }
  void RankChildren(Shared<planning::v1::RankChildrenRequest> request, absl::Time deadline,
                    Done<planning::v1::RankChildrenResponse> done) override {
    Unary<Service>(*replicas_, std::move(request), deadline, std::move(done),
                   [](auto& stub, auto* context, auto* sent, auto* response, auto callback) {
                     stub.async()->RankChildren(context, sent, response, std::move(callback));
                   });
  }
  void Screen(Shared<planning::v1::ScreenRequest> request, absl::Time deadline,
              Done<planning::v1::ScreenResponse> done) override {
    Unary<Service>(*replicas_, std::move(request), deadline, std::move(done),
                   [](auto& stub, auto* context, auto* sent, auto* response, auto callback) {
                     stub.async()->Screen(context, sent, response, std::move(callback));
                   });
  }
  void ProposeAtOnce(Shared<planning::v1::ProposeAtOnceRequest> request, absl::Time deadline,
                     Done<planning::v1::ProposeAtOnceResponse> done) override {
    Unary<Service>(*replicas_, std::move(request), deadline, std::move(done),
                   [](auto& stub, auto* context, auto* sent, auto* response, auto callback) {
                     stub.async()->ProposeAtOnce(context, sent, response, std::move(callback));
                   });
  }
  void ListCauses(const planning::v1::ListCausesRequest& request, absl::Time deadline,
                  Done<planning::v1::ListCausesResponse> done) override {
    Unary<Service>(*replicas_, Kept(request, *replicas_), deadline, std::move(done),
                   [](auto& stub, auto* context, auto* sent, auto* response, auto callback) {
                     stub.async()->ListCauses(context, sent, response, std::move(callback));
                   });
  }
  void Explore(Shared<planning::v1::ExploreRequest> request, absl::Time deadline,
               Done<planning::v1::ExploreResponse> done) override {
    Unary<Service>(*replicas_, std::move(request), deadline, std::move(done),
                   [](auto& stub, auto* context, auto* sent, auto* response, auto callback) {
                     stub.async()->Explore(context, sent, response, std::move(callback));
                   });
  }
  void Consult(Shared<planning::v1::ConsultRequest> request, absl::Time deadline,
               Done<planning::v1::ConsultResponse> done) override {
    Unary<Service>(*replicas_, std::move(request), deadline, std::move(done),
                   [](auto& stub, auto* context, auto* sent, auto* response, auto callback) {
                     stub.async()->Consult(context, sent, response, std::move(callback));
                   });
  }

 private:
  const std::unique_ptr<rpc::Replicas> replicas_;
};

class GrpcExecutionClient final : public ExecutionClient {
 public:
  using Service = execution::v1::ExecutionService;
  GrpcExecutionClient(std::unique_ptr<rpc::Replicas> replicas, ClaimFor claim_for)
      : replicas_(std::move(replicas)), claim_for_(std::move(claim_for)) {}
  void ResolveNodes(const execution::v1::ResolveNodesRequest& request, absl::Time deadline,
                    Done<execution::v1::ResolveNodesResponse> done) override {
    Unary<Service>(
        *replicas_, Kept(request, *replicas_), deadline, std::move(done),
        [](auto& stub, auto* context, auto* sent, auto* response, auto callback) {
          stub.async()->ResolveNodes(context, sent, response, std::move(callback));
        },
        Claiming(request.diagnosis()));
  }
  Cancel RunChecks(const execution::v1::RunChecksRequest& request, absl::Time deadline,
                   OnMessage<v1::CheckResult> on_result,
                   absl::AnyInvocable<void(absl::Status) &&> done) override {
    return ServerStream<Service>(
        *replicas_, Kept(request, *replicas_), deadline, std::move(on_result), std::move(done),
        [](auto& stub, auto* context, auto* sent, auto* reactor) {
          stub.async()->RunChecks(context, sent, reactor);
        },
        Claiming(request.diagnosis()));
  }
  Cancel RunShare(const execution::v1::RunChecksRequest& request, absl::Time deadline,
                  OnMessage<v1::CheckResult> on_result,
                  absl::AnyInvocable<void(absl::Status) &&> done) override {
    return ServerStream<Service>(*replicas_, Kept(request, *replicas_), deadline,
                                 std::move(on_result), std::move(done),
                                 [](auto& stub, auto* context, auto* sent, auto* reactor) {
                                   stub.async()->RunShare(context, sent, reactor);
                                 });
  }
  void DryRunRepair(const execution::v1::DryRunRepairRequest& request, absl::Time deadline,
                    Done<v1::DryRun> done) override {
    Unary<Service>(
        *replicas_, Kept(request, *replicas_), deadline, std::move(done),
        [](auto& stub, auto* context, auto* sent, auto* response, auto callback) {
          stub.async()->DryRunRepair(context, sent, response, std::move(callback));
        },
        Claiming(request.diagnosis()));
  }
  Cancel WatchNodes(const execution::v1::WatchNodesRequest& request,
                    OnMessage<execution::v1::NodeEvent> on_event,
                    absl::AnyInvocable<void(absl::Status) &&> done) override {
    return ServerStream<Service>(*replicas_, Kept(request, *replicas_), absl::InfiniteFuture(),
                                 std::move(on_event), std::move(done),
                                 [](auto& stub, auto* context, auto* sent, auto* reactor) {
                                   stub.async()->WatchNodes(context, sent, reactor);
                                 });
  }

 private:
  // Adds the claim for a call about `diagnosis`.
  Prepare Claiming(const std::string& diagnosis) const {
    std::string claim = claim_for_ ? claim_for_(diagnosis) : "";
    if (claim.empty()) return nullptr;
    return [claim = std::move(claim)](grpc::ClientContext& context) {
      context.AddMetadata(security::kClaimKey, claim);
    };
  }

  const std::unique_ptr<rpc::Replicas> replicas_;
  const ClaimFor claim_for_;
};

class GrpcRegistrationClient final : public RegistrationClient {
 public:
  using Service = execution::v1::ExecutionService;
  explicit GrpcRegistrationClient(std::unique_ptr<rpc::Replicas> replicas)
      : replicas_(std::move(replicas)) {}
  void RegisterNode(const execution::v1::RegisterNodeRequest& request, absl::Time deadline,
                    Done<execution::v1::RegisterNodeResponse> done) override {
    Unary<Service>(*replicas_, Kept(request, *replicas_), deadline, std::move(done),
                   [](auto& stub, auto* context, auto* sent, auto* response, auto callback) {
                     stub.async()->RegisterNode(context, sent, response, std::move(callback));
                   });
  }
  void WithdrawNode(const execution::v1::WithdrawNodeRequest& request, absl::Time deadline,
                    Done<execution::v1::WithdrawNodeResponse> done) override {
    Unary<Service>(*replicas_, Kept(request, *replicas_), deadline, std::move(done),
                   [](auto& stub, auto* context, auto* sent, auto* response, auto callback) {
                     stub.async()->WithdrawNode(context, sent, response, std::move(callback));
                   });
  }

 private:
  const std::unique_ptr<rpc::Replicas> replicas_;
};

class GrpcNodeClient final : public NodeClient {
 public:
  using Service = node::v1::NodeService;
  explicit GrpcNodeClient(std::unique_ptr<rpc::Replicas> replicas)
      : replicas_(std::move(replicas)) {}
  Cancel RunChecks(const node::v1::RunChecksRequest& request, absl::Time deadline,
                   OnMessage<v1::CheckResult> on_result,
                   absl::AnyInvocable<void(absl::Status) &&> done) override {
    return ServerStream<Service>(*replicas_, Kept(request, *replicas_), deadline,
                                 std::move(on_result), std::move(done),
                                 [](auto& stub, auto* context, auto* sent, auto* reactor) {
                                   stub.async()->RunChecks(context, sent, reactor);
                                 });
  }
  Cancel Watch(const node::v1::WatchRequest& request, OnMessage<node::v1::WatchEvent> on_event,
               absl::AnyInvocable<void(absl::Status) &&> done) override {
    return ServerStream<Service>(*replicas_, Kept(request, *replicas_), absl::InfiniteFuture(),
                                 std::move(on_event), std::move(done),
                                 [](auto& stub, auto* context, auto* sent, auto* reactor) {
                                   stub.async()->Watch(context, sent, reactor);
                                 });
  }
  void Describe(const node::v1::DescribeRequest& request, absl::Time deadline,
                Done<node::v1::DescribeResponse> done) override {
    Unary<Service>(*replicas_, Kept(request, *replicas_), deadline, std::move(done),
                   [](auto& stub, auto* context, auto* sent, auto* response, auto callback) {
                     stub.async()->Describe(context, sent, response, std::move(callback));
                   });
  }
  void Repair(const node::v1::RepairRequest& request, absl::Time deadline,
              Done<node::v1::RepairResponse> done) override {
    Unary<Service>(*replicas_, Kept(request, *replicas_), deadline, std::move(done),
                   [](auto& stub, auto* context, auto* sent, auto* response, auto callback) {
                     stub.async()->Repair(context, sent, response, std::move(callback));
                   });
  }

 private:
  const std::unique_ptr<rpc::Replicas> replicas_;
};

class GrpcReflectionClient final : public ReflectionClient {
 public:
  using Service = reflection::v1::ReflectionService;
  explicit GrpcReflectionClient(std::unique_ptr<rpc::Replicas> replicas)
      : replicas_(std::move(replicas)) {}
  void Judge(Shared<reflection::v1::JudgeRequest> request, absl::Time deadline,
             Done<reflection::v1::JudgeResponse> done) override {
    Unary<Service>(*replicas_, std::move(request), deadline, std::move(done),
                   [](auto& stub, auto* context, auto* sent, auto* response, auto callback) {
                     stub.async()->Judge(context, sent, response, std::move(callback));
                   });
  }
  void Critique(Shared<reflection::v1::CritiqueRequest> request, absl::Time deadline,
                Done<reflection::v1::CritiqueResponse> done) override {
    Unary<Service>(*replicas_, std::move(request), deadline, std::move(done),
                   [](auto& stub, auto* context, auto* sent, auto* response, auto callback) {
                     stub.async()->Critique(context, sent, response, std::move(callback));
                   });
  }
  void Investigate(Shared<reflection::v1::InvestigateRequest> request, absl::Time deadline,
                   Done<reflection::v1::InvestigateResponse> done) override {
    Unary<Service>(*replicas_, std::move(request), deadline, std::move(done),
                   [](auto& stub, auto* context, auto* sent, auto* response, auto callback) {
                     stub.async()->Investigate(context, sent, response, std::move(callback));
                   });
  }

 private:
  const std::unique_ptr<rpc::Replicas> replicas_;
};

class GrpcConclusionClient final : public ConclusionClient {
 public:
  using Service = conclusion::v1::ConclusionService;
  explicit GrpcConclusionClient(std::unique_ptr<rpc::Replicas> replicas)
      : replicas_(std::move(replicas)) {}
  void Conclude(Shared<conclusion::v1::ConcludeRequest> request, absl::Time deadline,
                Done<conclusion::v1::ConcludeResponse> done) override {
    Unary<Service>(*replicas_, std::move(request), deadline, std::move(done),
                   [](auto& stub, auto* context, auto* sent, auto* response, auto callback) {
                     stub.async()->Conclude(context, sent, response, std::move(callback));
                   });
  }

 private:
  const std::unique_ptr<rpc::Replicas> replicas_;
};

}  // namespace

std::unique_ptr<SummarizationClient> MakeGrpcSummarizationClient(
    std::unique_ptr<rpc::Replicas> replicas) {
  return std::make_unique<GrpcSummarizationClient>(std::move(replicas));
}
std::unique_ptr<PlanningClient> MakeGrpcPlanningClient(std::unique_ptr<rpc::Replicas> replicas) {
  return std::make_unique<GrpcPlanningClient>(std::move(replicas));
}
std::unique_ptr<ExecutionClient> MakeGrpcExecutionClient(std::unique_ptr<rpc::Replicas> replicas,
                                                         ClaimFor claim_for) {
  return std::make_unique<GrpcExecutionClient>(std::move(replicas), std::move(claim_for));
}
std::unique_ptr<RegistrationClient> MakeGrpcRegistrationClient(
    std::shared_ptr<grpc::Channel> channel) {
  return std::make_unique<GrpcRegistrationClient>(rpc::Replicas::Of(std::move(channel)));
}
std::unique_ptr<NodeClient> MakeGrpcNodeClient(std::shared_ptr<grpc::Channel> channel) {
  return std::make_unique<GrpcNodeClient>(rpc::Replicas::Of(std::move(channel)));
}
std::unique_ptr<ReflectionClient> MakeGrpcReflectionClient(
    std::unique_ptr<rpc::Replicas> replicas) {
  return std::make_unique<GrpcReflectionClient>(std::move(replicas));
}
std::unique_ptr<ConclusionClient> MakeGrpcConclusionClient(
    std::unique_ptr<rpc::Replicas> replicas) {
  return std::make_unique<GrpcConclusionClient>(std::move(replicas));
}

}  // namespace galen::clients
