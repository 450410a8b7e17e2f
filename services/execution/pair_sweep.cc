#include "services/execution/pair_sweep.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "common/knowledge/clean_result.h"
#include "common/knowledge/limits.h"
#include "common/knowledge/rules.h"
#include "services/execution/comparison.h"
#include "services/execution/fan_out.h"
#include "services/execution/pair_schedule.h"
#include "services/execution/pair_test.h"

namespace galen::execution {
namespace {

using galen::v1::CheckResult;
using galen::v1::Finding;
using knowledge::v1::Check;
using OnResult = std::function<void(const std::string& node, CheckResult result)>;

constexpr absl::string_view kVerdictFinding = "follows_node";

bool BothMeasured(const PairOutcome& outcome) {
  const auto measured = [](const CheckResult& result) {
    return result.status() == CheckResult::PASS || result.status() == CheckResult::FAIL;
  };
  return measured(outcome.server) && measured(outcome.client);
}

bool BothPass(const PairOutcome& outcome) {
  return outcome.server.status() == CheckResult::PASS &&
         outcome.client.status() == CheckResult::PASS;
}

// The name and the device.
using Place = std::pair<std::string, std::string>;

Place PlaceOf(const Finding& finding) { return {finding.name(), finding.subject().device()}; }

bool Told(const Finding& finding) { return finding.value_case() != Finding::VALUE_NOT_SET; }

// The result of a node that is fine both ways: its measurements as the client, which are of its own
// sending, plus whatever only its result as the server has.
CheckResult BothWays(CheckResult client, const CheckResult& server) {
  std::set<Place> known;
  for (const Finding& finding : client.findings()) known.insert(PlaceOf(finding));
  for (const Finding& finding : server.findings()) {
    if (Told(finding) && !known.contains(PlaceOf(finding))) *client.add_findings() = finding;
  }
  if (!server.message().empty()) {
    absl::StrAppend(client.mutable_message(), client.message().empty() ? "" : "; ",
                    "as the server: ", server.message());
  }
  return client;
}

// As much of a result as others are compared with.
CheckResult ToCompareWith(const Check& check, const CheckResult& result) {
  CheckResult copy;
  copy.set_check(result.check());
  copy.set_node(result.node());
  copy.set_status(result.status());
  for (const Finding& finding : result.findings()) {
    const bool used = std::any_of(
        check.comparisons().begin(), check.comparisons().end(), [&](const auto& comparison) {
          return finding.name() == comparison.of() || finding.name() == comparison.within();
        });
    if (used) *copy.add_findings() = finding;
  }
  return copy;
}

// Whether every number with a limit could be compared with it, or else with other nodes. A speed
// with neither clears no node.
bool Judged(const Check& check, const CheckResult& result) {
  std::map<std::string, const knowledge::v1::Rule*> limits;
  std::set<std::string> referred;
  for (const knowledge::v1::FindingSpec& spec : check.findings()) {
    if (!spec.has_abnormal() || spec.name() == kVerdictFinding) continue;
    limits[spec.name()] = &spec.abnormal();
    referred.insert(spec.abnormal().value());
  }
  CheckResult references;
  std::set<Place> compared;
  for (const Finding& finding : result.findings()) {
    if (referred.contains(finding.name())) *references.add_findings() = finding;
    for (const knowledge::v1::Comparison& comparison : check.comparisons()) {
      if (comparison.finding() != finding.name() || !Told(finding)) continue;
      compared.insert({comparison.of(), finding.subject().device()});
    }
  }
  return std::all_of(
      result.findings().begin(), result.findings().end(), [&](const Finding& finding) {
        const auto limit = limits.find(finding.name());
        return limit == limits.end() || !Told(finding) || compared.contains(PlaceOf(finding)) ||
               knowledge::Compare(*limit->second, finding, references) !=
                   knowledge::Truth::kUnknown;
      });
}

// For a node without a result of its own: takes over the faults that its client reports. The client
// is clear of blame, so the faults are the node's. The finding's device names the client.
void TakeWordOf(const CheckResult& client, const std::string& node, CheckResult& result) {
  result.set_status(CheckResult::FAIL);
  absl::StrAppend(result.mutable_message(), result.message().empty() ? "" : "; ", client.node(),
                  " as its client: ", client.message());
  for (const Finding& finding : client.findings()) {
    if (!finding.abnormal() || finding.name() == kVerdictFinding) continue;
    Finding& taken = *result.add_findings();
    taken = finding;
    taken.mutable_subject()->set_node(node);
    taken.mutable_subject()->set_device(absl::StrCat("peer:", client.node()));
  }
}

class Sweep : public std::enable_shared_from_this<Sweep> {
 public:
  Sweep(PairSweep sweep, OnResult on_result, absl::AnyInvocable<void() &&> done)
      : sweep_(std::move(sweep)),
        on_result_(std::move(on_result)),
        done_(std::move(done)),
        rounds_(NamesOf(sweep_.nodes)) {}

  void StartRound() {
    std::vector<PairSchedule::Pair> pairs;
    {
      const MutexLock lock(mu_);
      if (!sweep_.calls->cancelled()) pairs = rounds_.Next();
      open_ = pairs.size();
      round_.clear();
      for (const PairSchedule::Pair& pair : pairs) round_.push_back({pair, {}});
    }
    if (pairs.empty()) {
      Finish();
      return;
    }
    for (std::size_t i = 0; i < pairs.size(); ++i) StartWay(i, pairs[i]);
  }

 private:
  struct Way {
    PairSchedule::Pair roles;
    PairOutcome outcome;
  };
  // A pair of the round that is under way.
  struct Tested {
    PairSchedule::Pair pair;
    std::vector<Way> ways;  // the second only where the first was fine
  };

  static std::vector<std::string> NamesOf(
      const std::map<std::string, clients::NodeClient*>& nodes) {
    std::vector<std::string> names;
    names.reserve(nodes.size());
    for (const auto& [name, client] : nodes) names.push_back(name);
    return names;
  }

  // Drops an oversized result at once, as it would be refused in the end.
  void Bound(const std::string& node, CheckResult& result) const {
    if (result.findings_size() <= knowledge::kMaxFindings) return;
    result = ErrorResult(sweep_.check.name(), node,
                         absl::StrCat("node executor of ", node, " sent more than ",
                                      knowledge::kMaxFindings, " findings"));
  }

  // Whether the sweep is over: a test that ends now may have been cut off, which is not a node's
  // fault.
  bool Over() const { return sweep_.calls->cancelled() || sweep_.clock.Now() >= sweep_.deadline; }

  void StartWay(std::size_t at, const PairSchedule::Pair& roles) {
    StartPairTest(sweep_, roles, on_result_,
                  [self = shared_from_this(), at, roles](PairOutcome outcome) {
                    self->OnOutcome(at, roles, std::move(outcome));
                  });
  }

  void OnOutcome(std::size_t at, const PairSchedule::Pair& roles, PairOutcome outcome) {
    bool other_way = false;
    {
      const MutexLock lock(mu_);
      Bound(roles.a, outcome.server);
      Bound(roles.b, outcome.client);
      Tested& tested = round_[at];
      other_way = tested.ways.empty() && BothPass(outcome) && !Over();
      tested.ways.push_back({roles, std::move(outcome)});
      if (!other_way) {
        if (--open_ != 0) return;
        ComparePairs();
        for (Tested& each : round_) Judge(each);
      }
    }
    if (other_way) {
      StartWay(at, {roles.b, roles.a});
    } else {
      StartRound();
    }
  }

  // Compares the pairs of a round with each other and with the nodes that are clear already, each
  // way by itself, as the two ways of a node may differ. A value beyond its limit then fails.
  void ComparePairs() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const Check& check = sweep_.check;
    if (check.comparisons().empty()) return;
    std::map<std::string, CheckResult> others;
    for (const std::string& node : fine_) others[node] = ToCompareWith(check, results_.at(node));
    for (const std::size_t way : {std::size_t{0}, std::size_t{1}}) {
      std::map<std::string, CheckResult*> compared;
      for (Tested& tested : round_) {
        if (tested.ways.size() <= way) continue;
        compared[tested.ways[way].roles.a] = &tested.ways[way].outcome.server;
        compared[tested.ways[way].roles.b] = &tested.ways[way].outcome.client;
      }
      std::vector<CheckResult*> all;
      all.reserve(compared.size() + others.size());
      for (auto& [node, result] : compared) all.push_back(result);
      for (auto& [node, result] : others) {
        if (!compared.contains(node)) all.push_back(&result);
      }
      CompareNodes(check, all);
      for (const auto& [node, result] : compared) others[node] = ToCompareWith(check, *result);
    }
  }

  void Judge(Tested& tested) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    bool skipped = false;
    for (const Way& way : tested.ways) {
      const bool server = way.outcome.server.status() == CheckResult::SKIPPED;
      const bool client = way.outcome.client.status() == CheckResult::SKIPPED;
      if (server) rounds_.Leave(way.roles.a);
      if (client) rounds_.Leave(way.roles.b);
      skipped = skipped || server || client;
    }
    const auto failed = std::find_if(tested.ways.begin(), tested.ways.end(),
                                     [](const Way& way) { return !BothPass(way.outcome); });
    if (failed == tested.ways.end() && tested.ways.size() == 2) {
      rounds_.Tell(tested.pair, true);
      PairOutcome& first = tested.ways[0].outcome;
      PairOutcome& second = tested.ways[1].outcome;
      Keep(tested.pair.a, BothWays(std::move(second.client), first.server), true);
      Keep(tested.pair.b, BothWays(std::move(first.client), second.server), true);
      return;
    }
    // Cut off: what was measured before that still speaks, but clears and convicts nobody.
    if (failed == tested.ways.end() || (Over() && !skipped && !BothMeasured(failed->outcome))) {
      Way& way = tested.ways.front();
      if (!results_.contains(way.roles.a)) Keep(way.roles.a, way.outcome.server, false);
      if (!results_.contains(way.roles.b)) Keep(way.roles.b, way.outcome.client, false);
      return;
    }
    if (!skipped) rounds_.Tell(tested.pair, false);
    const PairOutcome& outcome = failed->outcome;
    const bool accused = outcome.server.status() == CheckResult::ERROR &&
                         outcome.client.status() == CheckResult::FAIL;
    accusers_.erase(failed->roles.b);
    accusers_.erase(failed->roles.a);
    if (accused) {
      CheckResult& word = accusers_[failed->roles.a];
      word = outcome.client;
      word.set_node(failed->roles.b);  // whatever it calls itself
    }
    Keep(failed->roles.a, outcome.server, false);
    Keep(failed->roles.b, outcome.client, false);
  }

  // A fine test speaks for the node over one that was not; of others the last.
  void Keep(const std::string& node, CheckResult result, bool fine)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (fine_.contains(node)) return;
    if (fine) fine_.insert(node);
    results_[node] = std::move(result);
  }

  void Finish() {
    std::map<std::string, CheckResult> results;
    {
      const MutexLock lock(mu_);
      results = results_;
      for (auto& [node, result] : results) Conclude(node, result);
    }
    for (auto& [node, result] : results) on_result_(node, std::move(result));
    std::move(done_)();
  }

  void Conclude(const std::string& node, CheckResult& result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (result.status() == CheckResult::SKIPPED) return;
    const PairSchedule::Verdict verdict = rounds_.VerdictOf(node);
    const bool declared =
        std::any_of(sweep_.check.findings().begin(), sweep_.check.findings().end(),
                    [](const auto& finding) { return finding.name() == kVerdictFinding; });
    const auto accuser = accusers_.find(node);
    if (declared && result.status() == CheckResult::ERROR &&
        verdict == PairSchedule::Verdict::kBad && accuser != accusers_.end()) {
      TakeWordOf(accuser->second, node, result);
    }
    const std::size_t bad = rounds_.Nodes(PairSchedule::Verdict::kBad).size();
    if (bad > 0) {
      absl::StrAppend(result.mutable_message(), result.message().empty() ? "" : "; ", "fails on ",
                      bad, " of ", sweep_.nodes.size(), " nodes whoever the partner is");
    }
    if (!declared || result.status() == CheckResult::ERROR) return;
    Finding* finding = nullptr;
    for (Finding& known : *result.mutable_findings()) {
      if (known.name() == kVerdictFinding) finding = &known;
    }
    if (finding == nullptr) finding = result.add_findings();
    finding->Clear();  // the node has no say in it
    finding->set_name(std::string(kVerdictFinding));
    finding->mutable_subject()->set_node(node);
    if (verdict == PairSchedule::Verdict::kBad) finding->set_text_value(node);
    if (verdict == PairSchedule::Verdict::kClear && Judged(sweep_.check, result)) {
      finding->set_text_value("none");
    }
    knowledge::ApplyLimits(sweep_.check, result);
  }

  const PairSweep sweep_;
  const OnResult on_result_;
  absl::AnyInvocable<void() &&> done_;
  Mutex mu_;
  PairSchedule rounds_ ABSL_GUARDED_BY(mu_);
  std::size_t open_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<Tested> round_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, CheckResult> results_ ABSL_GUARDED_BY(mu_);
  // For nodes whose last test gave no result of its own: their client's result, which reports the
  // fault.
  std::map<std::string, CheckResult> accusers_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> fine_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

bool IsPairCheck(const knowledge::v1::Check& check) {
  const auto has = [&](absl::string_view name) {
    return std::any_of(check.parameters().begin(), check.parameters().end(),
                       [&](const auto& parameter) { return parameter.name() == name; });
  };
  return std::find(check.needs().begin(), check.needs().end(), "two_nodes") !=
             check.needs().end() &&
         has("role") && has("peer") && has("token");
}

void StartPairSweep(PairSweep sweep, OnResult on_result, absl::AnyInvocable<void() &&> done) {
  std::make_shared<Sweep>(std::move(sweep), std::move(on_result), std::move(done))->StartRound();
}

}  // namespace galen::execution
