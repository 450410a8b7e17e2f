#ifndef SERVICES_EXECUTION_PAIR_SCHEDULE_H_
#define SERVICES_EXECUTION_PAIR_SCHEDULE_H_

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace galen::execution {

// Plans which nodes to test against which, so that every node is tested, a bad node is
// distinguished from its partners, and no node is in two tests at a time.
//
// Round 1 pairs all nodes. A pair that is fine, both ways, clears both. Each node of a pair that is
// not fine is tested again with a cleared node, and the result of that pair belongs to the suspect:
// cleared, or bad. Suspects without a free cleared node meet other suspects, at a distance that
// doubles each round; two sound ones that meet are cleared. So the number of cleared nodes doubles
// each round, and a few bad nodes are found in two rounds. The plan stops after 2 + ceil(log2(n))
// rounds; a node that is still suspect then is undecided, not bad.
//
// A pure value: the same nodes and outcomes give the same plan. Not thread-safe.
class PairSchedule {
 public:
  struct Pair {
    std::string a;  // the server of a sweep's first way, the client of its second
    std::string b;
  };
  enum class Verdict {
    kUndecided,  // not tested, or every test of it met a suspect
    kClear,      // was in a pair that is fine
    kBad,        // failed with a node that is clear
  };

  // `nodes` must be distinct.
  explicit PairSchedule(std::vector<std::string> nodes);

  // The pairs to test next, at the same time; empty: done. Not before all outcomes of the round
  // before were told.
  std::vector<Pair> Next();
  // Whether the test of a pair of the current round came out fine, both ways: a node that sends
  // badly may receive well.
  void Tell(const Pair& pair, bool fine);
  // The node cannot be tested at all (it lacks the device): it is in no further pair, undecided.
  void Leave(const std::string& node) { left_.insert(node); }

  Verdict VerdictOf(const std::string& node) const;
  // The nodes with that verdict, in the order they were given.
  std::vector<std::string> Nodes(Verdict verdict) const;
  std::size_t rounds() const { return rounds_; }

 private:
  std::vector<Pair> PairUp();

  const std::vector<std::string> nodes_;
  const std::size_t max_rounds_;
  std::map<std::string, Verdict> verdicts_;
  // Pairs that were tested already, the lesser name first.
  std::set<std::pair<std::string, std::string>> tested_;
  std::set<std::string> left_;
  std::size_t rounds_ = 0;
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_PAIR_SCHEDULE_H_
