#ifndef TESTS_INTEGRATION_APPROVALS_WORLD_H_
#define TESTS_INTEGRATION_APPROVALS_WORLD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/remediation/approval_store.h"
#include "common/remediation/node_actions.h"
#include "common/security/warrants/signer.h"
#include "common/security/warrants/verifier.h"
#include "common/store/store.h"
#include "galen/node/v1/node.pb.h"
#include "galen/v1/diagnosis.pb.h"
#include "services/execution/repairs/dry_runs.h"
#include "services/gateway/actions/action_upstream.h"
#include "services/gateway/api/api.h"
#include "services/node/repair/repairer.h"
#include "tests/testing/fake_clock.h"

namespace galen::approvals {

// A machine whose executor is the real one, and whose programs only note that they were run.
class Machine {
 public:
  Machine(const std::string& node, const std::vector<remediation::RunAction>& known,
          const security::WarrantVerifier& verifier, const Clock& clock);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Restarts the executor, which keeps its state on the disk.
  void Restart();
  absl::StatusOr<node::v1::RepairResponse> Repair(const node::v1::RepairRequest& request) {
    return repairer_->Repair(request);
  }
  // The commands run since the last call, without those that evaluate conditions.
  std::vector<std::string> TakeSteps();
  // The records of used warrants on its disk, by file.
  std::map<std::string, std::string> Disk() const;

 private:
  const std::string node_;
  const std::vector<remediation::RunAction> known_;
  const security::WarrantVerifier& verifier_;
  const Clock& clock_;
  std::string directory_;
  std::unique_ptr<node::UsedWarrants> used_warrants_;
  std::unique_ptr<node::Repairer> repairer_;
  std::vector<std::string> ran_;
};

// Texts that ask a trusting reader to act, or that a shell would split or run.
const std::vector<std::string>& InjectedTexts();

// The path from a report to a command, of real parts: API (routes, tenants, JSON), approvals in a
// store, warrants, node executors with the shipped actions. Between them is the test, as an
// attacker on the network; and a report whose texts anybody wrote: logs, tools, webhooks, models.
class World {
 public:
  explicit World(std::uint32_t seed);
  ~World();

  // Status and JSON body of a request with the key of `who`: "customer", "operator", "approver",
  // "stranger" (an approver of another tenant), or nobody.
  std::pair<int, std::string> Ask(const std::string& who, const std::string& method,
                                  const std::string& path, const std::string& body = "");
  // A report about GPUs and nodes as a good diagnosis would have it.
  void GoodReport();
  // Writes injected texts into some of the texts of the report.
  void InjectIntoReport();

  std::mt19937 random;
  galen::testing::FakeClock clock;
  galen::v1::Diagnosis diagnosis;
  const std::unique_ptr<store::Store> store;
  security::WarrantSigner signer;
  security::WarrantVerifier verifier;
  const remediation::NodeActions offered;
  remediation::ApprovalStore approvals;
  std::map<std::string, std::unique_ptr<Machine>> machines;

  std::size_t Below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  }
  bool Chance(double p) { return std::bernoulli_distribution(p)(random); }

 private:
  class Mesh;
  class Execution;
  class Keys;
  class AtOnce;
  class NoLimit;
  std::shared_ptr<gateway::Upstream> mesh_;
  std::shared_ptr<Executor> executor_;
  std::shared_ptr<gateway::Access> keys_;
  std::shared_ptr<gateway::RateLimiter> rates_;
  execution::DryRuns dry_runs_;
  std::unique_ptr<clients::ExecutionClient> execution_;
  gateway::actions::ActionUpstream upstream_;
  const gateway::CustomerRedactor redactor_;
  gateway::Api api_;
};

}  // namespace galen::approvals

#endif  // TESTS_INTEGRATION_APPROVALS_WORLD_H_
