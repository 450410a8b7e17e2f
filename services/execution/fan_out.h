#ifndef SERVICES_EXECUTION_FAN_OUT_H_
#define SERVICES_EXECUTION_FAN_OUT_H_

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/clients/clients.h"
#include "common/knowledge/knowledge.h"
#include "galen/v1/evidence.pb.h"

namespace galen::execution {

// One RunChecks call over all its nodes: takes what the nodes say, lets through what is sound, and
// makes ERROR results of what they do not say. Results of checks that compare nodes are held until
// every node has answered or given up; the others go on at once. A node may be asked in several
// calls, its parts, each for checks of its own. Thread-safe.
class FanOut {
 public:
  // Sees each result that a node gave, before nodes are compared. May be empty.
  using Tap = absl::AnyInvocable<void(const galen::v1::CheckResult&)>;

  // `on_result` and `done` are called from the threads of the calls below, never two at a time;
  // `done` comes last, once. `compare` false: nothing is held, somebody else compares.
  FanOut(std::shared_ptr<const knowledge::Knowledge> knowledge,
         clients::OnMessage<galen::v1::CheckResult> on_result,
         absl::AnyInvocable<void(absl::Status) &&> done, Tap tap = nullptr, bool compare = true);

  // The node owes the results of `checks`; add all parts of all nodes before the first result.
  // `compared`: the source of the results has compared the nodes already.
  void Add(const std::string& node, const std::set<std::string>& checks,
           const std::string& part = "", bool compared = false);
  // An earlier answer of a node that is not asked now, to a check that compares nodes: a call that
  // was broken off is repeated for the remaining nodes, which must be judged as in the full set.
  void AddPeer(galen::v1::CheckResult result);
  // The node's answer to one check, or its progress (RUNNING).
  void OnResult(const std::string& node, galen::v1::CheckResult result,
                const std::string& part = "");
  // Reports as progress that each check which the node owes in a part is late.
  void OnLate(const std::string& node, absl::Duration after, const std::string& part = "");
  // Checks that the node still owes in a part.
  std::set<std::string> Owed(const std::string& node, const std::string& part = "");
  // Nobody can answer for the node now, and somebody may soon: the call ends with `status`, which
  // is not OK, instead of ERROR results, and checks that compare nodes are not answered at all.
  void OnNobodyThere(const std::string& node, absl::Status status, const std::string& part = "");
  // The node is done with a part; what it did not answer becomes ERROR.
  void OnNodeDone(const std::string& node, const absl::Status& status,
                  const std::string& part = "");

 private:
  // One part of what a node is asked: mostly the only one, with the name "".
  struct Part {
    std::string name;
    absl::InlinedVector<int, 4> wanted;  // places in names_
    std::string fault;                   // why something that it sent was dropped
    bool compared = false;
  };

  // The place of a check in names_; -1: it was not asked of any node.
  int PlaceOf(const std::string& check) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // nullptr when there is none.
  Part* Find(const std::string& node, const std::string& part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Puts a result of a part where the next Deliver() finds it, or holds it.
  void Emit(const Part& part, galen::v1::CheckResult result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EmitHeld() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A part is over.
  void Close() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Gives the caller the results in the outbox. One thread delivers at a time and the others leave
  // theirs to it, so nodes that answer at the same time wait neither for each other nor for the
  // caller's stream.
  void Deliver();

  const std::shared_ptr<const knowledge::Knowledge> knowledge_;
  const bool compare_;
  Mutex mu_;
  std::vector<std::string> names_ ABSL_GUARDED_BY(mu_);  // of checks
  std::size_t open_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<std::string, absl::InlinedVector<Part, 1>> parts_
      ABSL_GUARDED_BY(mu_);  // by node
  // By check: results that wait for the other nodes.
  std::map<std::string, std::vector<galen::v1::CheckResult>> held_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::vector<galen::v1::CheckResult>> peers_ ABSL_GUARDED_BY(mu_);
  std::vector<galen::v1::CheckResult> outbox_ ABSL_GUARDED_BY(mu_);
  bool delivering_ ABSL_GUARDED_BY(mu_) = false;
  bool over_ ABSL_GUARDED_BY(mu_) = false;  // `done_` is due
  // Used by the delivering thread only.
  clients::OnMessage<galen::v1::CheckResult> on_result_;
  absl::AnyInvocable<void(absl::Status) &&> done_;
  Tap tap_ ABSL_GUARDED_BY(mu_);
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

// Execution's own result for a check without an answer.
galen::v1::CheckResult ErrorResult(absl::string_view check, absl::string_view node,
                                   absl::string_view message);

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_FAN_OUT_H_
