#include "services/gateway/http/cors.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"

namespace galen::gateway::http {
namespace {

struct Kept final : Exchange {
  void Respond(Response response) override { answer = std::move(response); }
  void Begin(Response head) override { answer = std::move(head); }
  bool Write(std::string /*piece*/) override { return true; }
  void End() override {}
  void OnRoom(absl::AnyInvocable<void()> /*room*/) override {}
  void OnHangUp(absl::AnyInvocable<void()> /*gone*/) override {}
  Response answer;
};

struct Echo final : Handler {
  void Handle(Request request, std::shared_ptr<Exchange> exchange) override {
    ++asked;
    Response response;
    response.headers.Add("Vary", "Accept-Encoding");
    if (request.target == "/stream") return exchange->Begin(std::move(response));
    exchange->Respond(std::move(response));
  }
  Response Refuse(int status, const std::string& /*why*/) override {
    Response response;
    response.status = status;
    return response;
  }
  int asked = 0;
};

constexpr char kAllowOrigin[] = "Access-Control-Allow-Origin";

class CorsTest : public ::testing::Test {
 protected:
  Response Ask(const std::string& method, const std::string& origin,
               const std::string& target = "/v1/x", bool preflight = false) {
    Request request;
    request.method = method;
    request.target = target;
    if (!origin.empty()) request.headers.Add("Origin", origin);
    if (preflight) request.headers.Add("Access-Control-Request-Method", "POST");
    auto exchange = std::make_shared<Kept>();
    cors_->Handle(std::move(request), exchange);
    return exchange->answer;
  }
  Echo echo_;
  std::unique_ptr<Cors> cors_ =
      *Cors::Make({"https://ops.example.com", "http://localhost:3000"}, echo_);
};

TEST_F(CorsTest, APageOfANamedSiteMayReadAnswersAndStreams) {
  for (const char* target : {"/v1/x", "/stream"}) {
    const Response answer = Ask("GET", "https://ops.example.com", target);
    EXPECT_EQ(answer.headers.Get(kAllowOrigin), "https://ops.example.com");
    EXPECT_EQ(answer.headers.Get("Vary"), "Accept-Encoding, Origin");
    EXPECT_FALSE(answer.headers.Has("Access-Control-Allow-Credentials"));
  }
  EXPECT_EQ(echo_.asked, 2);
}

TEST_F(CorsTest, APageOfAnyOtherSiteMayNot) {
  for (const char* origin :
       {"https://ops.example.com.evil.example", "http://ops.example.com", "null", "",
        "https://ops.example.com/", "https://OPS.example.com", "http://localhost"}) {
    const Response answer = Ask("GET", origin);
    EXPECT_FALSE(answer.headers.Has(kAllowOrigin)) << origin;
    EXPECT_EQ(answer.headers.Get("Vary"), "Accept-Encoding") << origin;
  }
}

TEST_F(CorsTest, ItsPreflightIsAnsweredWithoutAKey) {
  const Response answer = Ask("OPTIONS", "http://localhost:3000", "/v1/x", /*preflight=*/true);
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(answer.headers.Get(kAllowOrigin), "http://localhost:3000");
  EXPECT_TRUE(
      absl::StrContains(answer.headers.Get("Access-Control-Allow-Headers"), "Authorization"));
  EXPECT_EQ(echo_.asked, 0);
  // A preflight from another site is a request like any other.
  EXPECT_FALSE(Ask("OPTIONS", "https://evil.example", "/v1/x", true).headers.Has(kAllowOrigin));
  EXPECT_EQ(echo_.asked, 1);
}

TEST_F(CorsTest, EverySiteMayWhereThatIsSaid) {
  cors_ = *Cors::Make({"*"}, echo_);
  EXPECT_EQ(Ask("GET", "https://any.example").headers.Get(kAllowOrigin), "https://any.example");
  EXPECT_FALSE(Ask("GET", "any\r\nX-Evil: 1").headers.Has(kAllowOrigin));
}

TEST(Cors, WhatIsNoOriginIsRefused) {
  Echo echo;
  for (const char* origin :
       {"ops.example.com", "https://", "https://a/b", "https://A.example", "ftp://a", ""}) {
    EXPECT_FALSE(Cors::Make({origin}, echo).ok()) << origin;
  }
}

}  // namespace
}  // namespace galen::gateway::http
