// Requests over a real connection, to a server that does as a test says.
#include "common/http/curl_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/base/steady.h"
#include "tests/testing/llm/certificates.h"
#include "tests/testing/llm/scripted_endpoint.h"
#include "tests/testing/status_matchers.h"

namespace galen::http {
namespace {

using galen::testing::Authority;
using galen::testing::IsOk;
using galen::testing::Recorded;
using galen::testing::Scripted;
using galen::testing::ScriptedEndpoint;
using galen::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Code = absl::StatusCode;

Options To(const ScriptedEndpoint& endpoint, const std::string& scheme = "http") {
  Options options;
  options.what = "API server";
  options.server = absl::StrCat(scheme, "://127.0.0.1:", endpoint.port());
  return options;
}

Request Get(const std::string& target) {
  Request request;
  request.target = target;
  request.most_bytes = 1000;
  return request;
}

TEST(CurlTransportTest, SendsTokenAndBodyAndKeepsItsConnection) {
  ScriptedEndpoint endpoint({Scripted{.body = "{}"}});
  CurlTransport transport(To(endpoint));
  ASSERT_THAT(transport.Send(Get("/api/v1/nodes?limit=1"), Secret("key")), IsOk());
  Request patch = Get("/a/../b");
  patch.method = "PATCH";
  patch.content_type = "application/merge-patch+json";
  patch.body = "{\"a\":1}";
  const auto reply = transport.Send(patch, Secret());
  ASSERT_THAT(reply, IsOk());
  EXPECT_EQ(reply->body, "{}");
  const auto seen = endpoint.requests();
  ASSERT_THAT(seen, SizeIs(2));
  EXPECT_EQ(seen[0].method, "GET");
  EXPECT_EQ(seen[0].target, "/api/v1/nodes?limit=1");
  EXPECT_EQ(seen[0].headers.at("authorization"), "Bearer key");
  EXPECT_EQ(seen[1].method, "PATCH");
  EXPECT_EQ(seen[1].target, "/a/../b");
  EXPECT_EQ(seen[1].body, "{\"a\":1}");
  EXPECT_EQ(seen[1].headers.at("content-type"), "application/merge-patch+json");
  EXPECT_EQ(seen[1].headers.count("authorization"), 0u);
  EXPECT_EQ(seen[1].connection, seen[0].connection);
}

TEST(CurlTransportTest, GivesErrorsWithTheirHint) {
  Scripted throttled{.code = 429, .body = R"({"message": "slow"})"};
  throttled.headers = {{"Retry-After", "3"}};
  ScriptedEndpoint endpoint({throttled});
  const auto reply = CurlTransport(To(endpoint)).Send(Get("/x"), Secret());
  ASSERT_THAT(reply, IsOk());
  EXPECT_EQ(reply->code, 429);
  EXPECT_EQ(reply->body, R"({"message": "slow"})");
  EXPECT_EQ(reply->retry_after, absl::Seconds(3));
}

TEST(CurlTransportTest, ReadsNoMoreThanItMay) {
  ScriptedEndpoint endpoint({Scripted{.body = std::string(1001, 'a')},
                             Scripted{.code = 500, .body = std::string(1 << 20, 'b')}});
  CurlTransport transport(To(endpoint));
  EXPECT_THAT(transport.Send(Get("/x"), Secret()),
              StatusIs(Code::kDataLoss, HasSubstr("1000 bytes")));
  const auto error = transport.Send(Get("/x"), Secret());
  ASSERT_THAT(error, IsOk());
  EXPECT_EQ(error->code, 500);
  EXPECT_EQ(error->body.size(), 64u << 10);
}

TEST(CurlTransportTest, FollowsNoRedirect) {
  Scripted elsewhere{.code = 302};
  elsewhere.headers = {{"Location", "http://127.0.0.1:1/"}};
  ScriptedEndpoint endpoint({elsewhere});
  const auto reply = CurlTransport(To(endpoint)).Send(Get("/x"), Secret("key"));
  ASSERT_THAT(reply, IsOk());
  EXPECT_EQ(reply->code, 302);
  EXPECT_THAT(endpoint.requests(), SizeIs(1));
}

TEST(CurlTransportTest, GivesTheBytesOfAWatchAsTheyCome) {
  Scripted stream{.body = "one\n\ntwo\n\n", .chunked = true, .then = Scripted::Then::kHang};
  ScriptedEndpoint endpoint({stream});
  Cancellation cancellation;
  Request request = Get("/x");
  std::string heard;
  request.cancellation = &cancellation;
  request.on_bytes = [&](absl::string_view bytes) {
    heard.append(bytes.data(), bytes.size());
    if (heard == stream.body) cancellation.Cancel();
    return absl::OkStatus();
  };
  EXPECT_THAT(CurlTransport(To(endpoint)).Send(request, Secret()), StatusIs(Code::kCancelled, _));
  EXPECT_EQ(heard, stream.body);
}

TEST(CurlTransportTest, TellsACutConnectionFromAnEnd) {
  Scripted cut{.body = "one\n\n", .chunked = true, .then = Scripted::Then::kReset};
  ScriptedEndpoint endpoint({cut});
  Request request = Get("/x");
  request.on_bytes = [](absl::string_view) { return absl::OkStatus(); };
  EXPECT_THAT(CurlTransport(To(endpoint)).Send(request, Secret()),
              StatusIs(Code::kUnavailable, HasSubstr("127.0.0.1")));
}

TEST(CurlTransportTest, EndsWithWhatTheReaderSays) {
  ScriptedEndpoint endpoint({Scripted{.body = "one\n"}});
  Request request = Get("/x");
  request.on_bytes = [](absl::string_view) { return absl::AbortedError("enough"); };
  EXPECT_THAT(CurlTransport(To(endpoint)).Send(request, Secret()),
              StatusIs(Code::kAborted, "enough"));
  // It is not an error of the reader.
  ScriptedEndpoint failing({Scripted{.code = 410, .body = "gone"}});
  const auto reply = CurlTransport(To(failing)).Send(request, Secret());
  ASSERT_THAT(reply, IsOk());
  EXPECT_EQ(reply->body, "gone");
}

TEST(CurlTransportTest, WaitsNoLongerThanItsDeadlineOrItsCaller) {
  ScriptedEndpoint endpoint({galen::testing::Hang()});
  CurlTransport transport(To(endpoint));
  Request request = Get("/x");
  request.deadline = SteadyNow() + absl::Milliseconds(50);
  EXPECT_THAT(transport.Send(request, Secret()), StatusIs(Code::kDeadlineExceeded, _));
  request.deadline = absl::InfiniteFuture();
  Cancellation cancellation;
  request.cancellation = &cancellation;
  std::thread other([&] {
    endpoint.WaitForRequests(2);
    cancellation.Cancel();
  });
  EXPECT_THAT(transport.Send(request, Secret()), StatusIs(Code::kCancelled, _));
  other.join();
}

TEST(CurlTransportTest, SaysWhatAnswersWithoutHttp) {
  Scripted raw;
  raw.raw_head = "SSH-2.0-OpenSSH_9.2\r\n";
  raw.then = Scripted::Then::kClose;
  ScriptedEndpoint endpoint({raw});
  EXPECT_THAT(CurlTransport(To(endpoint)).Send(Get("/x"), Secret()),
              StatusIs(Code::kDataLoss, HasSubstr("not speak HTTP")));
}

TEST(CurlTransportTest, SpeaksOnlyToAServerThatItsAuthorityVouchesFor) {
  const Authority authority("Galen test authority");
  const Authority other("Somebody else");
  const std::string folder = ::testing::TempDir();
  const auto write = [&](const std::string& name, const std::string& text) {
    const std::string path = absl::StrCat(folder, "galen-kube-", getpid(), "-", name);
    std::ofstream(path) << text;
    return path;
  };
  const auto answers = [](const Recorded&) { return Scripted{.body = "{}"}; };
  ScriptedEndpoint endpoint(answers, authority.Issue("127.0.0.1"));
  Options options = To(endpoint, "https");
  options.ca_file = write("ca.pem", authority.certificate());
  EXPECT_THAT(CurlTransport(options).Send(Get("/x"), Secret("key")), IsOk());
  Options wrong = options;
  wrong.ca_file = write("other.pem", other.certificate());
  EXPECT_THAT(CurlTransport(wrong).Send(Get("/x"), Secret("key")),
              StatusIs(Code::kPermissionDenied, HasSubstr("not trusted")));
  wrong.ca_file = write("none.pem", "no certificate");
  EXPECT_THAT(CurlTransport(wrong).Send(Get("/x"), Secret("key")),
              StatusIs(Code::kPermissionDenied, HasSubstr("none.pem")));
  ScriptedEndpoint elsewhere(answers, authority.Issue("api.example.com"));
  Options name = To(elsewhere, "https");
  name.ca_file = options.ca_file;
  EXPECT_THAT(CurlTransport(name).Send(Get("/x"), Secret("key")),
              StatusIs(Code::kPermissionDenied, _));
  EXPECT_THAT(endpoint.requests(), SizeIs(1));
  EXPECT_THAT(elsewhere.requests(), IsEmpty());
}

TEST(CurlTransportTest, TellsWhetherAFailedRequestMayHaveArrived) {
  int nobody = 0;
  {
    const ScriptedEndpoint gone({Scripted{.body = "{}"}});
    nobody = gone.port();
  }
  Sent sent;
  Request request = Get(absl::StrCat("http://127.0.0.1:", nobody, "/x"));
  request.sent = &sent;
  EXPECT_THAT(CurlTransport(Options()).Send(request, Secret()), StatusIs(Code::kUnavailable, _));
  EXPECT_FALSE(sent.may_have_arrived);

  ScriptedEndpoint silent({galen::testing::Hang()});
  request.target = absl::StrCat("http://127.0.0.1:", silent.port(), "/x");
  request.deadline = SteadyNow() + absl::Milliseconds(200);
  EXPECT_THAT(CurlTransport(Options()).Send(request, Secret()),
              StatusIs(Code::kDeadlineExceeded, _));
  EXPECT_TRUE(sent.may_have_arrived);
  EXPECT_EQ(sent.requests, 1);
}

TEST(CurlTransportTest, WaitsForAFreeConnectionUntilTheDeadline) {
  ScriptedEndpoint endpoint({galen::testing::Hang()});
  Options options = To(endpoint);
  options.most_at_once = 1;
  CurlTransport transport(options);
  Cancellation cancellation;
  Request first = Get("/first");
  first.cancellation = &cancellation;
  std::thread other(
      [&] { EXPECT_THAT(transport.Send(first, Secret()), StatusIs(Code::kCancelled, _)); });
  endpoint.WaitForRequests(1);
  Sent sent;
  Request second = Get("/second");
  second.sent = &sent;
  second.deadline = SteadyNow() + absl::Milliseconds(20);
  EXPECT_THAT(transport.Send(second, Secret()), StatusIs(Code::kResourceExhausted, _));
  EXPECT_EQ(sent.requests, 0);
  cancellation.Cancel();
  other.join();
}

TEST(CurlTransportTest, SendsTheHeadersThatItIsGiven) {
  ScriptedEndpoint endpoint({Scripted{.body = "{}"}});
  Options options = To(endpoint);
  options.key_header = "api-key: ";
  Request request = Get("/x");
  request.method = "POST";
  request.headers = {{"x-galen", "1"}, {"Accept", "text/plain"}};
  request.accept.clear();
  EXPECT_THAT(CurlTransport(options).Send(request, Secret("key")), IsOk());
  const auto seen = endpoint.requests();
  ASSERT_THAT(seen, SizeIs(1));
  EXPECT_EQ(seen[0].headers.at("x-galen"), "1");
  EXPECT_EQ(seen[0].headers.at("accept"), "text/plain");
  EXPECT_EQ(seen[0].headers.at("api-key"), "key");
  EXPECT_EQ(seen[0].headers.at("content-length"), "0");
  EXPECT_EQ(seen[0].headers.count("authorization"), 0U);
}

}  // namespace
}  // namespace galen::http
