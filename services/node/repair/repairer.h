#ifndef SERVICES_NODE_REPAIR_REPAIRER_H_
#define SERVICES_NODE_REPAIR_REPAIRER_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/host/host.h"
#include "common/remediation/run_action.h"
#include "common/security/warrants/verifier.h"
#include "galen/node/v1/node.pb.h"
#include "services/node/repair/used_warrants.h"

namespace galen::node {

// Carries out on this machine, once, an action that a person approved: one of this executor's own
// knowledge that the site allows here, for which the gateway signed a warrant for this very node
// and content. The knowledge alone provides the commands: the request is compared with it.
// Thread-safe; one repair at a time.
class Repairer {
 public:
  struct Options {
    std::string node;                              // this machine's name
    std::vector<std::string> allowed;              // names of actions, as the site lists them
    std::function<void(const std::string&)> tell;  // reports each request and its outcome
    absl::Duration look_time = absl::Seconds(10);  // of all looks of a dry run
  };
  // Runs a program on the machine; see host::Host::RunWithin.
  using Run = std::function<absl::StatusOr<host::CommandResult>(const remediation::Argv& argv,
                                                                const host::ProcessLimits& limits)>;

  // INVALID_ARGUMENT one that is allowed is not known. All but the options must outlive it.
  static absl::StatusOr<std::unique_ptr<Repairer>> Make(Options options,
                                                        std::vector<remediation::RunAction> known,
                                                        const security::WarrantVerifier& verifier,
                                                        UsedWarrants& used_warrants, Run run,
                                                        const Clock& clock);

  // See node.proto. Takes as long as the action may; what was begun is not broken off by its
  // caller. A dry run holds up no repair; it takes at most `look_time`, one at a time, and none is
  // begun during a repair.
  absl::StatusOr<v1::RepairResponse> Repair(const v1::RepairRequest& request);

 private:
  struct Ready;
  Repairer(Options options, std::vector<remediation::RunAction> known,
           const security::WarrantVerifier& verifier, UsedWarrants& used_warrants, Run run,
           const Clock& clock);
  // The action of that name on that target as this executor would carry it out.
  absl::StatusOr<Ready> Find(const galen::v1::Action& action) const;
  // The same when it is the one that was approved.
  absl::StatusOr<Ready> Prepare(const galen::v1::Action& action) const;
  absl::StatusOr<security::Warrant> Believe(const v1::RepairRequest& request) const;
  v1::RepairResponse Carry(const Ready& ready) const;
  absl::StatusOr<v1::RepairResponse> DryRun(const galen::v1::Action& action);
  // Runs the commands of these conditions, all of them, and knows of no others.
  void Look(const std::vector<remediation::RunAction::Condition>& conditions, bool afterwards,
            absl::Time until, galen::v1::DryRun& dry_run) const;
  bool Holds(const remediation::RunAction::Condition& condition, absl::Duration time,
             v1::RepairResponse& response) const;

  const Options options_;
  const std::vector<remediation::RunAction> known_;
  const security::WarrantVerifier& verifier_;
  UsedWarrants& used_warrants_;
  const Run run_;
  const Clock& clock_;
  std::mutex one_;
  std::mutex one_look_;
  std::atomic<bool> at_work_ = false;  // a repair is under way
};

}  // namespace galen::node

#endif  // SERVICES_NODE_REPAIR_REPAIRER_H_
