#include "services/reflection/reflector.h"

#include <gmock/gmock.h>

#include <cmath>
#include <string>

#include "services/reflection/local_client.h"
#include "tests/testing/reasoner/fake_reasoner.h"
#include "tests/testing/status_matchers.h"

namespace galen::reflection {
namespace {

using ::galen::testing::FakeReasoner;
using ::galen::testing::StatusIs;
using galen::v1::Reason;
using galen::v1::Verdict;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

knowledge::v1::KnowledgeBase Base() {
  knowledge::v1::KnowledgeBase base;
  base.add_labels()->set_label("GPU");
  for (const char* leaf : {"GPU.A", "GPU.B"}) {
    knowledge::v1::Label& label = *base.add_labels();
    label.set_label(leaf);
    label.set_parent("GPU");
    label.add_confirm()->set_check("gpu.ecc");
  }
  base.add_checks()->set_name("gpu.ecc");
  return base;
}

class ReflectorTest : public ::testing::Test {
 protected:
  // The reasoner's verdict on GPU.A: one reason, citing `id` unless it is empty.
  Verdict& Tell(Verdict::Outcome outcome, Reason::Direction direction, const std::string& id) {
    Verdict verdict;
    verdict.set_label("GPU.A");
    verdict.set_outcome(outcome);
    verdict.set_probability(0.9);
    verdict.add_devices()->set_node("n1");
    Reason& reason = *verdict.add_reasons();
    reason.set_direction(direction);
    if (!id.empty()) reason.add_evidence_ids(id);
    reasoner_.verdicts["GPU.A"] = verdict;
    return *reasoner_.verdicts["GPU.A"];
  }
  absl::StatusOr<v1::JudgeResponse> Judge(const std::vector<std::string>& labels) {
    v1::JudgeRequest request;
    for (const std::string& label : labels) request.add_labels(label);
    request.mutable_evidence()->add_results()->set_id("gpu.ecc@n1");
    request.mutable_evidence()->mutable_summary()->add_signals()->set_id("signal/x@train.log");
    return reflector_.Judge(request, absl::InfiniteFuture());
  }
  Verdict JudgeA() { return Judge({"GPU.A"})->verdicts(0); }

  const knowledge::Knowledge knowledge_{Base()};
  FakeReasoner reasoner_;
  const Reflector reflector_{knowledge_, reasoner_};
};

TEST_F(ReflectorTest, LetsACitedVerdictPass) {
  Tell(Verdict::CONFIRMED, Reason::SUPPORTS, "gpu.ecc@n1");
  EXPECT_EQ(JudgeA().outcome(), Verdict::CONFIRMED);
  EXPECT_EQ(JudgeA().devices_size(), 1);
  Tell(Verdict::REJECTED, Reason::OPPOSES, "signal/x@train.log");
  EXPECT_EQ(JudgeA().outcome(), Verdict::REJECTED);
}

TEST_F(ReflectorTest, TurnsAnUncitedVerdictIntoAnUndecidedOne) {
  Tell(Verdict::CONFIRMED, Reason::SUPPORTS, "");
  const Verdict verdict = JudgeA();
  EXPECT_EQ(verdict.outcome(), Verdict::INCONCLUSIVE);
  EXPECT_EQ(verdict.devices_size(), 0);
  ASSERT_EQ(verdict.reasons_size(), 2);
  EXPECT_THAT(verdict.reasons(1).text(), HasSubstr("without citing evidence"));
  Tell(Verdict::REJECTED, Reason::OPPOSES, "");
  EXPECT_EQ(JudgeA().outcome(), Verdict::INCONCLUSIVE);
}

TEST_F(ReflectorTest, WantsEvidenceForTheVerdictNotAgainstIt) {
  Tell(Verdict::CONFIRMED, Reason::OPPOSES, "gpu.ecc@n1");
  EXPECT_EQ(JudgeA().outcome(), Verdict::INCONCLUSIVE);
  Tell(Verdict::REJECTED, Reason::SUPPORTS, "gpu.ecc@n1");
  EXPECT_EQ(JudgeA().outcome(), Verdict::INCONCLUSIVE);
}

TEST_F(ReflectorTest, RefusesEvidenceThatDoesNotExist) {
  Tell(Verdict::CONFIRMED, Reason::SUPPORTS, "gpu.ecc@elsewhere");
  EXPECT_THAT(Judge({"GPU.A"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("gpu.ecc@elsewhere")));
}

TEST_F(ReflectorTest, RefusesAnAnswerOnAnotherLabel) {
  Tell(Verdict::INCONCLUSIVE, Reason::SUPPORTS, "").set_label("GPU.B");
  EXPECT_THAT(Judge({"GPU.A"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("GPU.B")));
}

TEST_F(ReflectorTest, RefusesALabelThatIsNoLeaf) {
  for (const char* label : {"GPU", "NO.SUCH", ""}) {
    EXPECT_THAT(Judge({"GPU.A", label}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no leaf")));
  }
}

TEST_F(ReflectorTest, AnswersInTheOrderOfTheLabels) {
  const auto response = Judge({"GPU.B", "GPU.A"});
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->verdicts(0).label(), "GPU.B");
  EXPECT_EQ(response->verdicts(1).label(), "GPU.A");
  EXPECT_EQ(response->verdicts(0).outcome(), Verdict::INCONCLUSIVE) << "no outcome is no verdict";
}

TEST_F(ReflectorTest, BoundsProbabilities) {
  Tell(Verdict::CONFIRMED, Reason::SUPPORTS, "gpu.ecc@n1").set_probability(std::nan(""));
  EXPECT_EQ(JudgeA().probability(), 0.0);
}

TEST_F(ReflectorTest, AddsEachUnjudgedLabelOfTheCritiqueOnceWithItsChecks) {
  for (const char* label : {"GPU.A", "GPU.B", "GPU.B"}) reasoner_.critique->add_labels(label);
  v1::CritiqueRequest request;
  galen::v1::Hypothesis& judged = *request.add_judged();
  judged.set_label("GPU.A");
  judged.mutable_verdict()->set_label("GPU.A");
  const auto response = reflector_.Critique(request, absl::InfiniteFuture());
  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->add_size(), 1);
  EXPECT_EQ(response->add(0).hypothesis().label(), "GPU.B");
  EXPECT_EQ(response->add(0).hypothesis().origin(), galen::v1::Hypothesis::CRITIQUE);
  EXPECT_THAT(response->add(0).checks(), ElementsAre("gpu.ecc"));
  reasoner_.critique->add_labels("GPU");
  EXPECT_THAT(reflector_.Critique(request, absl::InfiniteFuture()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not a leaf")));
}

// Runs each task at once, or has no room for any.
class InlineExecutor final : public Executor {
 public:
  explicit InlineExecutor(bool full) : full_(full) {}
  bool TrySchedule(absl::AnyInvocable<void() &&> task) override {
    if (full_) return false;
    std::move(task)();
    return true;
  }

 private:
  const bool full_;
};

TEST_F(ReflectorTest, IsReachedInTheSameProcessThroughItsClient) {
  for (const bool full : {false, true}) {
    InlineExecutor executor(full);
    LocalReflectionClient client(reflector_, executor);
    absl::Status status = absl::UnknownError("no answer");
    const auto request = std::make_shared<v1::JudgeRequest>();
    request->add_labels("GPU.A");
    client.Judge(
        request, absl::InfiniteFuture(),
        [&](const absl::StatusOr<v1::JudgeResponse>& response) { status = response.status(); });
    EXPECT_EQ(status.code(), full ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kOk);
  }
}

}  // namespace
}  // namespace galen::reflection
