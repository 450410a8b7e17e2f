#include "services/cli/advisor/runs_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace galen::cli {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A service that takes everything but what `refuse` names, as a place in its call.
struct Service {
  std::vector<int> calls;
  int refuse_call = -1;
  absl::Status refusal;
  absl::StatusOr<advisor::v1::ReportRunsResponse> operator()(
      const advisor::v1::ReportRunsRequest& request) {
    if (static_cast<int>(calls.size()) == refuse_call) return refusal;
    calls.push_back(request.runs_size());
    advisor::v1::ReportRunsResponse response;
    response.set_position(static_cast<std::int64_t>(calls.size()));
    return response;
  }
};

std::string Lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) absl::StrAppend(&text, "{\"gpus\": ", i, ", \"hours\": 1}\n");
  return text;
}

absl::Status Report(const std::string& text, Service& service, ReportedRuns& reported,
                    std::int64_t first = 1, int batch = kMostRunsOfACall) {
  std::istringstream in(text);
  return ReportRunsOf(
      in, "runs", first, batch,
      [&](const advisor::v1::ReportRunsRequest& request) { return service(request); }, reported);
}

TEST(RunsFile, AreReportedInOrderAtMostSoManyInACall) {
  Service service;
  ReportedRuns reported;
  ASSERT_THAT(Report(Lines(2'500), service, reported), IsOk());
  EXPECT_THAT(service.calls, ElementsAre(1000, 1000, 500));
  EXPECT_EQ(reported.runs, 2'500);
  EXPECT_EQ(reported.lines, 2'500);
  EXPECT_EQ(reported.position, 3);
}

TEST(RunsFile, LargeRunsMakeSmallerCalls) {
  const std::string large = absl::StrCat("{\"context\": \"", std::string(900 << 10, 'x'), "\"}\n");
  Service service;
  ReportedRuns reported;
  ASSERT_THAT(Report(large + large + large, service, reported), IsOk());
  EXPECT_THAT(service.calls, ElementsAre(2, 1));
}

TEST(RunsFile, EmptyLinesAndAMissingEndOfTheLastLineDoNoHarm) {
  Service service;
  ReportedRuns reported;
  ASSERT_THAT(Report("\n{\"gpus\": 8}\r\n\n{\"gpus\": 16}", service, reported), IsOk());
  EXPECT_THAT(service.calls, ElementsAre(2));
  EXPECT_EQ(reported.lines, 4);
  ASSERT_THAT(Report("", service, reported), IsOk());
  EXPECT_EQ(reported.calls, 0);
}

TEST(RunsFile, ALineThatIsNoRunIsNamedAndWhatWasTakenBeforeIsSaid) {
  Service service;
  ReportedRuns reported;
  EXPECT_THAT(
      Report(Lines(5) + "{\"gpu\": 1}\n", service, reported, 1, 2),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("runs:6: is not a Run"), HasSubstr("go on with --first 5"))));
  EXPECT_EQ(reported.runs, 4);
  EXPECT_THAT(Report(std::string(2 << 20, 'x'), service, reported),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("runs:1: is longer")));
}

TEST(RunsFile, WhatTheServiceRefusesIsNamedByItsLine) {
  Service service;
  service.refuse_call = 1;
  service.refusal = absl::InvalidArgumentError("runs[3]: gpus -1: there is at least one");
  ReportedRuns reported;
  EXPECT_THAT(Report("\n" + Lines(20), service, reported, 1, 10),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("runs:15: gpus -1"), HasSubstr("--first 12"))));
  service.refusal = absl::UnavailableError("gone");
  service.calls.clear();
  EXPECT_THAT(Report(Lines(20), service, reported, 1, 10),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("gone; 10 runs were taken")));
}

TEST(RunsFile, GoesOnWhereItStopped) {
  Service service;
  ReportedRuns reported;
  ASSERT_THAT(Report(std::string(5, '\n') + Lines(10), service, reported, 11), IsOk());
  EXPECT_THAT(service.calls, ElementsAre(5));
}

}  // namespace
}  // namespace galen::cli
