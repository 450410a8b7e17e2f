#include "services/node/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "fake_hosts.h"
#include "services/node/registry.h"
#include "tests/testing/status_matchers.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;
using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using galen::v1::CheckResult;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::SizeIs;

// Holds the check "t.hang" until a test lets it go.
class Gate {
 public:
  void Wait() {
    std::unique_lock<std::mutex> lock(mu_);
    ++inside_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --inside_;
    changed_.notify_all();
  }
  // Waits until another thread waits.
  void AwaitOne() {
    std::unique_lock<std::mutex> lock(mu_);
    changed_.wait(lock, [this] { return inside_ > 0; });
  }
  void Open() {
    std::unique_lock<std::mutex> lock(mu_);
    open_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return inside_ == 0; });
    open_ = false;
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool open_ = false;
};

Gate& TheGate() {
  static Gate* const gate = new Gate();
  return *gate;
}

// Checks "t.cancellable" that run.
std::atomic<int>& TheArrivals() {
  static std::atomic<int> arrivals = 0;
  return arrivals;
}

absl::StatusOr<CheckOutput> Good(const CheckContext& context) {
  CheckOutput output;
  output.findings.push_back(IntFinding("count", context.host.name(), "", 1));
  output.message = "one";
  return output;
}
absl::StatusOr<CheckOutput> Hang(const CheckContext& context) {
  TheGate().Wait();
  return Good(context);
}
absl::StatusOr<CheckOutput> Undeclared(const CheckContext& context) {
  CheckOutput output;
  output.findings.push_back(IntFinding("other", context.host.name(), "", 1));
  return output;
}
absl::StatusOr<CheckOutput> Throw(const CheckContext&) { throw std::runtime_error("ouch"); }
// Says that it is there, and ends when it is cancelled.
absl::StatusOr<CheckOutput> Cancellable(const CheckContext& context) {
  TheArrivals().fetch_add(1);
  while (!context.cancelled.SleepFor(absl::Hours(1))) {
  }
  TheArrivals().fetch_sub(1);
  return absl::CancelledError("cancelled");
}
absl::StatusOr<CheckOutput> Parametric(const CheckContext& context) {
  CheckOutput output;
  output.findings.push_back(
      IntFinding("count", context.host.name(), "", context.parameters.Integer("size")));
  output.message = context.allow_busy ? "busy allowed" : "";
  return output;
}
// Interim messages that "t.chatty" waits for.
std::atomic<int>& TheWanted() {
  static std::atomic<int> wanted = 0;
  return wanted;
}
// Prints far more than the limit.
absl::StatusOr<CheckOutput> Chatty(const CheckContext& context) {
  for (int i = 0; context.progress && (i <= 100'000 || TheWanted() > 0); ++i) {
    context.progress(i / 100'000.0, "step\x1b[31m");
  }
  return Good(context);
}
// Two of these at a time are one too many.
absl::StatusOr<CheckOutput> Alone(const CheckContext& context) {
  static std::atomic<int> inside = 0;
  CheckOutput output;
  const int others = inside.fetch_add(1);
  context.cancelled.SleepFor(absl::Milliseconds(5));
  inside.fetch_sub(1);
  output.findings.push_back(IntFinding("count", context.host.name(), "", others));
  return output;
}
absl::StatusOr<CheckOutput> Reads(const CheckContext& context) {
  const auto result = context.host.Run({"tool"});
  if (!result.ok()) return result.status();
  return Good(context);
}

std::shared_ptr<const knowledge::Knowledge> TestKnowledge() {
  knowledge::v1::KnowledgeBase base;
  base.set_digest("d1");
  for (const char* name :
       {"t.good", "t.hang", "t.undeclared", "t.throw", "t.reads", "t.heavy", "t.not_implemented",
        "t.cancellable", "t.parametric", "t.chatty", "t.alone_a", "t.alone_b"}) {
    knowledge::v1::Check& check = *base.add_checks();
    check.set_name(name);
    check.set_kind(knowledge::v1::Check::NATIVE);
    check.set_intrusive(std::string(name) == "t.heavy");
    if (absl::StartsWith(name, "t.alone") || std::string(name) == "t.cancellable") {
      check.set_occupies("gpu");
    }
    if (std::string(name) == "t.parametric") {
      knowledge::v1::Parameter& size = *check.add_parameters();
      size.set_name("size");
      size.set_type("int");
      size.set_default_value("3");
      size.set_min(1);
      size.set_max(9);
    }
    knowledge::v1::FindingSpec& finding = *check.add_findings();
    finding.set_name("count");
    finding.set_type("int");
    finding.set_subject("node");
  }
  knowledge::v1::Check& extract = *base.add_checks();
  extract.set_name("t.extract");
  extract.set_kind(knowledge::v1::Check::EXTRACT);
  extract.set_file("/etc/site");
  knowledge::v1::FindingSpec& finding = *extract.add_findings();
  finding.set_name("level");
  finding.set_type("int");
  finding.set_subject("node");
  finding.set_pattern("^level=(\\d+)$");
  return std::make_shared<const knowledge::Knowledge>(std::move(base));
}

class NodeExecutorTest : public ::testing::Test {
 protected:
  std::map<std::string, CheckResult> Run(const std::vector<std::string>& checks,
                                         const NodeExecutor& executor,
                                         absl::Time deadline = absl::InfiniteFuture()) {
    v1::RunChecksRequest request;
    for (const std::string& check : checks) request.add_checks(check);
    request.set_node("n1");
    std::map<std::string, CheckResult> results;
    status_ = executor.RunChecks(request, deadline, [&](CheckResult result) {
      EXPECT_EQ(result.id(), absl::StrCat(result.check(), "@n1"));
      EXPECT_THAT(results, Not(Contains(Key(result.check()))));
      results[result.check()] = std::move(result);
    });
    return results;
  }

  NodeExecutor Make(NodeExecutor::Options options) {
    return NodeExecutor(hosts_, TestKnowledge(),
                        {{"t.good", Good},
                         {"t.hang", Hang},
                         {"t.undeclared", Undeclared},
                         {"t.throw", Throw},
                         {"t.reads", Reads},
                         {"t.heavy", Good},
                         {"t.cancellable", Cancellable},
                         {"t.parametric", Parametric},
                         {"t.chatty", Chatty},
                         {"t.alone_a", Alone},
                         {"t.alone_b", Alone}},
                        options);
  }

  std::shared_ptr<FakeHost> host_ = std::make_shared<FakeHost>("n1");
  FakeHosts hosts_{host_};
  absl::Status status_;
};

TEST_F(NodeExecutorTest, AnUnknownCheckIsSkippedAndTheOthersRun) {
  const auto results = Run({"t.good", "no.such", "t.not_implemented"}, Make({}));
  EXPECT_THAT(status_, IsOk());
  EXPECT_EQ(results.at("t.good").status(), CheckResult::PASS);
  EXPECT_EQ(results.at("no.such").status(), CheckResult::SKIPPED);
  EXPECT_EQ(results.at("no.such").message(),
            "this version of the node executor does not have this check");
  EXPECT_EQ(results.at("t.not_implemented").status(), CheckResult::SKIPPED);
}

std::shared_ptr<const knowledge::Knowledge> WithoutCheck(absl::string_view name) {
  knowledge::v1::KnowledgeBase base = TestKnowledge()->base();
  auto& checks = *base.mutable_checks();
  checks.erase(
      std::remove_if(checks.begin(), checks.end(),
                     [&](const knowledge::v1::Check& check) { return check.name() == name; }),
      checks.end());
  base.set_digest("newer");
  return std::make_shared<const knowledge::Knowledge>(std::move(base));
}

TEST_F(NodeExecutorTest, ACheckThatASiteDeclaresIsThereOnceItsKnowledgeIsInUse) {
  host_->AddFile("/etc/site", "level=7\n");
  NodeExecutor executor(hosts_, WithoutCheck("t.extract"), {{"t.good", Good}}, {});
  EXPECT_EQ(Run({"t.extract"}, executor).at("t.extract").status(), CheckResult::SKIPPED);
  executor.Use(TestKnowledge());
  EXPECT_EQ(Run({"t.extract"}, executor).at("t.extract").status(), CheckResult::PASS);
  // A file that was cut within a line.
  host_->AddFile("/etc/site", "level=7\nna");
  EXPECT_EQ(Run({"t.extract"}, executor).at("t.extract").status(), CheckResult::SKIPPED);
}

TEST_F(NodeExecutorTest, ACheckThatWasTakenOutStillRunsForADiagnosisThatBeganBefore) {
  host_->AddFile("/etc/site", "level=7\n");
  NodeExecutor executor(hosts_, TestKnowledge(), {{"t.good", Good}}, {});
  executor.Use(WithoutCheck("t.extract"));
  EXPECT_EQ(executor.Describe().knowledge_digest(), "newer");
  EXPECT_THAT(executor.Describe().checks(), Not(Contains("t.extract")));
  EXPECT_EQ(Run({"t.extract", "t.good"}, executor).at("t.extract").status(), CheckResult::PASS);
  executor.Use(WithoutCheck("t.extract"));
  EXPECT_EQ(Run({"t.extract"}, executor).at("t.extract").status(), CheckResult::SKIPPED);
}

TEST_F(NodeExecutorTest, ACheckThatTheSiteSwitchedOffIsSkippedAndSaysSo) {
  knowledge::v1::KnowledgeBase base = TestKnowledge()->base();
  for (knowledge::v1::Check& check : *base.mutable_checks()) check.set_off(true);
  const NodeExecutor executor(hosts_, std::make_shared<const knowledge::Knowledge>(base),
                              {{"t.good", Good}}, {});
  const auto results = Run({"t.good"}, executor);
  EXPECT_EQ(results.at("t.good").status(), CheckResult::SKIPPED);
  EXPECT_THAT(results.at("t.good").message(), HasSubstr("switched off"));
}

TEST_F(NodeExecutorTest, AToolThatIsMissingOrWasNotCapturedSkipsAndNeverPasses) {
  EXPECT_EQ(Run({"t.reads"}, Make({})).at("t.reads").status(), CheckResult::SKIPPED);
  host_->AddAbsentCommand("tool");
  EXPECT_EQ(Run({"t.reads"}, Make({})).at("t.reads").status(), CheckResult::SKIPPED);
  host_->AddCommandError("tool", absl::PermissionDeniedError("tool: not as this user"));
  EXPECT_EQ(Run({"t.reads"}, Make({})).at("t.reads").status(), CheckResult::SKIPPED);
  // It printed nothing, or unreadable output.
  host_->AddCommand("tool", "");
  EXPECT_EQ(Run({"t.reads"}, Make({})).at("t.reads").status(), CheckResult::SKIPPED);
  host_->AddCommand("tool", "\x01\x02\x7f\x03\n");
  EXPECT_EQ(Run({"t.reads"}, Make({})).at("t.reads").status(), CheckResult::SKIPPED);
  // It was cut within a line.
  host_->AddCommand("tool", "fine\nand wel");
  EXPECT_EQ(Run({"t.reads"}, Make({})).at("t.reads").status(), CheckResult::SKIPPED);
  host_->AddCommand("tool", "fine\n");
  EXPECT_EQ(Run({"t.reads"}, Make({})).at("t.reads").status(), CheckResult::PASS);
  // Only its last newline is missing.
  host_->AddCommand("tool", "gpu 0: fine\ngpu 1: fine");
  EXPECT_EQ(Run({"t.reads"}, Make({})).at("t.reads").status(), CheckResult::PASS);
}

TEST_F(NodeExecutorTest, ACheckThatHangsIsAnErrorWhileTheOthersFinish) {
  const NodeExecutor executor =
      Make({.max_parallel = 1, .check_timeout = absl::Milliseconds(100), .max_stuck = 2});
  const auto results = Run({"t.hang", "t.good", "t.reads"}, executor);
  EXPECT_THAT(status_, IsOk());
  EXPECT_EQ(results.at("t.hang").status(), CheckResult::ERROR);
  EXPECT_EQ(results.at("t.hang").message(), "t.hang did not finish within 100ms");
  EXPECT_EQ(results.at("t.good").status(), CheckResult::PASS);
  EXPECT_EQ(results.at("t.reads").status(), CheckResult::SKIPPED);
  TheGate().Open();
}

TEST_F(NodeExecutorTest, RefusesCallsAboutBundlesWhileTooManyChecksOfBundlesHang) {
  const NodeExecutor executor =
      Make({.max_parallel = 1, .check_timeout = absl::Milliseconds(50), .max_stuck = 1});
  Run({"t.hang"}, executor);
  v1::RunChecksRequest request;
  request.add_checks("t.good");
  request.set_bundle("b");
  EXPECT_THAT(
      executor.RunChecks(request, absl::InfiniteFuture(), [](const CheckResult&) {}),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("1 checks of bundles hang")));
  TheGate().Open();
}

TEST_F(NodeExecutorTest, ACheckThatHangsOnThisMachineIsNotBegunAgainAndTheOthersRun) {
  host_->SetLive(true);
  const NodeExecutor executor =
      Make({.max_parallel = 1, .check_timeout = absl::Milliseconds(300), .max_stuck = 0});
  EXPECT_EQ(Run({"t.hang"}, executor).at("t.hang").message(), "t.hang did not finish within 300ms");
  auto results = Run({"t.hang", "t.good"}, executor);
  EXPECT_THAT(status_, IsOk());
  EXPECT_EQ(results.at("t.hang").status(), CheckResult::ERROR);
  EXPECT_EQ(results.at("t.hang").message(),
            "t.hang was not begun again, as an earlier run of it still hangs");
  EXPECT_EQ(results.at("t.good").status(), CheckResult::PASS);
  TheGate().AwaitOne();
  TheGate().Open();
  // It is begun once the one before has come back, which is a moment after the gate.
  const std::string again = "t.hang did not finish within 300ms";
  while (Run({"t.hang"}, executor).at("t.hang").message() != again) std::this_thread::yield();
  TheGate().AwaitOne();
  TheGate().Open();
}

TEST_F(NodeExecutorTest, ACheckWhoseCallerWentAwayIsNotTakenForStuck) {
  StuckChecks stuck;
  for (int i = 0; i < 3; ++i) stuck.Add("t.hang", /*live=*/true, /*late=*/false);
  EXPECT_FALSE(stuck.Hangs("t.hang"));
  // Unless it never notices.
  stuck.Add("t.hang", /*live=*/true, /*late=*/false);
  EXPECT_TRUE(stuck.Hangs("t.hang"));
  EXPECT_FALSE(stuck.Hangs("t.good"));
  EXPECT_EQ(stuck.total(), 4);
  EXPECT_EQ(stuck.of_bundles(), 0);
}

TEST_F(NodeExecutorTest, ACallThatIsCancelledBeforeItsTurnOpensNothing) {
  Cancellation cancelled;
  cancelled.Cancel();
  v1::RunChecksRequest request;
  request.add_checks("t.good");
  request.set_bundle("gone");
  EXPECT_THAT(Make({}).RunChecks(
                  request, absl::InfiniteFuture(), [](const CheckResult&) {}, cancelled),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("went away")));
}

TEST_F(NodeExecutorTest, AStuckCheckMayOutliveTheExecutor) {
  {
    const NodeExecutor executor =
        Make({.max_parallel = 1, .check_timeout = absl::Milliseconds(50), .max_stuck = 9});
    Run({"t.hang"}, executor);
  }
  TheGate().Open();
}

TEST_F(NodeExecutorTest, TheCallsDeadlineBoundsEveryCheck) {
  const auto results = Run({"t.good", "t.reads"}, Make({}), absl::Now() - absl::Seconds(1));
  EXPECT_EQ(results.at("t.good").status(), CheckResult::ERROR);
  EXPECT_EQ(results.at("t.good").message(), "t.good was not begun before the call's deadline");
  EXPECT_THAT(results, SizeIs(2));
}

TEST_F(NodeExecutorTest, ADefectOfOneCheckIsItsErrorOnly) {
  const auto results = Run({"t.undeclared", "t.throw", "t.good"}, Make({}));
  EXPECT_EQ(results.at("t.undeclared").status(), CheckResult::ERROR);
  EXPECT_EQ(results.at("t.throw").status(), CheckResult::ERROR);
  EXPECT_THAT(results.at("t.throw").message(), HasSubstr("ouch"));
  EXPECT_EQ(results.at("t.good").status(), CheckResult::PASS);
}

TEST_F(NodeExecutorTest, RunsAHeavyCheckOnlyWhenAllowed) {
  const NodeExecutor executor = Make({});
  EXPECT_EQ(Run({"t.heavy"}, executor).at("t.heavy").status(), CheckResult::SKIPPED);
  v1::RunChecksRequest request;
  request.add_checks("t.heavy");
  request.set_allow_intrusive(true);
  EXPECT_THAT(executor.RunChecks(request, absl::InfiniteFuture(),
                                 [](const CheckResult& result) {
                                   EXPECT_EQ(result.status(), CheckResult::PASS);
                                   EXPECT_EQ(result.node(), "n1");
                                 }),
              IsOk());
}

TEST_F(NodeExecutorTest, RunsChecksThatAreDeclaredWhole) {
  host_->AddFile("/etc/site", "name=x\nlevel=7\n");
  const auto results = Run({"t.extract"}, Make({}));
  EXPECT_EQ(results.at("t.extract").status(), CheckResult::PASS);
  EXPECT_EQ(results.at("t.extract").findings(0).int_value(), 7);
}

TEST_F(NodeExecutorTest, ACheckNamedTwiceRunsOnce) {
  EXPECT_THAT(Run({"t.good", "t.good", "no.such", "no.such"}, Make({})), SizeIs(2));
}

TEST_F(NodeExecutorTest, RefusesAnEmptyCallAndABundleThatIsNotThere) {
  const NodeExecutor executor = Make({});
  Run({}, executor);
  EXPECT_THAT(status_, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("checks")));
  v1::RunChecksRequest request;
  request.add_checks("t.good");
  request.set_bundle("gone");
  EXPECT_THAT(executor.RunChecks(request, absl::InfiniteFuture(), [](const CheckResult&) {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("gone")));
}

TEST_F(NodeExecutorTest, SaysWhatItCanDo) {
  const v1::DescribeResponse description = Make({}).Describe();
  EXPECT_EQ(description.host(), "n1");
  EXPECT_EQ(description.knowledge_digest(), "d1");
  EXPECT_THAT(
      description.checks(),
      ElementsAre("t.alone_a", "t.alone_b", "t.cancellable", "t.chatty", "t.extract", "t.good",
                  "t.hang", "t.heavy", "t.parametric", "t.reads", "t.throw", "t.undeclared"));
}

TEST_F(NodeExecutorTest, ParametersReachTheCheckAndBadOnesSayWhatToCorrect) {
  const NodeExecutor executor = Make({});
  v1::RunChecksRequest request;
  request.add_checks("t.parametric");
  const auto run = [&] {
    CheckResult result;
    EXPECT_THAT(executor.RunChecks(request, absl::InfiniteFuture(),
                                   [&](CheckResult given) { result = std::move(given); }),
                IsOk());
    return result;
  };
  EXPECT_EQ(run().findings(0).int_value(), 3);
  galen::v1::CheckParameters& asked = *request.add_parameters();
  asked.set_check("t.parametric");
  (*asked.mutable_values())["size"] = "7";
  EXPECT_EQ(run().findings(0).int_value(), 7);
  (*asked.mutable_values())["size"] = "70";
  EXPECT_EQ(run().status(), CheckResult::ERROR);
  EXPECT_EQ(run().message(), "t.parametric: size = \"70\" lies outside 1 to 9");
  asked.mutable_values()->clear();
  (*asked.mutable_values())["sise"] = "7";
  EXPECT_THAT(run().message(), HasSubstr("has no parameter \"sise\""));
}

TEST_F(NodeExecutorTest, LeaveToLoadABusyDeviceNeedsLeaveToLoadDevices) {
  const NodeExecutor executor = Make({});
  v1::RunChecksRequest request;
  request.add_checks("t.parametric");
  request.set_allow_busy(true);
  std::string message;
  const auto on_result = [&](const CheckResult& result) { message = result.message(); };
  EXPECT_THAT(executor.RunChecks(request, absl::InfiniteFuture(), on_result), IsOk());
  EXPECT_EQ(message, "");
  request.set_allow_intrusive(true);
  EXPECT_THAT(executor.RunChecks(request, absl::InfiniteFuture(), on_result), IsOk());
  EXPECT_EQ(message, "busy allowed");
}

TEST_F(NodeExecutorTest, ProgressIsToldOnlyWhenAskedForAndNotTooOften) {
  NodeExecutor::Options options;
  options.progress_interval = absl::Hours(1);
  const NodeExecutor rarely = Make(options);
  options.progress_interval = absl::ZeroDuration();
  const NodeExecutor often = Make(options);
  v1::RunChecksRequest request;
  request.add_checks("t.chatty");
  const auto count = [&](const NodeExecutor& executor) {
    int interim = 0;
    CheckResult last;
    EXPECT_THAT(executor.RunChecks(request, absl::InfiniteFuture(),
                                   [&](CheckResult result) {
                                     last = std::move(result);
                                     if (last.status() != CheckResult::RUNNING) return;
                                     ++interim;
                                     --TheWanted();
                                     EXPECT_EQ(last.id(), "t.chatty@n1");
                                     EXPECT_EQ(last.message(), "step");
                                     EXPECT_LE(last.progress(), 1);
                                   }),
                IsOk());
    EXPECT_EQ(last.status(), CheckResult::PASS);
    return interim;
  };
  EXPECT_EQ(count(often), 0);
  request.set_progress(true);
  EXPECT_EQ(count(rarely), 0);
  TheWanted() = 1;
  EXPECT_GT(count(often), 0);
}

TEST_F(NodeExecutorTest, ChecksThatLoadTheSameDeviceNeverRunTogetherInWhateverCall) {
  host_->SetLive(true);
  const NodeExecutor executor = Make({.max_parallel = 8});
  const auto call = [&] {
    v1::RunChecksRequest request;
    request.add_checks("t.alone_a");
    request.add_checks("t.alone_b");
    int results = 0;
    EXPECT_THAT(executor.RunChecks(request, absl::InfiniteFuture(),
                                   [&](const CheckResult& result) {
                                     ++results;
                                     EXPECT_EQ(result.status(), CheckResult::PASS);
                                     EXPECT_EQ(result.findings(0).int_value(), 0);
                                   }),
                IsOk());
    EXPECT_EQ(results, 2);
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) callers.emplace_back(call);
  for (std::thread& caller : callers) caller.join();
}

TEST_F(NodeExecutorTest, ACheckDoesNotWaitForADeviceForEver) {
  host_->SetLive(true);
  const NodeExecutor executor = Make({.max_parallel = 8, .longest_wait = absl::Milliseconds(1)});
  Cancellation stop;
  std::thread holder([&] {
    v1::RunChecksRequest request;
    request.add_checks("t.cancellable");
    EXPECT_THAT(executor.RunChecks(
                    request, absl::InfiniteFuture(), [](const CheckResult&) {}, stop),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("")));
  });
  while (TheArrivals() == 0) std::this_thread::yield();
  const auto results = Run({"t.alone_a", "t.good"}, executor);
  EXPECT_EQ(results.at("t.alone_a").status(), CheckResult::ERROR);
  EXPECT_EQ(results.at("t.alone_a").message(),
            "t.alone_a was not begun within 1ms, as t.cancellable has the gpu");
  EXPECT_EQ(results.at("t.good").status(), CheckResult::PASS);
  stop.Cancel();
  holder.join();
  while (TheArrivals() > 0) std::this_thread::yield();
}

TEST_F(NodeExecutorTest, ACheckWhoseTimeIsUpIsCancelled) {
  const NodeExecutor executor = Make({.check_timeout = absl::Milliseconds(20)});
  EXPECT_EQ(Run({"t.cancellable"}, executor).at("t.cancellable").status(), CheckResult::ERROR);
  while (TheArrivals() > 0) std::this_thread::yield();
}

TEST(AllChecks, AreOrderedAndNamedOnce) {
  const std::vector<NamedCheck> checks = AllChecks();
  for (std::size_t i = 1; i < checks.size(); ++i) {
    EXPECT_LT(checks[i - 1].name, checks[i].name);
  }
  EXPECT_GE(checks.size(), 23u);
}

TEST_F(NodeExecutorTest, TellsResultsTimesAndWhatIsStuckInNumbers) {
  NodeExecutor::Options options;
  options.check_timeout = absl::Milliseconds(20);
  const NodeExecutor executor = Make(options);
  Run({"t.good", "t.throw", "t.hang", "t.nobody_knows"}, executor);
  metrics::Registry numbers;
  numbers.Add(executor.metrics());
  const std::string text = numbers.Text();
  for (const char* line : {
           "galen_node_check_results_total{check=\"t.good\",status=\"PASS\"} 1\n",
           "galen_node_check_results_total{check=\"t.throw\",status=\"ERROR\"} 1\n",
           "galen_node_check_results_total{check=\"t.hang\",status=\"ERROR\"} 1\n",
           // A caller may ask for anything, and creates no series by that.
           "galen_node_check_results_total{check=\"(other)\",status=\"SKIPPED\"} 1\n",
           "galen_node_check_seconds_count{check=\"t.good\"} 1\n",
           "galen_node_check_seconds_count{check=\"t.hang\"} 1\n",
           "galen_node_checks_stuck 1\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  TheGate().Open();
}

}  // namespace
}  // namespace galen::node
