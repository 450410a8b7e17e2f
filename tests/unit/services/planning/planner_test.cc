#include "services/planning/planner.h"

#include <gmock/gmock.h>

#include <cmath>
#include <string>

#include "tests/testing/reasoner/fake_reasoner.h"
#include "tests/testing/status_matchers.h"

namespace galen::planning {
namespace {

using ::galen::testing::FakeReasoner;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

knowledge::v1::KnowledgeBase Base() {
  knowledge::v1::KnowledgeBase base;
  const auto add = [&](const char* label, const char* parent) -> knowledge::v1::Label& {
    knowledge::v1::Label& added = *base.add_labels();
    added.set_label(label);
    added.set_parent(parent);
    added.set_title(std::string("title of ") + label);
    return added;
  };
  add("GPU", "").add_first_checks("gpu.inventory");
  add("GPU.MEMORY", "GPU");
  add("GPU.MEMORY.ECC", "GPU.MEMORY").add_confirm()->set_check("gpu.ecc");
  add("GPU.MEMORY.REMAP", "GPU.MEMORY").add_confirm()->set_check("gpu.remap");
  add("OTHER", "");
  for (const char* check : {"gpu.inventory", "gpu.ecc", "gpu.remap"}) {
    base.add_checks()->set_name(check);
  }
  return base;
}

class PlannerTest : public ::testing::Test {
 protected:
  void Rank(const std::string& label, double probability, bool pruned) {
    auto& ranked = *reasoner_.rank->add_ranked();
    ranked.set_label(label);
    ranked.set_probability(probability);
    ranked.set_pruned(pruned);
  }
  auto RankChildren(const std::string& label) {
    v1::RankChildrenRequest request;
    request.set_label(label);
    return planner_.RankChildren(request, absl::InfiniteFuture());
  }
  auto Propose(int max_causes = 0) {
    v1::ProposeFromHistoryRequest request;
    request.set_max_causes(max_causes);
    return planner_.ProposeFromHistory(request, absl::InfiniteFuture());
  }

  const knowledge::Knowledge knowledge_{Base()};
  FakeReasoner reasoner_;
  const Planner planner_{knowledge_, reasoner_};
};

TEST_F(PlannerTest, OffersTheChildrenAndAttachesTheirChecks) {
  Rank("GPU.MEMORY.REMAP", 0.7, false);
  Rank("GPU.MEMORY.ECC", 0.3, false);
  const auto response = RankChildren("GPU.MEMORY");
  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->children_size(), 2);
  EXPECT_EQ(response->children(0).label(), "GPU.MEMORY.REMAP");
  EXPECT_EQ(response->children(0).title(), "title of GPU.MEMORY.REMAP");
  EXPECT_TRUE(response->children(0).leaf());
  EXPECT_THAT(response->children(0).checks(), ElementsAre("gpu.remap"));
  ASSERT_EQ(reasoner_.last_rank.choices_size(), 2);
  EXPECT_EQ(reasoner_.last_rank.choices(0).label(), "GPU.MEMORY.ECC");
}

TEST_F(PlannerTest, RanksTheMainCategoriesAtTheRoot) {
  Rank("GPU", 1, false);
  Rank("OTHER", 0, true);
  const auto response = RankChildren("");
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_FALSE(response->children(0).leaf());
  EXPECT_THAT(response->children(0).checks(), ElementsAre("gpu.inventory"));
}

TEST_F(PlannerTest, RefusesALabelThatWasNotOffered) {
  Rank("OTHER", 1, false);
  EXPECT_THAT(RankChildren("GPU.MEMORY"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("GPU.MEMORY: the reasoner answered \"OTHER\"")));
}

TEST_F(PlannerTest, RefusesALabelAnsweredTwice) {
  Rank("GPU.MEMORY.ECC", 1, false);
  Rank("GPU.MEMORY.ECC", 1, true);
  EXPECT_THAT(RankChildren("GPU.MEMORY"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("twice")));
}

TEST_F(PlannerTest, AppendsWhatTheReasonerLeftOutAsPruned) {
  Rank("GPU.MEMORY.REMAP", 1, false);
  const auto response = RankChildren("GPU.MEMORY");
  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->children_size(), 2);
  EXPECT_EQ(response->children(1).label(), "GPU.MEMORY.ECC");
  EXPECT_TRUE(response->children(1).pruned());
  EXPECT_THAT(response->children(1).reason(), HasSubstr("fake"));
}

TEST_F(PlannerTest, PutsPrunedChildrenLastAndBoundsBeliefs) {
  Rank("GPU.MEMORY.ECC", std::nan(""), true);
  Rank("GPU.MEMORY.REMAP", 7, false);
  const auto response = RankChildren("GPU.MEMORY");
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->children(0).label(), "GPU.MEMORY.REMAP");
  EXPECT_EQ(response->children(0).probability(), 1.0);
  EXPECT_EQ(response->children(1).probability(), 0.0);
}

TEST_F(PlannerTest, RefusesAnUnknownLabelAndGivesNoChildrenOfALeaf) {
  EXPECT_THAT(RankChildren("NO.SUCH"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("NO.SUCH")));
  const auto response = RankChildren("GPU.MEMORY.ECC");
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->children_size(), 0);
}

TEST_F(PlannerTest, ProposesWhatHistoryNamesWithItsChecks) {
  auto& cause = *reasoner_.history->add_causes();
  cause.set_label("GPU.MEMORY.ECC");
  cause.set_probability(0.4);
  cause.add_incidents("i1");
  const auto response = Propose();
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(reasoner_.last_history.max_causes(), 2) << "two causes by default";
  const auto& proposed = response->hypotheses(0);
  EXPECT_EQ(proposed.hypothesis().origin(), galen::v1::Hypothesis::HISTORY);
  EXPECT_EQ(proposed.hypothesis().status(), galen::v1::Hypothesis::PENDING);
  EXPECT_THAT(proposed.hypothesis().similar_incidents(), ElementsAre("i1"));
  EXPECT_THAT(proposed.checks(), ElementsAre("gpu.ecc"));
}

TEST_F(PlannerTest, RefusesACauseOfHistoryThatIsNoLeaf) {
  for (const char* label : {"GPU.MEMORY", "rm -rf /", ""}) {
    reasoner_.history = reasoner::v1::HistoryAnswer();
    reasoner_.history->add_causes()->set_label(label);
    EXPECT_THAT(Propose(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(label)));
  }
}

TEST_F(PlannerTest, PassesOnTheReasonersOwnError) {
  reasoner_.rank = absl::UnavailableError("model is down");
  EXPECT_THAT(RankChildren(""), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("down")));
}

TEST_F(PlannerTest, AtOnceOffersEveryRootCauseAndNamesWhatIsCited) {
  v1::ProposeAtOnceRequest request;
  request.mutable_evidence()->mutable_summary()->add_signals()->set_id("signal/s@log");
  auto& cited = *reasoner_.presume->add_causes();
  cited.set_label("GPU.MEMORY.REMAP");
  cited.set_probability(0.6);
  cited.set_reason("it says so");
  cited.add_evidence_ids("signal/s@log");
  cited.add_incidents("INC-1");
  reasoner_.presume->add_causes()->set_label("GPU.MEMORY.ECC");  // cites nothing
  const auto response = planner_.ProposeAtOnce(request, absl::InfiniteFuture());
  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->hypotheses_size(), 1);
  const auto& hypothesis = response->hypotheses(0).hypothesis();
  EXPECT_EQ(hypothesis.label(), "GPU.MEMORY.REMAP");
  EXPECT_EQ(hypothesis.origin(), galen::v1::Hypothesis::DIRECT);
  EXPECT_EQ(hypothesis.prior(), 0.6);
  EXPECT_THAT(hypothesis.evidence_ids(), ElementsAre("signal/s@log"));
  EXPECT_THAT(hypothesis.similar_incidents(), ElementsAre("INC-1"));
  EXPECT_THAT(response->hypotheses(0).checks(), ElementsAre("gpu.remap"));
  std::vector<std::string> offered;
  for (const auto& choice : reasoner_.last_presume.choices()) offered.push_back(choice.label());
  EXPECT_THAT(offered, ElementsAre("GPU.MEMORY.ECC", "GPU.MEMORY.REMAP", "OTHER"));
}

TEST_F(PlannerTest, AtOnceRefusesWhatWasNotOfferedAndEvidenceThatDoesNotExist) {
  auto& cause = *reasoner_.presume->add_causes();
  cause.set_label("GPU.MEMORY");
  EXPECT_THAT(planner_.ProposeAtOnce({}, absl::InfiniteFuture()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("was not offered")));
  cause.set_label("GPU.MEMORY.ECC");
  cause.add_evidence_ids("signal/made-up");
  EXPECT_THAT(planner_.ProposeAtOnce({}, absl::InfiniteFuture()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("which is not a signal")));
}

TEST_F(PlannerTest, ListsEveryRootCauseWithItsPassiveChecks) {
  const v1::ListCausesResponse response = planner_.ListCauses();
  std::vector<std::string> listed;
  for (const auto& each : response.hypotheses()) {
    listed.push_back(each.hypothesis().label() + ":" + std::to_string(each.checks_size()));
    EXPECT_EQ(each.hypothesis().origin(), galen::v1::Hypothesis::TAXONOMY);
  }
  EXPECT_THAT(listed, ElementsAre("GPU.MEMORY.ECC:1", "GPU.MEMORY.REMAP:1", "OTHER:0"));
}

}  // namespace
}  // namespace galen::planning
