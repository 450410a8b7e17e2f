#include "common/reasoner/questions.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "cases.h"

namespace galen::reasoner {
namespace questions_test {

using galen::v1::Question;
using knowledge::v1::Rule;
using testing::Bool;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::KnowledgeBuilder;
using testing::Scene;
using ::testing::SizeIs;

// Two causes that a message supports equally, each with a check that was unreadable, and one
// without support.
KnowledgeBuilder Rivals() {
  KnowledgeBuilder book;
  for (const char* check : {"left", "right", "aside"}) {
    book.Check(check, "bad", "bool", Rule::EQ, "true");
  }
  book.Reads("left", "show left").Reads("right", "show right").Reads("aside", "show aside");
  book.Leaf("MAIN.SUB.LEFT").Confirm("left", "bad", Rule::EQ, "true").AsState();
  book.Refute("left", "bad", Rule::EQ, "false");
  book.Leaf("MAIN.SUB.RIGHT").Confirm("right", "bad", Rule::EQ, "true").AsState();
  book.Leaf("MAIN.SUB.ASIDE", "low").Confirm("aside", "bad", Rule::EQ, "true").AsState();
  return book;
}

Scene Open(const knowledge::Knowledge& book) {
  Scene scene(book);
  scene.Skipped("left").Skipped("right").Skipped("aside");
  scene.Read("m", {"MAIN.SUB.LEFT", "MAIN.SUB.RIGHT"}, galen::v1::DECISIVE);
  return scene;
}

v1::ExploreAnswer Ask(const knowledge::Knowledge& book, const Scene& scene,
                      v1::ExploreQuestion question = {}) {
  v1::ExploreAnswer answer;
  AddQuestions(testing::Asked(book, scene.evidence()).the_case(), question, answer);
  return answer;
}

std::vector<std::string> Ids(const google::protobuf::RepeatedPtrField<Question>& questions) {
  std::vector<std::string> ids;
  for (const Question& question : questions) ids.push_back(question.id());
  return ids;
}

TEST(Questions, AskForWhatDecidesBetweenTheLeadingCauses) {
  const auto book = Rivals().Make();
  const v1::ExploreAnswer answer = Ask(book, Open(book));
  ASSERT_THAT(answer.questions(), SizeIs(::testing::Ge(2)));
  EXPECT_EQ(answer.questions(0).id(), "left@n1") << "which can also be refuted";
  EXPECT_EQ(answer.questions(1).id(), "right@n1");
  EXPECT_THAT(answer.questions(0).commands(), ElementsAre("show left"));
  EXPECT_THAT(answer.questions(0).text(), HasSubstr("`show left` on n1"));
  EXPECT_GT(answer.questions(0).bits(), answer.questions(1).bits());
}

TEST(Questions, SayWhatEachAnswerWouldDo) {
  const auto book = Rivals().Make();
  const v1::ExploreAnswer answer = Ask(book, Open(book));
  ASSERT_THAT(answer.questions(), ::testing::Not(IsEmpty()));
  const auto& answers = answer.questions(0).answers();
  ASSERT_THAT(answers, SizeIs(2));
  EXPECT_EQ(answers[0].effects(0).label(), "MAIN.SUB.LEFT");
  EXPECT_GT(answers[0].effects(0).after(), answers[0].effects(0).before());
  EXPECT_EQ(answers[1].text(), "nothing of the kind");
  for (const auto& effect : answers[1].effects()) {
    if (effect.label() == "MAIN.SUB.LEFT") {
      EXPECT_LT(effect.after(), effect.before());
    } else if (effect.label() == "MAIN.SUB.RIGHT") {
      EXPECT_GT(effect.after(), effect.before());
    }
  }
}

TEST(Questions, NeverAskForWhatWasReadOrWasAskedBefore) {
  const auto book = Rivals().Make();
  Scene scene = Open(book);
  scene.Saw("left", {Bool("bad", false)});
  for (const std::string& id : Ids(Ask(book, scene).questions())) EXPECT_NE(id, "left@n1");
  for (const char* asked : {"right@n1", "show right@n1", "show right@"}) {
    v1::ExploreQuestion other;
    other.add_asked(asked);
    for (const std::string& id : Ids(Ask(book, Open(book), other).questions())) {
      EXPECT_NE(id, "right@n1") << asked;
    }
  }
  v1::ExploreQuestion question;
  question.add_asked("right@n1");
  for (const std::string& id : Ids(Ask(book, Open(book), question).questions())) {
    EXPECT_NE(id, "right@n1");
  }
}

// Checks that the search has not run are left to the search.
TEST(Questions, NeverAskAPersonForWhatAMachineWouldTell) {
  const auto book = Rivals().Make();
  Scene scene(book);
  scene.Skipped("left");
  scene.Read("m", {"MAIN.SUB.LEFT", "MAIN.SUB.RIGHT"}, galen::v1::DECISIVE);
  EXPECT_THAT(Ids(Ask(book, scene).questions()), ElementsAre("left@n1"));
}

TEST(Questions, WithoutAMachineAskForAnyOfTheJob) {
  const auto book = Rivals().Make();
  Scene scene(book);
  scene.Read("m", {"MAIN.SUB.LEFT", "MAIN.SUB.RIGHT"}, galen::v1::DECISIVE);
  const v1::ExploreAnswer answer = Ask(book, scene);
  ASSERT_THAT(answer.questions(), ::testing::Not(IsEmpty()));
  EXPECT_EQ(answer.questions(0).node(), "");
}

TEST(Questions, OneCommandThatServesManyChecksIsOneQuestion) {
  KnowledgeBuilder made;
  for (const auto& [check, leaf] :
       {std::pair("left", "MAIN.SUB.LEFT"), std::pair("right", "MAIN.SUB.RIGHT"),
        std::pair("third", "MAIN.SUB.THIRD")}) {
    made.Check(check, "bad", "bool", Rule::EQ, "true");
    made.Leaf(leaf).Confirm(check, "bad", Rule::EQ, "true").AsState();
    made.Refute(check, "bad", Rule::EQ, "false");
  }
  made.Reads("left", "show left").Reads("right", "show right").Reads("third", "show right");
  const auto book = made.Make();
  Scene scene(book);
  scene.Skipped("left").Skipped("right").Skipped("third");
  scene.Read("m", {"MAIN.SUB.LEFT", "MAIN.SUB.RIGHT"}, galen::v1::DECISIVE);
  scene.Read("n", {"MAIN.SUB.THIRD"}, galen::v1::DECISIVE, "another line", 9);
  const v1::ExploreAnswer answer = Ask(book, scene);
  int asked = 0;
  for (const Question& question : answer.questions()) {
    asked += question.commands(0) == "show right" ? 1 : 0;
  }
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(answer.questions(0).commands(0), "show right") << "it decides two causes";
}

TEST(Questions, ATestIsProposedForLiveMachinesOnlyAndNeverAsked) {
  KnowledgeBuilder made = Rivals();
  auto base = made.Make().base();
  for (knowledge::v1::Check& check : *base.mutable_checks()) {
    if (check.name() != "left") continue;
    check.set_intrusive(true);
    check.set_occupies("gpu");
    check.mutable_cost()->set_seconds(30);
  }
  const knowledge::Knowledge book(base);
  Scene scene(book);
  scene.Skipped("right").Skipped("aside");
  scene.Read("m", {"MAIN.SUB.LEFT", "MAIN.SUB.RIGHT"}, galen::v1::DECISIVE);
  const v1::ExploreAnswer live = Ask(book, scene);
  EXPECT_THAT(Ids(live.tests()), ElementsAre("left@n1"));
  EXPECT_TRUE(live.tests(0).loads());
  EXPECT_EQ(live.tests(0).cost().seconds(), 30);
  for (const Question& question : live.questions()) EXPECT_FALSE(question.loads());
  v1::ExploreQuestion captured;
  captured.mutable_incident()->set_bundle("b");
  EXPECT_THAT(Ask(book, scene, captured).tests(), IsEmpty());
  // One that a machine refused is not proposed again.
  scene.Skipped("left");
  EXPECT_THAT(Ask(book, scene).tests(), IsEmpty());
}

TEST(Questions, AtMostThree) {
  KnowledgeBuilder made;
  std::vector<std::string> labels;
  for (int i = 0; i < 8; ++i) {
    const std::string check = absl::StrCat("c", i);
    made.Check(check, "bad", "bool", Rule::EQ, "true").Reads(check, absl::StrCat("show ", i));
    labels.push_back(absl::StrCat("MAIN.SUB.L", i));
    made.Leaf(labels.back()).Confirm(check, "bad", Rule::EQ, "true").AsState();
  }
  const auto book = made.Make();
  Scene scene(book);
  for (int i = 0; i < 8; ++i) scene.Skipped(absl::StrCat("c", i));
  scene.Read("m", labels, galen::v1::DECISIVE);
  EXPECT_THAT(Ask(book, scene).questions(), SizeIs(3));
}

}  // namespace questions_test
}  // namespace galen::reasoner
