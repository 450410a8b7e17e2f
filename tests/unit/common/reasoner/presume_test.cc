// The likeliest cause by texts and history alone.
#include "common/reasoner/presume.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "cases.h"

namespace galen::reasoner {
namespace presume_test {

using knowledge::v1::Rule;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::KnowledgeBuilder;
using testing::Scene;

// Three leaves, the first one common.
knowledge::Knowledge Three() {
  KnowledgeBuilder book;
  book.Check("a", "bad", "bool", Rule::EQ, "true");
  for (const auto& [leaf, prior] : {std::pair{"MAIN.SUB.A", "high"}, std::pair{"MAIN.SUB.B", "low"},
                                    std::pair{"MAIN.SUB.C", "low"}}) {
    book.Leaf(leaf, prior).Confirm("a", "bad", Rule::EQ, "true");
  }
  return book.Make();
}

v1::HistoryAnswer Resembles(const std::string& label, double probability) {
  v1::HistoryAnswer answer;
  v1::HistoryAnswer::Cause& cause = *answer.add_causes();
  cause.set_label(label);
  cause.set_probability(probability);
  cause.set_reason("resembles INC-1");
  cause.add_incidents("INC-1");
  return answer;
}

v1::PresumeAnswer Ask(const knowledge::Knowledge& book, const Scene& scene,
                      const v1::HistoryAnswer& similar = {}) {
  v1::PresumeQuestion question;
  question.set_max_causes(2);
  for (const knowledge::v1::Label* child : book.Children("MAIN.SUB")) {
    question.add_choices()->set_label(child->label());
  }
  return Presume(testing::Asked(book, scene.evidence()).the_case(), question, similar);
}

std::vector<std::string> Labels(const v1::PresumeAnswer& answer) {
  std::vector<std::string> labels;
  for (const auto& cause : answer.causes()) labels.push_back(cause.label());
  return labels;
}

TEST(Presume, NamesNothingWhenNothingPointsAnywhereHoweverCommonACauseIs) {
  const auto book = Three();
  EXPECT_THAT(Ask(book, Scene(book)).causes(), IsEmpty());
}

TEST(Presume, NamesWhatASignalSpeaksForAndCitesIt) {
  const auto book = Three();
  Scene scene(book);
  scene.Read("s", {"MAIN.SUB.B"}, galen::v1::DECISIVE);
  const v1::PresumeAnswer answer = Ask(book, scene);
  ASSERT_THAT(Labels(answer), ElementsAre("MAIN.SUB.B"));
  EXPECT_THAT(answer.causes(0).evidence_ids(),
              ElementsAre(scene.evidence().summary().signals(0).id()));
  EXPECT_THAT(answer.causes(0).incidents(), IsEmpty());
}

TEST(Presume, NamesWhatThePastSuggestsAndCitesThePast) {
  const auto book = Three();
  const v1::PresumeAnswer answer = Ask(book, Scene(book), Resembles("MAIN.SUB.C", 0.4));
  ASSERT_THAT(Labels(answer), ElementsAre("MAIN.SUB.C"));
  EXPECT_THAT(answer.causes(0).incidents(), ElementsAre("INC-1"));
  EXPECT_THAT(answer.causes(0).reason(), HasSubstr("resembles INC-1"));
}

TEST(Presume, ADecisiveSignalOutweighsAFaintResemblanceAndBothTogetherWeighMost) {
  const auto book = Three();
  Scene scene(book);
  scene.Read("s", {"MAIN.SUB.B"}, galen::v1::DECISIVE);
  const v1::PresumeAnswer apart = Ask(book, scene, Resembles("MAIN.SUB.C", 0.2));
  EXPECT_THAT(Labels(apart), ElementsAre("MAIN.SUB.B", "MAIN.SUB.C"));
  const v1::PresumeAnswer together = Ask(book, scene, Resembles("MAIN.SUB.B", 0.2));
  EXPECT_THAT(Labels(together), ElementsAre("MAIN.SUB.B"));
  EXPECT_GT(together.causes(0).probability(), apart.causes(0).probability());
  EXPECT_LT(together.causes(0).probability(), 1.0);
}

}  // namespace presume_test
}  // namespace galen::reasoner
