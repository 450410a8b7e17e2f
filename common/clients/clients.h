#ifndef COMMON_CLIENTS_CLIENTS_H_
#define COMMON_CLIENTS_CLIENTS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clients/call.h"
#include "galen/conclusion/v1/conclusion.pb.h"
#include "galen/execution/v1/execution.pb.h"
#include "galen/node/v1/node.pb.h"
#include "galen/planning/v1/planning.pb.h"
#include "galen/reflection/v1/reflection.pb.h"
#include "galen/summarization/v1/summarization.pb.h"

// Clients of the services: proto in, proto out, independent of the transport. Two implementations
// of each: over gRPC (grpc_clients.h), and straight into the service object of the same process (in
// the service's own folder, local_client.h). All are thread-safe and return at once; the answer
// comes by callback. The protos document the methods and their errors. A call whose deadline has
// passed ends with DEADLINE_EXCEEDED. Requests that hold the evidence of a diagnosis are shared,
// since within one process no copy is needed.
namespace galen::clients {

class SummarizationClient {
 public:
  virtual ~SummarizationClient() = default;
  virtual void Summarize(const summarization::v1::SummarizeRequest& request, absl::Time deadline,
                         Done<summarization::v1::SummarizeResponse> done) = 0;
  virtual void Look(Shared<summarization::v1::LookRequest> request, absl::Time deadline,
                    Done<summarization::v1::LookResponse> done) {
    static_cast<void>(request);
    static_cast<void>(deadline);
    std::move(done)(absl::UnimplementedError("this summarization agent shows nothing"));
  }
};

class PlanningClient {
 public:
  virtual ~PlanningClient() = default;
  virtual void ProposeFromHistory(Shared<planning::v1::ProposeFromHistoryRequest> request,
                                  absl::Time deadline,
                                  Done<planning::v1::ProposeFromHistoryResponse> done) = 0;
  virtual void RankChildren(Shared<planning::v1::RankChildrenRequest> request, absl::Time deadline,
                            Done<planning::v1::RankChildrenResponse> done) = 0;
  virtual void Screen(Shared<planning::v1::ScreenRequest> request, absl::Time deadline,
                      Done<planning::v1::ScreenResponse> done) = 0;
  virtual void ProposeAtOnce(Shared<planning::v1::ProposeAtOnceRequest> request,
                             absl::Time deadline,
                             Done<planning::v1::ProposeAtOnceResponse> done) = 0;
  virtual void ListCauses(const planning::v1::ListCausesRequest& request, absl::Time deadline,
                          Done<planning::v1::ListCausesResponse> done) = 0;
  virtual void Explore(Shared<planning::v1::ExploreRequest> request, absl::Time deadline,
                       Done<planning::v1::ExploreResponse> done) = 0;
  virtual void Consult(Shared<planning::v1::ConsultRequest> request, absl::Time deadline,
                       Done<planning::v1::ConsultResponse> done) {
    static_cast<void>(request);
    static_cast<void>(deadline);
    std::move(done)(absl::UnimplementedError("this planning agent cannot be consulted"));
  }
};

class ExecutionClient {
 public:
  virtual ~ExecutionClient() = default;
  virtual void ResolveNodes(const execution::v1::ResolveNodesRequest& request, absl::Time deadline,
                            Done<execution::v1::ResolveNodesResponse> done) = 0;
  // `on_result` gets each result as it comes; `done` ends the stream and always comes last.
  virtual Cancel RunChecks(const execution::v1::RunChecksRequest& request, absl::Time deadline,
                           OnMessage<v1::CheckResult> on_result,
                           absl::AnyInvocable<void(absl::Status) &&> done) = 0;
  // As RunChecks(); between replicas of execution.
  virtual Cancel RunShare(const execution::v1::RunChecksRequest& request, absl::Time deadline,
                          OnMessage<v1::CheckResult> on_result,
                          absl::AnyInvocable<void(absl::Status) &&> done) {
    static_cast<void>(request);
    static_cast<void>(deadline);
    static_cast<void>(on_result);
    std::move(done)(absl::UnimplementedError("this execution agent has no replicas"));
    return NoCancel();
  }
  virtual void DryRunRepair(const execution::v1::DryRunRepairRequest& request, absl::Time deadline,
                            Done<v1::DryRun> done) {
    static_cast<void>(request);
    static_cast<void>(deadline);
    std::move(done)(absl::UnimplementedError("this execution agent makes no dry runs"));
  }
  // Never ends by itself. `on_event` must not block; `done` comes last.
  virtual Cancel WatchNodes(const execution::v1::WatchNodesRequest& request,
                            OnMessage<execution::v1::NodeEvent> on_event,
                            absl::AnyInvocable<void(absl::Status) &&> done) {
    static_cast<void>(request);
    static_cast<void>(on_event);
    std::move(done)(absl::UnimplementedError("this execution agent cannot watch nodes"));
    return NoCancel();
  }
};

// The calls of node executors to execution.
class RegistrationClient {
 public:
  virtual ~RegistrationClient() = default;
  virtual void RegisterNode(const execution::v1::RegisterNodeRequest& request, absl::Time deadline,
                            Done<execution::v1::RegisterNodeResponse> done) = 0;
  virtual void WithdrawNode(const execution::v1::WithdrawNodeRequest& request, absl::Time deadline,
                            Done<execution::v1::WithdrawNodeResponse> done) = 0;
};

class NodeClient {
 public:
  virtual ~NodeClient() = default;
  virtual Cancel RunChecks(const node::v1::RunChecksRequest& request, absl::Time deadline,
                           OnMessage<v1::CheckResult> on_result,
                           absl::AnyInvocable<void(absl::Status) &&> done) = 0;
  // Ends only when it is cancelled or the node goes away. `on_event` must not block; `done` comes
  // last.
  virtual Cancel Watch(const node::v1::WatchRequest& request,
                       OnMessage<node::v1::WatchEvent> on_event,
                       absl::AnyInvocable<void(absl::Status) &&> done) {
    static_cast<void>(request);
    static_cast<void>(on_event);
    std::move(done)(absl::UnimplementedError("this node executor watches nothing"));
    return NoCancel();
  }
  virtual void Describe(const node::v1::DescribeRequest& request, absl::Time deadline,
                        Done<node::v1::DescribeResponse> done) = 0;
  virtual void Repair(const node::v1::RepairRequest& request, absl::Time deadline,
                      Done<node::v1::RepairResponse> done) {
    static_cast<void>(request);
    static_cast<void>(deadline);
    std::move(done)(absl::UnimplementedError("this node executor carries nothing out"));
  }
};

class ReflectionClient {
 public:
  virtual ~ReflectionClient() = default;
  virtual void Judge(Shared<reflection::v1::JudgeRequest> request, absl::Time deadline,
                     Done<reflection::v1::JudgeResponse> done) = 0;
  virtual void Critique(Shared<reflection::v1::CritiqueRequest> request, absl::Time deadline,
                        Done<reflection::v1::CritiqueResponse> done) = 0;
  virtual void Investigate(Shared<reflection::v1::InvestigateRequest> request, absl::Time deadline,
                           Done<reflection::v1::InvestigateResponse> done) {
    static_cast<void>(request);
    static_cast<void>(deadline);
    std::move(done)(absl::UnimplementedError("this reflection agent has no model"));
  }
};

class ConclusionClient {
 public:
  virtual ~ConclusionClient() = default;
  virtual void Conclude(Shared<conclusion::v1::ConcludeRequest> request, absl::Time deadline,
                        Done<conclusion::v1::ConcludeResponse> done) = 0;
};

}  // namespace galen::clients

#endif  // COMMON_CLIENTS_CLIENTS_H_
