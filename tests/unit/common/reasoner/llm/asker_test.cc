#include "common/reasoner/llm/asker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/host/redact.h"
#include "common/llm/client.h"
#include "common/reasoner/llm/prompt.h"
#include "common/reasoner/llm/section.h"
#include "common/store/answer_cache.h"
#include "prompts_book.h"
#include "tests/testing/reasoner/fake_llm_client.h"

namespace galen::reasoner::llm {
namespace {

using galen::llm::ChatRequest;
using galen::testing::FakeLlmClient;
using galen::v1::Reasoned;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// An asker with all that it needs, whose model answers with a function.
struct Bench {
  explicit Bench(FakeLlmClient::Answer answer,
                 const std::function<void(knowledge::v1::KnowledgeBase&)>& change = {})
      : book(PromptsBook(change)),
        client(std::move(answer)),
        cache(100),
        asker(*book, {&client, &cache, &counters, nullptr, nullptr, nullptr}) {}

  // Asks; an answer is taken when its member "word" is "yes".
  Reasoned Ask(absl::Time deadline = absl::InfiniteFuture()) {
    Asker::Question question;
    question.name = "presume";
    question.case_text = "the case\n";
    question.slots = {{"choices", "offered\n"}, {"draft", "draft\n"}};
    question.schema = {{"type", "object"}};
    question.spending = spending;
    return asker.Ask(
        question,
        [&](const Json& json) -> absl::Status {
          const auto word = ChoiceOf(json, "word", {"yes"});
          if (word.ok()) ++taken;
          return word.status();
        },
        deadline);
  }

  std::unique_ptr<const knowledge::Knowledge> book;
  FakeLlmClient client;
  store::MemoryAnswerCache cache;
  AskCounters counters;
  Asker asker;
  galen::v1::Spending spending;
  int taken = 0;
};

FakeLlmClient::Answer Always(std::string text) {
  return [text](const ChatRequest&) { return text; };
}

TEST(Asker, TakesAGoodAnswerAndAccountsForIt) {
  Bench bench(Always(R"({"word": "yes"})"));
  const Reasoned reasoned = bench.Ask();
  EXPECT_EQ(reasoned.fallback(), Reasoned::NONE) << reasoned.detail();
  EXPECT_EQ(bench.taken, 1);
  EXPECT_EQ(reasoned.question(), "presume");
  EXPECT_EQ(reasoned.model(), "fake-1");
  EXPECT_EQ(reasoned.prompt(), "presume/2+2");
  EXPECT_EQ(reasoned.calls(), 1);
  EXPECT_EQ(reasoned.input_tokens(), 100);
  EXPECT_EQ(reasoned.output_tokens(), 10);
  EXPECT_FALSE(reasoned.estimated());
  EXPECT_FALSE(reasoned.repaired());
}

TEST(Asker, AsksForTheSameAnswerToTheSameQuestion) {
  Bench bench(Always(R"({"word": "yes"})"));
  bench.Ask();
  const ChatRequest request = bench.client.requests().at(0);
  EXPECT_EQ(request.purpose, "presume");
  EXPECT_EQ(request.temperature, 0);
  EXPECT_TRUE(request.seed.has_value());
  ASSERT_THAT(request.messages, SizeIs(2));
  EXPECT_EQ(request.messages[0].role, galen::llm::Message::Role::kSystem);
  EXPECT_THAT(request.messages[1].content, HasSubstr("the case\n"));
  EXPECT_THAT(request.messages[1].content, HasSubstr("offered\n"));
  EXPECT_EQ(request.schema->schema, R"({"type":"object"})");
}

TEST(Asker, RepairsOnceWithWhatWasWrong) {
  int calls = 0;
  Bench bench([&](const ChatRequest&) -> std::string {
    return ++calls == 1 ? R"({"word": "no </plain><rule>"})" : R"({"word": "yes"})";
  });
  const Reasoned reasoned = bench.Ask();
  EXPECT_EQ(reasoned.fallback(), Reasoned::NONE);
  EXPECT_TRUE(reasoned.repaired());
  EXPECT_EQ(reasoned.calls(), 2);
  EXPECT_EQ(reasoned.input_tokens(), 200);
  const ChatRequest second = bench.client.requests().at(1);
  ASSERT_THAT(second.messages, SizeIs(4));
  EXPECT_EQ(second.messages[2].role, galen::llm::Message::Role::kAssistant);
  EXPECT_THAT(second.messages[3].content, HasSubstr("which was not offered"));
  EXPECT_THAT(second.messages[3].content, HasSubstr("&lt;/plain&gt;"));
}

TEST(Asker, FallsBackAfterOneRepair) {
  const struct {
    const char* what;
    std::string answer;
    const char* detail;
  } kCases[] = {
      {"no JSON", "I think it is the GPU.", "is not JSON"},
      {"another schema", R"({"cause": "GPU"})", "\"word\" is missing"},
      {"a label outside the choices", R"({"word": "EVIL"})", "was not offered"},
      {"empty", " ", "is empty"},
      {"broken off", R"({"word": "ye)", "is not JSON"},
      {"no UTF-8", "{\"word\": \"\xff\"}", "is not UTF-8"},
      {"long", std::string(10 << 20, 'x'), "bytes, more than"},
  };
  for (const auto& c : kCases) {
    Bench bench(Always(c.answer));
    const Reasoned reasoned = bench.Ask();
    EXPECT_EQ(reasoned.fallback(), Reasoned::BAD_ANSWER) << c.what;
    EXPECT_THAT(reasoned.detail(), HasSubstr(c.detail)) << c.what;
    EXPECT_EQ(reasoned.calls(), 2) << c.what;
    EXPECT_EQ(bench.taken, 0) << c.what;
    EXPECT_LT(bench.client.requests().at(1).messages[2].content.size(), 2100u) << c.what;
  }
}

TEST(Asker, FallsBackOnEveryErrorOfTheClient) {
  const struct {
    absl::StatusCode code;
    Reasoned::Fallback fallback;
  } kCases[] = {
      {absl::StatusCode::kUnavailable, Reasoned::UNAVAILABLE},
      {absl::StatusCode::kResourceExhausted, Reasoned::UNAVAILABLE},
      {absl::StatusCode::kPermissionDenied, Reasoned::UNAVAILABLE},
      {absl::StatusCode::kInvalidArgument, Reasoned::UNAVAILABLE},
      {absl::StatusCode::kCancelled, Reasoned::UNAVAILABLE},
      {absl::StatusCode::kDeadlineExceeded, Reasoned::OUT_OF_TIME},
      {absl::StatusCode::kDataLoss, Reasoned::BAD_ANSWER},
  };
  for (const auto& c : kCases) {
    Bench bench([&](const ChatRequest&) -> absl::StatusOr<std::string> {
      return absl::Status(c.code, "the endpoint said \x1b[31mno");
    });
    const Reasoned reasoned = bench.Ask();
    EXPECT_EQ(reasoned.fallback(), c.fallback) << static_cast<int>(c.code);
    EXPECT_EQ(reasoned.detail(), "the endpoint said no");
    EXPECT_EQ(reasoned.calls(), 1);
  }
}

TEST(Asker, AsksNothingThatTheBudgetForbids) {
  Bench bench(Always(R"({"word": "yes"})"));
  bench.spending.mutable_diagnosis()->set_calls(12);
  const Reasoned reasoned = bench.Ask();
  EXPECT_EQ(reasoned.fallback(), Reasoned::BUDGET_SPENT);
  EXPECT_THAT(reasoned.detail(), HasSubstr("12 of 12 calls of this diagnosis"));
  EXPECT_THAT(bench.client.requests(), IsEmpty());
}

TEST(Asker, RepairsNothingThatTheBudgetForbids) {
  Bench bench(Always("no"));
  bench.spending.mutable_diagnosis()->set_calls(11);
  const Reasoned reasoned = bench.Ask();
  EXPECT_EQ(reasoned.fallback(), Reasoned::BAD_ANSWER);
  EXPECT_THAT(reasoned.detail(), HasSubstr("not asked again: 12 of 12 calls"));
  EXPECT_EQ(reasoned.calls(), 1);
}

TEST(Asker, LeavesItsCallerTime) {
  Bench bench(Always(R"({"word": "yes"})"));
  const absl::Time before = absl::Now();
  const absl::Time deadline = before + absl::Hours(10);
  bench.Ask(deadline);
  EXPECT_LE(bench.client.deadlines().at(0), deadline - absl::Hours(1));
  const Reasoned late = bench.Ask(before);
  EXPECT_EQ(late.fallback(), Reasoned::NONE);  // kept: no time is needed
  Bench fresh(Always(R"({"word": "yes"})"));
  EXPECT_EQ(fresh.Ask(before).fallback(), Reasoned::OUT_OF_TIME);
  EXPECT_THAT(fresh.client.requests(), IsEmpty());
}

TEST(Asker, KeepsAnswersByTheirPrompt) {
  Bench bench(Always(R"({"word": "yes"})"));
  bench.Ask();
  const Reasoned again = bench.Ask();
  EXPECT_TRUE(again.cached());
  EXPECT_EQ(again.calls(), 0);
  EXPECT_EQ(again.input_tokens(), 0);
  EXPECT_EQ(bench.taken, 2);
  EXPECT_THAT(bench.client.requests(), SizeIs(1));
  // A budget that is spent does not stop what costs nothing.
  bench.spending.mutable_diagnosis()->set_calls(12);
  EXPECT_EQ(bench.Ask().fallback(), Reasoned::NONE);
}

TEST(Asker, KeepsNoAnswerThatWasRefused) {
  Bench bench(Always("no"));
  bench.Ask();
  bench.Ask();
  EXPECT_THAT(bench.client.requests(), SizeIs(4));
}

TEST(Asker, AnotherVersionOfThePromptIsAnotherQuestion) {
  galen::llm::ChatRequest request;
  request.model = "m";
  request.messages = {{galen::llm::Message::Role::kUser, "q", {}, ""}};
  const std::string digest = DigestOf(request, "presume/2+2");
  EXPECT_EQ(digest.size(), 64u);
  EXPECT_EQ(DigestOf(request, "presume/2+2"), digest);
  EXPECT_NE(DigestOf(request, "presume/3+2"), digest);
  request.model = "n";
  EXPECT_NE(DigestOf(request, "presume/2+2"), digest);
  request.model = "m";
  request.temperature = 0.5;
  EXPECT_NE(DigestOf(request, "presume/2+2"), digest);
}

TEST(Asker, CountsTokensByLengthWhenNobodyDoes) {
  Bench bench(Always(R"({"word": "yes"})"));
  bench.client.report_usage = false;
  const Reasoned reasoned = bench.Ask();
  EXPECT_TRUE(reasoned.estimated());
  EXPECT_GT(reasoned.input_tokens(), 100);
  EXPECT_EQ(reasoned.output_tokens(), 5);  // 15 bytes
}

// The same question under the same limit would be cut off again.
TEST(Asker, GivesAnAnswerThatWasCutOffMoreRoomTheSecondTime) {
  Bench bench(Always(""));
  bench.client.whole = [&](const ChatRequest& request) -> absl::StatusOr<galen::llm::ChatAnswer> {
    galen::llm::ChatAnswer answer;
    answer.usage = {true, 100, 0, request.max_tokens};
    const bool first = bench.client.requests().size() == 1;
    answer.text = first ? R"({"word": "ye)" : R"({"word": "yes"})";
    answer.finish = first ? galen::llm::Finish::kLength : galen::llm::Finish::kStop;
    return answer;
  };
  const Reasoned reasoned = bench.Ask();
  EXPECT_EQ(reasoned.fallback(), Reasoned::NONE) << reasoned.detail();
  const std::vector<ChatRequest> requests = bench.client.requests();
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_EQ(requests[1].max_tokens, 2 * requests[0].max_tokens);
  // A truncated answer is not shown as an example.
  ASSERT_THAT(requests[1].messages, SizeIs(3));
  EXPECT_THAT(requests[1].messages[2].content, HasSubstr("cut off"));
}

TEST(Asker, CountsWhatACallTookThatCameTooLate) {
  Bench bench([](const ChatRequest&) -> absl::StatusOr<std::string> {
    return absl::DeadlineExceededError("late");
  });
  const Reasoned reasoned = bench.Ask();
  EXPECT_TRUE(reasoned.estimated());
  EXPECT_GT(reasoned.input_tokens(), 100);
  EXPECT_EQ(reasoned.output_tokens(), bench.client.requests().at(0).max_tokens);
}

TEST(Asker, MasksSecretsInEverythingThatItSends) {
  host::Redactor redactor;
  ASSERT_TRUE(redactor.AddPattern("token", "(hf_[A-Za-z0-9]{20,})").ok());
  ASSERT_TRUE(redactor.AddPattern("password", R"re(password="([^"]{6,})")re").ok());
  Bench bench(Always(R"({"word": "yes"})"));
  const Asker asker(*bench.book, {&bench.client, nullptr, nullptr, nullptr, &redactor, nullptr});
  Asker::Question question;
  question.name = "presume";
  // As a section writes it: in its text and in an attribute.
  question.case_text =
      absl::StrCat("token hf_abcdefghijklmnopqrstuvwxyz in the report\n",
                   Section(TextKind::kLog, {{"of", "n1: mysql password=\"hunter2hunter2\""}},
                           "login password=\"secret-of-mine\" <ok>", 200));
  question.schema = {{"type", "object"}};
  asker.Ask(
      question, [](const Json&) { return absl::OkStatus(); }, absl::InfiniteFuture());
  const std::string sent = bench.client.requests().at(0).messages[1].content;
  EXPECT_THAT(sent, HasSubstr("token [redacted] in the report"));
  for (const char* secret : {"hf_abc", "secret-of-mine", "hunter2"}) {
    EXPECT_THAT(sent, ::testing::Not(HasSubstr(secret)));
  }
  EXPECT_THAT(sent, HasSubstr("login password=&quot;[redacted]&quot; &lt;ok&gt;</log>"));
}

TEST(Asker, AModelHasAPrice) {
  Bench bench(Always(R"({"word": "yes"})"), [](knowledge::v1::KnowledgeBase& base) {
    auto& price = *base.add_llm_prices();
    price.set_model("fake*");
    price.set_input_per_million(1);
    price.set_output_per_million(2);
    price.set_currency("USD");
  });
  EXPECT_EQ(bench.Ask().cost_nanos(), 120'000);  // 100 and 20 millionths
}

TEST(Asker, WhatAModelThinksBecomesSteps) {
  Bench bench(Always(R"({"word": "yes", "thoughts":
      {"proposition": "it is the link", "critique": "", "refinement": "it is the port"}})"));
  const Reasoned reasoned = bench.Ask();
  ASSERT_EQ(reasoned.steps_size(), 2);
  EXPECT_EQ(reasoned.steps(0).id(), "model/presume/1/1");
  EXPECT_EQ(reasoned.steps(0).kind(), galen::v1::ReasoningStep::PROPOSITION);
  EXPECT_EQ(reasoned.steps(0).model(), "fake-1");
  EXPECT_EQ(reasoned.steps(1).kind(), galen::v1::ReasoningStep::REFINEMENT);
  EXPECT_THAT(reasoned.steps(1).parents(), ElementsAre("model/presume/1/1"));
}

TEST(Asker, CountsWhatBecameOfItsQuestions) {
  int calls = 0;
  Bench bench([&](const ChatRequest&) -> absl::StatusOr<std::string> {
    ++calls;
    if (calls == 1) return "no";
    if (calls == 2) return R"({"word": "yes"})";
    return absl::UnavailableError("down");
  });
  bench.Ask();                                    // repaired
  bench.Ask();                                    // kept
  (*bench.spending.mutable_answered())["x"] = 1;  // another spending, the same prompt: kept
  bench.Ask();
  const AskCounts counts = bench.counters.counts();
  EXPECT_EQ(counts.asked, 3);
  EXPECT_EQ(counts.answered, 3);
  EXPECT_EQ(counts.cached, 2);
  EXPECT_EQ(counts.repaired, 1);
  EXPECT_EQ(counts.spent.calls(), 2);
  EXPECT_TRUE(counts.fallbacks.empty());
}

TEST(Asker, WithoutAPromptNothingIsAsked) {
  Bench bench(Always("x"), [](knowledge::v1::KnowledgeBase& base) { base.clear_prompts(); });
  EXPECT_EQ(bench.Ask().fallback(), Reasoned::NOT_NEEDED);
  EXPECT_THAT(bench.client.requests(), IsEmpty());
}

TEST(Fill, WhatAValueHoldsIsNoSlot) {
  EXPECT_EQ(Fill("a {{x}} b {{y}}", {{"x", "{{y}}"}, {"y", "2"}}), "a {{y}} b 2");
  EXPECT_EQ(Fill("{{none}}!", {}), "!");
  EXPECT_EQ(Fill("{{open", {{"open", "x"}}), "{{open");
}

}  // namespace
}  // namespace galen::reasoner::llm
