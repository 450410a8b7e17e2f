#include "services/gateway/api/errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/base/retry_hint.h"

namespace galen::gateway {
namespace {

using nlohmann::json;

json Parsed(const absl::Status& status) { return json::parse(ErrorJson(status)); }

TEST(Errors, HaveTheFormOfGoogleRpcStatus) {
  EXPECT_EQ(Parsed(absl::NotFoundError("nothing there")), json::parse(R"({
      "code": 404, "message": "nothing there", "status": "NOT_FOUND",
      "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo",
                   "reason": "NOT_FOUND", "domain": "galen"}]})"));
}

TEST(Errors, NameTheFieldThatOurServicesNameInTheirMessage) {
  const json error =
      Parsed(absl::InvalidArgumentError("diagnosis.incident.nodes[3]: is empty: give a host name"));
  EXPECT_EQ(error["details"][1], json::parse(R"({
      "@type": "type.googleapis.com/google.rpc.BadRequest",
      "fieldViolations": [{"field": "diagnosis.incident.nodes[3]",
                           "description": "is empty: give a host name"}]})"));
  EXPECT_EQ(Parsed(absl::InvalidArgumentError("No field: here"))["details"].size(), 1u);
  // With other codes, the text before the colon is an object and not a field.
  EXPECT_EQ(Parsed(absl::NotFoundError("name: is gone"))["details"].size(), 1u);
}

TEST(Errors, SayWhenToTryAgain) {
  const absl::Status status =
      WithRetryAfter(absl::ResourceExhaustedError("busy"), absl::Milliseconds(1500));
  const http::Response response = ErrorResponse(status);
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.headers.Get("Retry-After"), "2");
  EXPECT_EQ(json::parse(response.body)["error"]["details"][1]["retryDelay"], "1.500s");
}

TEST(Errors, KeepForeignTextHarmless) {
  const std::string error = ErrorJson(absl::UnknownError("\xff\x1b[31m\"</script>\n"));
  EXPECT_TRUE(json::accept(error)) << error;
  EXPECT_EQ(error.find('\x1b'), std::string::npos);
}

TEST(Errors, HaveAnHttpStatusEach) {
  const std::map<absl::StatusCode, int> expected = {{absl::StatusCode::kOk, 200},
                                                    {absl::StatusCode::kCancelled, 499},
                                                    {absl::StatusCode::kUnknown, 500},
                                                    {absl::StatusCode::kInvalidArgument, 400},
                                                    {absl::StatusCode::kDeadlineExceeded, 504},
                                                    {absl::StatusCode::kNotFound, 404},
                                                    {absl::StatusCode::kAlreadyExists, 409},
                                                    {absl::StatusCode::kPermissionDenied, 403},
                                                    {absl::StatusCode::kResourceExhausted, 429},
                                                    {absl::StatusCode::kFailedPrecondition, 400},
                                                    {absl::StatusCode::kAborted, 409},
                                                    {absl::StatusCode::kOutOfRange, 400},
                                                    {absl::StatusCode::kUnimplemented, 501},
                                                    {absl::StatusCode::kInternal, 500},
                                                    {absl::StatusCode::kUnavailable, 503},
                                                    {absl::StatusCode::kDataLoss, 500},
                                                    {absl::StatusCode::kUnauthenticated, 401}};
  for (const auto& [code, status] : expected) EXPECT_EQ(HttpStatusOf(code), status);
}

}  // namespace
}  // namespace galen::gateway
