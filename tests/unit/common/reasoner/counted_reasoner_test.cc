#include "common/reasoner/counted_reasoner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/reasoner/fake_reasoner.h"

namespace galen::reasoner {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CountedReasoner, TellsWhoAnsweredWhichQuestion) {
  galen::testing::FakeReasoner fake;
  fake.rank->mutable_reasoned()->set_fallback(galen::v1::Reasoned::NONE);
  fake.verdicts[""] = absl::DeadlineExceededError("late");
  ReasonerNumbers numbers;
  const CountedReasoner counted(fake, numbers);
  const absl::Time deadline = absl::InfiniteFuture();
  EXPECT_EQ(counted.name(), "fake");
  EXPECT_TRUE(counted.Summarize({}, deadline).ok());
  EXPECT_TRUE(counted.RankChildren({}, deadline).ok());
  fake.rank->mutable_reasoned()->set_fallback(galen::v1::Reasoned::UNAVAILABLE);
  EXPECT_TRUE(counted.RankChildren({}, deadline).ok());
  EXPECT_TRUE(counted.RankChildren({}, deadline).ok());
  v1::JudgeQuestion judge;
  judge.add_labels("");
  EXPECT_TRUE(absl::IsDeadlineExceeded(counted.Judge(judge, deadline).status()));
  EXPECT_TRUE(counted.Screen({}, deadline).ok());

  metrics::Registry registry;
  registry.Add(metrics::SourceOf([&] { return numbers.Collect(); }));
  const std::string text = registry.Text();
  for (const char* line : {
           "galen_reasoner_calls_total{question=\"summarize\",by=\"rules\"} 1\n",
           "galen_reasoner_calls_total{question=\"rank\",by=\"model\"} 1\n",
           "galen_reasoner_calls_total{question=\"rank\",by=\"rules\"} 2\n",
           "galen_reasoner_calls_total{question=\"judge\",by=\"none\"} 1\n",
           "galen_reasoner_calls_total{question=\"judge\",by=\"rules\"} 0\n",
           "galen_reasoner_calls_total{question=\"screen\",by=\"rules\"} 1\n",
           "galen_reasoner_seconds_count{question=\"rank\"} 3\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("conclude")));
}

}  // namespace
}  // namespace galen::reasoner
