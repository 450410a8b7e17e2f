#ifndef SERVICES_EXECUTION_PAIR_TEST_H_
#define SERVICES_EXECUTION_PAIR_TEST_H_

#include <functional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "galen/v1/evidence.pb.h"
#include "services/execution/pair_schedule.h"
#include "services/execution/pair_sweep.h"

namespace galen::execution {

// The answers of the two nodes of a pair test.
struct PairOutcome {
  galen::v1::CheckResult server;
  galen::v1::CheckResult client;
};

// One test of two nodes, one way: `roles.a` is the server, `roles.b` the client. A missing answer
// becomes an ERROR result of its node. `progress` gets the progress of both. Returns at once;
// `sweep` is not used after that, but what it refers to is used until `done`.
void StartPairTest(
    const PairSweep& sweep, PairSchedule::Pair roles,
    std::function<void(const std::string& node, galen::v1::CheckResult result)> progress,
    absl::AnyInvocable<void(PairOutcome) &&> done);

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_PAIR_TEST_H_
