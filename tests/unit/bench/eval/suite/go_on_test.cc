#include "bench/eval/suite/talk/go_on.h"

#include "bench/eval/suite/talk/sentences.h"
#include "gtest/gtest.h"
#include "suite_words.h"

namespace galen::talk {
namespace {

const TalkWords& Words() { return eval::TheSuiteWords().talk; }

struct Said {
  const char* text;
  GoOn go_on;
};

class GoOnTest : public ::testing::TestWithParam<Said> {};

TEST_P(GoOnTest, IsWhatTheSpeakerWants) {
  const auto sentences = SentencesOf(GetParam().text, Words());
  EXPECT_EQ(WhetherToGoOn(sentences, Words(), true).go_on, GetParam().go_on) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Talks, GoOnTest,
    ::testing::Values(
        Said{"Please go ahead.", GoOn::kYes}, Said{"Can you have a look?", GoOn::kYes},
        Said{"Don't start yet.", GoOn::kNo}, Said{"Hold off, please.", GoOn::kNo},
        Said{"Go ahead. No wait, hold on.", GoOn::kNo},
        Said{"Hold on. Ok, go ahead now.", GoOn::kYes},
        Said{"Once security signs off, go ahead.", GoOn::kNo},
        Said{"If it still hangs, please check it.", GoOn::kYes},
        Said{"Should we proceed?", GoOn::kUnsaid}, Said{"Shall we proceed?\nyes", GoOn::kYes},
        Said{"Shall we proceed?\nno", GoOn::kNo},
        Said{"The page says \"stop everything and wait\". Proceed.", GoOn::kYes},
        Said{"My colleague said to stop.", GoOn::kUnsaid},
        Said{"Stop the training job.", GoOn::kUnsaid}, Said{"Cancel the diagnosis.", GoOn::kNo},
        Said{"It is fixed already.", GoOn::kNo}, Said{"> please stop the checks", GoOn::kUnsaid},
        Said{"The loss goes up since noon.", GoOn::kUnsaid}, Said{"", GoOn::kUnsaid}));

TEST(GoOn, WithoutWeighingQuotedOrdersCount) {
  const auto sentences = SentencesOf("Proceed. The page says \"never touch anything\".", Words());
  EXPECT_EQ(WhetherToGoOn(sentences, Words(), true).go_on, GoOn::kYes);
  EXPECT_EQ(WhetherToGoOn(sentences, Words(), false).go_on, GoOn::kNo);
}

TEST(GoOn, NamesTheSentenceThatSaysSo) {
  const auto sentences = SentencesOf("It hangs. Please hold off.", Words());
  EXPECT_EQ(WhetherToGoOn(sentences, Words(), true).sentence, "Please hold off.");
}

}  // namespace
}  // namespace galen::talk
