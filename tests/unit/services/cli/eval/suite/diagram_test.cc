#include "services/cli/eval/suite/diagram.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/words.h"

namespace galen::eval {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

knowledge::Knowledge TwoLabels() {
  knowledge::v1::KnowledgeBase base;
  knowledge::v1::Label& cause = *base.add_labels();
  cause.set_label("GPU.A");
  cause.set_title("Fan broken");
  cause.add_secondary_effects("GPU.B");
  knowledge::v1::Label& effect = *base.add_labels();
  effect.set_label("GPU.B");
  effect.set_title("Clock throttled");
  return knowledge::Knowledge(std::move(base));
}

TEST(Diagram, WhatIsRuledOutIsNoSign) {
  const std::string left =
      WithoutDenials("The clock drops under load. ECC counters are zero, cables look fine.",
                     testing::ShippedWords<DenialWords>());
  EXPECT_THAT(left, HasSubstr("clock drops"));
  EXPECT_THAT(left, Not(HasSubstr("ECC")));
  EXPECT_THAT(left, Not(HasSubstr("cables")));
}

TEST(Diagram, WhatDoesNotWorkIsASign) {
  EXPECT_THAT(WithoutDenials("The server does not answer.", testing::ShippedWords<DenialWords>()),
              HasSubstr("answer"));
}

TEST(Diagram, AnEffectGivesWayToItsCause) {
  const knowledge::Knowledge knowledge = TwoLabels();
  const auto critiques = CritiqueOf(knowledge, {{"GPU.B", 1, false}, {"GPU.A", 0, false}});
  ASSERT_THAT(critiques, SizeIs(1));
  EXPECT_EQ(critiques[0].label, "GPU.B");
  EXPECT_LT(critiques[0].change, 0);
}

TEST(Diagram, AnEffectWithAMessageOfItsOwnStands) {
  const knowledge::Knowledge knowledge = TwoLabels();
  EXPECT_THAT(CritiqueOf(knowledge, {{"GPU.B", 1, true}, {"GPU.A", 0, false}}), SizeIs(0));
}

TEST(Diagram, ADuelIsDecidedByWhatOnlyOneHas) {
  const knowledge::Knowledge knowledge = TwoLabels();
  EXPECT_GT(Duel(knowledge, "GPU.A", "GPU.B", "the fan stands still"), 0);
  EXPECT_LT(Duel(knowledge, "GPU.A", "GPU.B", "the clock is throttled"), 0);
  EXPECT_EQ(Duel(knowledge, "GPU.A", "GPU.B", "nothing of either"), 0);
}

}  // namespace
}  // namespace galen::eval
