#include "common/reasoner/screen.h"

#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "cases.h"
#include "common/knowledge/load.h"
#include "tests/testing/status_matchers.h"

namespace galen::reasoner {
namespace screen_test {

using galen::testing::IsOk;
using knowledge::v1::Rule;
using testing::Bool;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::Event;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Judged;
using testing::JudgeOf;
using testing::KnowledgeBuilder;
using ::testing::Not;
using testing::Scene;
using testing::Unknown;

// A common leaf whose check is dear, a rare one whose check is cheap, and one in between.
KnowledgeBuilder Three() {
  KnowledgeBuilder book;
  for (const char* check : {"dear", "cheap", "fair", "aside"}) {
    book.Check(check, "bad", "bool", Rule::EQ, "true");
  }
  book.Costs("dear", 30'000).Costs("cheap", 100).Costs("fair", 1'000).Costs("aside", 100);
  book.Leaf("MAIN.SUB.DEAR", "high").Confirm("dear", "bad", Rule::EQ, "true");
  book.Leaf("MAIN.SUB.CHEAP", "low")
      .Confirm("cheap", "bad", Rule::EQ, "true")
      .Refute("aside", "bad", Rule::EQ, "true");
  book.Leaf("MAIN.SUB.FAIR", "medium").Confirm("fair", "bad", Rule::EQ, "true");
  return book;
}

v1::ScreenAnswer ScreenOf(const knowledge::Knowledge& book, const Scene& scene,
                          const std::vector<galen::v1::Hypothesis>& judged = {}) {
  v1::ScreenQuestion question;
  for (const galen::v1::Hypothesis& each : judged) *question.add_judged() = each;
  return Screen(testing::Asked(book, scene.evidence()).the_case(), question);
}

std::vector<std::string> Suspects(const v1::ScreenAnswer& answer) {
  std::vector<std::string> labels;
  for (const auto& suspect : answer.suspects()) labels.push_back(suspect.label());
  return labels;
}

TEST(Screen, LooksFirstWhereASecondBuysMostBelief) {
  const auto book = Three().Costs("dear", 2'000).Make();
  Scene scene(book);
  EXPECT_THAT(ScreenOf(book, scene).checks(), ElementsAre("cheap"));
  scene.Saw("cheap", {Bool("bad", false)});
  EXPECT_THAT(ScreenOf(book, scene).checks(), ElementsAre("fair"));
  scene.Saw("fair", {Bool("bad", false)});
  EXPECT_THAT(ScreenOf(book, scene).checks(), ElementsAre("dear"));
}

TEST(Screen, WhatIsWorthLittleForItsTimeIsLeftOut) {
  KnowledgeBuilder made;
  made.Check("dear", "bad", "bool", Rule::EQ, "true").Costs("dear", 60'000);
  made.Leaf("MAIN.SUB.RARE", "low").Confirm("dear", "bad", Rule::EQ, "true");
  const auto book = made.Make();
  Scene scene(book);
  EXPECT_THAT(ScreenOf(book, scene).checks(), IsEmpty());
  scene.Read("a strong word", {"MAIN.SUB.RARE"}, galen::v1::STRONG);
  EXPECT_THAT(Suspects(ScreenOf(book, scene)), ElementsAre("MAIN.SUB.RARE"));
}

TEST(Screen, ASignThatProvesNothingYetMakesItsConditionWorthAsking) {
  KnowledgeBuilder made;
  for (const char* check : {"loaded", "used", "other"}) {
    made.Check(check, "missing", "bool").Costs(check, 1'000);
  }
  made.Leaf("MAIN.SUB.MODULE", "low")
      .Confirm("loaded", "missing", Rule::EQ, "true")
      .With("used", "missing", Rule::EQ, "true");
  made.Leaf("MAIN.SUB.OTHER", "low").Confirm("other", "missing", Rule::EQ, "true");
  const auto book = made.Make();
  Scene scene(book);
  scene.Saw("loaded", {Bool("missing", false)});
  EXPECT_THAT(ScreenOf(book, scene).checks(), ElementsAre("other"));
  Scene seen(book);
  seen.Saw("loaded", {Bool("missing", true)});
  EXPECT_THAT(ScreenOf(book, seen).checks(), ElementsAre("used"));
}

TEST(Screen, ACheckThatCanConfirmNothingIsNeverRunForItsOwnSake) {
  const auto book = Three().Make();
  Scene scene(book);
  for (const char* check : {"cheap", "fair", "dear"}) scene.Saw(check, {Bool("bad", false)});
  const auto answer = ScreenOf(book, scene);
  EXPECT_THAT(answer.checks(), IsEmpty());
  EXPECT_THAT(answer.suspects(), IsEmpty());
}

TEST(Screen, CheapChecksOfLikeWorthRunInOneStep) {
  KnowledgeBuilder made;
  for (const char* check : {"a", "b", "c"}) {
    made.Check(check, "bad", "bool", Rule::EQ, "true").Costs(check, 400);
    made.Leaf(absl::StrCat("MAIN.SUB.", check)).Confirm(check, "bad", Rule::EQ, "true");
  }
  const auto book = made.Make();
  // Three would take longer than a step.
  EXPECT_THAT(ScreenOf(book, Scene(book)).checks(), ElementsAre("a", "b"));
}

TEST(Screen, WhatAFindingPointsToIsTestedBeforeMoreIsLookedAt) {
  const auto book = Three().Make();
  Scene scene(book);
  scene.Saw("cheap", {Bool("bad", true, "gpu:0")});
  const auto answer = ScreenOf(book, scene);
  ASSERT_THAT(Suspects(answer), ElementsAre("MAIN.SUB.CHEAP"));
  EXPECT_THAT(answer.suspects(0).reason(), HasSubstr("gpu:0 on n1: bad true"));
  EXPECT_THAT(answer.checks(), IsEmpty());
}

TEST(Screen, WhatAFindingConfirmsIsJudgedNextHoweverDearItsOtherChecks) {
  KnowledgeBuilder made = Three();
  made.Leaf("MAIN.SUB.SHOWN", "medium")
      .Confirm("aside", "bad", Rule::EQ, "true")
      .Confirm("dear", "bad", Rule::EQ, "true");
  const auto book = made.Make();
  Scene scene(book);
  scene.Saw("aside", {Bool("bad", true, "gpu:0")});
  EXPECT_THAT(Suspects(ScreenOf(book, scene)), ElementsAre("MAIN.SUB.SHOWN"));
}

TEST(Screen, WhatWasUndecidedIsJudgedAgainOnceItIsProven) {
  const auto book = Three().Make();
  Scene scene(book);
  scene.Saw("cheap", {Unknown("bad")}).Skipped("aside");
  const auto undecided = Judged(JudgeOf(book, scene, "MAIN.SUB.CHEAP"));
  ASSERT_EQ(undecided.status(), galen::v1::Hypothesis::INCONCLUSIVE);
  EXPECT_THAT(Suspects(ScreenOf(book, scene, {undecided})), IsEmpty());
  Scene later(book);
  later.Saw("cheap", {Bool("bad", true)}).Skipped("aside");
  EXPECT_THAT(Suspects(ScreenOf(book, later, {undecided})), ElementsAre("MAIN.SUB.CHEAP"));
}

TEST(Screen, ASuspectThatWasJudgedWithAllItsChecksIsNoneAgain) {
  const auto book = Three().Make();
  Scene scene(book);
  scene.Read("s", {"MAIN.SUB.CHEAP"}, galen::v1::DECISIVE);
  scene.Saw("cheap", {Unknown("bad")}).Skipped("aside");
  const auto verdict = JudgeOf(book, scene, "MAIN.SUB.CHEAP");
  ASSERT_EQ(verdict.outcome(), galen::v1::Verdict::INCONCLUSIVE);
  EXPECT_THAT(Suspects(ScreenOf(book, scene)), ElementsAre("MAIN.SUB.CHEAP"));
  EXPECT_THAT(Suspects(ScreenOf(book, scene, {Judged(verdict)})), IsEmpty());
}

TEST(Screen, AStrongMessageDoesNotBuyADearCheckBeforeCheapOnes) {
  const auto book = Three().Make();
  Scene scene(book);
  scene.Read("s", {"MAIN.SUB.DEAR"}, galen::v1::STRONG);
  EXPECT_THAT(ScreenOf(book, scene).checks(), ElementsAre("cheap"));
  scene.Saw("cheap", {Bool("bad", false)});
  EXPECT_THAT(ScreenOf(book, scene).checks(), ElementsAre("fair"));
  scene.Saw("fair", {Bool("bad", false)});
  EXPECT_THAT(Suspects(ScreenOf(book, scene)), ElementsAre("MAIN.SUB.DEAR"));
}

TEST(Screen, WhatIsDescribedLikeTheIncidentIsLookedAtFirst) {
  const auto book = Three().Make();
  const Scene scene(book);
  const testing::Asked asked(book, scene.evidence(), {"MAIN.SUB.FAIR", "MAIN.SUB.NO_LEAF"});
  EXPECT_THAT(Screen(asked.the_case(), {}).checks(), ElementsAre("fair"));
}

TEST(Screen, BesideAConfirmedCauseOnlyWhatShowsByItselfIsSuspected) {
  const auto book = Three().Make();
  Scene scene(book);
  scene.Saw("cheap", {Bool("bad", true)}).Saw("aside", {Bool("bad", false)});
  scene.Read("s", {"MAIN.SUB.DEAR"}, galen::v1::DECISIVE);
  const auto confirmed = Judged(JudgeOf(book, scene, "MAIN.SUB.CHEAP"));
  ASSERT_EQ(confirmed.status(), galen::v1::Hypothesis::CONFIRMED);
  // Words alone buy no check any more, and nothing of DEAR has run that could judge it.
  EXPECT_THAT(Suspects(ScreenOf(book, scene, {confirmed})), IsEmpty());
  EXPECT_THAT(ScreenOf(book, scene, {confirmed}).checks(), IsEmpty());
  scene.Saw("fair", {Bool("bad", true)});
  EXPECT_THAT(Suspects(ScreenOf(book, scene, {confirmed})), Contains("MAIN.SUB.FAIR"));
}

TEST(Screen, WhatIsEasilyMistakenForTheCauseIsJudgedByWhatIsKnown) {
  KnowledgeBuilder made;
  made.Check("a", "bad", "bool", Rule::EQ, "true").Check("b", "bad", "bool", Rule::EQ, "true");
  made.Leaf("MAIN.SUB.CAUSE").Confirm("a", "bad", Rule::EQ, "true").LooksLike("MAIN.SUB.TWIN");
  made.Leaf("MAIN.SUB.TWIN")
      .Confirm("b", "bad", Rule::EQ, "true")
      .Refute("a", "bad", Rule::EQ, "true");
  const auto book = made.Make();
  Scene scene(book);
  scene.Saw("a", {Bool("bad", true)});
  const auto confirmed = Judged(JudgeOf(book, scene, "MAIN.SUB.CAUSE"));
  ASSERT_EQ(confirmed.status(), galen::v1::Hypothesis::CONFIRMED);
  const auto answer = ScreenOf(book, scene, {confirmed});
  ASSERT_THAT(Suspects(answer), ElementsAre("MAIN.SUB.TWIN"));
  EXPECT_TRUE(answer.suspects(0).as_known());
  const auto twin = Judged(JudgeOf(book, scene, "MAIN.SUB.TWIN"));
  EXPECT_EQ(twin.status(), galen::v1::Hypothesis::REJECTED);
  EXPECT_THAT(Suspects(ScreenOf(book, scene, {confirmed, twin})), IsEmpty());
}

// For any answers of the checks: each check is requested once at most, and the screening ends.
TEST(Screen, OfTheShippedKnowledgeEndsWithEachCheckAskedForOnce) {
  auto loaded = knowledge::Load({GALEN_SOURCE_DIR "/knowledge"}, {});
  ASSERT_THAT(loaded, IsOk());
  const knowledge::Knowledge& book = **loaded;
  Scene scene(book);
  std::vector<galen::v1::Hypothesis> judged;
  std::set<std::string> asked;
  int steps = 0;
  for (;; ++steps) {
    ASSERT_LT(steps, 64);
    const auto answer = ScreenOf(book, scene, judged);
    std::vector<std::string> checks(answer.checks().begin(), answer.checks().end());
    for (const std::string& label : Suspects(answer)) {
      for (const std::string& check : book.ChecksFor(*book.FindLabel(label))) {
        if (!asked.contains(check)) checks.push_back(check);
      }
    }
    if (checks.empty() && answer.suspects().empty()) break;
    for (const std::string& check : std::set<std::string>(checks.begin(), checks.end())) {
      EXPECT_TRUE(asked.insert(check).second) << check;
      if (steps % 2 == 0) {
        scene.Skipped(check);
      } else {
        scene.Saw(check, {});
      }
    }
    for (const std::string& label : Suspects(answer)) {
      judged.push_back(Judged(JudgeOf(book, scene, label)));
    }
  }
  EXPECT_GT(steps, 3);
}

}  // namespace screen_test
}  // namespace galen::reasoner
