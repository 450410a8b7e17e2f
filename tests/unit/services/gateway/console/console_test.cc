#include "services/gateway/console/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/gateway/console/console_files.h"
#include "tests/unit/services/gateway/api/fakes.h"

namespace galen::gateway {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

http::Response Ask(const std::string& target, const http::Headers& headers = {},
                   const std::string& method = "GET") {
  static Console console;
  const auto exchange = std::make_shared<FakeExchange>();
  http::Request request;
  request.method = method;
  request.target = target;
  request.headers = headers;
  console.Handle(std::move(request), exchange);
  return exchange->AwaitResponse();
}

TEST(Console, IsAPageThatRunsNothingButItsOwn) {
  for (const char* const target : {"/", "/?x=1", "/console", "/console/", "/console/index.html"}) {
    const http::Response page = Ask(target);
    EXPECT_EQ(page.status, 200) << target;
    EXPECT_THAT(page.body, HasSubstr("/console/app.js"));
    EXPECT_THAT(page.body, Not(HasSubstr("<style")));
    EXPECT_THAT(page.body, Not(HasSubstr("style=")));
  }
}

TEST(Console, EveryAnswerHasThePolicy) {
  for (const char* const target : {"/", "/console/app.js", "/console/../keys", "/console/none"}) {
    const http::Response answer = Ask(target);
    const absl::string_view policy = answer.headers.Get("Content-Security-Policy");
    for (const char* const part :
         {"default-src 'none'", "script-src 'self';", "style-src 'self';", "connect-src 'self';",
          "base-uri 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"}) {
      EXPECT_THAT(std::string(policy), HasSubstr(part)) << target;
    }
    EXPECT_EQ(answer.headers.Count("X-Content-Type-Options"), 1);
    EXPECT_EQ(answer.headers.Get("Referrer-Policy"), "no-referrer");
  }
  EXPECT_EQ(Ask("/console/none").status, 404);
  EXPECT_EQ(Ask("/console/../keys").status, 404);
  EXPECT_EQ(Ask("/", {}, "POST").status, 405);
}

TEST(Console, AsksForNothingFromElsewhere) {
  for (const ConsoleFile& file : ConsoleFiles()) {
    for (std::size_t at = file.bytes.find("http"); at != absl::string_view::npos;
         at = file.bytes.find("http", at + 1)) {
      const absl::string_view rest = file.bytes.substr(at, 30);
      if (!absl::StartsWith(rest, "http://") && !absl::StartsWith(rest, "https://")) continue;
      // The namespaces of XML, which are never fetched.
      EXPECT_THAT(std::string(rest), StartsWith("http://www.w3.org/")) << file.name;
    }
  }
}

TEST(Console, IsSentOnceAndCompressed) {
  const http::Response first = Ask("/console/app.js");
  http::Headers headers;
  headers.Add("If-None-Match", first.headers.Get("ETag"));
  EXPECT_EQ(Ask("/console/app.js", headers).status, 304);
  EXPECT_EQ(Ask("/console/app.css", headers).status, 200);
  http::Headers packing;
  packing.Add("Accept-Encoding", "gzip");
  const http::Response packed = Ask("/console/app.js", packing);
  EXPECT_EQ(packed.headers.Get("Content-Encoding"), "gzip");
  EXPECT_LT(packed.body.size(), std::size_t{60} << 10);
  EXPECT_FALSE(first.headers.Has("Content-Encoding"));
}

}  // namespace
}  // namespace galen::gateway
