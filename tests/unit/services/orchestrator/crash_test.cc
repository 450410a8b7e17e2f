// A crash at every event. The store is all that a crash leaves behind, so a store that stops
// answering right after event N is what the orchestrator sees of its own end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "common/store/sqlite_event_log.h"
#include "services/orchestrator/orchestrator.h"
#include "services/orchestrator/strategy.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/orchestrator/events.h"
#include "tests/unit/services/orchestrator/fake_agents.h"
#include "tests/unit/services/orchestrator/later_event_log.h"

namespace galen::orchestrator {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr char kName[] = "tenants/t/diagnoses/d";

// Passes on to another store until event `dies_after` is in it; from then on it fails.
class DyingEventLog final : public store::EventLog {
 public:
  DyingEventLog(store::EventLog& real, std::int64_t dies_after)
      : real_(real), dies_after_(dies_after) {}

  absl::StatusOr<std::string> Create(const v1::DiagnosisEvent& event) override {
    if (dead_) return Gone();
    const absl::StatusOr<std::string> name = real_.Create(event);
    if (dies_after_ <= 1) dead_ = true;
    return dead_ ? Gone() : name;
  }
  absl::StatusOr<std::int64_t> Append(const store::Lease& lease, std::int64_t expected_last,
                                      absl::Span<const v1::DiagnosisEvent> events) override {
    if (dead_) return Gone();
    const absl::StatusOr<std::int64_t> last = real_.Append(lease, expected_last, events);
    if (last.ok() && *last >= dies_after_) dead_ = true;
    return dead_ ? Gone() : last;
  }
  absl::StatusOr<std::vector<v1::DiagnosisEvent>> Read(absl::string_view name, std::int64_t after,
                                                       int limit) override {
    if (dead_) return Gone();
    return real_.Read(name, after, limit);
  }
  absl::StatusOr<Page> List(absl::string_view parent, int page_size,
                            absl::string_view page_token) override {
    if (dead_) return Gone();
    return real_.List(parent, page_size, page_token);
  }
  absl::StatusOr<std::vector<std::string>> ListOrphans(absl::Time now) override {
    if (dead_) return Gone();
    return real_.ListOrphans(now);
  }
  absl::Status SetOver(absl::string_view name, std::int64_t last_sequence) override {
    return dead_ ? Gone() : real_.SetOver(name, last_sequence);
  }
  absl::StatusOr<store::Lease> AcquireLease(absl::string_view name, absl::string_view owner,
                                            absl::Time now, absl::Duration ttl) override {
    if (dead_) return Gone();
    return real_.AcquireLease(name, owner, now, ttl);
  }
  absl::Status ReleaseLease(const store::Lease& lease) override {
    return dead_ ? Gone() : real_.ReleaseLease(lease);
  }
  absl::StatusOr<v1::Spent> SpentOn(absl::string_view parent, absl::string_view day) override {
    if (dead_) return Gone();
    return real_.SpentOn(parent, day);
  }
  absl::StatusOr<Oldest> ListOldest(absl::string_view parent, std::int64_t position,
                                    int limit) override {
    if (dead_) return Gone();
    return real_.ListOldest(parent, position, limit);
  }
  absl::Status Delete(const store::Lease& lease, std::int64_t expected_last,
                      absl::Time now) override {
    return dead_ ? Gone() : real_.Delete(lease, expected_last, now);
  }
  absl::Status FinishDeletion(absl::string_view name) override {
    return dead_ ? Gone() : real_.FinishDeletion(name);
  }

 private:
  static absl::Status Gone() { return absl::UnavailableError("the process is dead"); }

  store::EventLog& real_;
  const std::int64_t dies_after_;
  std::atomic<bool> dead_{false};
};

struct Ending {
  std::string report;
  std::string results;
  std::int64_t last_sequence = 0;
  v1::Diagnosis::State state = v1::Diagnosis::STATE_UNSPECIFIED;
};

Options OptionsOf(const std::string& owner) {
  Options options;
  options.owner = owner;
  options.own_timer = false;
  return options;
}

// One diagnosis from beginning to end in a world that `set_up` makes, with the orchestrator dying
// after event `dies_after` and another one starting from its store.
class Life {
 public:
  // `later`: on a store that answers later.
  explicit Life(void (*set_up)(FakeAgents&), std::string strategy = "", bool later = false)
      : strategy_(std::move(strategy)), later_(later) {
    set_up(world_);
  }

  Ending Run(std::int64_t dies_after, const std::string& next_owner) {
    DyingEventLog dying(*log_, dies_after);
    {
      LaterEventLog dying_later(dying);
      store::EventLog& log = later_ ? static_cast<store::EventLog&>(dying_later) : dying;
      Orchestrator first(log, world_.agents(), clock_, executor_, OptionsOf("a"));
      EXPECT_THAT(first.Start(), IsOk());
      first.Create(Request()).IgnoreError();
      Settle(first, dying_later);
      Converse(first, dying_later);
    }
    executor_.RunAll();  // work under way is lost
    // Its former self goes on at once; another waits until the lease of the dead runs out.
    if (next_owner != "a") clock_.Advance(absl::Seconds(16));
    LaterEventLog on_later(*log_);
    store::EventLog& log = later_ ? static_cast<store::EventLog&>(on_later) : *log_;
    Orchestrator second(log, world_.agents(), clock_, executor_, OptionsOf(next_owner));
    EXPECT_THAT(second.Start(), IsOk());
    Settle(second, on_later);
    Converse(second, on_later);
    v1::GetDiagnosisRequest get;
    get.set_name(kName);
    const v1::Diagnosis diagnosis = second.Get(get).value();
    Ending ending;
    ending.state = diagnosis.state();
    ending.report = diagnosis.report().DebugString();
    for (v1::CheckResult result : diagnosis.check_results()) {
      result.clear_observe_time();
      ending.results += result.DebugString();
    }
    ending.last_sequence = diagnosis.last_sequence();
    return ending;
  }

  FakeAgents& world() { return world_; }
  store::EventLog& log() { return *log_; }

  // The customer's answers once the diagnosis waits. Sent again after the crash, each counts once.
  std::vector<v1::SubmitFeedbackRequest> answers;

 private:
  void Converse(Orchestrator& orchestrator, LaterEventLog& later_log) {
    for (const v1::SubmitFeedbackRequest& answer : answers) {
      // On a store that answers later, this thread must not wait for it.
      if (later_) break;
      orchestrator.SubmitFeedback(answer).IgnoreError();
      Settle(orchestrator, later_log);
    }
  }

  v1::CreateDiagnosisRequest Request() const {
    v1::CreateDiagnosisRequest request;
    request.set_parent("tenants/t");
    request.set_diagnosis_id("d");
    request.mutable_diagnosis()->mutable_incident()->set_description("training is slow");
    request.mutable_diagnosis()->set_strategy(strategy_);
    return request;
  }
  void Settle(Orchestrator& orchestrator, LaterEventLog& log) {
    const auto run_all = [&] {
      do executor_.RunAll();
      while (log.Drain());
    };
    run_all();
    for (int i = 0; i < 50; ++i) {
      clock_.Advance(absl::Milliseconds(200));
      orchestrator.Tick();
      run_all();
    }
  }

  const std::string strategy_;
  const bool later_;
  const std::unique_ptr<store::EventLog> log_ = store::SqliteEventLog::Open(":memory:").value();
  FakeAgents world_;
  FakeClock clock_;
  ManualExecutor executor_;
};

constexpr std::int64_t kNever = 1'000'000;

void CrashAtEveryEvent(void (*set_up)(FakeAgents&), v1::Diagnosis::State expected,
                       const std::string& strategy = "") {
  const Ending undisturbed = Life(set_up, strategy).Run(kNever, "a");
  ASSERT_EQ(undisturbed.state, expected);
  for (std::int64_t n = 1; n <= 2 * undisturbed.last_sequence; ++n) {
    const bool later = n > undisturbed.last_sequence;
    const std::int64_t dies_after = later ? n - undisturbed.last_sequence : n;
    SCOPED_TRACE(absl::StrCat("crash after event ", dies_after, later ? ", answered later" : ""));
    Life life(set_up, strategy, later);
    const Ending ending = life.Run(dies_after, n % 2 == 0 ? "a" : "b");
    ASSERT_EQ(ending.state, expected);
    ASSERT_EQ(ending.report, undisturbed.report);
    ASSERT_EQ(ending.results, undisturbed.results);
    // No event is lost or doubled: each event of the undisturbed log, once.
    ASSERT_EQ(ending.last_sequence, undisturbed.last_sequence);
  }
}

TEST(Crash, AtAnyEventOfASearchLeavesTheReportAsItWouldHaveBeen) {
  CrashAtEveryEvent(&MakeTieredWorld, v1::Diagnosis::SUCCEEDED);
}

TEST(Crash, AtAnyEventOfASearchThatFindsNothingDoesSoToo) {
  CrashAtEveryEvent(
      [](FakeAgents& world) {
        MakeTieredWorld(world);
        world.truth.clear();
      },
      v1::Diagnosis::AWAITING_FEEDBACK);
}

TEST(Crash, AtAnyEventOfASearchWithFailingChecksDoesSoToo) {
  CrashAtEveryEvent(
      [](FakeAgents& world) {
        MakeTieredWorld(world);
        world.left_out = {"c1@n2", "s1@n1"};
      },
      v1::Diagnosis::SUCCEEDED);
}

v1::SubmitFeedbackRequest AnswerOf(const std::string& id) {
  v1::SubmitFeedbackRequest request;
  request.set_name(kName);
  request.set_request_id(id);
  return request;
}

// An answer, and permission to run a test: for a crash after any event, the second life ends like
// the first one would have, and the test was only repeated if its result was not stored.
TEST(Crash, AtAnyEventOfADialogueLosesNoAnswerAndRunsNoTestAgain) {
  const auto life = [] {
    auto made = std::make_unique<Life>(+[](FakeAgents& world) {
      MakeTieredWorld(world);
      world.truth.clear();
      v1::Question& test = world.tests.emplace_back();
      test.set_id("burn@n1");
      test.set_check("burn");
      test.set_node("n1");
      test.set_loads(true);
    });
    made->answers = {AnswerOf("a1"), AnswerOf("a2")};
    made->answers[0].set_text("it happened again");
    made->answers[1].add_allowed_tests("burn@n1");
    return made;
  };
  const auto undisturbed = life();
  const Ending expected = undisturbed->Run(kNever, "a");
  ASSERT_EQ(expected.state, v1::Diagnosis::AWAITING_FEEDBACK);
  ASSERT_EQ(undisturbed->world().runs()["burn@n1"], 1);
  for (std::int64_t n = 1; n <= expected.last_sequence; ++n) {
    SCOPED_TRACE(absl::StrCat("crash after event ", n));
    const auto disturbed = life();
    const Ending ending = disturbed->Run(n, n % 2 == 0 ? "a" : "b");
    ASSERT_EQ(ending.state, expected.state);
    ASSERT_EQ(ending.report, expected.report);
    ASSERT_EQ(ending.results, expected.results);
    ASSERT_EQ(ending.last_sequence, expected.last_sequence);
    ASSERT_LE(disturbed->world().runs()["burn@n1"], 2);
  }
}

class CrashOfStrategy : public ::testing::TestWithParam<std::string> {};

TEST_P(CrashOfStrategy, AtAnyEventLeavesTheReportAsItWouldHaveBeen) {
  // Only a search that runs checks confirms anything; all that is true lies in the taxonomy.
  const bool confirms =
      GetParam() == "tiered" || GetParam() == "taxonomy" || GetParam() == "exhaustive";
  CrashAtEveryEvent(
      [](FakeAgents& world) {
        MakeTieredWorld(world);
        world.critique.clear();
        world.at_once = {Proposed("A.P.WRONG", {"c1"})};
      },
      confirms ? v1::Diagnosis::SUCCEEDED : v1::Diagnosis::AWAITING_FEEDBACK, GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, CrashOfStrategy, ::testing::ValuesIn(StrategyNames()),
                         [](const auto& test) { return test.param; });

TEST(Crash, TheSameLogAsksForTheSameAtEveryPrefix) {
  Life life(&MakeTieredWorld);
  life.Run(kNever, "a");
  const std::vector<v1::DiagnosisEvent> events = life.log().Read(kName, 0, 10'000).value();
  State carried;
  for (std::size_t n = 0; n < events.size(); ++n) {
    Apply(carried, events[n]);
    State replayed;
    for (std::size_t i = 0; i <= n; ++i) Apply(replayed, events[i]);
    ASSERT_EQ(Wants(carried), Wants(replayed)) << "after event " << n + 1;
  }
}

TEST(Crash, AStoreThatStaysAwayIsReportedOnceAndEndsNothing) {
  FakeAgents world;
  MakeTieredWorld(world);
  FakeClock clock;
  ManualExecutor executor;
  const auto log = store::SqliteEventLog::Open(":memory:").value();
  DyingEventLog dying(*log, 5);
  std::vector<std::string> problems;
  Options options = OptionsOf("a");
  options.on_problem = [&](absl::string_view name, const absl::Status& problem) {
    problems.push_back(absl::StrCat(name, ": ", problem.message()));
  };
  Orchestrator orchestrator(dying, world.agents(), clock, executor, options);
  ASSERT_THAT(orchestrator.Start(), IsOk());
  v1::CreateDiagnosisRequest request;
  request.set_parent("tenants/t");
  request.set_diagnosis_id("d");
  request.mutable_diagnosis()->mutable_incident()->set_description("training is slow");
  ASSERT_THAT(orchestrator.Create(request), IsOk());
  for (int i = 0; i < 100; ++i) {
    executor.RunAll();
    clock.Advance(absl::Seconds(1));
    orchestrator.Tick();
  }
  v1::GetDiagnosisRequest get;
  get.set_name(kName);
  EXPECT_THAT(orchestrator.Get(get),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the process is dead")));
  EXPECT_LE(problems.size(), 2u);  // of the diagnosis, and of the scan for orphans
}

}  // namespace
}  // namespace galen::orchestrator
