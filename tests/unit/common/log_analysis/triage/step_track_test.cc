// Claims about the steps of a process: each counts once, and restarts differ from late reports.
#include "common/log_analysis/triage/step_track.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::triage {
namespace {

StepsOfWriter StepsOf(std::initializer_list<std::int64_t> steps, bool interval = false,
                      std::int64_t first_step = -1) {
  StepsOfWriter writer;
  for (const std::int64_t step : steps) writer.Add(step, 2.0, interval, first_step);
  writer.Finish();
  return writer;
}

TEST(StepsOfWriter, AStepThatIsReportedTwiceCountsOnce) {
  const StepsOfWriter steps = StepsOf({1, 2, 2, 3, 3, 3});
  EXPECT_EQ(steps.last(), 3);
  EXPECT_EQ(steps.reported(), 3);
  EXPECT_EQ(steps.seconds(), 6);
  EXPECT_EQ(steps.runs(), 1);
}

TEST(StepsOfWriter, AMeanOverAnIntervalCountsForEachOfItsSteps) {
  EXPECT_EQ(StepsOf({10, 20, 30}, true, 1).seconds(), 60);
  EXPECT_EQ(StepsOf({10, 20, 30}, true).seconds(), 60);
  // It began at its first step, so the first report covers three.
  EXPECT_EQ(StepsOf({3, 10, 17}, true, 1).seconds(), 2 * (3 + 7 + 7));
  // A separate report covers one step, also after lost ones.
  EXPECT_EQ(StepsOf({10, 20, 30}, false).seconds(), 6);
  // Lost reports are not filled in.
  EXPECT_EQ(StepsOf({10, 20, 100}, true).seconds(), 60);
  EXPECT_EQ(StepsOf({45000}, true, 1).seconds(), 2);
}

TEST(StepsOfWriter, AStepThatGoesBackAndGoesOnIsARestart) {
  const StepsOfWriter steps = StepsOf({100, 101, 102, 51, 52});
  EXPECT_EQ(steps.runs(), 2);
  EXPECT_EQ(steps.first(), 51);
  EXPECT_EQ(steps.last(), 52);
  EXPECT_EQ(steps.seconds(), 10);
}

TEST(StepsOfWriter, AStepThatGoesBackAloneCameLate) {
  const StepsOfWriter steps = StepsOf({100, 101, 99, 102});
  EXPECT_EQ(steps.runs(), 1);
  EXPECT_EQ(steps.last(), 102);
  EXPECT_EQ(steps.seconds(), 6);
}

TEST(StepsOfWriter, TheOnlyStepOfANewRunIsOne) {
  const StepsOfWriter steps = StepsOf({100, 101, 1});
  EXPECT_EQ(steps.runs(), 2);
  EXPECT_EQ(steps.last(), 1);
}

StepLine Line(std::int64_t step, double seconds) {
  StepLine line;
  line.step = step;
  line.Set(Quantity::kStep, static_cast<double>(step));
  line.Set(Quantity::kSeconds, seconds);
  return line;
}

std::optional<absl::Time> NoStamp(absl::string_view /*text*/) { return std::nullopt; }

TEST(StepTrack, EachWriterHasASumOfItsOwn) {
  const StepFormat format;
  const Limits limits;
  StepTrack track(format, limits);
  for (int step = 1; step <= 4; ++step) {
    track.Add(Line(step, 1.5), 0, step, "a", "[rank0]:", NoStamp);
    if (step < 4) track.Add(Line(step, 2.5), 0, step, "b", "[rank1]:", NoStamp);
  }
  track.Finish();
  ASSERT_EQ(track.writers().size(), 2);
  EXPECT_EQ(track.writers()[0].steps.seconds(), 6);
  EXPECT_EQ(track.writers()[1].steps.seconds(), 7.5);
  EXPECT_EQ(track.reference()->prefix, "[rank0]:");
}

TEST(StepTrack, MillionsOfWritersAreCountedAndNotKept) {
  const StepFormat format;
  const Limits limits;
  StepTrack track(format, limits);
  constexpr int kWriters = 100'000;
  for (int i = 0; i < kWriters; ++i) {
    track.Add(Line(1, 1), 0, i, "x", absl::StrCat("[rank", i, "]:"), NoStamp);
  }
  EXPECT_EQ(track.writers().size(), StepTrack::kMaxWriters);
  EXPECT_EQ(track.writers_left_out(), kWriters - static_cast<std::int64_t>(StepTrack::kMaxWriters));
}

TEST(StepTrack, TimesBetweenLinesAreThoseOfStepsThatNameNone) {
  const StepFormat format;
  const Limits limits;
  StepTrack track(format, limits);
  for (int step = 0; step < 4; ++step) {
    StepLine line;
    line.step = step;
    track.Add(line, 0, step, absl::StrCat(step), "", [](absl::string_view text) {
      return std::optional(absl::FromUnixSeconds(1'000'000'000 + 3 * (text[0] - '0')));
    });
  }
  track.Finish();
  EXPECT_EQ(track.reference()->steps.seconds(), 9);
  EXPECT_EQ(track.seconds().max(), 3);
}

TEST(StepTrack, ARunsOwnClockIsTheSum) {
  const StepFormat format;
  const Limits limits;
  StepTrack track(format, limits);
  const auto add = [&](int step, double elapsed) {
    StepLine line;
    line.step = step;
    line.Set(Quantity::kElapsed, elapsed);
    track.Add(line, 0, step, "", "", NoStamp);
  };
  for (const auto& [step, elapsed] : {std::pair(0, 0.0), {5, 50.0}, {6, 62.0}, {6, 62.0}}) {
    add(step, elapsed);
  }
  track.Finish();
  EXPECT_EQ(track.reference()->steps.seconds(), 62);
  EXPECT_EQ(track.seconds().min(), 10);
  EXPECT_EQ(track.seconds().max(), 12);
}

}  // namespace
}  // namespace galen::triage
