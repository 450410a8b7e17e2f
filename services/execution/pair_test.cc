#include "services/execution/pair_test.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/mutex.h"
#include "services/execution/fan_out.h"

namespace galen::execution {
namespace {

using galen::v1::CheckResult;
using OnPairResult = std::function<void(const std::string& node, CheckResult result)>;

constexpr absl::string_view kListening = "listening on ";
// Findings of a client: failed connections, and the time of those that succeeded.
constexpr absl::string_view kConnectFailed = "connect_failed";
constexpr absl::string_view kConnectTime = "connect_ms";

bool Measured(const CheckResult& result) {
  return result.status() == CheckResult::PASS || result.status() == CheckResult::FAIL;
}

// Whether the client says that it never came through to the server, which waits for it still. A
// client that did come through and found fault is another thing: its server is about to tell its
// own side, and must not be cut off.
bool NeverReached(const CheckResult& result) {
  bool failed = false;
  for (const galen::v1::Finding& finding : result.findings()) {
    if (finding.name() == kConnectFailed) failed = failed || finding.int_value() > 0;
    if (finding.name() == kConnectTime && finding.has_double_value()) return false;
  }
  return failed && result.status() == CheckResult::FAIL;
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
  PairTest(const PairSweep& sweep, PairSchedule::Pair pair, OnPairResult progress,
           absl::AnyInvocable<void(PairOutcome) &&> done)
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
                        Measured(*client_result_)
                            ? absl::StrCat("waited for ", pair_.b, ", which did not come through")
                            : absl::StrCat("not tested: ", pair_.b, " did not act as its client (",
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
      if (!server_done_ && (!Measured(*client_result_) || NeverReached(*client_result_))) {
        deserted_ = true;
        cancel = cancel_server_;
      }
    }
    if (cancel) cancel();
    FinishIfBothDone();
  }

  void FinishIfBothDone() {
    PairOutcome outcome;
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
  const PairSchedule::Pair pair_;
  clients::NodeClient& server_;
  clients::NodeClient& client_;
  const node::v1::RunChecksRequest call_;
  const absl::Time deadline_;
  const std::string token_;
  const std::shared_ptr<CancelGroup> calls_;
  const trace::Work work_;
  const OnPairResult progress_;
  absl::AnyInvocable<void(PairOutcome) &&> done_;

  Mutex mu_;
  bool client_started_ ABSL_GUARDED_BY(mu_) = false;
  bool server_done_ ABSL_GUARDED_BY(mu_) = false;
  bool client_done_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  bool deserted_ ABSL_GUARDED_BY(mu_) = false;  // the client ended without having reached it
  clients::Cancel cancel_server_ ABSL_GUARDED_BY(mu_);
  std::optional<CheckResult> server_result_ ABSL_GUARDED_BY(mu_);
  std::optional<CheckResult> client_result_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

void StartPairTest(const PairSweep& sweep, PairSchedule::Pair roles, OnPairResult progress,
                   absl::AnyInvocable<void(PairOutcome) &&> done) {
  std::make_shared<PairTest>(sweep, std::move(roles), std::move(progress), std::move(done))
      ->Start();
}

}  // namespace galen::execution
