#include "bench/eval/metrics/naming.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace galen::eval {
namespace naming_test {

class NamingTest : public testing::Test {
 protected:
  v1::Case& Add(const std::string& corpus, const std::vector<std::string>& labels) {
    v1::Case& a_case = cases_.emplace_back();
    a_case.set_corpus(corpus);
    a_case.mutable_labels()->Assign(labels.begin(), labels.end());
    results_.emplace_back();
    return a_case;
  }
  void Confirm(const std::string& label) { results_.back().mutable_primary()->set_label(label); }
  void Presume(const std::string& label) {
    Confirm(label);
    results_.back().mutable_primary()->set_presumed(true);
  }
  void Suspect(const std::string& label) { results_.back().add_suspects()->set_label(label); }

  std::vector<v1::Naming> Score() const {
    std::vector<CaseScore> scores;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      scores.push_back(ScoreCase(cases_[i], results_[i]));
    }
    return ScoreNaming(cases_, results_, scores);
  }

  std::vector<v1::Case> cases_;
  std::vector<v1::CaseResult> results_;
};

TEST_F(NamingTest, TheFirstCauseCountsHoweverItIsNamed) {
  Add("c", {"A"});
  Confirm("A");
  Add("c", {"A"});
  Presume("A");
  Add("c", {"A"});
  Suspect("A");
  const v1::Naming naming = Score().at(0);
  EXPECT_EQ(naming.with_cause(), 3);
  EXPECT_EQ(naming.first(), 3);
  EXPECT_EQ(naming.confirmed_right(), 1);
  EXPECT_EQ(naming.presumed_right(), 1);
}

TEST_F(NamingTest, TheThirdIsAmongThreeAndTheFourthIsNot) {
  Add("c", {"A"});
  for (const char* label : {"X", "Y", "A"}) Suspect(label);
  Add("c", {"A"});
  for (const char* label : {"X", "Y", "Z", "A"}) Suspect(label);
  const v1::Naming naming = Score().at(0);
  EXPECT_EQ(naming.first(), 0);
  EXPECT_EQ(naming.among_three(), 1);
}

TEST_F(NamingTest, APresumedCauseThatIsASuspectTooIsNamedOnce) {
  Add("c", {"A"});
  Presume("X");
  for (const char* label : {"X", "Y", "A"}) Suspect(label);
  EXPECT_EQ(Score().at(0).among_three(), 1);
}

TEST_F(NamingTest, SilenceIsRightWhereThereIsNothingToFind) {
  Add("c", {});
  Add("c", {}).add_labels_acceptable("A");
  Presume("A");
  Add("c", {});
  Presume("A");
  const v1::Naming naming = Score().at(0);
  EXPECT_EQ(naming.rightly_silent(), 1);
  EXPECT_EQ(naming.presumed_right(), 1);
  EXPECT_EQ(naming.presumed_wrongly(), 1);
  EXPECT_EQ(naming.convicted_wrongly(), 0);
}

TEST_F(NamingTest, AHarmfulConvictionIsCountedApart) {
  Add("c", {"A"}).add_never("X");
  Confirm("X");
  Add("c", {"A"}).add_never("X");
  Confirm("Y");
  const v1::Naming naming = Score().at(0);
  EXPECT_EQ(naming.convicted_wrongly(), 2);
  EXPECT_EQ(naming.convicted_never(), 1);
}

TEST_F(NamingTest, EachCorpusHasARow) {
  Add("one", {"A"});
  Add("two", {"A"});
  Confirm("A");
  Add("one", {"A"});
  const std::vector<v1::Naming> naming = Score();
  ASSERT_EQ(naming.size(), 2);
  EXPECT_EQ(naming[0].corpus(), "one");
  EXPECT_EQ(naming[0].cases(), 2);
  EXPECT_EQ(naming[1].first(), 1);
}

}  // namespace naming_test
}  // namespace galen::eval
