#include "common/reasoner/conclude.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "cases.h"

namespace galen::reasoner {
namespace {

using knowledge::v1::Rule;
using testing::Bool;
using ::testing::ElementsAre;
using testing::Event;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Judged;
using testing::JudgeOf;
using testing::KnowledgeBuilder;
using testing::Scene;

KnowledgeBuilder Three() {
  KnowledgeBuilder book;
  for (const char* check : {"a", "b", "c"}) book.Check(check, "bad", "bool", Rule::EQ, "true");
  book.Check("log", "xid", "event", Rule::NE, "none");
  return book;
}

v1::ConcludeAnswer ConcludeOf(const knowledge::Knowledge& book, const Scene& scene,
                              const std::vector<std::string>& labels,
                              const std::vector<std::string>& alike = {}) {
  v1::ConcludeQuestion question;
  *question.mutable_evidence() = scene.evidence();
  for (const std::string& label : labels) {
    *question.add_judged() = Judged(JudgeOf(book, scene, label));
  }
  return Conclude(testing::Asked(book, scene.evidence(), alike).the_case(), question);
}

TEST(Conclude, LaysAConfirmedEffectToItsCause) {
  KnowledgeBuilder made = Three();
  made.Leaf("MAIN.SUB.EFFECT", "high").Confirm("b", "bad", Rule::EQ, "true");
  made.Leaf("MAIN.SUB.CAUSE", "low")
      .Confirm("a", "bad", Rule::EQ, "true")
      .Causes("MAIN.SUB.EFFECT");
  const auto book = made.Make();
  Scene scene(book);
  scene.Saw("a", {Bool("bad", true, "gpu:1")}).Saw("b", {Bool("bad", true, "gpu:1")});
  const auto answer = ConcludeOf(book, scene, {"MAIN.SUB.EFFECT", "MAIN.SUB.CAUSE"});
  EXPECT_EQ(answer.primary_label(), "MAIN.SUB.CAUSE");
  EXPECT_THAT(answer.other_labels(), IsEmpty());
  ASSERT_EQ(answer.effects_size(), 1);
  EXPECT_EQ(answer.effects(0).effect(), "MAIN.SUB.EFFECT");
  EXPECT_EQ(answer.effects(0).cause(), "MAIN.SUB.CAUSE");
  EXPECT_THAT(answer.effects(0).evidence_ids(), ElementsAre("b@n1"));
}

TEST(Conclude, KeepsTheSameEffectOfAnotherNodeIndependent) {
  KnowledgeBuilder made = Three();
  made.Leaf("MAIN.SUB.EFFECT").Confirm("b", "bad", Rule::EQ, "true");
  made.Leaf("MAIN.SUB.CAUSE").Confirm("a", "bad", Rule::EQ, "true").Causes("MAIN.SUB.EFFECT");
  const auto book = made.Make();
  Scene scene(book);
  scene.Saw("a", {Bool("bad", true)}, "n1").Saw("b", {Bool("bad", true)}, "n2");
  const auto answer = ConcludeOf(book, scene, {"MAIN.SUB.EFFECT", "MAIN.SUB.CAUSE"});
  EXPECT_EQ(answer.other_labels_size(), 1);
  EXPECT_THAT(answer.effects(), IsEmpty());
}

TEST(Conclude, ListsTheLoggedEffectsOfACauseAndThoseThatWereNeverJudged) {
  KnowledgeBuilder made = Three();
  made.Leaf("MAIN.SUB.EFFECT").Confirm("b", "bad", Rule::EQ, "true");
  made.Leaf("MAIN.SUB.CAUSE")
      .Confirm("a", "bad", Rule::EQ, "true")
      .Causes("Xid 48")
      .Causes("MAIN.SUB.EFFECT");
  const auto book = made.Make();
  Scene scene(book);
  scene.Saw("a", {Bool("bad", true)})
      .Saw("b", {Bool("bad", true)})
      .Saw("log", {Event("xid", "48", "gpu:1"), Event("xid", "79", "gpu:1")});
  const auto answer = ConcludeOf(book, scene, {"MAIN.SUB.CAUSE"});
  std::vector<std::string> effects;
  for (const auto& effect : answer.effects()) effects.push_back(effect.effect());
  EXPECT_THAT(effects, ElementsAre("Xid 48", "MAIN.SUB.EFFECT"));
  EXPECT_THAT(answer.effects(0).evidence_ids(), ElementsAre("log@n1"));
}

TEST(Conclude, FindsAnEffectInALogLine) {
  KnowledgeBuilder made = Three();
  made.Leaf("MAIN.SUB.CAUSE")
      .Confirm("a", "bad", Rule::EQ, "true")
      .Causes("Xid 48")
      .Causes("Xid 4");
  const auto book = made.Make();
  Scene scene(book);
  scene.Saw("a", {Bool("bad", true)})
      .Read("s", {}, galen::v1::WEAK,
            "NVRM: Xid (PCI:0000:b3:00): 48, pid=1, Double Bit ECC Error");
  const auto answer = ConcludeOf(book, scene, {"MAIN.SUB.CAUSE"});
  ASSERT_EQ(answer.effects_size(), 1);
  EXPECT_EQ(answer.effects(0).effect(), "Xid 48");
  EXPECT_THAT(answer.effects(0).evidence_ids(), ElementsAre("signal/s@train.log"));
}

TEST(Conclude, PutsTheCauseFirstThatExplainsMore) {
  KnowledgeBuilder made = Three();
  made.Leaf("MAIN.SUB.LESS", "high").Confirm("a", "bad", Rule::EQ, "true");
  made.Leaf("MAIN.SUB.MORE", "low")
      .Confirm("b", "bad", Rule::EQ, "true")
      .Confirm("c", "bad", Rule::EQ, "true");
  const auto book = made.Make();
  Scene scene(book);
  for (const char* check : {"a", "b", "c"}) scene.Saw(check, {Bool("bad", true)});
  const auto answer = ConcludeOf(book, scene, {"MAIN.SUB.LESS", "MAIN.SUB.MORE"});
  EXPECT_EQ(answer.primary_label(), "MAIN.SUB.MORE");
  EXPECT_THAT(answer.other_labels(), ElementsAre("MAIN.SUB.LESS"));
  EXPECT_THAT(answer.headline(), HasSubstr("1 independent cause"));
}

TEST(Conclude, PutsTheEarlierEventFirstAmongEquals) {
  KnowledgeBuilder made = Three();
  made.Leaf("MAIN.SUB.A").Confirm("log", "xid", Rule::IN, "10");
  made.Leaf("MAIN.SUB.Z").Confirm("log", "xid", Rule::IN, "20");
  const auto book = made.Make();
  Scene scene(book);
  scene.Saw("log", {Event("xid", "10", "gpu:0", 200), Event("xid", "20", "gpu:1", 100)});
  EXPECT_EQ(ConcludeOf(book, scene, {"MAIN.SUB.A", "MAIN.SUB.Z"}).primary_label(), "MAIN.SUB.Z");
}

TEST(Conclude, LetsALookAlikeThatSomethingOpposesGiveWay) {
  KnowledgeBuilder made = Three();
  made.Leaf("MAIN.SUB.A")
      .Confirm("a", "bad", Rule::EQ, "true")
      .Refute("c", "bad", Rule::EQ, "false")
      .LooksLike("MAIN.SUB.B");
  made.Leaf("MAIN.SUB.B").Confirm("b", "bad", Rule::EQ, "true");
  const auto book = made.Make();
  Scene scene(book);
  scene.Saw("a", {Bool("bad", true)}).Saw("b", {Bool("bad", true)}).Saw("c", {Bool("bad", false)});
  const auto answer = ConcludeOf(book, scene, {"MAIN.SUB.A", "MAIN.SUB.B"});
  EXPECT_EQ(answer.primary_label(), "MAIN.SUB.B");
  EXPECT_THAT(answer.other_labels(), IsEmpty());
}

TEST(Conclude, BreaksACircleOfEffects) {
  KnowledgeBuilder made = Three();
  made.Leaf("MAIN.SUB.A").Confirm("a", "bad", Rule::EQ, "true").Causes("MAIN.SUB.B");
  made.Leaf("MAIN.SUB.B").Confirm("b", "bad", Rule::EQ, "true").Causes("MAIN.SUB.C");
  made.Leaf("MAIN.SUB.C").Confirm("c", "bad", Rule::EQ, "true").Causes("MAIN.SUB.A");
  const auto book = made.Make();
  Scene scene(book);
  for (const char* check : {"a", "b", "c"}) scene.Saw(check, {Bool("bad", true)});
  const auto answer = ConcludeOf(book, scene, {"MAIN.SUB.A", "MAIN.SUB.B", "MAIN.SUB.C"});
  EXPECT_NE(answer.primary_label(), "");
  for (const auto& effect : answer.effects()) {
    EXPECT_NE(effect.effect(), answer.primary_label());
    EXPECT_EQ(effect.cause(), answer.primary_label());
  }
}

TEST(Conclude, SaysHowManyWereTestedWhenNothingIsConfirmed) {
  KnowledgeBuilder made = Three();
  made.Leaf("MAIN.SUB.A").Confirm("a", "bad", Rule::EQ, "true");
  made.Leaf("MAIN.SUB.B").Confirm("b", "bad", Rule::EQ, "true");
  const auto book = made.Make();
  Scene scene(book);
  scene.Saw("a", {Bool("bad", false)}).Skipped("b");
  const auto answer = ConcludeOf(book, scene, {"MAIN.SUB.A", "MAIN.SUB.B"});
  EXPECT_EQ(answer.primary_label(), "");
  EXPECT_EQ(answer.headline(), "No cause confirmed: 1 cause ruled out, 1 undecided");
}

TEST(Conclude, NamesAtMostThreeSuspectsTheLikeliestFirstAndPresumesALikelyOne) {
  KnowledgeBuilder made = Three();
  for (const char* leaf : {"B", "C", "D"}) made.Leaf(absl::StrCat("MAIN.SUB.", leaf));
  made.Leaf("MAIN.SUB.A").Confirm("a", "bad", Rule::EQ, "true").AsState();
  const auto book = made.Make();
  Scene scene(book);
  scene.Saw("a", {Bool("bad", true)});
  for (const char* leaf : {"B", "C", "D"}) {
    scene.Read("some", {absl::StrCat("MAIN.SUB.", leaf)}, galen::v1::STRONG);
  }
  const auto answer = ConcludeOf(book, scene, {});
  ASSERT_EQ(answer.suspects_size(), 3);
  EXPECT_EQ(answer.suspects(0).label(), "MAIN.SUB.A");
  EXPECT_THAT(answer.suspects(0).reasons(0).evidence_ids(), ElementsAre("a@n1"));
  EXPECT_EQ(answer.presumed_label(), "") << "one of five may be it";
  scene.Read("own", {"MAIN.SUB.A"}, galen::v1::DECISIVE, "a line", 9);
  EXPECT_EQ(ConcludeOf(book, scene, {}).presumed_label(), "MAIN.SUB.A");
}

TEST(Conclude, NoCauseIsPresumedIfTheReportReadsLikeOneWhenNothingIsWrong) {
  KnowledgeBuilder made = Three();
  made.Leaf("MAIN.SUB.A", "high").Confirm("a", "bad", Rule::EQ, "true");
  made.Rate("message own", 0, 100);
  const auto book = made.Make();
  Scene scene(book);
  scene.Read("own", {"MAIN.SUB.A"}, galen::v1::DECISIVE, "a line", 9);
  const auto plain = ConcludeOf(book, scene, {});
  ASSERT_EQ(plain.presumed_label(), "MAIN.SUB.A");
  EXPECT_FALSE(plain.reads_harmless());
  const auto harmless = ConcludeOf(book, scene, {}, {"NOTHING_WRONG"});
  EXPECT_EQ(harmless.presumed_label(), "");
  EXPECT_TRUE(harmless.reads_harmless());
}

TEST(Conclude, WordsThatReadHarmlessDoNotOutweighAFaultThatWasSeen) {
  KnowledgeBuilder made = Three();
  made.Leaf("MAIN.SUB.A").Confirm("a", "bad", Rule::EQ, "true");
  const auto book = made.Make();
  Scene scene(book);
  scene.Saw("a", {Bool("bad", true)});
  const auto probability = [&](const std::vector<std::string>& alike) {
    return ConcludeOf(book, scene, {}, alike).suspects(0).probability();
  };
  EXPECT_EQ(probability({"NOTHING_WRONG"}), probability({}));
}

TEST(Conclude, WhatNothingWasSeenOfIsNoSuspectHoweverCommonItIs) {
  KnowledgeBuilder made = Three();
  made.Leaf("MAIN.SUB.A", "high").Confirm("a", "bad", Rule::EQ, "true");
  const auto book = made.Make();
  const auto answer = ConcludeOf(book, Scene(book).Skipped("a"), {});
  EXPECT_THAT(answer.suspects(), IsEmpty());
  EXPECT_EQ(answer.presumed_label(), "");
}

}  // namespace
}  // namespace galen::reasoner
