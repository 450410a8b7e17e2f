#include "common/reasoner/llm/model_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/observability/metrics/registry.h"
#include "tests/testing/reasoner/fake_llm_client.h"

namespace galen::reasoner::llm {
namespace {

using galen::llm::Health;
using galen::v1::Reasoned;
using ::testing::HasSubstr;

class Fixed final : public prometheus::Collectable {
 public:
  explicit Fixed(std::vector<prometheus::MetricFamily> families) : families_(std::move(families)) {}
  std::vector<prometheus::MetricFamily> Collect() const override { return families_; }

 private:
  const std::vector<prometheus::MetricFamily> families_;
};

std::string TextOf(std::vector<prometheus::MetricFamily> families) {
  metrics::Registry registry;
  registry.Add(std::make_shared<const Fixed>(std::move(families)));
  return registry.Text();
}

TEST(ClientFamilies, TellFailuresByKindAndTheCircuit) {
  Health health;
  health.circuit = Health::Circuit::kOpen;
  health.calls = 1;
  health.unavailable = 2;
  health.throttled = 3;
  health.late = 4;
  health.bad_answers = 5;
  health.denied = 6;
  health.rejected = 7;
  health.refused = 8;
  health.usage.prompt_tokens = 900;
  const std::string text = TextOf(ClientFamilies(health, "chat"));
  for (const char* line : {
           "galen_llm_calls_total{use=\"chat\"} 1\n",
           "galen_llm_failures_total{use=\"chat\",kind=\"unavailable\"} 2\n",
           "galen_llm_failures_total{use=\"chat\",kind=\"throttled\"} 3\n",
           "galen_llm_failures_total{use=\"chat\",kind=\"late\"} 4\n",
           "galen_llm_failures_total{use=\"chat\",kind=\"bad_answer\"} 5\n",
           "galen_llm_failures_total{use=\"chat\",kind=\"denied\"} 6\n",
           "galen_llm_failures_total{use=\"chat\",kind=\"rejected\"} 7\n",
           "galen_llm_refused_total{use=\"chat\"} 8\n",
           "galen_llm_tokens_total{use=\"chat\",kind=\"input\"} 900\n",
           "galen_llm_circuit_state{use=\"chat\",state=\"open\"} 1\n",
           "galen_llm_circuit_state{use=\"chat\",state=\"closed\"} 0\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(ClientFamilies, TellLatencyAsAHistogram) {
  Health health;
  health.latencies.Add(absl::Milliseconds(200));
  health.latencies.Add(absl::Milliseconds(250));
  health.latencies.Add(absl::Minutes(2));
  const std::string text = TextOf(ClientFamilies(health, "embedding"));
  for (const char* line : {
           "galen_llm_answer_seconds_bucket{use=\"embedding\",le=\"0.1\"} 0\n",
           "galen_llm_answer_seconds_bucket{use=\"embedding\",le=\"0.25\"} 2\n",
           "galen_llm_answer_seconds_bucket{use=\"embedding\",le=\"30\"} 2\n",
           "galen_llm_answer_seconds_bucket{use=\"embedding\",le=\"+Inf\"} 3\n",
           "galen_llm_answer_seconds_count{use=\"embedding\"} 3\n",
           "galen_llm_answer_seconds_sum{use=\"embedding\"} 120.45\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(QuestionFamilies, TellWhatBecameOfQuestions) {
  AskCounters counters;
  Reasoned reasoned;
  reasoned.set_cost_nanos(1'500'000'000);
  counters.Count(reasoned);
  reasoned.set_fallback(Reasoned::BAD_ANSWER);
  counters.Count(reasoned);
  const std::string text = TextOf(QuestionFamilies(counters.counts()));
  EXPECT_THAT(text, HasSubstr("galen_llm_questions_total{outcome=\"answered\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("galen_llm_questions_total{outcome=\"bad_answer\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("galen_llm_questions_total{outcome=\"out_of_time\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("galen_llm_cost_total 3\n"));
}

TEST(ModelMetrics, AreThoseOfTheMomentAndOfBothClients) {
  galen::testing::FakeLlmClient chat(galen::testing::AnswerTheDraft);
  galen::testing::FakeLlmClient embedding(galen::testing::AnswerTheDraft);
  AskCounters counters;
  metrics::Registry registry;
  registry.Add(std::make_shared<const ModelMetrics>(chat, &embedding, counters));
  counters.Count({});
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("galen_llm_questions_total{outcome=\"answered\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("galen_llm_calls_total{use=\"chat\"} 0\n"
                              "galen_llm_calls_total{use=\"embedding\"} 0\n"));
}

}  // namespace
}  // namespace galen::reasoner::llm
