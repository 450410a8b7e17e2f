#include "services/execution/pair_sweep.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/mutex.h"
#include "common/knowledge/limits.h"
#include "services/execution/fan_out.h"
#include "services/execution/pair_rounds.h"

namespace galen::execution {
namespace {

using galen::v1::CheckResult;
using OnResult = std::function<void(const std::string& node, CheckResult result)>;

constexpr absl::string_view kListening = "listening on ";
constexpr absl::string_view kVerdictFinding = "follows_node";

bool Measured(const CheckResult& result) {
  return result.status() == CheckResult::PASS || result.status() == CheckResult::FAIL;
}

// 128 bits that nobody guesses.
std::string Token() {
  std::random_device random;
  std::string token;
  for (int i = 0; i < 4; ++i) absl::StrAppend(&token, absl::Hex(random(), absl::kZeroPad8));
  return token;
}

// The address in an interim message; "" when it says none. A node's word is not trusted: only what
// an address and a port are made of goes on to the other node.
std::string AddressIn(absl::string_view message) {
  if (!absl::ConsumePrefix(&message, kListening)) return "";
  const absl::string_view address = message.substr(0, message.find(' '));
  const bool sound = address.size() <= 64 && absl::StrContains(address, ':') &&
                     address.find_first_not_of("0123456789abcdefABCDEF.:[]%") == address.npos;
  return sound ? std::string(address) : "";
}

// One test of two nodes.
class PairTest : public std::enable_shared_from_this<PairTest> {
 public:
  struct Outcome {
    CheckResult server;
    CheckResult client;
  };

  PairTest(const PairSweep& sweep, PairRounds::Pair pair, OnResult progress,
           absl::AnyInvocable<void(Outcome) &&> done)
      : check_(sweep.check.name()),
        pair_(std::move(pair)),
        server_(*sweep.nodes.at(pair_.a)),
        client_(*sweep.nodes.at(pair_.b)),
        call_(sweep.call),
        deadline_(std::min(sweep.deadline, sweep.clock.Now() + sweep.pair_time)),
        token_(Token()),
        calls_(sweep.calls),
        work_(sweep.work),
        progress_(std::move(progress)),
        done_(std::move(done)) {}

  void Start() {
    const trace::Scope scope(work_);
    node::v1::RunChecksRequest call = CallAs("server", pair_.a, "");
    const clients::Cancel cancel = server_.RunChecks(
        call, deadline_,
        [self = shared_from_this()](CheckResult result) { self->OnServer(std::move(result)); },
        [self = shared_from_this()](const absl::Status& status) { self->OnServerDone(status); });
    calls_->Add(cancel);
    {
      const MutexLock lock(mu_);
      if (server_done_) return;
      cancel_server_ = cancel;
      if (!deserted_) return;
    }
    cancel();
  }

 private:
  node::v1::RunChecksRequest CallAs(absl::string_view role, const std::string& node,
                                    const std::string& peer) const {
    node::v1::RunChecksRequest call = call_;
    call.clear_checks();
    call.add_checks(check_);
    call.set_node(node);
    call.set_progress(true);
    galen::v1::CheckParameters* own = nullptr;
    for (galen::v1::CheckParameters& parameters : *call.mutable_parameters()) {
      if (parameters.check() == check_) own = &parameters;
    }
    if (own == nullptr) own = call.add_parameters();
    own->set_check(check_);
    (*own->mutable_values())["role"] = std::string(role);
    (*own->mutable_values())["token"] = token_;
    if (!peer.empty()) (*own->mutable_values())["peer"] = peer;
    return call;
  }

  void OnServer(CheckResult result) {
    if (result.status() != CheckResult::RUNNING) {
      const MutexLock lock(mu_);
      server_result_ = std::move(result);
      return;
    }
    const std::string address = AddressIn(result.message());
    if (!address.empty()) StartClient(address);
    progress_(pair_.a, std::move(result));
  }

  void StartClient(const std::string& address) {
    {
      const MutexLock lock(mu_);
      if (client_started_ || server_done_) return;
      client_started_ = true;
    }
    const trace::Scope scope(work_);
    calls_->Add(client_.RunChecks(
        CallAs("client", pair_.b, address), deadline_,
        [self = shared_from_this()](CheckResult result) { self->OnClient(std::move(result)); },
        [self = shared_from_this()](const absl::Status& status) { self->OnClientDone(status); }));
  }

  void OnClient(CheckResult result) {
    if (result.status() == CheckResult::RUNNING) {
      progress_(pair_.b, std::move(result));
      return;
    }
    const MutexLock lock(mu_);
    client_result_ = std::move(result);
  }

  void OnServerDone(const absl::Status& status) {
    {
      const MutexLock lock(mu_);
      server_done_ = true;
      cancel_server_ = nullptr;  // it may hold what holds this
      if (deserted_ &&
          (!server_result_.has_value() || server_result_->status() == CheckResult::ERROR)) {
        server_result_ =
            ErrorResult(check_, pair_.a,
                        absl::StrCat("not tested: ", pair_.b, " was no client for it (",
                                     client_result_->message(), ")"));
      } else if (!server_result_.has_value()) {
        server_result_ = ErrorResult(
            check_, pair_.a,
            absl::StrCat("node executor of ", pair_.a, " gave no answer as the server of ", pair_.b,
                         status.ok() ? "" : ": ", status.message()));
      }
    }
    FinishIfBothDone();
  }

  void OnClientDone(const absl::Status& status) {
    clients::Cancel cancel;
    {
      const MutexLock lock(mu_);
      client_done_ = true;
      if (!client_result_.has_value()) {
        client_result_ = ErrorResult(
            check_, pair_.b,
            absl::StrCat("node executor of ", pair_.b, " gave no answer as the client of ", pair_.a,
                         status.ok() ? "" : ": ", status.message()));
      }
      // The server would wait for this client until its own limit, and the round with it.
      if (!server_done_ && !Measured(*client_result_)) {
        deserted_ = true;
        cancel = cancel_server_;
      }
    }
    if (cancel) cancel();
    FinishIfBothDone();
  }

  void FinishIfBothDone() {
    Outcome outcome;
    {
      const MutexLock lock(mu_);
      if (finished_ || !server_done_ || (client_started_ && !client_done_)) return;
      finished_ = true;
      outcome.server = *server_result_;
      // The client was never asked: what it would have met is the server's trouble.
      outcome.client =
          client_started_
              ? *client_result_
              : ErrorResult(check_, pair_.b,
                            absl::StrCat("not tested: ", pair_.a, " opened no port for it (",
                                         server_result_->message(), ")"));
    }
    std::move(done_)(std::move(outcome));
  }

  const std::string check_;
  const PairRounds::Pair pair_;
  clients::NodeClient& server_;
  clients::NodeClient& client_;
  const node::v1::RunChecksRequest call_;
  const absl::Time deadline_;
  const std::string token_;
  const std::shared_ptr<CancelList> calls_;
  const trace::Work work_;
  const OnResult progress_;
  absl::AnyInvocable<void(Outcome) &&> done_;

  Mutex mu_;
  bool client_started_ ABSL_GUARDED_BY(mu_) = false;
  bool server_done_ ABSL_GUARDED_BY(mu_) = false;
  bool client_done_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  bool deserted_ ABSL_GUARDED_BY(mu_) = false;  // the client ended without having measured
  clients::Cancel cancel_server_ ABSL_GUARDED_BY(mu_);
  std::optional<CheckResult> server_result_ ABSL_GUARDED_BY(mu_);
  std::optional<CheckResult> client_result_ ABSL_GUARDED_BY(mu_);
};

class Sweep : public std::enable_shared_from_this<Sweep> {
 public:
  Sweep(PairSweep sweep, OnResult on_result, absl::AnyInvocable<void() &&> done)
      : sweep_(std::move(sweep)),
        on_result_(std::move(on_result)),
        done_(std::move(done)),
        rounds_(NamesOf(sweep_.nodes)) {}

  void StartRound() {
    std::vector<PairRounds::Pair> pairs;
    {
      const MutexLock lock(mu_);
      if (!sweep_.calls->cancelled()) pairs = rounds_.Next();
      open_ = pairs.size();
    }
    if (pairs.empty()) {
      Finish();
      return;
    }
    for (const PairRounds::Pair& pair : pairs) {
      std::make_shared<PairTest>(sweep_, pair, on_result_,
                                 [self = shared_from_this(), pair](PairTest::Outcome outcome) {
                                   self->OnOutcome(pair, std::move(outcome));
                                 })
          ->Start();
    }
  }

 private:
  static std::vector<std::string> NamesOf(
      const std::map<std::string, clients::NodeClient*>& nodes) {
    std::vector<std::string> names;
    for (const auto& [name, client] : nodes) names.push_back(name);
    return names;
  }

  void OnOutcome(const PairRounds::Pair& pair, PairTest::Outcome outcome) {
    {
      const MutexLock lock(mu_);
      const bool server_skips = outcome.server.status() == CheckResult::SKIPPED;
      const bool client_skips = outcome.client.status() == CheckResult::SKIPPED;
      if (server_skips) rounds_.Leave(pair.a);
      if (client_skips) rounds_.Leave(pair.b);
      const bool fine = outcome.server.status() == CheckResult::PASS &&
                        outcome.client.status() == CheckResult::PASS;
      if (!server_skips && !client_skips) rounds_.Tell(pair, fine);
      Keep(pair.a, std::move(outcome.server), fine);
      Keep(pair.b, std::move(outcome.client), fine);
      if (--open_ != 0) return;
    }
    StartRound();
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
    const PairRounds::Verdict verdict = rounds_.VerdictOf(node);
    const std::size_t bad = rounds_.Nodes(PairRounds::Verdict::kBad).size();
    if (bad > 0) {
      absl::StrAppend(result.mutable_message(), result.message().empty() ? "" : "; ", "fails on ",
                      bad, " of ", sweep_.nodes.size(), " nodes whoever the partner is");
    }
    const bool declared =
        std::any_of(sweep_.check.findings().begin(), sweep_.check.findings().end(),
                    [](const auto& finding) { return finding.name() == kVerdictFinding; });
    if (!declared || result.status() == CheckResult::ERROR) return;
    galen::v1::Finding* finding = nullptr;
    for (galen::v1::Finding& known : *result.mutable_findings()) {
      if (known.name() == kVerdictFinding) finding = &known;
    }
    if (finding == nullptr) finding = result.add_findings();
    finding->set_name(std::string(kVerdictFinding));
    finding->mutable_subject()->set_node(node);
    if (verdict == PairRounds::Verdict::kBad) finding->set_text_value(node);
    if (verdict == PairRounds::Verdict::kClear) finding->set_text_value("none");
    knowledge::ApplyLimits(sweep_.check, result);
  }

  const PairSweep sweep_;
  const OnResult on_result_;
  absl::AnyInvocable<void() &&> done_;
  Mutex mu_;
  PairRounds rounds_ ABSL_GUARDED_BY(mu_);
  std::size_t open_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, CheckResult> results_ ABSL_GUARDED_BY(mu_);
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
