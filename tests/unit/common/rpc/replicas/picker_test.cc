#include "common/rpc/replicas/picker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"

namespace galen::rpc {
namespace {

using Health = Picker::Health;

// The events of a story, one word each, and the expected results:
//   pick=a           a call would go to a
//   again=b:a        a second attempt after b goes to a, "-" to none
//   +a               a call to a begins
//   -a, !a           the first call to a ends well; a is not reached
//   ~a               a check of a begins
//   ok=a, late=a,    the first check of a ends: it serves, gave no answer,
//   no=a             says that it does not serve
//   set=ab           these are the replicas now
struct Story {
  const char* name;
  const char* words;
};

class PickerStory : public ::testing::TestWithParam<Story> {
 protected:
  void Tell(const std::string& word) {
    SCOPED_TRACE(word);
    const auto [what, value] = [&]() -> std::pair<std::string, std::string> {
      if (const std::size_t cut = word.find('='); cut != std::string::npos) {
        return {word.substr(0, cut), word.substr(cut + 1)};
      }
      return {word.substr(0, 1), word.substr(1)};
    }();
    if (what == "set") {
      std::vector<std::string> addresses;
      for (const char c : value) addresses.emplace_back(1, c);
      picker_.Set(addresses);
    } else if (what == "pick") {
      EXPECT_EQ(picker_.Pick().value_or("-"), value);
    } else if (what == "again") {
      const std::vector<std::string> both = absl::StrSplit(value, ':');
      EXPECT_EQ(picker_.Pick(both[0]).value_or("-"), both[1]);
    } else if (what == "+") {
      calls_[value].push_back(picker_.Began(value));
    } else if (what == "-" || what == "!") {
      ASSERT_FALSE(calls_[value].empty());
      picker_.Ended(value, calls_[value].front(), what == "-");
      calls_[value].erase(calls_[value].begin());
    } else if (what == "~") {
      checks_[value].push_back(picker_.CheckBegan(value));
    } else {
      ASSERT_FALSE(checks_[value].empty());
      picker_.CheckEnded(value, checks_[value].front(),
                         what == "ok"     ? Health::kServing
                         : what == "late" ? Health::kUnreachable
                                          : Health::kNotServing);
      checks_[value].erase(checks_[value].begin());
    }
  }

  Picker picker_;
  std::map<std::string, std::vector<Picker::Ticket>> calls_, checks_;
};

TEST_P(PickerStory, IsTrue) {
  for (const absl::string_view word : absl::StrSplit(GetParam().words, ' ')) {
    Tell(std::string(word));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, PickerStory,
    ::testing::Values(
        Story{"WithoutReplicasThereIsNone", "pick=- set=a pick=a set= pick=-"},
        Story{"OneGetsAll", "set=a pick=a pick=a again=a:-"},
        Story{"EachHasItsTurn", "set=abc pick=a pick=b pick=c pick=a pick=b pick=c"},
        Story{"TheOneWithTheFewestCallsIsNext",
              "set=ab +a +a +b pick=b pick=b -a -a pick=a pick=a"},
        Story{"WhatServesComesBeforeWhatWasNeverHeardOf", "set=ab ~b ok=b pick=b pick=b +b pick=b"},
        Story{"AnAnswerIsBeingHeardOf", "set=ab +b -b pick=b pick=b"},
        Story{"OneThatIsNotReachedIsPutAside", "set=ab +a !a pick=b pick=b again=a:b"},
        Story{"OneThatAnsweredNoCheckIsPutAside", "set=ab ~a late=a pick=b pick=b"},
        Story{"OneThatDrainsGetsNoNewCalls",
              "set=ab ~a ok=a ~b ok=b +a ~a no=a pick=b pick=b -a pick=b"},
        Story{"ItComesBackByACheck", "set=ab +a !a ~a ok=a ~b ok=b pick=a pick=b"},
        Story{"ButNotByOneThatBeganBefore",
              "set=ab ~b ok=b ~a +a !a ok=a pick=b pick=b ~a ok=a pick=a"},
        Story{"NorByACallThatBeganBefore", "set=ab +a +a !a -a pick=b pick=b"},
        Story{"WhatFailsTogetherCountsOnce", "set=ab ~b ok=b +a +a +a !a !a !a ~a ok=a pick=a"},
        Story{"OneThatDropsCallsAgainAndAgainMustPassMoreChecks",
              "set=ab ~b ok=b +a !a ~a ok=a +a !a ~a ok=a pick=b pick=b ~a ok=a pick=a"},
        Story{"InARow",
              "set=ab ~b ok=b +a !a ~a ok=a +a !a ~a ok=a ~a late=a ~a ok=a pick=b ~a ok=a pick=a"},
        Story{"AnAnswerMakesGoodForThem",
              "set=ab ~b ok=b +a !a ~a ok=a +a -a +a !a ~a ok=a pick=a"},
        Story{"AllPutAsideIsAsGoodAsNone", "set=ab +a !a +b !b pick=a pick=b again=a:b"},
        Story{"ASecondAttemptGoesToAnother", "set=abc pick=a again=a:b again=b:c again=c:a"},
        Story{"ToOneThatIsPutAsideOnlyWhenThereIsNothingElse",
              "set=abc +b !b again=a:c again=c:a set=ab again=a:b"},
        Story{"OneAloneComesBackByAnAnswer", "set=a +a !a +a -a set=ab pick=a"},
        Story{"ThoseThatStayKeepWhatIsKnown", "set=ab +a !a set=abc pick=b pick=c pick=b"},
        Story{"OneThatIsGoneIsForgotten",
              "set=ab +a !a +b set=b -b pick=b set=ab ~b ok=b ~a ok=a pick=a"},
        Story{"WhatEndsLateAtOneThatIsGoneHarmsNobody",
              "set=ab +a ~a set=b !a late=a pick=b set=ab pick=a"}),
    [](const auto& story) { return story.param.name; });

TEST(Picker, ManyDroppedCallsAskForEightChecksAtMost) {
  Picker picker;
  picker.Set({"a", "b"});
  const auto check = [&picker] {
    picker.CheckEnded("a", picker.CheckBegan("a"), Health::kServing);
    return picker.HealthOf("a") == Health::kServing;
  };
  for (int i = 0; i < 100; ++i) {
    picker.Ended("a", picker.Began("a"), false);
    int checks = 1;
    while (!check()) ++checks;
    EXPECT_EQ(checks, std::min(i + 1, 8));
  }
}

TEST(Picker, KnowsWhetherAnyIsPutAside) {
  Picker picker;
  picker.Set({"a", "b"});
  EXPECT_FALSE(picker.AnyAside());
  picker.CheckEnded("a", picker.CheckBegan("a"), Health::kNotServing);
  EXPECT_TRUE(picker.AnyAside());
}

}  // namespace
}  // namespace galen::rpc
