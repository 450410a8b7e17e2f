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

// Runs a pair check over nodes, in rounds (PairSchedule), each round's pairs at the same time.
// Where a pair is fine, it is tested the other way too, with the roles swapped: a pair is fine only
// when both ways are. What the check compares (`compare:`) is compared over the pairs of a round
// and the nodes that are clear by then, and a pair beyond the limit is not fine.
//
// How two node executors find each other: the one is asked with role=server and a token. It opens a
// port and says so in an interim message, "listening on ADDRESS:PORT". The other is asked with
// role=client, peer=ADDRESS:PORT and the same token. Both answer with a result of their own. Where
// the client ends without having measured, or without having come through, the server's call is
// cancelled.
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

// Calls `on_result` for each node: with words of progress (RUNNING) and then once with the result
// that speaks for the node, which is that of its test with a node that is clear of blame, where
// there was one: of a node that is fine, both ways. Finding `follows_node`, where the check
// declares it, is the node's own name on a bad one, "none" on a clear one, and has no value where
// it could not be told, or where a number that has a limit could be held against nothing. A bad
// node that gave no result fails by the word of its client. `done` comes last. Returns at once.
// `sweep.check`, `clock` and the clients must outlive the sweep.
void StartPairSweep(
    PairSweep sweep,
    std::function<void(const std::string& node, galen::v1::CheckResult result)> on_result,
    absl::AnyInvocable<void() &&> done);

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_PAIR_SWEEP_H_
