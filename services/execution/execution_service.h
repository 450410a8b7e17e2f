#ifndef SERVICES_EXECUTION_EXECUTION_SERVICE_H_
#define SERVICES_EXECUTION_EXECUTION_SERVICE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "common/base/executor.h"
#include "common/rpc/tenant_guard.h"
#include "common/security/audit/audit_log.h"
#include "galen/execution/v1/execution.grpc.pb.h"
#include "services/execution/check_runner.h"
#include "services/execution/node_directory.h"
#include "services/execution/own_address.h"
#include "services/execution/repairs/dry_runs.h"
#include "services/execution/watch_nodes.h"

namespace galen::execution {

// With so many results waiting for a slow caller no further node is asked for it.
inline constexpr std::size_t kEnoughQueuedResults = 1024;

// Results that may wait at most: those of the nodes that were asked already, and of checks that
// compare nodes, which come at once: nodes times checks of a large incident.
inline constexpr std::size_t kMaxQueuedResults = 200000;

// Events of nodes that may wait for a slow caller.
inline constexpr std::size_t kMaxQueuedEvents = 4096;

// Which callers may register which nodes.
struct RegistrationRules {
  // Whether a certificate of role node without an instance is taken for that of any node.
  bool shared_certificates = false;
  // Networks in which nodes may be besides the address they call from (own_address.h).
  std::vector<Network> networks;
  // Records that a node moved; null: not recorded.
  security::AuditLog* audit = nullptr;
  // Gets the same as a sentence.
  std::function<void(const std::string& news)> tell = [](const std::string&) {};
};

// gRPC's side of CheckRunner, NodeWatch, NodeDirectory and DryRuns: conversion only.
class ExecutionServiceImpl final : public v1::ExecutionService::CallbackService {
 public:
  // All must outlive the service. `guard` holds each request against the tenant's claim that came
  // with it; null where there are no claims. `node_directory` null: no node can register.
  // `dry_runs` null: there are none.
  ExecutionServiceImpl(const CheckRunner& runner, NodeWatch& watch, Executor& executor,
                       rpc::TenantGuard* guard = nullptr, NodeDirectory* node_directory = nullptr,
                       DryRuns* dry_runs = nullptr, RegistrationRules rules = {});
  grpc::ServerUnaryReactor* ResolveNodes(grpc::CallbackServerContext* context,
                                         const v1::ResolveNodesRequest* request,
                                         v1::ResolveNodesResponse* response) override;
  grpc::ServerWriteReactor<galen::v1::CheckResult>* RunChecks(
      grpc::CallbackServerContext* context, const v1::RunChecksRequest* request) override;
  grpc::ServerWriteReactor<v1::NodeEvent>* WatchNodes(
      grpc::CallbackServerContext* context, const v1::WatchNodesRequest* request) override;
  grpc::ServerWriteReactor<galen::v1::CheckResult>* RunShare(
      grpc::CallbackServerContext* context, const v1::RunChecksRequest* request) override;
  grpc::ServerUnaryReactor* DryRunRepair(grpc::CallbackServerContext* context,
                                         const v1::DryRunRepairRequest* request,
                                         galen::v1::DryRun* response) override;
  grpc::ServerUnaryReactor* RegisterNode(grpc::CallbackServerContext* context,
                                         const v1::RegisterNodeRequest* request,
                                         v1::RegisterNodeResponse* response) override;
  grpc::ServerUnaryReactor* WithdrawNode(grpc::CallbackServerContext* context,
                                         const v1::WithdrawNodeRequest* request,
                                         v1::WithdrawNodeResponse* response) override;

 private:
  void TellMoved(const grpc::CallbackServerContext& context, const std::string& node,
                 const std::string& from, const std::string& to) const;

  const CheckRunner& runner_;
  NodeWatch& watch_;
  Executor& executor_;
  rpc::TenantGuard* const guard_;
  NodeDirectory* const node_directory_;
  DryRuns* const dry_runs_;
  const RegistrationRules rules_;
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_EXECUTION_SERVICE_H_
