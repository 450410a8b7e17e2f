#include "common/clients/grpc_clients.h"

#include <grpcpp/client_context.h>

#include <string>
#include <utility>

#include "common/clients/grpc_clients_call.h"
#include "common/rpc/replicas/replicas.h"
#include "common/security/claims/claim.h"
#include "galen/conclusion/v1/conclusion.grpc.pb.h"
#include "galen/execution/v1/execution.grpc.pb.h"
#include "galen/node/v1/node.grpc.pb.h"
#include "galen/planning/v1/planning.grpc.pb.h"
#include "galen/reflection/v1/reflection.grpc.pb.h"
#include "galen/summarization/v1/summarization.grpc.pb.h"

namespace galen::clients {
namespace {

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
