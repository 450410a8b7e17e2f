#include "services/execution/result_cache.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace galen::execution {
namespace {

using ::galen::v1::CheckResult;

CheckResult ResultOf(const std::string& id, CheckResult::Status status, int message_bytes = 0) {
  CheckResult result;
  result.set_id(id);
  result.set_status(status);
  result.set_message(std::string(static_cast<std::size_t>(message_bytes), 'x'));
  return result;
}

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

TEST(ResultCache, GivesBackWhatRanForTheSameDiagnosisOnly) {
  ResultCache cache({});
  cache.Keep("d1", "", ResultOf("gpu.ecc@n1", CheckResult::FAIL), kNow);
  ASSERT_TRUE(cache.Find("d1", "", "gpu.ecc@n1", kNow).has_value());
  EXPECT_EQ(cache.Find("d1", "", "gpu.ecc@n1", kNow)->status(), CheckResult::FAIL);
  EXPECT_FALSE(cache.Find("d2", "", "gpu.ecc@n1", kNow).has_value());
  EXPECT_FALSE(cache.Find("d1", "other window", "gpu.ecc@n1", kNow).has_value());
}

TEST(ResultCache, ErrorsAndInterimWordsAreNotKept) {
  ResultCache cache({});
  cache.Keep("d", "", ResultOf("a@n", CheckResult::ERROR), kNow);
  cache.Keep("d", "", ResultOf("b@n", CheckResult::RUNNING), kNow);
  EXPECT_FALSE(cache.Find("d", "", "a@n", kNow).has_value());
  EXPECT_FALSE(cache.Find("d", "", "b@n", kNow).has_value());
}

TEST(ResultCache, WithoutADiagnosisNothingIsKept) {
  ResultCache cache({});
  cache.Keep("", "", ResultOf("a@n", CheckResult::PASS), kNow);
  EXPECT_FALSE(cache.Find("", "", "a@n", kNow).has_value());
}

TEST(ResultCache, AnOldResultIsNotGivenBack) {
  ResultCache cache({.max_age = absl::Minutes(5)});
  cache.Keep("d", "", ResultOf("a@n", CheckResult::PASS), kNow);
  EXPECT_TRUE(cache.Find("d", "", "a@n", kNow + absl::Minutes(5)).has_value());
  EXPECT_FALSE(cache.Find("d", "", "a@n", kNow + absl::Minutes(6)).has_value());
}

TEST(ResultCache, TheDiagnosisUsedLongestAgoMakesRoom) {
  ResultCache cache({.max_bytes = 4000});
  cache.Keep("d1", "", ResultOf("a@n", CheckResult::PASS, 1000), kNow);
  cache.Keep("d2", "", ResultOf("a@n", CheckResult::PASS, 1000), kNow);
  ASSERT_TRUE(cache.Find("d1", "", "a@n", kNow).has_value());  // now the one used last
  cache.Keep("d3", "", ResultOf("a@n", CheckResult::PASS, 1000), kNow);
  EXPECT_TRUE(cache.Find("d1", "", "a@n", kNow).has_value());
  EXPECT_FALSE(cache.Find("d2", "", "a@n", kNow).has_value());
  EXPECT_TRUE(cache.Find("d3", "", "a@n", kNow).has_value());
}

TEST(ResultCache, KeepingAResultAgainTakesItsPlaceAndNoMore) {
  ResultCache cache({.max_bytes = 2000});
  for (int i = 0; i < 100; ++i) {
    cache.Keep("d", "", ResultOf("a@n", CheckResult::PASS, 1000), kNow);
  }
  EXPECT_TRUE(cache.Find("d", "", "a@n", kNow).has_value());
}

TEST(ResultCache, WhatTellsCallsApartCountsAsWell) {
  ResultCache cache({.max_bytes = 100'000});
  const auto variant = [](int i) { return absl::StrCat(i) + std::string(10'000, 'v'); };
  for (int i = 0; i < 20; ++i) {
    cache.Keep(absl::StrCat("d", i), variant(i), ResultOf("a@n", CheckResult::PASS), kNow);
  }
  EXPECT_FALSE(cache.Find("d0", variant(0), "a@n", kNow).has_value());
  EXPECT_TRUE(cache.Find("d19", variant(19), "a@n", kNow).has_value());
}

TEST(ResultCache, ManySmallResultsCountForMoreThanTheirBytes) {
  ResultCache cache({.max_bytes = 10'000});
  for (int i = 0; i < 100; ++i) {
    cache.Keep(absl::StrCat("d", i), "", ResultOf("a@n", CheckResult::PASS), kNow);
  }
  EXPECT_FALSE(cache.Find("d0", "", "a@n", kNow).has_value());
  EXPECT_TRUE(cache.Find("d99", "", "a@n", kNow).has_value());
}

}  // namespace
}  // namespace galen::execution
