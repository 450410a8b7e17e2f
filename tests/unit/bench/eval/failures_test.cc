#include "bench/eval/report/failures.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::eval {
namespace {

using testing::HasSubstr;

std::string Tell(const v1::Case& a_case, const v1::CaseResult& result) {
  return TellFailure(a_case, result, ScoreCase(a_case, result), cli::Terminal());
}

TEST(TellFailure, SaysWhatWasExpectedWhatCameAndWhy) {
  v1::Case a_case;
  a_case.set_id("case-1");
  a_case.add_labels("GPU.A");
  a_case.set_misleading(true);
  v1::CaseResult result;
  result.mutable_primary()->set_label("GPU.B");
  for (const char* label : {"GPU.A", "GPU.B"}) {
    v1::JudgedHypothesis& judged = *result.add_judged();
    judged.set_label(label);
    judged.set_status("REJECTED");
    judged.set_origin("TAXONOMY");
    judged.add_supports(std::string("for ") + label);
    judged.add_opposes(std::string("against ") + label);
    judged.add_missing(std::string("unread ") + label);
  }
  const std::string told = Tell(a_case, result);
  EXPECT_THAT(told, HasSubstr("case-1  wrong  (misleading)"));
  EXPECT_THAT(told, HasSubstr("expected GPU.A\n    got      GPU.B"));
  for (const char* label : {"GPU.A", "GPU.B"}) {
    EXPECT_THAT(told, HasSubstr(std::string(label) + ": rejected, from taxonomy"));
    EXPECT_THAT(told, HasSubstr(std::string("+ for ") + label));
    EXPECT_THAT(told, HasSubstr(std::string("- against ") + label));
    EXPECT_THAT(told, HasSubstr(std::string("? unread ") + label));
  }
}

TEST(TellFailure, SaysThatACauseWasNeverJudged) {
  v1::Case a_case;
  a_case.add_labels("GPU.A");
  const std::string told = Tell(a_case, v1::CaseResult());
  EXPECT_THAT(told, HasSubstr("abstained"));
  EXPECT_THAT(told, HasSubstr("GPU.A: never judged"));
}

TEST(TellFailure, SaysThatThereWasNothingToFind) {
  v1::CaseResult result;
  result.mutable_primary()->set_label("GPU.B");
  EXPECT_THAT(Tell(v1::Case(), result), HasSubstr("expected nothing to find"));
}

TEST(TellFailure, SaysWhatWentWrongWithTheCaseItself) {
  v1::CaseResult result;
  result.set_error("no such bundle");
  EXPECT_THAT(Tell(v1::Case(), result), HasSubstr("error    no such bundle"));
}

}  // namespace
}  // namespace galen::eval
