#ifndef SERVICES_EXECUTION_PAIR_SWEEP_H_
#define SERVICES_EXECUTION_PAIR_SWEEP_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/clients/clients.h"
#include "common/observability/trace/trace.h"
#include "galen/knowledge/v1/knowledge.pb.h"
#include "galen/node/v1/node.pb.h"
#include "services/execution/cancel_group.h"

namespace galen::execution {

// True for a check that two nodes run together: it needs two nodes and has the parameters `role`,
// `peer` and `token`.
bool IsPairCheck(const knowledge::v1::Check& check);

// Runs a pair check over nodes, in rounds (PairSchedule), each round's pairs at the same time. A
// pair that is fine is tested the other way too, with the roles swapped: it is fine only when both
// ways are. The check's comparisons (`compare:`) cover the pairs of a round and the nodes that are
// clear by then, and a pair beyond the limit is not fine.
//
// How two node executors find each other: one is asked with role=server and a token. It opens a
// port and says so in an interim message, "listening on ADDRESS:PORT". The other is asked with
// role=client, peer=ADDRESS:PORT and the same token. Both answer with a result of their own. If the
// client ends without a measurement, or without a connection, the server's call is cancelled.
struct PairSweep {
  const knowledge::v1::Check& check;
  std::map<std::string, clients::NodeClient*> nodes;  // two or more
  node::v1::RunChecksRequest call;                    // window, flags and parameters of the caller
  absl::Duration pair_time;                           // what one pair may take
  absl::Time deadline;
  const Clock& clock;
  std::shared_ptr<CancelGroup> calls;   // the calls it makes; once cancelled it begins no round
  trace::Work work = trace::Current();  // what they are for
};

// Calls `on_result` for each node: with its progress (RUNNING) and then once with its result, which
// is that of its test with a node that is clear of blame, if there was one; for a node that is
// fine, that of both ways. Finding `follows_node`, if the check declares it, is the node's own name
// on a bad node and "none" on a clear one; it has no value if this is unknown, or if a number with
// a limit could not be compared with anything. A bad node without a result fails by its client's
// result. `done` comes last. Returns at once. `sweep.check`, `clock` and the clients must outlive
// the sweep.
void StartPairSweep(
    PairSweep sweep,
    std::function<void(const std::string& node, galen::v1::CheckResult result)> on_result,
    absl::AnyInvocable<void() &&> done);

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_PAIR_SWEEP_H_
