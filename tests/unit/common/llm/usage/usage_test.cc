#include "common/llm/usage/usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace galen::usage {
namespace {

using ::testing::HasSubstr;
using v1::Reasoned;

knowledge::Knowledge TestKnowledge() {
  knowledge::v1::KnowledgeBase base;
  const auto price = [&](const char* model, double in, double out) {
    auto& entry = *base.add_llm_prices();
    entry.set_model(model);
    entry.set_input_per_million(in);
    entry.set_output_per_million(out);
    entry.set_currency("USD");
  };
  price("large", 2.5, 10);
  price("small-*", 0.15, 0.6);
  auto& diagnosis = *base.add_llm_budgets();
  diagnosis.set_scope("diagnosis");
  diagnosis.set_calls(3);
  diagnosis.set_input_tokens(1000);
  diagnosis.set_output_tokens(500);
  diagnosis.set_money(0.01);
  auto& day = *base.add_llm_budgets();
  day.set_scope("tenant_day");
  day.set_calls(10);
  auto& prompt = *base.add_prompts();
  prompt.set_name("rank");
  prompt.set_most(2);
  return knowledge::Knowledge(std::move(base));
}

TEST(Cost, FollowsThePriceList) {
  const knowledge::Knowledge book = TestKnowledge();
  const struct {
    const char* model;
    std::int64_t in;
    std::int64_t out;
    std::int64_t nanos;
  } kCases[] = {
      {"large", 1000, 100, 3'500'000},  // 0.0025 + 0.001
      {"large", 0, 0, 0},
      {"large", -5, -7, 0},
      {"small-2", 1'000'000, 0, 150'000'000},
      {"small", 1'000'000, 0, 0},  // no price fits
      {"larger", 1000, 0, 0},
      {"large", std::numeric_limits<std::int64_t>::max(), 0,
       std::numeric_limits<std::int64_t>::max()},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(CostNanos(book.base(), c.model, c.in, c.out), c.nanos) << c.model << " " << c.in;
  }
  EXPECT_EQ(MoneyText(book.base(), 3'500'000), "USD 0.0035");
  EXPECT_EQ(MoneyText(book.base(), 0), "");
}

TEST(Account, AddsUpAndNeverOverflows) {
  Reasoned reasoned;
  reasoned.set_question("rank");
  reasoned.set_calls(2);
  reasoned.set_input_tokens(300);
  reasoned.set_output_tokens(40);
  reasoned.set_cost_nanos(7);
  v1::Spending spending;
  Add(reasoned, spending);
  Add(reasoned, spending);
  EXPECT_EQ(spending.diagnosis().calls(), 4);
  EXPECT_EQ(spending.diagnosis().input_tokens(), 600);
  EXPECT_EQ(spending.tenant_today().output_tokens(), 80);
  EXPECT_EQ(spending.diagnosis().cost_nanos(), 14);
  EXPECT_EQ(spending.answered().at("rank"), 2);
  reasoned.set_input_tokens(std::numeric_limits<std::int64_t>::max());
  reasoned.set_output_tokens(-50);
  Add(reasoned, spending);
  EXPECT_EQ(spending.diagnosis().input_tokens(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(spending.diagnosis().output_tokens(), 80);
}

TEST(Account, CountsFailuresOfTheModelAndNothingElse) {
  const auto after = [](Reasoned::Fallback fallback, int calls) {
    Reasoned reasoned;
    reasoned.set_fallback(fallback);
    reasoned.set_calls(calls);
    v1::Spending spending;
    Add(reasoned, spending);
    return std::pair<int, int>(spending.failures(), spending.bad_answers());
  };
  EXPECT_EQ(after(Reasoned::NONE, 1), std::pair(0, 0));
  EXPECT_EQ(after(Reasoned::NOT_NEEDED, 0), std::pair(0, 0));
  EXPECT_EQ(after(Reasoned::BUDGET_SPENT, 0), std::pair(0, 0));
  EXPECT_EQ(after(Reasoned::GAVE_UP, 0), std::pair(0, 0));
  EXPECT_EQ(after(Reasoned::UNAVAILABLE, 1), std::pair(1, 0));
  EXPECT_EQ(after(Reasoned::UNAVAILABLE, 0), std::pair(1, 0));  // its breaker was open
  EXPECT_EQ(after(Reasoned::OUT_OF_TIME, 1), std::pair(1, 0));
  EXPECT_EQ(after(Reasoned::OUT_OF_TIME, 0), std::pair(0, 0));  // the caller's time was short
  EXPECT_EQ(after(Reasoned::BAD_ANSWER, 2), std::pair(0, 1));
}

TEST(Budget, RefusesWhatWouldPassALimit) {
  const knowledge::Knowledge book = TestKnowledge();
  struct Case {
    const char* what;
    void (*spend)(v1::Spending&);
    Wanted wanted;
    Reasoned::Fallback fallback;
    const char* why;
  };
  const Case kCases[] = {
      {"nothing spent", [](v1::Spending&) {}, {"rank", "x", 1000, 500}, Reasoned::NONE, ""},
      {"too long a question",
       [](v1::Spending&) {},
       {"rank", "x", 1001, 0},
       Reasoned::BUDGET_SPENT,
       "0 of 1000 input tokens of this diagnosis"},
      {"too long an answer",
       [](v1::Spending&) {},
       {"rank", "x", 0, 501},
       Reasoned::BUDGET_SPENT,
       "output tokens"},
      {"the last call",
       [](v1::Spending& s) { s.mutable_diagnosis()->set_calls(2); },
       {"rank", "x", 1, 1},
       Reasoned::NONE,
       ""},
      {"a call too many",
       [](v1::Spending& s) { s.mutable_diagnosis()->set_calls(3); },
       {"rank", "x", 1, 1},
       Reasoned::BUDGET_SPENT,
       "3 of 3 calls of this diagnosis"},
      {"money",
       [](v1::Spending& s) { s.mutable_diagnosis()->set_cost_nanos(9'999'000); },
       {"rank", "large", 1000, 0},
       Reasoned::BUDGET_SPENT,
       "money of this diagnosis"},
      {"money of a model that costs nothing",
       [](v1::Spending& s) { s.mutable_diagnosis()->set_cost_nanos(9'999'000); },
       {"rank", "own", 1000, 0},
       Reasoned::NONE,
       ""},
      {"the tenant's day",
       [](v1::Spending& s) { s.mutable_tenant_today()->set_calls(10); },
       {"rank", "x", 1, 1},
       Reasoned::BUDGET_SPENT,
       "10 of 10 calls of the tenant today"},
      {"asked often enough",
       [](v1::Spending& s) { (*s.mutable_answered())["rank"] = 2; },
       {"rank", "x", 1, 1},
       Reasoned::NOT_NEEDED,
       "as often as its prompt allows"},
      {"another question asked often",
       [](v1::Spending& s) { (*s.mutable_answered())["judge"] = 9; },
       {"rank", "x", 1, 1},
       Reasoned::NONE,
       ""},
      {"the model is down",
       [](v1::Spending& s) { s.set_failures(2); },
       {"rank", "x", 1, 1},
       Reasoned::GAVE_UP,
       "failed this diagnosis 2 times one after the other"},
      {"the model failed once",
       [](v1::Spending& s) { s.set_failures(1); },
       {"rank", "x", 1, 1},
       Reasoned::NONE,
       ""},
      {"one bad answer",
       [](v1::Spending& s) { s.set_bad_answers(1); },
       {"rank", "x", 1, 1},
       Reasoned::NONE,
       ""},
      {"two bad answers",
       [](v1::Spending& s) { s.set_bad_answers(2); },
       {"rank", "x", 1, 1},
       Reasoned::GAVE_UP,
       "2 answers that could not be used"},
  };
  for (const Case& c : kCases) {
    v1::Spending spending;
    c.spend(spending);
    const Refusal refusal = Refuse(book, spending, c.wanted);
    EXPECT_EQ(refusal.fallback, c.fallback) << c.what << ": " << refusal.why;
    EXPECT_THAT(refusal.why, HasSubstr(c.why)) << c.what;
  }
}

TEST(Budget, HoldsTheTimeThatModelsMayTake) {
  knowledge::v1::KnowledgeBase base;
  knowledge::v1::LlmBudget& budget = *base.add_llm_budgets();
  budget.set_scope("diagnosis");
  budget.set_seconds(60);
  const knowledge::Knowledge book{base};
  v1::Spending spending;
  spending.mutable_diagnosis()->set_took_millis(59'999);
  EXPECT_EQ(Refuse(book, spending, {"rank", "x", 1, 1}).fallback, Reasoned::NONE);
  spending.mutable_diagnosis()->set_took_millis(60'000);
  EXPECT_EQ(Refuse(book, spending, {"rank", "x", 1, 1}).fallback, Reasoned::BUDGET_SPENT);
}

// One failure is not a reason to give a model up, and another round asks everything again.
TEST(Account, OfFailuresBeginsAnewAfterAnAnswerAndWithARound) {
  Reasoned failed;
  failed.set_question("rank");
  failed.set_calls(1);
  failed.set_fallback(Reasoned::UNAVAILABLE);
  Reasoned answered = failed;
  answered.set_fallback(Reasoned::NONE);
  v1::Spending spending;
  Add(failed, spending);
  EXPECT_EQ(spending.failures(), 1);
  Add(answered, spending);
  EXPECT_EQ(spending.failures(), 0);
  Add(failed, spending);
  BeginRound(spending);
  EXPECT_EQ(spending.failures(), 0);
  EXPECT_EQ(spending.answered().at("rank"), 3);  // steps of the reasoning are numbered on
  EXPECT_EQ(spending.diagnosis().calls(), 3);    // spent budget stays spent
  knowledge::v1::KnowledgeBase base;
  base.add_prompts()->set_name("rank");
  base.mutable_prompts(0)->set_most(2);
  const knowledge::Knowledge book{base};
  const Wanted wanted = {"rank", "x", 1, 1};
  EXPECT_EQ(Refuse(book, spending, wanted).fallback, Reasoned::NONE);
  Add(answered, spending);
  Add(answered, spending);
  EXPECT_EQ(Refuse(book, spending, wanted).fallback, Reasoned::NOT_NEEDED);
  BeginRound(spending);
  EXPECT_EQ(Refuse(book, spending, wanted).fallback, Reasoned::NONE);
}

TEST(Budget, WithoutLimitsNothingIsRefused) {
  const knowledge::Knowledge book{knowledge::v1::KnowledgeBase()};
  v1::Spending spending;
  spending.mutable_diagnosis()->set_calls(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(Refuse(book, spending, {"rank", "x", 1, 1}).fallback, Reasoned::NONE);
}

TEST(Estimate, IsNeverLessThanTheBytesAllow) {
  EXPECT_EQ(EstimateTokens(""), 0);
  EXPECT_EQ(EstimateTokens("a"), 1);
  EXPECT_EQ(EstimateTokens("abcd"), 2);
}

TEST(Day, EndsAtMidnightUtc) {
  const absl::Time midnight = absl::FromCivil(absl::CivilDay(2026, 2, 15), absl::UTCTimeZone());
  EXPECT_EQ(DayOf(midnight - absl::Nanoseconds(1)), "2026-02-14");
  EXPECT_EQ(DayOf(midnight), "2026-02-15");
}

}  // namespace
}  // namespace galen::usage
