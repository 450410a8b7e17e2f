#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/eval/suite/answer_check.h"
#include "bench/eval/suite/run_suite.h"
#include "bench/eval/suite/suite_report.h"
#include "common/knowledge/load.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/reasoner/fake_llm_client.h"

namespace galen::eval {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SuiteTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::vector<std::string> directories = {GALEN_SOURCE_DIR "/knowledge"};
    auto knowledge =
        knowledge::Load(directories, {.cache_directory = knowledge::DefaultCacheDirectory()});
    ASSERT_TRUE(knowledge.ok()) << knowledge.status();
    knowledge_ = *knowledge;
    auto scanner =
        log_scan::Scanner::Create(knowledge_->base().signals(), knowledge::DefaultCacheDirectory());
    ASSERT_TRUE(scanner.ok()) << scanner.status();
    scanner_ = *std::move(scanner);
    auto words = SuiteWords::Load(directories);
    ASSERT_TRUE(words.ok()) << words.status();
    words_ = std::make_unique<const SuiteWords>(*std::move(words));
  }
  static void TearDownTestSuite() {
    words_.reset();
    scanner_.reset();
    knowledge_.reset();
  }

  static absl::StatusOr<SuiteResult> Run(std::vector<Question> questions,
                                         std::optional<reasoner::llm::Model> model = std::nullopt) {
    return RunSuite(std::move(questions), knowledge_, *scanner_, *words_, model, nullptr);
  }
  // Every fourth of them: enough of each kind.
  static std::vector<Question> Some(std::vector<Question> questions) {
    std::vector<Question> some;
    for (std::size_t i = 0; i < questions.size(); i += 4) some.push_back(std::move(questions[i]));
    return some;
  }
  static std::vector<Question> Shipped(Split split) {
    auto questions = ReadQuestions(GALEN_SOURCE_DIR "/bench/eval/suite/questions");
    EXPECT_TRUE(questions.ok()) << questions.status();
    std::vector<Question> kept;
    if (!questions.ok()) return kept;
    for (Question& question : *questions) {
      if (question.split == split) kept.push_back(std::move(question));
    }
    return kept;
  }

  static std::shared_ptr<const knowledge::Knowledge> knowledge_;
  static std::unique_ptr<const log_scan::Scanner> scanner_;
  static std::unique_ptr<const SuiteWords> words_;
};
std::shared_ptr<const knowledge::Knowledge> SuiteTest::knowledge_;
std::unique_ptr<const log_scan::Scanner> SuiteTest::scanner_;
std::unique_ptr<const SuiteWords> SuiteTest::words_;

Question CheckQuestion(std::string text, std::string hidden, std::string expect) {
  Question question;
  question.id = "b";
  question.metric = Metric::kCheck;
  question.text = std::move(text);
  question.hosts = {
      {.name = "seen", .files = {{"/run/x", "a: 1\n"}}, .expect = "healthy", .shown = true},
      {.name = "hidden", .files = {{"/run/x", std::move(hidden)}}, .expect = std::move(expect)}};
  return question;
}

TEST_F(SuiteTest, ADraftedCheckRunsOnHiddenHosts) {
  const std::string text = "In /run/x the field \"a\" must be at most 3.";
  EXPECT_TRUE(
      AnswerCheck(CheckQuestion(text, "a: 4\n", "faulty"), knowledge_, words_->descriptions, {})
          .right);
  const Answer wrong =
      AnswerCheck(CheckQuestion(text, "a: 3\n", "faulty"), knowledge_, words_->descriptions, {});
  EXPECT_FALSE(wrong.right);
  EXPECT_THAT(wrong.given, HasSubstr("finds hidden healthy, and it is faulty"));
}

TEST_F(SuiteTest, WhatCannotBeReadIsUnknownAndNotHealthy) {
  const std::string text = "In /run/x the field \"a\" must be at most 3.";
  EXPECT_TRUE(
      AnswerCheck(CheckQuestion(text, "nothing\n", "unknown"), knowledge_, words_->descriptions, {})
          .right);
  EXPECT_FALSE(
      AnswerCheck(CheckQuestion(text, "nothing\n", "healthy"), knowledge_, words_->descriptions, {})
          .right);
}

TEST_F(SuiteTest, AChoiceThatNoTaxonomyHasIsToldOf) {
  Question question;
  question.id = "c-9";
  question.metric = Metric::kCause;
  question.text = "It hangs.";
  question.choices = {"GPU.NO.SUCH", "GPU.PCIE.DEVICE_LOST"};
  question.answer = "GPU.NO.SUCH";
  const auto result = Run({question});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("c-9"));
}

TEST_F(SuiteTest, TheSameQuestionsHaveTheSameAnswersEachTime) {
  const auto once = Run(Some(Shipped(Split::kDev)));
  const auto again = Run(Some(Shipped(Split::kDev)));
  ASSERT_TRUE(once.ok() && again.ok()) << once.status();
  EXPECT_EQ(SuiteJson(*once, "q", "k", ""), SuiteJson(*again, "q", "k", ""));
}

TEST_F(SuiteTest, AModelThatIsDownChangesNoAnswer) {
  galen::testing::FakeLlmClient down([](const llm::ChatRequest&) -> absl::StatusOr<std::string> {
    return absl::UnavailableError("http://model: not reached");
  });
  const auto without = Run(Some(Shipped(Split::kDev)));
  const auto with = Run(Some(Shipped(Split::kDev)), reasoner::llm::Model{.client = &down});
  ASSERT_TRUE(without.ok() && with.ok()) << with.status();
  EXPECT_FALSE(down.requests().empty());
  EXPECT_EQ(SuiteJson(*without, "q", "k", ""), SuiteJson(*with, "q", "k", ""));
}

TEST_F(SuiteTest, AllPartsTogetherAnswerMoreThanNoneWhereTheyHaveAPart) {
  const auto result = Run(Shipped(Split::kDev));
  ASSERT_TRUE(result.ok()) << result.status();
  const auto right = [&](const SuiteRun& run, Metric metric) {
    int count = 0;
    for (std::size_t i = 0; i < run.answers.size(); ++i) {
      count += result->questions[i].metric == metric && run.answers[i].right ? 1 : 0;
    }
    return count;
  };
  for (const Metric metric : {Metric::kTalk, Metric::kCheck}) {
    EXPECT_GT(right(result->runs.front(), metric), right(result->runs.back(), metric))
        << MetricName(metric) << "\n"
        << DevFailures(*result);
  }
}

TEST_F(SuiteTest, AnswersOfTheHeldOutHalfAreNotTold) {
  SuiteResult result;
  Question dev;
  dev.id = "dev-1";
  Question test;
  test.id = "test-1";
  test.split = Split::kTest;
  result.questions = {dev, test};
  result.runs = {{{}, {{false, "dev words"}, {false, "held-out words"}}}};
  EXPECT_THAT(DevFailures(result), HasSubstr("dev words"));
  EXPECT_THAT(DevFailures(result), Not(HasSubstr("held-out words")));
  EXPECT_THAT(DevFailures(result), HasSubstr("1 of the test split"));
  const std::string json = SuiteJson(result, "q", "k", "");
  EXPECT_THAT(json, HasSubstr("dev words"));
  EXPECT_THAT(json, Not(HasSubstr("held-out words")));
}

TEST_F(SuiteTest, AnAblationThatChangesNothingIsSaid) {
  SuiteResult result;
  Question question;
  question.id = "a";
  question.split = Split::kTest;
  result.questions = {question};
  result.runs = {{AllAblations()[0], {{true, ""}}},
                 {AllAblations()[1], {{true, ""}}},
                 {AllAblations()[2], {{false, ""}}}};
  const std::vector<Table> tables = SuiteTables(result);
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_THAT(tables[1].note, HasSubstr("no retrieval in A"));
  EXPECT_THAT(tables[1].note, Not(HasSubstr("no diagram")));
}

}  // namespace
}  // namespace galen::eval
