#include "common/reasoner/judge.h"

#include <gmock/gmock.h>

#include "cases.h"

namespace galen::reasoner {
namespace {

using galen::v1::Reason;
using galen::v1::Verdict;
using knowledge::v1::Rule;
using testing::Bool;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::Event;
using ::testing::HasSubstr;
using testing::Int;
using ::testing::IsEmpty;
using testing::JudgeOf;
using testing::KnowledgeBuilder;
using ::testing::Not;
using ::testing::Property;
using testing::Scene;
using testing::Text;
using testing::Unknown;

KnowledgeBuilder Counter() {
  KnowledgeBuilder book;
  book.Check("gpu.ecc", "errors", "int", Rule::GT, "0")
      .Check("gpu.ecc", "mode", "bool")
      .Check("log", "xid", "event", Rule::NE, "none")
      .Check("gpu.board", "bad", "bool", Rule::EQ, "true")
      .Check("history.node", "failures", "int");
  book.Leaf("MAIN.SUB.ECC")
      .Confirm("gpu.ecc", "errors", Rule::GT, "0")
      .Refute("gpu.ecc", "errors", Rule::EQ, "0");
  return book;
}

// One state, seen in `seen` of 150 incidents that had another cause.
Verdict OfAState(int seen, const std::vector<galen::v1::Strength>& messages) {
  KnowledgeBuilder made;
  made.Check("a", "bad", "bool", Rule::EQ, "true")
      .Rate("a bad == true", seen, 150)
      .Rate("message", 0, 150);
  made.Leaf("MAIN.SUB.LEAF").Confirm("a", "bad", Rule::EQ, "true").AsState();
  const auto book = made.Make();
  Scene scene(book);
  scene.Saw("a", {Bool("bad", true)});
  for (const galen::v1::Strength strength : messages) {
    scene.Read("s", {"MAIN.SUB.LEAF"}, strength);
  }
  return JudgeOf(book, scene, "MAIN.SUB.LEAF");
}

TEST(Judge, AStateThatOtherIncidentsShowConvictsOnlyBesideAMessageOfItsOwn) {
  EXPECT_EQ(OfAState(15, {}).outcome(), Verdict::INCONCLUSIVE);
  EXPECT_LT(OfAState(15, {}).probability(), 0.1);
  EXPECT_EQ(OfAState(15, {galen::v1::STRONG}).outcome(), Verdict::INCONCLUSIVE);
  EXPECT_EQ(OfAState(15, {galen::v1::DECISIVE}).outcome(), Verdict::CONFIRMED);
  EXPECT_EQ(OfAState(0, {}).outcome(), Verdict::INCONCLUSIVE);
  EXPECT_GT(OfAState(0, {}).probability(), 0.8);
  EXPECT_EQ(OfAState(0, {galen::v1::STRONG}).outcome(), Verdict::CONFIRMED);
  EXPECT_THAT(OfAState(15, {}).reasons(0).text(),
              HasSubstr("15 of 150 incidents with another cause show it as well"));
}

TEST(Judge, AStateThatNobodyMeasuredConvictsNobodyUnlessItIsTheFaultItself) {
  for (const bool defining : {false, true}) {
    KnowledgeBuilder made;
    made.Check("a", "bad", "bool", Rule::EQ, "true");
    made.Leaf("MAIN.SUB.LEAF").Confirm("a", "bad", Rule::EQ, "true");
    if (!defining) made.AsState();
    const auto book = made.Make();
    const Scene scene = Scene(book).Saw("a", {Bool("bad", true)});
    EXPECT_EQ(JudgeOf(book, scene, "MAIN.SUB.LEAF").outcome(),
              defining ? Verdict::CONFIRMED : Verdict::INCONCLUSIVE);
  }
}

TEST(Judge, MessagesThatNothingElseLeavesConvictWhenNothingContradicts) {
  KnowledgeBuilder made = Counter();
  made.Rate("message", 0, 225);
  const auto book = made.Make();
  Scene one(book);
  one.Read("s", {"MAIN.SUB.ECC"}, galen::v1::DECISIVE).Skipped("gpu.ecc");
  EXPECT_EQ(JudgeOf(book, one, "MAIN.SUB.ECC").outcome(), Verdict::INCONCLUSIVE);
  EXPECT_GT(JudgeOf(book, one, "MAIN.SUB.ECC").probability(), 0.5);
  Scene two(book);
  two.Read("s", {"MAIN.SUB.ECC"}, galen::v1::DECISIVE, "a line", 7)
      .Read("t", {"MAIN.SUB.ECC"}, galen::v1::DECISIVE, "another one", 9)
      .Skipped("gpu.ecc");
  EXPECT_EQ(JudgeOf(book, two, "MAIN.SUB.ECC").outcome(), Verdict::CONFIRMED);
  Scene contradicted(book);
  contradicted.Read("s", {"MAIN.SUB.ECC"}, galen::v1::DECISIVE, "a line", 7)
      .Read("t", {"MAIN.SUB.ECC"}, galen::v1::DECISIVE, "another one", 9)
      .Saw("gpu.ecc", {Int("errors", 0, "gpu:0")});
  EXPECT_NE(JudgeOf(book, contradicted, "MAIN.SUB.ECC").outcome(), Verdict::CONFIRMED);
}

TEST(Judge, OneLineIsOneObservationHoweverManyPatternsMatchIt) {
  KnowledgeBuilder made = Counter();
  made.Rate("message", 0, 225);
  const auto book = made.Make();
  const auto probability = [&](int patterns) {
    Scene scene(book);
    for (int i = 0; i < patterns; ++i) {
      scene.Read(absl::StrCat("s", i), {"MAIN.SUB.ECC"}, galen::v1::STRONG, "a line", 7);
    }
    return JudgeOf(book, scene.Skipped("gpu.ecc"), "MAIN.SUB.ECC").probability();
  };
  EXPECT_EQ(probability(1), probability(5));
}

TEST(Judge, WordsProveNothingHoweverRareTheyAre) {
  KnowledgeBuilder made = Counter();
  made.Rate("words", 0, 100000);
  const auto book = made.Make();
  Scene scene(book);
  for (int line = 1; line <= 5; ++line) {
    scene.Read(absl::StrCat("s", line), {"MAIN.SUB.ECC"}, galen::v1::DECISIVE, "a line", line)
        .InWords();
  }
  const Verdict verdict = JudgeOf(book, scene.Skipped("gpu.ecc"), "MAIN.SUB.ECC");
  EXPECT_EQ(verdict.outcome(), Verdict::INCONCLUSIVE);
}

TEST(Judge, WordsDecideNothingBetweenCausesThatShowAlike) {
  KnowledgeBuilder made = Counter();
  made.Rate("message", 0, 225).Rate("words", 0, 225);
  made.Leaf("MAIN.SUB.TWIN").Confirm("gpu.ecc", "errors", Rule::GT, "0");
  const auto book = made.Make();
  Scene scene(book);
  scene.Saw("gpu.ecc", {Int("errors", 3, "gpu:0")});
  for (int line = 1; line <= 5; ++line) {
    scene.Read(absl::StrCat("s", line), {"MAIN.SUB.ECC"}, galen::v1::DECISIVE, "a line", line)
        .InWords();
  }
  EXPECT_EQ(JudgeOf(book, scene, "MAIN.SUB.ECC").outcome(), Verdict::INCONCLUSIVE);
  EXPECT_GT(JudgeOf(book, scene, "MAIN.SUB.ECC").probability(),
            JudgeOf(book, scene, "MAIN.SUB.TWIN").probability());
}

TEST(Judge, AMessageOfSeveralCausesTellsLessOfEach) {
  KnowledgeBuilder made = Counter();
  made.Rate("message", 0, 225);
  made.Leaf("MAIN.SUB.OTHER");
  const auto book = made.Make();
  Scene shared(book);
  shared.Read("s", {"MAIN.SUB.ECC", "MAIN.SUB.OTHER"}, galen::v1::DECISIVE).Skipped("gpu.ecc");
  Scene own(book);
  own.Read("s", {"MAIN.SUB.ECC"}, galen::v1::DECISIVE).Skipped("gpu.ecc");
  EXPECT_LT(JudgeOf(book, shared, "MAIN.SUB.ECC").probability(), 0.5);
  EXPECT_GT(JudgeOf(book, own, "MAIN.SUB.ECC").probability(), 0.5);
}

TEST(Judge, ALabelThatOnlyTellsHowFailuresLookIsLessLikelyThanACause) {
  KnowledgeBuilder made = Counter();
  made.Leaf("MAIN.SUB.CRASH").Residual().Confirm("gpu.board", "bad", Rule::EQ, "true");
  made.Leaf("MAIN.SUB.BOARD").Confirm("gpu.board", "bad", Rule::EQ, "true");
  const auto book = made.Make();
  const Scene scene = Scene(book).Saw("gpu.board", {Bool("bad", true, "gpu:0")});
  EXPECT_LT(JudgeOf(book, scene, "MAIN.SUB.CRASH").probability(), 0.1);
  EXPECT_GT(JudgeOf(book, scene, "MAIN.SUB.BOARD").probability(), 0.8);
}

TEST(Judge, CausesOfOneFindingShareItsProbability) {
  KnowledgeBuilder made = Counter();
  made.Leaf("MAIN.SUB.A").Confirm("gpu.board", "bad", Rule::EQ, "true");
  made.Leaf("MAIN.SUB.B").Confirm("gpu.board", "bad", Rule::EQ, "true");
  const auto book = made.Make();
  const Scene scene = Scene(book).Saw("gpu.board", {Bool("bad", true, "gpu:0")});
  const Verdict verdict = JudgeOf(book, scene, "MAIN.SUB.A");
  EXPECT_EQ(verdict.outcome(), Verdict::INCONCLUSIVE);
  EXPECT_NEAR(verdict.probability(), 0.5, 0.05);
}

TEST(Judge, WhatAProvenCauseAccountsForProvesNoSecondOne) {
  KnowledgeBuilder made;
  made.Check("log", "xid", "event", Rule::NE, "none")
      .Check("libs", "skew", "bool", Rule::EQ, "true")
      .Check("libs2", "skew", "bool", Rule::EQ, "true")
      .Check("gpu.board", "bad", "bool", Rule::EQ, "true");
  made.Leaf("MAIN.SUB.FIRMWARE", "low").Confirm("log", "xid", Rule::IN, "119");
  made.Leaf("MAIN.SUB.SKEW", "high")
      .Confirm("libs", "skew", Rule::EQ, "true")
      .Confirm("libs2", "skew", Rule::EQ, "true")
      .Causes("Xid 119");
  made.Leaf("MAIN.SUB.BOARD").Confirm("gpu.board", "bad", Rule::EQ, "true");
  const auto book = made.Make();
  const Scene both = Scene(book)
                         .Saw("log", {Event("xid", "119", "gpu:0")})
                         .Saw("libs", {Bool("skew", true)})
                         .Saw("libs2", {Bool("skew", true)});
  EXPECT_EQ(JudgeOf(book, both, "MAIN.SUB.SKEW").outcome(), Verdict::CONFIRMED);
  const Verdict verdict = JudgeOf(book, both, "MAIN.SUB.FIRMWARE");
  EXPECT_EQ(verdict.outcome(), Verdict::REJECTED) << verdict.DebugString();
  const Scene alone = Scene(book)
                          .Saw("log", {Event("xid", "119", "gpu:0")})
                          .Saw("libs", {Bool("skew", false)})
                          .Saw("libs2", {Bool("skew", false)});
  EXPECT_EQ(JudgeOf(book, alone, "MAIN.SUB.FIRMWARE").outcome(), Verdict::CONFIRMED);
}

TEST(Judge, WhatOneDeviceShowsTellsMoreThanWhatAllShowWhereThatIsRarer) {
  KnowledgeBuilder made;
  made.Check("a", "bad", "bool", Rule::EQ, "true")
      .Rate("a bad == true", 30, 150)
      .Rate("a bad == true on some", 0, 150);
  made.Leaf("MAIN.SUB.LEAF").Confirm("a", "bad", Rule::EQ, "true").AsState();
  const auto book = made.Make();
  const auto probability = [&](bool of_the_other) {
    const Scene scene =
        Scene(book).Saw("a", {Bool("bad", true, "gpu:0"), Bool("bad", of_the_other, "gpu:1")});
    return JudgeOf(book, scene, "MAIN.SUB.LEAF").probability();
  };
  EXPECT_GT(probability(false), 2 * probability(true));
}

TEST(Judge, NoEffectComesBeforeItsCause) {
  KnowledgeBuilder made;
  made.Check("log", "xid", "event", Rule::NE, "none");
  made.Leaf("MAIN.SUB.REMAP").Confirm("log", "xid", Rule::IN, "64").Causes("Xid 48");
  made.Leaf("MAIN.SUB.ECC").Confirm("log", "xid", Rule::IN, "48");
  const auto book = made.Make();
  const auto outcome = [&](int64_t seconds_of_48) {
    const Scene scene = Scene(book).Saw(
        "log", {Event("xid", "48", "gpu:0", seconds_of_48), Event("xid", "64", "gpu:0", 100)});
    return JudgeOf(book, scene, "MAIN.SUB.ECC").outcome();
  };
  EXPECT_EQ(outcome(101), Verdict::REJECTED) << "the failed remap accounts for it";
  EXPECT_EQ(outcome(99), Verdict::CONFIRMED);
}

TEST(Judge, WhatSpeaksAgainstACauseTakesFromItHoweverRareThatIs) {
  KnowledgeBuilder made = Counter();
  made.Rate("against gpu.ecc errors > 0", 0, 150);
  made.Leaf("MAIN.SUB.BOARD")
      .Confirm("gpu.board", "bad", Rule::EQ, "true")
      .Refute("gpu.ecc", "errors", Rule::GT, "0");
  const auto book = made.Make();
  const auto probability = [&](int errors) {
    const Scene scene = Scene(book)
                            .Saw("gpu.board", {Bool("bad", true, "gpu:0")})
                            .Saw("gpu.ecc", {Int("errors", errors, "gpu:0")});
    return JudgeOf(book, scene, "MAIN.SUB.BOARD").probability();
  };
  EXPECT_LT(probability(3), probability(0) - 0.1);
}

TEST(Judge, AMessageMaySpeakAgainstACauseAndAgainstAllBelowALabel) {
  KnowledgeBuilder made = Counter();
  made.Rate("message", 0, 225);
  const auto book = made.Make();
  Scene scene(book);
  scene.Read("bad", {"MAIN.SUB.ECC"}, galen::v1::STRONG, "a line", 1).Skipped("gpu.ecc");
  const double alone = JudgeOf(book, scene, "MAIN.SUB.ECC").probability();
  const auto with = [&](const std::string& label, galen::v1::Strength strength) {
    Scene denied = scene;
    denied.Read("all_clear", {}, strength, "another line", 2).Against(label);
    return denied;
  };
  const Scene strong = with("MAIN.SUB.ECC", galen::v1::STRONG);
  Scene words = strong;
  const double denied = JudgeOf(book, strong, "MAIN.SUB.ECC").probability();
  const double in_words = JudgeOf(book, words.InWords(), "MAIN.SUB.ECC").probability();
  EXPECT_LT(denied, in_words) << "a person may be wrong";
  EXPECT_LT(in_words, alone);
  EXPECT_LT(denied,
            JudgeOf(book, with("MAIN.SUB.ECC", galen::v1::WEAK), "MAIN.SUB.ECC").probability());
  EXPECT_EQ(JudgeOf(book, with("MAIN.SUB", galen::v1::STRONG), "MAIN.SUB.ECC").probability(),
            denied);
  EXPECT_EQ(JudgeOf(book, with("MAIN.SUB.EC", galen::v1::STRONG), "MAIN.SUB.ECC").probability(),
            alone);
  Scene twice = strong;
  twice.Read("all_clear_too", {}, galen::v1::STRONG, "another line", 2).Against("MAIN.SUB.ECC");
  EXPECT_EQ(JudgeOf(book, twice, "MAIN.SUB.ECC").probability(), denied)
      << "one line is one observation";
  const Verdict verdict = JudgeOf(book, strong, "MAIN.SUB.ECC");
  EXPECT_THAT(verdict.reasons(), Contains(Property(&Reason::direction, Reason::OPPOSES)));
}

TEST(Judge, ARefutedCauseNeedsMoreThanOneSign) {
  KnowledgeBuilder made = Counter();
  made.Leaf("MAIN.SUB.OOM")
      .Confirm("gpu.board", "bad", Rule::EQ, "true")
      .Refute("gpu.ecc", "errors", Rule::GT, "0");
  const auto book = made.Make();
  const Scene scene = Scene(book)
                          .Saw("gpu.board", {Bool("bad", true, "gpu:0")})
                          .Saw("gpu.ecc", {Int("errors", 0, "gpu:0"), Int("errors", 3, "gpu:1")});
  const Verdict verdict = JudgeOf(book, scene, "MAIN.SUB.OOM");
  EXPECT_EQ(verdict.outcome(), Verdict::INCONCLUSIVE) << "a sign, and one abnormal device against";
  EXPECT_LT(verdict.probability(), Beliefs::kProven);
}

TEST(Judge, AFactThatExcludesACauseTakesMoreThanOneThatSpeaksAgainstIt) {
  const auto probability = [](bool excludes) {
    KnowledgeBuilder made = Counter();
    made.Leaf("MAIN.SUB.SWITCH")
        .Confirm("gpu.board", "bad", Rule::EQ, "true")
        .Refute("gpu.ecc", "mode", Rule::EQ, "false");
    if (excludes) made.Excludes();
    const auto book = made.Make();
    Scene scene(book);
    scene.Saw("gpu.board", {Bool("bad", true, "gpu:0")}).Saw("gpu.ecc", {Bool("mode", false)});
    return JudgeOf(book, scene, "MAIN.SUB.SWITCH").probability();
  };
  EXPECT_LT(probability(true), probability(false) / 4);
}

TEST(Judge, APartThatShowsNoFaultSpeaksAgainstACauseButRulesNothingOut) {
  KnowledgeBuilder made = Counter();
  made.Leaf("MAIN.SUB.PAGES").Refute("gpu.ecc", "errors", Rule::LT, "15");
  const auto book = made.Make();
  const auto of = [&](std::vector<galen::v1::Finding> shown) {
    Scene scene(book);
    scene.Read("s", {"MAIN.SUB.PAGES"}, galen::v1::DECISIVE);
    if (!shown.empty()) scene.SawAPart("gpu.ecc", std::move(shown));
    return JudgeOf(book, scene, "MAIN.SUB.PAGES");
  };
  galen::v1::Finding unknown;
  unknown.set_name("errors");
  const Verdict part = of({Int("errors", 0, "gpu:2"), unknown});
  EXPECT_LT(part.probability(), of({}).probability());
  EXPECT_NE(part.outcome(), Verdict::REJECTED);
  EXPECT_THAT(part.reasons(), Contains(Property(&Reason::direction, Reason::OPPOSES)));
  EXPECT_DOUBLE_EQ(of({unknown}).probability(), of({}).probability()) << "it shows nothing";
  EXPECT_GE(of({Int("errors", 40, "gpu:2")}).probability(), of({}).probability());
}

TEST(Judge, OneMessageProvesOnlyIfItIsDecisiveWhateverWordsSay) {
  KnowledgeBuilder made = Counter();
  made.Rate("message", 0, 2000).Rate("words", 0, 100000);
  made.Leaf("MAIN.SUB.STALE");
  const auto book = made.Make();
  const auto outcome = [&](galen::v1::Strength strength) {
    Scene scene(book);
    scene.Read("s", {"MAIN.SUB.STALE"}, strength);
    scene.Read("told", {"MAIN.SUB.STALE"}, galen::v1::STRONG, "it is stale", 2).InWords();
    return JudgeOf(book, scene, "MAIN.SUB.STALE").outcome();
  };
  EXPECT_EQ(outcome(galen::v1::STRONG), Verdict::INCONCLUSIVE);
  EXPECT_EQ(outcome(galen::v1::DECISIVE), Verdict::CONFIRMED);
}

TEST(Judge, AMessageThatAPersonQuotesAsWellCountsOnce) {
  KnowledgeBuilder made = Counter();
  made.Leaf("MAIN.SUB.STALE");
  const auto book = made.Make();
  Scene once(book);
  once.Read("s", {"MAIN.SUB.STALE"}, galen::v1::STRONG);
  Scene twice(book);
  twice.Read("s", {"MAIN.SUB.STALE"}, galen::v1::STRONG);
  twice.Read("s", {"MAIN.SUB.STALE"}, galen::v1::STRONG, "a line", 1).InWords();
  EXPECT_DOUBLE_EQ(JudgeOf(book, once, "MAIN.SUB.STALE").probability(),
                   JudgeOf(book, twice, "MAIN.SUB.STALE").probability());
}

TEST(Judge, ARefutationThatConfirmsAnotherCauseTakesMore) {
  KnowledgeBuilder made = Counter();
  made.Rate("message", 0, 225);
  made.Leaf("MAIN.SUB.LAUNCH").Refute("gpu.ecc", "errors", Rule::GT, "0");
  made.Leaf("MAIN.SUB.ALONE").Refute("gpu.board", "bad", Rule::EQ, "true");
  const auto book = made.Make();
  Scene scene(book);
  scene.Read("s", {"MAIN.SUB.LAUNCH"}, galen::v1::DECISIVE, "a line", 7)
      .Read("t", {"MAIN.SUB.ALONE"}, galen::v1::DECISIVE, "another one", 9)
      .Saw("gpu.ecc", {Int("errors", 3, "gpu:0")})
      .Saw("gpu.board", {Bool("bad", true, "gpu:0")});
  EXPECT_LT(JudgeOf(book, scene, "MAIN.SUB.LAUNCH").probability(),
            JudgeOf(book, scene, "MAIN.SUB.ALONE").probability() / 2);
}

TEST(Judge, ARefutingRuleWithConditionsTakesBackTheSameSign) {
  KnowledgeBuilder made;
  made.Check("boot", "unclean", "bool", Rule::EQ, "true")
      .Check("log", "panic", "bool", Rule::EQ, "true");
  made.Leaf("MAIN.SUB.POWER")
      .Confirm("boot", "unclean", Rule::EQ, "true")
      .Refute("boot", "unclean", Rule::EQ, "true")
      .RefuteWith("log", "panic", Rule::EQ, "true");
  const auto book = made.Make();
  Scene scene(book);
  scene.Saw("boot", {Bool("unclean", true)}).Saw("log", {Bool("panic", false)});
  EXPECT_EQ(JudgeOf(book, scene, "MAIN.SUB.POWER").outcome(), galen::v1::Verdict::CONFIRMED);
  Scene panicked(book);
  panicked.Saw("boot", {Bool("unclean", true)}).Saw("log", {Bool("panic", true)});
  EXPECT_EQ(JudgeOf(book, panicked, "MAIN.SUB.POWER").outcome(), galen::v1::Verdict::INCONCLUSIVE);
}

TEST(Judge, ConfirmsByOneSpecificAbnormalFindingAndNamesItsDevice) {
  const auto book = Counter().Make();
  const Scene scene =
      Scene(book).Saw("gpu.ecc", {Int("errors", 0, "gpu:0"), Int("errors", 2, "gpu:1")});
  const Verdict verdict = JudgeOf(book, scene, "MAIN.SUB.ECC");
  EXPECT_EQ(verdict.outcome(), Verdict::CONFIRMED) << verdict.DebugString();
  EXPECT_GE(verdict.probability(), 0.8);
  ASSERT_EQ(verdict.devices_size(), 1);
  EXPECT_EQ(verdict.devices(0).device(), "gpu:1");
  EXPECT_EQ(verdict.devices(0).node(), "n1");
  EXPECT_THAT(verdict.reasons(0).evidence_ids(), ElementsAre("gpu.ecc@n1"));
  EXPECT_THAT(verdict.reasons(0).text(), HasSubstr("gpu:1 on n1: errors 2"));
}

TEST(Judge, RejectsByAnAllClearOverEveryDevice) {
  const auto book = Counter().Make();
  const Scene scene =
      Scene(book).Saw("gpu.ecc", {Int("errors", 0, "gpu:0"), Int("errors", 0, "gpu:1")});
  const Verdict verdict = JudgeOf(book, scene, "MAIN.SUB.ECC");
  EXPECT_EQ(verdict.outcome(), Verdict::REJECTED);
  EXPECT_LT(verdict.probability(), 0.05);
  EXPECT_THAT(verdict.reasons(0).text(), HasSubstr("errors 0 on all 2 GPUs of n1"));
  EXPECT_THAT(verdict.devices(), IsEmpty());
}

TEST(Judge, DoesNotTakeAnUnreadDeviceForAHealthyOne) {
  const auto book = Counter().Make();
  const Scene scene =
      Scene(book).Saw("gpu.ecc", {Int("errors", 0, "gpu:0"), Unknown("errors", "gpu:1")});
  const Verdict verdict = JudgeOf(book, scene, "MAIN.SUB.ECC");
  EXPECT_EQ(verdict.outcome(), Verdict::INCONCLUSIVE);
  EXPECT_THAT(verdict.missing(), Contains(HasSubstr("gpu.ecc@n1: ran without telling errors")));
}

TEST(Judge, TakesSkippedAndFailedChecksForNoEvidence) {
  const auto book = Counter().Make();
  for (const Scene& scene : {Scene(book).Skipped("gpu.ecc"), Scene(book).Failed("gpu.ecc"),
                             Scene(book).Saw("log", {})}) {
    const Verdict verdict = JudgeOf(book, scene, "MAIN.SUB.ECC");
    EXPECT_EQ(verdict.outcome(), Verdict::INCONCLUSIVE);
    EXPECT_THAT(verdict.missing(), Contains(HasSubstr("gpu.ecc@n1: ")));
  }
}

TEST(Judge, StaysOpenWithoutAnyResult) {
  const auto book = Counter().Make();
  const Verdict verdict = JudgeOf(book, Scene(book), "MAIN.SUB.ECC");
  EXPECT_EQ(verdict.outcome(), Verdict::INCONCLUSIVE);
  EXPECT_THAT(verdict.missing(), ElementsAre("gpu.ecc: not run"));
}

TEST(Judge, HoldsARuleForTrueOnlyTogetherWithItsConditions) {
  KnowledgeBuilder made = Counter();
  made.Leaf("MAIN.SUB.BOTH")
      .Confirm("gpu.ecc", "mode", Rule::EQ, "true")
      .With("gpu.board", "bad", Rule::EQ, "true");
  const auto book = made.Make();
  Scene scene(book);
  scene.Saw("gpu.ecc", {Bool("mode", true, "gpu:0")});
  EXPECT_EQ(JudgeOf(book, scene, "MAIN.SUB.BOTH").outcome(), Verdict::INCONCLUSIVE);
  EXPECT_THAT(JudgeOf(book, scene, "MAIN.SUB.BOTH").missing(), Contains(HasSubstr("gpu.board@n1")));
  // Two findings that are harmless alone are evidence together.
  Scene both(book);
  both.Saw("gpu.ecc", {Bool("mode", true, "gpu:0")}).Saw("gpu.board", {Bool("bad", true, "gpu:1")});
  EXPECT_EQ(JudgeOf(book, both, "MAIN.SUB.BOTH").outcome(), Verdict::CONFIRMED);
  Scene one(book);
  one.Saw("gpu.ecc", {Bool("mode", true, "gpu:0")}).Saw("gpu.board", {Bool("bad", false, "gpu:1")});
  EXPECT_NE(JudgeOf(book, one, "MAIN.SUB.BOTH").outcome(), Verdict::CONFIRMED);
}

TEST(Judge, ConditionsAboutDevicesHoldOfTheSameDevice) {
  KnowledgeBuilder made = Counter();
  made.AllAbout("gpu");
  made.Leaf("MAIN.SUB.BOTH")
      .Confirm("gpu.ecc", "mode", Rule::EQ, "true")
      .With("gpu.board", "bad", Rule::EQ, "true");
  // The same sign, which is harmless if somebody set it on purpose.
  made.Leaf("MAIN.SUB.UNLESS")
      .Confirm("gpu.board", "bad", Rule::EQ, "true")
      .Refute("gpu.board", "bad", Rule::EQ, "true")
      .RefuteWith("gpu.ecc", "mode", Rule::EQ, "true");
  const auto book = made.Make();
  const auto judge = [&](const char* label, bool mode_of_0, bool mode_of_1) {
    Scene scene(book);
    scene.Saw("gpu.ecc", {Bool("mode", mode_of_0, "gpu:0"), Bool("mode", mode_of_1, "gpu:1")})
        .Saw("gpu.board", {Bool("bad", false, "gpu:0"), Bool("bad", true, "gpu:1")});
    return JudgeOf(book, scene, label);
  };
  EXPECT_NE(judge("MAIN.SUB.BOTH", true, false).outcome(), Verdict::CONFIRMED);
  const Verdict both = judge("MAIN.SUB.BOTH", true, true);
  EXPECT_EQ(both.outcome(), Verdict::CONFIRMED);
  ASSERT_EQ(both.devices_size(), 1);
  EXPECT_EQ(both.devices(0).device(), "gpu:1");
  EXPECT_EQ(judge("MAIN.SUB.UNLESS", true, false).outcome(), Verdict::CONFIRMED);
  EXPECT_EQ(judge("MAIN.SUB.UNLESS", false, true).outcome(), Verdict::INCONCLUSIVE);
}

TEST(Judge, ReadsALogWithoutTheEventAsNoEvent) {
  KnowledgeBuilder made;
  made.Check("log", "xid", "event", Rule::NE, "none");
  made.Leaf("MAIN.SUB.X").Confirm("log", "xid", Rule::IN, "48,95");
  const auto book = made.Make();
  EXPECT_EQ(JudgeOf(book, Scene(book).Saw("log", {}), "MAIN.SUB.X").outcome(), Verdict::REJECTED);
  EXPECT_EQ(
      JudgeOf(book, Scene(book).Saw("log", {Event("xid", "79", "gpu:0")}), "MAIN.SUB.X").outcome(),
      Verdict::REJECTED);
  EXPECT_EQ(
      JudgeOf(book, Scene(book).Saw("log", {Event("xid", "95", "gpu:0")}), "MAIN.SUB.X").outcome(),
      Verdict::CONFIRMED);
  EXPECT_EQ(JudgeOf(book, Scene(book).Skipped("log"), "MAIN.SUB.X").outcome(),
            Verdict::INCONCLUSIVE);
}

TEST(Judge, ProvesNothingByWhatIsTrueOfHealthyMachines) {
  KnowledgeBuilder made = Counter();
  made.Leaf("MAIN.SUB.MODE").Confirm("gpu.ecc", "mode", Rule::EQ, "true").AsState();
  made.Leaf("MAIN.SUB.HISTORY").Confirm("history.node", "failures", Rule::GE, "2").AsState();
  const auto book = made.Make();
  const Scene scene = Scene(book)
                          .Saw("gpu.ecc", {Bool("mode", true, "gpu:0")})
                          .Saw("history.node", {Int("failures", 9)});
  EXPECT_EQ(JudgeOf(book, scene, "MAIN.SUB.MODE").outcome(), Verdict::INCONCLUSIVE);
  EXPECT_EQ(JudgeOf(book, scene, "MAIN.SUB.HISTORY").outcome(), Verdict::INCONCLUSIVE);
}

TEST(Judge, StaysOpenWhileAnotherNodeCannotTell) {
  const auto book = Counter().Make();
  Scene scene(book);
  scene.Saw("gpu.ecc", {Int("errors", 0, "gpu:0")}, "n1").Skipped("gpu.ecc", "n2");
  const Verdict verdict = JudgeOf(book, scene, "MAIN.SUB.ECC");
  EXPECT_EQ(verdict.outcome(), Verdict::INCONCLUSIVE);
  EXPECT_THAT(verdict.missing(), Contains(HasSubstr("gpu.ecc@n2")));
}

TEST(Judge, ConfirmsOnOneNodeWhateverTheOthersShow) {
  const auto book = Counter().Make();
  Scene scene(book);
  scene.Saw("gpu.ecc", {Int("errors", 0, "gpu:0")}, "n1")
      .Saw("gpu.ecc", {Int("errors", 5, "gpu:3")}, "n2")
      .Skipped("gpu.ecc", "n3");
  const Verdict verdict = JudgeOf(book, scene, "MAIN.SUB.ECC");
  EXPECT_EQ(verdict.outcome(), Verdict::CONFIRMED);
  ASSERT_EQ(verdict.devices_size(), 1);
  EXPECT_EQ(verdict.devices(0).node(), "n2");
}

TEST(Judge, RejectsThoughOnlyAnIntrusiveCheckIsLeft) {
  KnowledgeBuilder made = Counter();
  made.Leaf("MAIN.SUB.A")
      .Confirm("gpu.board", "bad", Rule::EQ, "true")
      .Confirm("history.node", "failures", Rule::GE, "2");
  const auto book = made.Make();
  const Scene scene = Scene(book).Saw("gpu.board", {Bool("bad", false, "gpu:0")});
  EXPECT_EQ(JudgeOf(book, scene, "MAIN.SUB.A").outcome(), Verdict::REJECTED);
}

TEST(Judge, GivesTheSameVerdictWhateverTheOrderOfResults) {
  const auto book = Counter().Make();
  Scene forth(book);
  forth.Saw("gpu.ecc", {Int("errors", 2, "gpu:1")}, "n1")
      .Saw("gpu.ecc", {Int("errors", 1, "gpu:0")}, "n2");
  Scene back(book);
  back.Saw("gpu.ecc", {Int("errors", 1, "gpu:0")}, "n2")
      .Saw("gpu.ecc", {Int("errors", 2, "gpu:1")}, "n1");
  EXPECT_EQ(JudgeOf(book, forth, "MAIN.SUB.ECC").SerializeAsString(),
            JudgeOf(book, back, "MAIN.SUB.ECC").SerializeAsString());
}

}  // namespace
}  // namespace galen::reasoner
