// Claims about the status of a job: what decides it, and that nothing is guessed.
#include "common/log_analysis/triage/status.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::triage {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

struct Case {
  const char* what;
  Evidence evidence;
  Status status;
  bool soft = false;
  bool stalled = false;
};

Evidence With(void (*change)(Evidence&)) {
  Evidence evidence;
  evidence.last_step = 400;
  evidence.step_seconds = 20;
  evidence.all_steps = false;
  change(evidence);
  return evidence;
}

TEST(Status, EachKindOfEvidenceDecides) {
  const Case cases[] = {
      {"a summary of success", With([](Evidence& e) { e.summary_code = 0; }), Status::kCompleted},
      {"a summary of failure", With([](Evidence& e) { e.summary_code = 1; }), Status::kFailed},
      {"a summary of an interruption", With([](Evidence& e) { e.summary_code = 130; }),
       Status::kCancelled},
      {"a summary of a termination", With([](Evidence& e) { e.summary_code = 143; }),
       Status::kCancelled},
      {"a failure of the summary after the last step", With([](Evidence& e) {
         e.summary_code = 1;
         e.all_steps = true;
       }),
       Status::kCompleted, /*soft=*/true},
      {"a termination after the last step", With([](Evidence& e) {
         e.summary_code = 143;
         e.all_steps = true;
       }),
       Status::kCompleted, /*soft=*/true},
      {"all steps, and no word", With([](Evidence& e) { e.all_steps = true; }), Status::kCompleted},
      {"the program's own end", With([](Evidence& e) { e.finished = true; }), Status::kCompleted},
      {"its own end, and a crash while it was taken down", With([](Evidence& e) {
         e.finished = true;
         e.ended_by = Ends::kFailed;
       }),
       Status::kCompleted, /*soft=*/true},
      {"a planned end before the last step", With([](Evidence& e) { e.planned_end = true; }),
       Status::kCompleted},
      {"a failure and no step after it", With([](Evidence& e) { e.ended_by = Ends::kFailed; }),
       Status::kFailed},
      {"a scheduler that cancels", With([](Evidence& e) { e.ended_by = Ends::kCancelled; }),
       Status::kCancelled},
      {"a cancel a minute after the last step", With([](Evidence& e) {
         e.ended_by = Ends::kCancelled;
         e.idle_before_end = absl::Minutes(1);
       }),
       Status::kCancelled},
      {"a cancel an hour after the last step", With([](Evidence& e) {
         e.ended_by = Ends::kCancelled;
         e.idle_before_end = absl::Hours(1);
       }),
       Status::kCancelled, /*soft=*/false, /*stalled=*/true},
      {"a process that ended with an error", With([](Evidence& e) { e.bad_exit = true; }),
       Status::kFailed},
      {"processes that were asked to stop", With([](Evidence& e) { e.asked_to_stop = true; }),
       Status::kCancelled},
      {"nothing at all", Evidence(), Status::kUnknown},
      {"steps, and nothing else", With([](Evidence&) {}), Status::kUnknown},
      {"a scheduler that says it is over",
       With([](Evidence& e) { e.scheduler = SchedulerState::kEnded; }), Status::kUnknownDeath},
  };
  for (const Case& one : cases) {
    const Decision decision = Decide(one.evidence, Limits());
    EXPECT_EQ(ToString(decision.status), ToString(one.status)) << one.what;
    EXPECT_EQ(decision.soft, one.soft) << one.what;
    EXPECT_EQ(decision.stalled, one.stalled) << one.what;
    EXPECT_FALSE(decision.why.empty()) << one.what;
  }
}

Evidence Running(absl::Duration since_progress) {
  Evidence evidence;
  evidence.last_step = 400;
  evidence.step_seconds = 20;
  evidence.scheduler = SchedulerState::kRunning;
  evidence.now = kNow;
  evidence.progress = kNow - since_progress;
  return evidence;
}

TEST(Status, HangingNeedsStepsThatStoppedAndASchedulerThatSaysRunning) {
  EXPECT_EQ(Decide(Running(absl::Minutes(1)), Limits()).status, Status::kRunning);
  EXPECT_EQ(Decide(Running(absl::Hours(1)), Limits()).status, Status::kHanging);
  EXPECT_TRUE(Decide(Running(absl::Hours(1)), Limits()).stalled);

  Evidence nobody_says = Running(absl::Hours(1));
  nobody_says.scheduler = SchedulerState::kUnknown;
  EXPECT_EQ(Decide(nobody_says, Limits()).status, Status::kUnknown);

  Evidence no_time = Running(absl::Hours(1));
  no_time.progress.reset();
  EXPECT_EQ(Decide(no_time, Limits()).status, Status::kUnknown);
}

TEST(Status, AFailureThatIsToldWhileTheJobRunsIsNoEnd) {
  Evidence evidence = Running(absl::Hours(1));
  evidence.ended_by = Ends::kFailed;
  EXPECT_EQ(Decide(evidence, Limits()).status, Status::kHanging);
  evidence.progress = kNow - absl::Seconds(5);
  EXPECT_EQ(Decide(evidence, Limits()).status, Status::kRunning);
}

TEST(Status, StepsMayStayAwayForTenTimesTheirDuration) {
  Evidence evidence = Running(absl::Minutes(15));
  evidence.step_seconds = 100;
  EXPECT_EQ(StallLimit(evidence, Limits()), absl::Seconds(1000));
  EXPECT_EQ(Decide(evidence, Limits()).status, Status::kRunning);
  evidence.step_seconds = 0.5;
  EXPECT_EQ(StallLimit(evidence, Limits()), absl::Minutes(5));
  EXPECT_EQ(Decide(evidence, Limits()).status, Status::kHanging);
}

TEST(Status, TheFirstStepMayTakeAsLongAsSettingUp) {
  Evidence evidence = Running(absl::Minutes(20));
  evidence.last_step = -1;
  evidence.step_seconds.reset();
  EXPECT_EQ(Decide(evidence, Limits()).status, Status::kRunning);
  evidence.progress = kNow - absl::Hours(2);
  EXPECT_EQ(Decide(evidence, Limits()).status, Status::kHanging);
}

}  // namespace
}  // namespace galen::triage
