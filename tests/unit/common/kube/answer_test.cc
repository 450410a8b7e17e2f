// The answers of an API server, and how they are read.
#include "common/kube/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/retry_hint.h"
#include "tests/testing/status_matchers.h"

namespace galen::kube {
namespace {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;

using Code = absl::StatusCode;

TEST(ParseObject, TakesObjectsAlone) {
  EXPECT_THAT(ParseObject(R"({"a": [1, {"b": "}{]["}]})"), IsOk());
  for (const char* text : {"", "[]", "null", "3", "\"x\"", "{", "{\"a\":}", "{} {}", "{'a': 1}",
                           "{\"a\": NaN}", "\xff\xfe", "<html>502</html>", "{\"a\": \"\xc3\"}"}) {
    EXPECT_THAT(ParseObject(text), StatusIs(Code::kDataLoss, _)) << text;
  }
}

TEST(ParseObject, RefusesWhatNestsDeeperThanAnyStackIsMadeFor) {
  const auto nested = [](int levels) {
    return "{\"a\":" + std::string(levels, '[') + std::string(levels, ']') + "}";
  };
  EXPECT_THAT(ParseObject(nested(199)), IsOk());
  EXPECT_THAT(ParseObject(nested(200)), StatusIs(Code::kDataLoss, HasSubstr("200 levels")));
  EXPECT_THAT(ParseObject(nested(2'000'000)), StatusIs(Code::kDataLoss, _));
  // Brackets within a text do not count, also after a backslash.
  EXPECT_THAT(ParseObject("{\"a\":\"\\\"" + std::string(500, '[') + "\\\\\"}"), IsOk());
}

TEST(TextAt, IsEmptyWhereThereIsNone) {
  const Json object = Json::parse(R"({"metadata": {"name": "a", "uid": 7}, "list": [1]})");
  EXPECT_EQ(TextAt(object, {"metadata", "name"}), "a");
  EXPECT_EQ(TextAt(object, {"metadata", "uid"}), "");
  EXPECT_EQ(TextAt(object, {"metadata", "name", "more"}), "");
  EXPECT_EQ(TextAt(object, {"list", "name"}), "");
  EXPECT_EQ(TextAt(object, {"none"}), "");
}

TEST(StatusOfAnswer, TellsWhatTheCallerMayDo) {
  struct Case {
    int code;
    const char* reason;
    Code want;
    const char* says;
  };
  for (const Case& one :
       std::vector<Case>{{400, "BadRequest", Code::kInvalidArgument, "(400 BadRequest)"},
                         {401, "Unauthorized", Code::kUnauthenticated, "service account"},
                         {403, "Forbidden", Code::kPermissionDenied, "grant it by a role"},
                         {404, "NotFound", Code::kNotFound, "(404 NotFound)"},
                         {409, "AlreadyExists", Code::kAlreadyExists, "409"},
                         {409, "Conflict", Code::kAborted, "decide again"},
                         {410, "Expired", Code::kOutOfRange, "410"},
                         {415, "UnsupportedMediaType", Code::kInvalidArgument, "415"},
                         {422, "Invalid", Code::kInvalidArgument, "422"},
                         {429, "TooManyRequests", Code::kResourceExhausted, "429"},
                         {500, "InternalError", Code::kUnavailable, "500"},
                         {503, "", Code::kUnavailable, "(503)"},
                         {302, "", Code::kFailedPrecondition, "redirects are not followed"}}) {
    const Json body = {{"kind", "Status"}, {"message", "words"}, {"reason", one.reason}};
    const absl::Status status = StatusOfAnswer("get /x", one.code, body.dump(), {});
    EXPECT_THAT(status, StatusIs(one.want, HasSubstr("get /x: words"))) << one.code;
    EXPECT_THAT(status, StatusIs(one.want, HasSubstr(one.says))) << one.code;
    EXPECT_EQ(RetryAfter(status), std::nullopt);
  }
}

TEST(StatusOfAnswer, TakesTheHintOfTheHeaderBeforeThatOfTheObject) {
  const std::string body = R"({"message": "slow", "details": {"retryAfterSeconds": 7}})";
  EXPECT_THAT(RetryAfter(StatusOfAnswer("x", 429, body, {})), Optional(absl::Seconds(7)));
  EXPECT_THAT(RetryAfter(StatusOfAnswer("x", 429, body, absl::Seconds(2))),
              Optional(absl::Seconds(2)));
  for (const char* odd : {"-1", "\"7\"", "{}", "null", "1.5", "0"}) {
    const std::string text = absl::StrCat(R"({"details": {"retryAfterSeconds": )", odd, "}}");
    EXPECT_EQ(RetryAfter(StatusOfAnswer("x", 429, text, {})), std::nullopt) << odd;
  }
  EXPECT_EQ(RetryAfter(StatusOfAnswer("x", 429, R"({"details": [1]})", {})), std::nullopt);
}

TEST(StatusOfAnswer, RepeatsNoMoreOfATextThanAPersonReadsAndNoControlBytes) {
  const absl::Status status = StatusOfAnswer("x", 502, std::string(100'000, 'a') + "\x1b[2J", {});
  EXPECT_THAT(status, StatusIs(Code::kUnavailable, HasSubstr("aaaa")));
  EXPECT_LT(status.message().size(), 1'200);
  EXPECT_THAT(StatusOfAnswer("x", 502, "a\x1b[2Jb\nc", {}).message(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(StatusOfAnswer("x", 500, "", {}),
              StatusIs(Code::kUnavailable, HasSubstr("no reason")));
}

}  // namespace
}  // namespace galen::kube
