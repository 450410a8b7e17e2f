#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/node/checks/cuda/gputest_run.h"

// The runner against programs that behave as no galen-gputest should.
namespace galen::node {
namespace {

using End = GpuTestRun::End;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class GpuTestRunner : public ::testing::Test {
 protected:
  // Runs a shell script in place of galen-gputest.
  GpuTestRun Run(const std::string& script, absl::Duration time = absl::Seconds(30)) {
    absl::StatusOr<GpuTestRun> run =
        RunGpuTest("/bin/sh", {"-c", script}, absl::Now() + time, cancellation_,
                   [this](double done, absl::string_view) {
                     progress_.push_back(done);
                     if (cancel_on_progress_) cancellation_.Cancel();
                   });
    return run.ok() ? *std::move(run) : GpuTestRun{.text = std::string(run.status().message())};
  }

  Cancellation cancellation_;
  bool cancel_on_progress_ = false;
  std::vector<double> progress_;
};

TEST_F(GpuTestRunner, TakesLinesUntilDone) {
  const GpuTestRun run =
      Run("printf '@step\\tlimit=5\\twhat=x\\n@progress\\tdone=0.5\\twhat=y\\n"
          "@result\\tmismatches=3\\n@done\\n'");
  EXPECT_EQ(run.end, End::kDone);
  ASSERT_THAT(run.lines, SizeIs(1));
  EXPECT_EQ(run.Find("result")->Integer("mismatches"), 3);
  EXPECT_THAT(progress_, ::testing::ElementsAre(0.5));
}

TEST_F(GpuTestRunner, AProgramThatSaysNothingMoreThanItPromisedHangs) {
  const GpuTestRun run = Run("printf '@step\\tlimit=0.1\\twhat=cuFoo\\n'; exec sleep 600");
  EXPECT_EQ(run.end, End::kHung);
  EXPECT_EQ(run.text, "cuFoo");
}

TEST_F(GpuTestRunner, AProgramThatDiesIsTold) {
  const GpuTestRun run = Run("printf '@step\\tlimit=5\\twhat=cuBar\\n'; kill -SEGV $$");
  EXPECT_EQ(run.end, End::kDied);
  EXPECT_THAT(run.text, HasSubstr("died of signal 11 in cuBar"));
  EXPECT_THAT(Run("echo cannot load; exit 127").text, HasSubstr("exit code 127"));
  EXPECT_THAT(Run("echo cannot load; exit 127").text, HasSubstr("cannot load"));
}

TEST_F(GpuTestRunner, OutputWithoutEndIsTruncatedOff) {
  EXPECT_THAT(Run("yes | tr -d '\\n'").text, HasSubstr("more than it should"));
  EXPECT_THAT(Run("while :; do printf '@a\\tb=c\\n'; done").text, HasSubstr("more than it should"));
}

TEST_F(GpuTestRunner, TheDeadlineEndsIt) {
  EXPECT_EQ(Run("exec sleep 600", absl::Milliseconds(300)).end, End::kLate);
}

// Whether a process has ended; a zombie has ended, too.
bool IsGone(std::int64_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string number;
  std::string name;
  std::string state;
  return !(file >> number >> name >> state) || state == "Z" || state == "X";
}

TEST_F(GpuTestRunner, ACancelKillsItAndAllThatItStartedWhateverTheyIgnore) {
  cancel_on_progress_ = true;
  const GpuTestRun run =
      Run("trap '' TERM INT HUP; sleep 600 & printf '@child\\tpid=%d\\n' $!; "
          "printf '@step\\tlimit=600\\twhat=x\\n@progress\\tdone=0\\twhat=x\\n'; wait");
  EXPECT_EQ(run.end, End::kCancelled);
  ASSERT_NE(run.Find("child"), nullptr);
  const std::int64_t pid = *run.Find("child")->Integer("pid");
  for (const absl::Time end = absl::Now() + absl::Seconds(20); !IsGone(pid) && absl::Now() < end;) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_TRUE(IsGone(pid));
}

TEST_F(GpuTestRunner, TheTestChoosesItsGpusItself) {
  setenv("CUDA_VISIBLE_DEVICES", "3", 1);
  const GpuTestRun run =
      Run("printf '@env\\tvisible=%s\\torder=%s\\tcache=%s\\n@done\\n' \"$CUDA_VISIBLE_DEVICES\" "
          "\"$CUDA_DEVICE_ORDER\" \"$CUDA_CACHE_DISABLE\"");
  unsetenv("CUDA_VISIBLE_DEVICES");
  ASSERT_NE(run.Find("env"), nullptr);
  EXPECT_EQ(run.Find("env")->Text("visible"), "");
  EXPECT_EQ(run.Find("env")->Text("order"), "PCI_BUS_ID");
  EXPECT_EQ(run.Find("env")->Text("cache"), "1");
}

TEST_F(GpuTestRunner, AMissingProgramIsAnError) {
  EXPECT_FALSE(
      RunGpuTest("/nonexistent/x", {}, absl::Now() + absl::Seconds(5), cancellation_, nullptr)
          .ok());
}

TEST(GpuTestLine, IsReadOrRefused) {
  EXPECT_FALSE(ParseGpuTestLine("").has_value());
  EXPECT_FALSE(ParseGpuTestLine("result\ta=1").has_value());
  EXPECT_FALSE(ParseGpuTestLine("@").has_value());
  EXPECT_FALSE(ParseGpuTestLine("@a\tb").has_value());
  EXPECT_FALSE(ParseGpuTestLine("@a\t=b").has_value());
  const auto line = ParseGpuTestLine("@a\tb=1=2\tc=nan\td=7");
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->Text("b"), "1=2");
  EXPECT_EQ(line->Number("c"), std::nullopt);
  EXPECT_EQ(line->Integer("d"), 7);
  EXPECT_EQ(line->Integer("b"), std::nullopt);
  EXPECT_EQ(line->Text("missing"), "");
  std::string many = "@a";
  for (int i = 0; i < 100; ++i) absl::StrAppend(&many, "\tf", i, "=1");
  EXPECT_FALSE(ParseGpuTestLine(many).has_value());
}

}  // namespace
}  // namespace galen::node
