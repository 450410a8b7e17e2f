#include "services/orchestrator/retry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"

namespace galen::orchestrator {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;

const char kDiagnosis[] = "tenants/t/diagnoses/d";

google::rpc::Status AskingFor(int seconds) {
  google::rpc::RetryInfo info;
  info.mutable_retry_delay()->set_seconds(seconds);
  google::rpc::Status error;
  error.add_details()->PackFrom(info);
  return error;
}

TEST(Retry, OnlyTransientErrorsAreTriedAgainAndNotForEver) {
  const RetryLimits retry_limits;
  for (const auto& [code, most] :
       {std::pair{absl::StatusCode::kUnavailable, retry_limits.unreachable},
        {absl::StatusCode::kResourceExhausted, retry_limits.unreachable},
        {absl::StatusCode::kDeadlineExceeded, retry_limits.otherwise},
        {absl::StatusCode::kAborted, retry_limits.otherwise}}) {
    EXPECT_FALSE(IsFinalFailure(code, 1, retry_limits));
    EXPECT_FALSE(IsFinalFailure(code, most - 1, retry_limits));
    EXPECT_TRUE(IsFinalFailure(code, most, retry_limits));
  }
  for (const absl::StatusCode code :
       {absl::StatusCode::kInvalidArgument, absl::StatusCode::kInternal,
        absl::StatusCode::kNotFound, absl::StatusCode::kFailedPrecondition}) {
    EXPECT_TRUE(IsFinalFailure(code, 1, retry_limits));
  }
}

TEST(Retry, BacksOffLongerUpToALimit) {
  const auto about = [](absl::Duration wait) { return AllOf(Ge(wait / 2), Le(wait * 1.5)); };
  EXPECT_THAT(BackoffAfter(kDiagnosis, 1), about(absl::Milliseconds(200)));
  EXPECT_THAT(BackoffAfter(kDiagnosis, 2), about(absl::Milliseconds(400)));
  EXPECT_THAT(BackoffAfter(kDiagnosis, 5), about(absl::Milliseconds(3200)));
  EXPECT_THAT(BackoffAfter(kDiagnosis, 100), about(absl::Seconds(5)));
}

// A pod that was killed is back within 30 seconds or so, and so says the flag's help of 36.
TEST(Retry, OutlastsARestartOfAnAgent) {
  absl::Duration sum;
  absl::Duration shortest = absl::InfiniteDuration();
  for (int diagnosis = 0; diagnosis < 1'000; ++diagnosis) {
    absl::Duration waited;
    for (int attempt = 1; attempt < RetryLimits().unreachable; ++attempt) {
      waited += BackoffAfter(absl::StrCat("tenants/t/diagnoses/", diagnosis), attempt);
    }
    sum += waited;
    shortest = std::min(shortest, waited);
  }
  EXPECT_THAT(sum / 1'000, AllOf(Ge(absl::Seconds(35)), Le(absl::Seconds(37))));
  EXPECT_GE(shortest, absl::Seconds(22));
}

TEST(Retry, AThousandDiagnosesDoNotComeBackAtOnce) {
  for (const int attempts : {1, 11}) {
    std::set<absl::Duration> waits;
    int early = 0;
    for (int diagnosis = 0; diagnosis < 1'000; ++diagnosis) {
      const std::string name = absl::StrCat("tenants/t/diagnoses/", diagnosis);
      waits.insert(BackoffAfter(name, attempts));
      if (BackoffAfter(name, attempts) <
          (attempts == 1 ? absl::Milliseconds(200) : absl::Seconds(5)))
        ++early;
    }
    EXPECT_GE(waits.size(), 990u);
    EXPECT_THAT(early, AllOf(Ge(450), Le(550)));
  }
}

TEST(Retry, WaitsTheSameAfterARestart) {
  // The exact figure: another process, or another build, must compute it too.
  EXPECT_EQ(absl::ToInt64Microseconds(BackoffAfter(kDiagnosis, 1)), 178'517);
}

TEST(Retry, NeverComesSoonerThanAskedForNorMuchLater) {
  EXPECT_THAT(BackoffAfter(kDiagnosis, 1, AskingFor(8)),
              AllOf(Ge(absl::Seconds(8)), Le(absl::Seconds(12))));
  EXPECT_THAT(BackoffAfter(kDiagnosis, 1, AskingFor(3600)),
              AllOf(Ge(absl::Seconds(30)), Le(absl::Seconds(45))));
  EXPECT_EQ(BackoffAfter(kDiagnosis, 3, AskingFor(0)), BackoffAfter(kDiagnosis, 3));
}

}  // namespace
}  // namespace galen::orchestrator
