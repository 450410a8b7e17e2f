#include "common/clients/grpc_clients.h"

#include <grpcpp/grpcpp.h>

#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/steady.h"
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
  if (deadline != absl::InfiniteFuture()) context.set_deadline(ClockIn(deadline - absl::Now()));
}

// A context keeps its channel. The last owner of a channel must not be a thread of gRPC's own,
// which would then wait for itself and abort: so each call lets go of its context before it says
// that it is done.

// One unary call. `start` is the stub's asynchronous method.
template <typename Response, typename Start>
void Unary(absl::Time deadline, Done<Response> done, Start start) {
  struct State {
    std::optional<grpc::ClientContext> context;
    Response response;
    Done<Response> done;
  };
  auto state = std::make_shared<State>();
  state->done = std::move(done);
  SetDeadline(state->context.emplace(), deadline);
  start(&*state->context, &state->response, [state](const grpc::Status& status) {
    state->context.reset();
    if (status.ok()) {
      std::move(state->done)(std::move(state->response));
    } else {
      std::move(state->done)(rpc::FromGrpcStatus(status));
    }
  });
}

// One server-streaming call; deletes itself when gRPC is done with it.
template <typename Message>
class Reader final : public grpc::ClientReadReactor<Message> {
 public:
  template <typename Start>
  static Cancel Run(absl::Time deadline, OnMessage<Message> on_message,
                    absl::AnyInvocable<void(absl::Status) &&> done, Start start) {
    auto* reader = new Reader(std::move(on_message), std::move(done));
    std::weak_ptr<grpc::ClientContext> context = reader->context_;
    SetDeadline(*reader->context_, deadline);
    start(reader->context_.get(), reader);
    reader->StartRead(&reader->message_);
    reader->StartCall();
    return [context] {
      if (const std::shared_ptr<grpc::ClientContext> live = context.lock()) live->TryCancel();
    };
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    on_message_(std::move(message_));
    message_.Clear();
    this->StartRead(&message_);
  }
  void OnDone(const grpc::Status& status) override {
    auto done = std::move(done_);
    const absl::Status end = rpc::FromGrpcStatus(status);
    delete this;
    std::move(done)(end);
  }

 private:
  Reader(OnMessage<Message> on_message, absl::AnyInvocable<void(absl::Status) &&> done)
      : on_message_(std::move(on_message)), done_(std::move(done)) {}

  // Shared with those who may want to cancel.
  const std::shared_ptr<grpc::ClientContext> context_ = std::make_shared<grpc::ClientContext>();
  Message message_;
  OnMessage<Message> on_message_;
  absl::AnyInvocable<void(absl::Status) &&> done_;
};

class GrpcSummarizationClient final : public SummarizationClient {
 public:
  explicit GrpcSummarizationClient(std::shared_ptr<grpc::Channel> channel)
      : stub_(summarization::v1::SummarizationService::NewStub(std::move(channel))) {}
  void Summarize(const summarization::v1::SummarizeRequest& request, absl::Time deadline,
                 Done<summarization::v1::SummarizeResponse> done) override {
    Unary(deadline, std::move(done), [&](auto* context, auto* response, auto callback) {
      stub_->async()->Summarize(context, &request, response, std::move(callback));
    });
  }

 private:
  std::unique_ptr<summarization::v1::SummarizationService::Stub> stub_;
};

class GrpcPlanningClient final : public PlanningClient {
 public:
  explicit GrpcPlanningClient(std::shared_ptr<grpc::Channel> channel)
      : stub_(planning::v1::PlanningService::NewStub(std::move(channel))) {}
  void ProposeFromHistory(Shared<planning::v1::ProposeFromHistoryRequest> request,
                          absl::Time deadline,
                          Done<planning::v1::ProposeFromHistoryResponse> done) override {
    Unary(deadline, std::move(done), [&](auto* context, auto* response, auto callback) {
      stub_->async()->ProposeFromHistory(context, request.get(), response, std::move(callback));
    });
  }
  void RankChildren(Shared<planning::v1::RankChildrenRequest> request, absl::Time deadline,
                    Done<planning::v1::RankChildrenResponse> done) override {
    Unary(deadline, std::move(done), [&](auto* context, auto* response, auto callback) {
      stub_->async()->RankChildren(context, request.get(), response, std::move(callback));
    });
  }
  void Screen(Shared<planning::v1::ScreenRequest> request, absl::Time deadline,
              Done<planning::v1::ScreenResponse> done) override {
    Unary(deadline, std::move(done), [&](auto* context, auto* response, auto callback) {
      stub_->async()->Screen(context, request.get(), response, std::move(callback));
    });
  }
  void ProposeAtOnce(Shared<planning::v1::ProposeAtOnceRequest> request, absl::Time deadline,
                     Done<planning::v1::ProposeAtOnceResponse> done) override {
    Unary(deadline, std::move(done), [&](auto* context, auto* response, auto callback) {
      stub_->async()->ProposeAtOnce(context, request.get(), response, std::move(callback));
    });
  }
  void ListCauses(const planning::v1::ListCausesRequest& request, absl::Time deadline,
                  Done<planning::v1::ListCausesResponse> done) override {
    Unary(deadline, std::move(done), [&](auto* context, auto* response, auto callback) {
      stub_->async()->ListCauses(context, &request, response, std::move(callback));
    });
  }
  void Explore(Shared<planning::v1::ExploreRequest> request, absl::Time deadline,
               Done<planning::v1::ExploreResponse> done) override {
    Unary(deadline, std::move(done), [&](auto* context, auto* response, auto callback) {
      stub_->async()->Explore(context, request.get(), response, std::move(callback));
    });
  }

 private:
  std::unique_ptr<planning::v1::PlanningService::Stub> stub_;
};

class GrpcExecutionClient final : public ExecutionClient {
 public:
  GrpcExecutionClient(std::shared_ptr<grpc::Channel> channel, ClaimFor claim_for)
      : stub_(execution::v1::ExecutionService::NewStub(std::move(channel))),
        claim_for_(std::move(claim_for)) {}
  void ResolveNodes(const execution::v1::ResolveNodesRequest& request, absl::Time deadline,
                    Done<execution::v1::ResolveNodesResponse> done) override {
    Unary(deadline, std::move(done), [&](auto* context, auto* response, auto callback) {
      AddClaim(request.diagnosis(), *context);
      stub_->async()->ResolveNodes(context, &request, response, std::move(callback));
    });
  }
  Cancel RunChecks(const execution::v1::RunChecksRequest& request, absl::Time deadline,
                   OnMessage<v1::CheckResult> on_result,
                   absl::AnyInvocable<void(absl::Status) &&> done) override {
    return Reader<v1::CheckResult>::Run(deadline, std::move(on_result), std::move(done),
                                        [&](auto* context, auto* reactor) {
                                          AddClaim(request.diagnosis(), *context);
                                          stub_->async()->RunChecks(context, &request, reactor);
                                        });
  }
  Cancel RunShare(const execution::v1::RunChecksRequest& request, absl::Time deadline,
                  OnMessage<v1::CheckResult> on_result,
                  absl::AnyInvocable<void(absl::Status) &&> done) override {
    return Reader<v1::CheckResult>::Run(deadline, std::move(on_result), std::move(done),
                                        [&](auto* context, auto* reactor) {
                                          stub_->async()->RunShare(context, &request, reactor);
                                        });
  }
  Cancel WatchNodes(const execution::v1::WatchNodesRequest& request,
                    OnMessage<execution::v1::NodeEvent> on_event,
                    absl::AnyInvocable<void(absl::Status) &&> done) override {
    return Reader<execution::v1::NodeEvent>::Run(
        absl::InfiniteFuture(), std::move(on_event), std::move(done),
        [&](auto* context, auto* reactor) {
          stub_->async()->WatchNodes(context, &request, reactor);
        });
  }

 private:
  void AddClaim(const std::string& diagnosis, grpc::ClientContext& context) const {
    if (!claim_for_) return;
    const std::string claim = claim_for_(diagnosis);
    if (!claim.empty()) context.AddMetadata(security::kClaimKey, claim);
  }
  std::unique_ptr<execution::v1::ExecutionService::Stub> stub_;
  const ClaimFor claim_for_;
};

class GrpcRegistrationClient final : public RegistrationClient {
 public:
  explicit GrpcRegistrationClient(std::shared_ptr<grpc::Channel> channel)
      : stub_(execution::v1::ExecutionService::NewStub(std::move(channel))) {}
  void RegisterNode(const execution::v1::RegisterNodeRequest& request, absl::Time deadline,
                    Done<execution::v1::RegisterNodeResponse> done) override {
    Unary(deadline, std::move(done), [&](auto* context, auto* response, auto callback) {
      stub_->async()->RegisterNode(context, &request, response, std::move(callback));
    });
  }
  void WithdrawNode(const execution::v1::WithdrawNodeRequest& request, absl::Time deadline,
                    Done<execution::v1::WithdrawNodeResponse> done) override {
    Unary(deadline, std::move(done), [&](auto* context, auto* response, auto callback) {
      stub_->async()->WithdrawNode(context, &request, response, std::move(callback));
    });
  }

 private:
  std::unique_ptr<execution::v1::ExecutionService::Stub> stub_;
};

class GrpcNodeClient final : public NodeClient {
 public:
  explicit GrpcNodeClient(std::shared_ptr<grpc::Channel> channel)
      : stub_(node::v1::NodeService::NewStub(std::move(channel))) {}
  Cancel RunChecks(const node::v1::RunChecksRequest& request, absl::Time deadline,
                   OnMessage<v1::CheckResult> on_result,
                   absl::AnyInvocable<void(absl::Status) &&> done) override {
    return Reader<v1::CheckResult>::Run(deadline, std::move(on_result), std::move(done),
                                        [&](auto* context, auto* reactor) {
                                          stub_->async()->RunChecks(context, &request, reactor);
                                        });
  }
  Cancel Watch(const node::v1::WatchRequest& request, OnMessage<node::v1::WatchEvent> on_event,
               absl::AnyInvocable<void(absl::Status) &&> done) override {
    return Reader<node::v1::WatchEvent>::Run(
        absl::InfiniteFuture(), std::move(on_event), std::move(done),
        [&](auto* context, auto* reactor) { stub_->async()->Watch(context, &request, reactor); });
  }
  void Describe(const node::v1::DescribeRequest& request, absl::Time deadline,
                Done<node::v1::DescribeResponse> done) override {
    Unary(deadline, std::move(done), [&](auto* context, auto* response, auto callback) {
      stub_->async()->Describe(context, &request, response, std::move(callback));
    });
  }

 private:
  std::unique_ptr<node::v1::NodeService::Stub> stub_;
};

class GrpcReflectionClient final : public ReflectionClient {
 public:
  explicit GrpcReflectionClient(std::shared_ptr<grpc::Channel> channel)
      : stub_(reflection::v1::ReflectionService::NewStub(std::move(channel))) {}
  void Judge(Shared<reflection::v1::JudgeRequest> request, absl::Time deadline,
             Done<reflection::v1::JudgeResponse> done) override {
    Unary(deadline, std::move(done), [&](auto* context, auto* response, auto callback) {
      stub_->async()->Judge(context, request.get(), response, std::move(callback));
    });
  }
  void Critique(Shared<reflection::v1::CritiqueRequest> request, absl::Time deadline,
                Done<reflection::v1::CritiqueResponse> done) override {
    Unary(deadline, std::move(done), [&](auto* context, auto* response, auto callback) {
      stub_->async()->Critique(context, request.get(), response, std::move(callback));
    });
  }

 private:
  std::unique_ptr<reflection::v1::ReflectionService::Stub> stub_;
};

class GrpcConclusionClient final : public ConclusionClient {
 public:
  explicit GrpcConclusionClient(std::shared_ptr<grpc::Channel> channel)
      : stub_(conclusion::v1::ConclusionService::NewStub(std::move(channel))) {}
  void Conclude(Shared<conclusion::v1::ConcludeRequest> request, absl::Time deadline,
                Done<conclusion::v1::ConcludeResponse> done) override {
    Unary(deadline, std::move(done), [&](auto* context, auto* response, auto callback) {
      stub_->async()->Conclude(context, request.get(), response, std::move(callback));
    });
  }

 private:
  std::unique_ptr<conclusion::v1::ConclusionService::Stub> stub_;
};

}  // namespace

std::unique_ptr<SummarizationClient> MakeGrpcSummarizationClient(
    std::shared_ptr<grpc::Channel> channel) {
  return std::make_unique<GrpcSummarizationClient>(std::move(channel));
}
std::unique_ptr<PlanningClient> MakeGrpcPlanningClient(std::shared_ptr<grpc::Channel> channel) {
  return std::make_unique<GrpcPlanningClient>(std::move(channel));
}
std::unique_ptr<ExecutionClient> MakeGrpcExecutionClient(std::shared_ptr<grpc::Channel> channel,
                                                         ClaimFor claim_for) {
  return std::make_unique<GrpcExecutionClient>(std::move(channel), std::move(claim_for));
}
std::unique_ptr<RegistrationClient> MakeGrpcRegistrationClient(
    std::shared_ptr<grpc::Channel> channel) {
  return std::make_unique<GrpcRegistrationClient>(std::move(channel));
}
std::unique_ptr<NodeClient> MakeGrpcNodeClient(std::shared_ptr<grpc::Channel> channel) {
  return std::make_unique<GrpcNodeClient>(std::move(channel));
}
std::unique_ptr<ReflectionClient> MakeGrpcReflectionClient(std::shared_ptr<grpc::Channel> channel) {
  return std::make_unique<GrpcReflectionClient>(std::move(channel));
}
std::unique_ptr<ConclusionClient> MakeGrpcConclusionClient(std::shared_ptr<grpc::Channel> channel) {
  return std::make_unique<GrpcConclusionClient>(std::move(channel));
}

}  // namespace galen::clients
