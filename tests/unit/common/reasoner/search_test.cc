// Ranking, retrieval, critique, exploration and summaries.
#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cases.h"
#include "common/incident_history/store.h"
#include "common/reasoner/builtin_reasoner.h"
#include "common/reasoner/critique.h"
#include "common/reasoner/explore.h"
#include "common/reasoner/rank.h"
#include "common/reasoner/retrieve.h"
#include "common/reasoner/summarize.h"

namespace galen::reasoner {
namespace {

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
using ::testing::UnorderedElementsAre;

// Four leaves, each with a check of its own.
KnowledgeBuilder Four() {
  KnowledgeBuilder book;
  for (const char* check : {"a", "b", "c", "d"}) book.Check(check, "bad", "bool", Rule::EQ, "true");
  book.Leaf("MAIN.SUB.A", "high")
      .Confirm("a", "bad", Rule::EQ, "true")
      .Refute("a", "bad", Rule::EQ, "false");
  book.Leaf("MAIN.SUB.B", "medium")
      .Confirm("b", "bad", Rule::EQ, "true")
      .Refute("b", "bad", Rule::EQ, "false");
  book.Leaf("MAIN.SUB.C", "low").Confirm("c", "bad", Rule::EQ, "true");
  book.Leaf("MAIN.SUB.D", "low").Confirm("d", "bad", Rule::EQ, "true").LooksLike("MAIN.SUB.A");
  return book;
}

v1::RankAnswer RankLeaves(const knowledge::Knowledge& book, const Scene& scene) {
  v1::RankQuestion question;
  question.set_label("MAIN.SUB");
  for (const knowledge::v1::Label* child : book.Children("MAIN.SUB")) {
    question.add_choices()->set_label(child->label());
  }
  return Rank(testing::Asked(book, scene.evidence()).the_case(), question);
}

const v1::RankAnswer::Ranked& Of(const v1::RankAnswer& answer, const std::string& label) {
  for (const auto& ranked : answer.ranked()) {
    if (ranked.label() == label) return ranked;
  }
  ADD_FAILURE() << label << " is not in the answer";
  return answer.ranked(0);
}

TEST(Rank, PutsTheCommonFirstWhenNothingIsKnown) {
  const auto book = Four().Make();
  const auto answer = RankLeaves(book, Scene(book));
  ASSERT_EQ(answer.ranked_size(), 4);
  EXPECT_EQ(answer.ranked(0).label(), "MAIN.SUB.A");
  EXPECT_FALSE(Of(answer, "MAIN.SUB.B").pruned());
  double sum = 0;
  for (const auto& ranked : answer.ranked()) sum += ranked.probability();
  EXPECT_NEAR(sum, 1.0, 1e-9);
}

TEST(Rank, PutsWhatAMessageNamesFirstAndPrunesTheRest) {
  const auto book = Four().Rate("message", 0, 225).Make();
  Scene scene(book);
  scene.Read("s", {"MAIN.SUB.C"}, galen::v1::DECISIVE);
  const auto answer = RankLeaves(book, scene);
  EXPECT_EQ(answer.ranked(0).label(), "MAIN.SUB.C");
  EXPECT_THAT(answer.ranked(0).reason(), HasSubstr("train.log line 7: meaning of s"));
  EXPECT_FALSE(answer.ranked(0).pruned());
  for (int i = 1; i < 4; ++i) EXPECT_TRUE(answer.ranked(i).pruned()) << i;
}

TEST(Rank, KeepsWhatTheChecksHaveRefutedForItsVerdictButLast) {
  const auto book = Four().Make();
  Scene scene(book);
  scene.Saw("a", {Bool("bad", false)});
  const auto answer = RankLeaves(book, scene);
  EXPECT_FALSE(Of(answer, "MAIN.SUB.A").pruned());
  EXPECT_THAT(Of(answer, "MAIN.SUB.A").reason(), HasSubstr("speak against it"));
  EXPECT_EQ(answer.ranked(0).label(), "MAIN.SUB.B");
}

TEST(Rank, NeverPrunesAnAbnormalFinding) {
  const auto book = Four().Make();
  Scene scene(book);
  scene.Read("s", {"MAIN.SUB.A"}, galen::v1::DECISIVE).Saw("d", {Bool("bad", true, "gpu:0")});
  const auto answer = RankLeaves(book, scene);
  EXPECT_FALSE(Of(answer, "MAIN.SUB.D").pruned());
  EXPECT_FALSE(Of(answer, "MAIN.SUB.A").pruned());
  EXPECT_THAT(Of(answer, "MAIN.SUB.D").reason(), HasSubstr("gpu:0 on n1: bad true"));
}

TEST(Rank, KeepsABranchThatOnlyAFrequentMessageElsewhereSpeaksAgainst) {
  KnowledgeBuilder made = Four().Rate("message", 0, 225).Rate("message frequent", 25, 225);
  knowledge::v1::KnowledgeBase base = made.Make().base();
  knowledge::v1::Label& other = *base.add_labels();
  other.set_label("OTHER");
  knowledge::v1::Label& leaf = *base.add_labels();
  leaf.set_label("OTHER.LEAF");
  leaf.set_parent("OTHER");
  leaf.set_prior("high");
  const knowledge::Knowledge book(base);
  for (const auto& [message, pruned] : {std::pair{"frequent", false}, std::pair{"rare", true}}) {
    Scene scene(book);
    scene.Read(message, {"MAIN.SUB.A"}, galen::v1::DECISIVE);
    v1::RankQuestion question;
    question.add_choices()->set_label("MAIN");
    question.add_choices()->set_label("OTHER");
    const auto answer = Rank(testing::Asked(book, scene.evidence()).the_case(), question);
    EXPECT_EQ(Of(answer, "OTHER").pruned(), pruned) << message;
  }
}

KnowledgeBuilder History() {
  KnowledgeBuilder book = Four();
  book.Past("i1", "MAIN.SUB.A", "Connection refused in NCCL bootstrap",
            "The job stops at start because NCCL cannot connect, connection refused by a peer")
      .Past("i2", "MAIN.SUB.A", "NCCL connect refused on eight nodes",
            "NCCL WARN connect failed, connection refused, one GPU has inactive links")
      .Past("i3", "MAIN.SUB.B", "Loss becomes NaN",
            "After some thousand steps the loss is NaN on all ranks")
      .Past("i4", "MAIN.SUB.C", "Checkpoint writes stall",
            "Saving a checkpoint to the shared file system hangs");
  return book;
}

v1::HistoryAnswer Propose(const knowledge::Knowledge& book, const std::string& description,
                          const galen::v1::EvidenceSet& evidence = {}) {
  const BuiltinReasoner reasoner(book);
  v1::HistoryQuestion question;
  question.mutable_incident()->set_description(description);
  *question.mutable_evidence() = evidence;
  question.set_max_causes(2);
  return *reasoner.ProposeFromHistory(question, absl::InfiniteFuture());
}

TEST(History, ProposesDistinctCausesOfSimilarIncidentsMostLikelyFirst) {
  const auto book = History().Make();
  const auto answer =
      Propose(book, "our training cannot start: NCCL connect failed, connection refused");
  ASSERT_GE(answer.causes_size(), 1);
  EXPECT_EQ(answer.causes(0).label(), "MAIN.SUB.A");
  EXPECT_THAT(answer.causes(0).incidents(), ::testing::UnorderedElementsAre("i1", "i2"));
  for (int i = 1; i < answer.causes_size(); ++i) EXPECT_NE(answer.causes(i).label(), "MAIN.SUB.A");
}

TEST(History, WhatASiteConfirmsIsProposedAtOnceOnTopOfTheKnowledge) {
  const auto book = History().Make();
  const std::string directory = ::testing::TempDir() + "/confirmed";
  std::filesystem::remove_all(directory);
  const incident_history::HashedEmbedder embedder;
  const auto store = *incident_history::Store::Open(directory, embedder);
  std::vector<const knowledge::v1::PastIncident*> incidents;
  for (const auto& incident : book.base().incidents()) incidents.push_back(&incident);
  const HistoryIndex index(incidents, store.get());
  v1::HistoryQuestion question;
  question.mutable_incident()->set_description(
      "a pump in rack nine stands still and nodes get hot");
  question.set_max_causes(2);
  EXPECT_EQ(ProposeCauses(book, index, question).causes_size(), 0);

  knowledge::v1::PastIncident confirmed;
  confirmed.set_id("site-1");
  confirmed.set_title("Pump stands still");
  confirmed.set_description("All nodes of a rack get hot: the pump of rack four stands still");
  confirmed.set_label("MAIN.SUB.D");
  ASSERT_TRUE(store->Add(DocumentOf(confirmed)).ok());
  const auto answer = ProposeCauses(book, index, question);
  ASSERT_EQ(answer.causes_size(), 1);
  EXPECT_EQ(answer.causes(0).label(), "MAIN.SUB.D");
  EXPECT_THAT(answer.causes(0).reason(), HasSubstr("resembles site-1"));
  // The person who filed the ticket wrote its title, and not for all tenants.
  EXPECT_THAT(answer.causes(0).reason(), Not(HasSubstr("Pump")));
  std::filesystem::remove_all(directory);
}

TEST(History, WhatATenantSaidOfItsIncidentIsFoundAndToldForThatTenantAlone) {
  knowledge::v1::KnowledgeBase base = History().Make().base();
  knowledge::v1::PastIncident& learned = *base.add_incidents();
  learned.set_id("learned-1");
  learned.set_title("MAIN.SUB.D with d: bad");
  learned.set_label("MAIN.SUB.D");
  learned.mutable_tenant_texts()->set_tenant("acme");
  learned.mutable_tenant_texts()->set_title("Project Nighthawk stands still");
  learned.mutable_tenant_texts()->set_description(
      "Project Nighthawk stands still: the shard is unreadable after zstd");
  const knowledge::Knowledge book(base);
  const BuiltinReasoner reasoner(book);
  v1::HistoryQuestion question;
  question.set_max_causes(2);
  for (const char* said : {"our shard is unreadable after zstd and the project stands still",
                           "MAIN.SUB.D with d: bad"}) {
    question.mutable_incident()->set_description(said);
    for (const char* other : {"globex", "", "acm", "acmeacme"}) {
      question.set_tenant(other);
      const auto answer = reasoner.ProposeFromHistory(question, absl::InfiniteFuture());
      EXPECT_THAT(answer->DebugString(), Not(HasSubstr("Nighthawk"))) << other;
    }
  }
  question.mutable_incident()->set_description(
      "our shard is unreadable after zstd and the project stands still");
  question.set_tenant("globex");
  EXPECT_THAT(reasoner.ProposeFromHistory(question, absl::InfiniteFuture())->causes(), IsEmpty());
  question.set_tenant("acme");
  const auto own = reasoner.ProposeFromHistory(question, absl::InfiniteFuture());
  ASSERT_EQ(own->causes_size(), 1);
  EXPECT_EQ(own->causes(0).label(), "MAIN.SUB.D");
  EXPECT_THAT(own->causes(0).incidents(), ElementsAre("learned-1"));  // one, not two
  EXPECT_THAT(own->causes(0).reason(), HasSubstr("Nighthawk"));
}

TEST(History, ProposesNothingWhenNothingIsSimilar) {
  const auto book = History().Make();
  EXPECT_THAT(Propose(book, "the printer on the third floor is out of paper").causes(), IsEmpty());
  EXPECT_THAT(Propose(book, "").causes(), IsEmpty());
  EXPECT_THAT(Propose(Four().Make(), "NCCL connect refused").causes(), IsEmpty());
}

TEST(History, WeighsSignalsThatSpeakForALabel) {
  const auto book = History().Make();
  const std::string both = "loss is NaN on all ranks after saving a checkpoint hangs";
  Scene scene(book);
  scene.Read("s", {"MAIN.SUB.C"}, galen::v1::DECISIVE, "");
  const auto belief = [&](const galen::v1::EvidenceSet& evidence) {
    const v1::HistoryAnswer answer = Propose(book, both, evidence);
    for (const auto& cause : answer.causes()) {
      if (cause.label() == "MAIN.SUB.C") return cause.probability();
    }
    return 0.0;
  };
  EXPECT_GT(belief(scene.evidence()), belief({}));
}

TEST(History, SurvivesHostileText) {
  const auto book = History().Make();
  std::string hostile(1 << 20, 'x');
  for (size_t i = 0; i < hostile.size(); i += 7) hostile[i] = static_cast<char>(i % 256);
  Propose(book, hostile);
}

v1::CritiqueAnswer CritiqueOf(const knowledge::Knowledge& book, const Scene& scene,
                              const std::vector<galen::v1::Hypothesis>& judged) {
  v1::CritiqueQuestion question;
  for (const auto& each : judged) *question.add_judged() = each;
  return Critique(testing::Asked(book, scene.evidence()).the_case(), question);
}

TEST(Critique, NamesTheLeafOfAnAbnormalFindingThatNothingConfirmedExplains) {
  const auto book = Four().Make();
  Scene scene(book);
  scene.Saw("a", {Bool("bad", true)}).Saw("c", {Bool("bad", true)});
  const auto answer = CritiqueOf(
      book, scene,
      {Judged(JudgeOf(book, scene, "MAIN.SUB.A")), Judged(JudgeOf(book, scene, "MAIN.SUB.D"))});
  EXPECT_THAT(answer.labels(), ElementsAre("MAIN.SUB.C"));
  EXPECT_THAT(answer.remarks(), ElementsAre(HasSubstr("c@n1")));
}

TEST(Critique, NamesTheLeavesOfADecisiveSignalThatWereNotJudged) {
  const auto book = Four().Make();
  Scene scene(book);
  scene.Read("s", {"MAIN.SUB.B", "MAIN.SUB.D"}, galen::v1::DECISIVE).Saw("b", {Bool("bad", false)});
  const auto answer = CritiqueOf(book, scene, {Judged(JudgeOf(book, scene, "MAIN.SUB.B"))});
  EXPECT_THAT(answer.labels(), ElementsAre("MAIN.SUB.D"));
}

TEST(Critique, IsContentWhenEverythingIsExplained) {
  const auto book = Four().Make();
  Scene scene(book);
  scene.Saw("a", {Bool("bad", true)}).Read("s", {"MAIN.SUB.A"}, galen::v1::DECISIVE);
  const auto answer = CritiqueOf(
      book, scene,
      {Judged(JudgeOf(book, scene, "MAIN.SUB.A")), Judged(JudgeOf(book, scene, "MAIN.SUB.D"))});
  EXPECT_THAT(answer.labels(), IsEmpty());
  EXPECT_THAT(answer.remarks(), IsEmpty());
}

TEST(Critique, HasLookAlikesOfAConfirmedCauseToldApart) {
  KnowledgeBuilder made = Four();
  made.Check("e", "bad", "bool", Rule::EQ, "true");
  made.Leaf("MAIN.SUB.E").Confirm("e", "bad", Rule::EQ, "true").LooksLike("MAIN.SUB.B");
  made.Leaf("MAIN.SUB.F").Confirm("d", "bad", Rule::EQ, "true").LooksLike("MAIN.SUB.E");
  const auto book = made.Make();
  Scene scene(book);
  scene.Saw("e", {Bool("bad", true)});
  const auto answer = CritiqueOf(book, scene, {Judged(JudgeOf(book, scene, "MAIN.SUB.E"))});
  EXPECT_THAT(answer.labels(), ElementsAre("MAIN.SUB.B", "MAIN.SUB.F"));
}

TEST(Critique, ADearLookAlikeIsAskedOnlyWhereItMayLieBehindOrShowsASign) {
  KnowledgeBuilder made;
  made.Check("e", "bad", "bool", Rule::EQ, "true").Check("hint", "seen", "bool");
  for (const char* check : {"far", "behind", "near"}) {
    made.Check(check, "bad", "bool", Rule::EQ, "true").Costs(check, 2'000);
  }
  made.Leaf("MAIN.SUB.E").Confirm("e", "bad", Rule::EQ, "true");
  made.Leaf("MAIN.SUB.FAR").Confirm("far", "bad", Rule::EQ, "true").LooksLike("MAIN.SUB.E");
  made.Leaf("MAIN.SUB.BEHIND")
      .Confirm("behind", "bad", Rule::EQ, "true")
      .LooksLike("MAIN.SUB.E")
      .Causes("MAIN.SUB.E");
  made.Leaf("MAIN.SUB.NEAR")
      .Confirm("near", "bad", Rule::EQ, "true")
      .Confirm("hint", "seen", Rule::EQ, "true")
      .AsContext()
      .LooksLike("MAIN.SUB.E");
  const auto book = made.Make();
  Scene scene(book);
  scene.Saw("e", {Bool("bad", true)}).Saw("hint", {Bool("seen", true)});
  const auto answer = CritiqueOf(book, scene, {Judged(JudgeOf(book, scene, "MAIN.SUB.E"))});
  EXPECT_THAT(answer.labels(), UnorderedElementsAre("MAIN.SUB.BEHIND", "MAIN.SUB.NEAR"));
}

TEST(Critique, NamesAtMostEightLeaves) {
  KnowledgeBuilder made;
  Scene* scene = nullptr;
  for (int i = 0; i < 12; ++i) {
    made.Check(absl::StrCat("c", i), "bad", "bool", Rule::EQ, "true");
    made.Leaf(absl::StrCat("MAIN.SUB.L", i)).Confirm(absl::StrCat("c", i), "bad", Rule::EQ, "true");
  }
  const auto book = made.Make();
  Scene all(book);
  scene = &all;
  for (int i = 0; i < 12; ++i) scene->Saw(absl::StrCat("c", i), {Bool("bad", true)});
  EXPECT_EQ(CritiqueOf(book, all, {}).labels_size(), 8);
}

TEST(Explore, SaysWhatToCollectForAnUndecidedCauseAndNamesItsLookAlike) {
  const auto book = Four().Make();
  Scene scene(book);
  scene.Skipped("d").Read("s", {"MAIN.SUB.D"}, galen::v1::STRONG);
  v1::ExploreQuestion question;
  *question.add_judged() = Judged(JudgeOf(book, scene, "MAIN.SUB.D"));
  const auto answer = Explore(testing::Asked(book, scene.evidence()).the_case(), question);
  ASSERT_EQ(answer.suggestions_size(), 3);
  EXPECT_THAT(answer.suggestions(0).title(), HasSubstr("meaning of s"));
  EXPECT_THAT(answer.suggestions(1).title(), HasSubstr("MAIN.SUB.D"));
  EXPECT_THAT(answer.suggestions(1).steps(), ElementsAre(HasSubstr("Collect \"d\" on n1")));
  EXPECT_THAT(answer.suggestions(2).title(), HasSubstr("MAIN.SUB.A"));
}

TEST(Explore, AsksForMoreWhenTheTextsSayNothing) {
  const auto book = Four().Make();
  const Scene scene(book);
  const auto answer = Explore(testing::Asked(book, scene.evidence()).the_case(), {});
  ASSERT_EQ(answer.suggestions_size(), 1);
  EXPECT_THAT(answer.suggestions(0).steps(), ::testing::Not(IsEmpty()));
}

TEST(Summarize, NamesTheMessagesAndTheClassWithTheMostWeight) {
  const auto book = Four().Make();
  Scene scene(book);
  scene.Read("weak", {"OTHER.X.Y"}, galen::v1::WEAK)
      .Read("strong", {"GPU.MEMORY.E"}, galen::v1::STRONG);
  v1::SummarizeQuestion question;
  question.mutable_incident()->set_description("Training\nis   broken");
  *question.mutable_found() = scene.evidence().summary();
  const auto answer = Summarize(question);
  EXPECT_EQ(answer.failure_class(), "GPU");
  EXPECT_THAT(answer.text(), HasSubstr("Reported: Training is broken"));
  EXPECT_THAT(answer.text(), HasSubstr("2 known messages"));
  EXPECT_THAT(answer.text(), HasSubstr("meaning of strong; "));
}

TEST(Summarize, GivesNoClassWithoutSignals) { EXPECT_EQ(Summarize({}).failure_class(), ""); }

TEST(BuiltinReasoner, RefusesLabelsThatAreNoLeafAndDeadlinesThatHavePassed) {
  const auto book = Four().Make();
  const BuiltinReasoner reasoner(book);
  v1::JudgeQuestion question;
  for (const char* label : {"", "MAIN", "MAIN.SUB", "NO.SUCH.LABEL"}) {
    question.clear_labels();
    question.add_labels(label);
    EXPECT_EQ(reasoner.Judge(question, absl::InfiniteFuture()).status().code(),
              absl::StatusCode::kInvalidArgument)
        << label;
  }
  question.clear_labels();
  question.add_labels("MAIN.SUB.A");
  EXPECT_EQ(reasoner.Judge(question, absl::InfinitePast()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace galen::reasoner
