#include "bench/eval/runner/run_cases.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::eval {
namespace {

namespace fs = std::filesystem;

class RunCasesTest : public testing::Test {
 protected:
  RunCasesTest()
      : directory_(fs::path(testing::TempDir()) /
                   testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(directory_);
    for (int i = 0; i < 20; ++i) cases_.emplace_back().set_id("case-" + std::to_string(i));
    functions_.run = [this](const v1::Case& a_case, const std::string& strategy, Mode mode) {
      ++runs_;
      v1::CaseResult result;
      result.set_id(a_case.id());
      result.set_strategy(strategy);
      result.set_mode(std::string(ModeName(mode)));
      result.set_key(key_);
      result.set_headline("of " + a_case.id());
      if (a_case.id() == failing_) result.set_error("no such bundle");
      return result;
    };
    functions_.key_of = [this](const v1::Case&) { return key_; };
  }
  ~RunCasesTest() override { fs::remove_all(directory_); }

  std::vector<v1::CaseResult> Run(const RunStore* store, Mode mode = Mode::kPlain) {
    const auto results = RunCases(cases_, "tiered", mode, 3, store, functions_,
                                  [this](std::size_t at, const v1::CaseResult& result, bool kept) {
                                    EXPECT_EQ(cases_[at].id(), result.id());
                                    kept_ += kept ? 1 : 0;
                                  });
    EXPECT_TRUE(results.ok()) << results.status();
    return results.ok() ? *results : std::vector<v1::CaseResult>();
  }

  const fs::path directory_;
  std::vector<v1::Case> cases_;
  CaseFunctions functions_;
  std::string key_ = "k1";
  std::string failing_;
  std::atomic<int> runs_ = 0;
  int kept_ = 0;
};

TEST_F(RunCasesTest, ResultsStandInTheOrderOfTheCases) {
  const std::vector<v1::CaseResult> results = Run(nullptr);
  ASSERT_EQ(results.size(), cases_.size());
  for (std::size_t i = 0; i < cases_.size(); ++i) EXPECT_EQ(results[i].id(), cases_[i].id());
  EXPECT_EQ(runs_, 20);
}

TEST_F(RunCasesTest, AFinishedCaseIsNotRunAgain) {
  const auto store = RunStore::Open(directory_.string());
  ASSERT_TRUE(store.ok());
  const std::vector<v1::CaseResult> first = Run(&*store);
  fs::remove(directory_ / "plain-tiered" / "case-7.json");
  runs_ = 0;
  const std::vector<v1::CaseResult> second = Run(&*store);
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(kept_, 19);
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    EXPECT_EQ(first[i].SerializeAsString(), second[i].SerializeAsString());
  }
}

TEST_F(RunCasesTest, AResultOfOtherKnowledgeOrAnotherModeIsStale) {
  const auto store = RunStore::Open(directory_.string());
  ASSERT_TRUE(store.ok());
  Run(&*store);
  runs_ = 0;
  Run(&*store, Mode::kWithheld);
  EXPECT_EQ(runs_, 20);
  runs_ = 0;
  key_ = "k2";
  Run(&*store);
  EXPECT_EQ(runs_, 20);
}

TEST_F(RunCasesTest, ADamagedFileIsRunAgain) {
  const auto store = RunStore::Open(directory_.string());
  ASSERT_TRUE(store.ok());
  Run(&*store);
  std::ofstream(directory_ / "plain-tiered" / "case-3.json", std::ios::trunc) << "{\"id\": \"ca";
  runs_ = 0;
  Run(&*store);
  EXPECT_EQ(runs_, 1);
}

TEST_F(RunCasesTest, AFailureIsToldAndTriedAgain) {
  const auto store = RunStore::Open(directory_.string());
  ASSERT_TRUE(store.ok());
  failing_ = "case-5";
  EXPECT_EQ(Run(&*store)[5].error(), "no such bundle");
  failing_.clear();
  runs_ = 0;
  EXPECT_EQ(Run(&*store)[5].error(), "");
  EXPECT_EQ(runs_, 1);
}

TEST_F(RunCasesTest, NothingHalfWrittenIsLeftBehind) {
  const auto store = RunStore::Open(directory_.string());
  ASSERT_TRUE(store.ok());
  Run(&*store);
  std::set<std::string> endings;
  for (const auto& file : fs::recursive_directory_iterator(directory_)) {
    if (file.is_regular_file()) endings.insert(file.path().extension().string());
  }
  EXPECT_THAT(endings, testing::ElementsAre(".json"));
}

TEST_F(RunCasesTest, AStoreThatCannotBeMadeOrWrittenIsTold) {
  std::ofstream(directory_.string()) << "a file";
  EXPECT_EQ(RunStore::Open(directory_.string()).status().code(),
            absl::StatusCode::kPermissionDenied);
  fs::remove(directory_);
  const auto store = RunStore::Open(directory_.string());
  ASSERT_TRUE(store.ok());
  std::ofstream(directory_ / "plain-tiered") << "in the way";
  const auto results = RunCases(cases_, "tiered", Mode::kPlain, 2, &*store, functions_,
                                [](std::size_t, const v1::CaseResult&, bool) {});
  EXPECT_EQ(results.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_LT(runs_, 20) << "it ends early";
}

}  // namespace
}  // namespace galen::eval
