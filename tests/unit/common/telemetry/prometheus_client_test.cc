// A Prometheus, real or not: for any behaviour, an answer is bounded, in time, and honest about
// what is missing.
#include "common/telemetry/prometheus_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/base/steady.h"
#include "tests/testing/llm/certificates.h"
#include "tests/testing/llm/scripted_endpoint.h"
#include "tests/testing/status_matchers.h"

namespace galen::telemetry {
namespace prometheus_client_test {

using galen::testing::Hang;
using galen::testing::IsOk;
using galen::testing::Recorded;
using galen::testing::Scripted;
using galen::testing::ScriptedEndpoint;
using galen::testing::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

using Code = absl::StatusCode;

constexpr char kVector[] = R"({"status":"success","data":{"resultType":"vector","result":[
  {"metric":{"__name__":"up","instance":"n1:9100"},"value":[1700000000.123,"1"]},
  {"metric":{"__name__":"up","instance":"n2:9100"},"value":[1700000000.123,"NaN"]}]}})";

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

PrometheusClient To(const ScriptedEndpoint& endpoint, const std::string& key = "") {
  return PrometheusClient(
      {.http = {.server = absl::StrCat("http://127.0.0.1:", endpoint.port(), "/prefix/")},
       .key = http::Secret(key)});
}

absl::StatusOr<Answer> Ask(const Scripted& reply, const Call& call = {}) {
  ScriptedEndpoint endpoint({reply});
  return To(endpoint).Instant("up", kNow, call);
}

TEST(PrometheusClientTest, AsksWithItsKeyAndReadsTheAnswer) {
  ScriptedEndpoint endpoint({Scripted{.body = kVector}});
  PrometheusClient client = To(endpoint, "secret");
  const auto answer = client.Instant("up{a=\"b c\"}", kNow, {});
  ASSERT_THAT(answer, IsOk());
  EXPECT_TRUE(answer->complete);
  EXPECT_THAT(answer->source, StartsWith("Prometheus http://127.0.0.1:"));
  EXPECT_EQ(answer->query, "up{a=\"b c\"}");
  ASSERT_THAT(answer->series, SizeIs(2));
  EXPECT_EQ(answer->series[0].samples[0].at, 1'700'000'000'123);
  EXPECT_EQ(Last(*answer, {{"instance", "n1:9100"}}, kNow, absl::Minutes(1)).value(), 1);
  EXPECT_FALSE(Last(*answer, {{"instance", "n2:9100"}}, kNow, absl::Minutes(1)).known());
  const auto seen = endpoint.requests();
  ASSERT_THAT(seen, SizeIs(1));
  EXPECT_EQ(seen[0].method, "GET");
  EXPECT_THAT(
      seen[0].target,
      StartsWith(
          "/prefix/api/v1/query?query=up%7Ba%3D%22b%20c%22%7D&time=1700000000.000&timeout="));
  EXPECT_EQ(seen[0].headers.at("authorization"), "Bearer secret");
}

TEST(PrometheusClientTest, KnowsNamesWithPasswordsAndAuthoritiesOfItsOwn) {
  ScriptedEndpoint plain({Scripted{.body = kVector}});
  PrometheusClient basic({.http = {.server = absl::StrCat("http://127.0.0.1:", plain.port()),
                                   .key_header = "Authorization: Basic "},
                          .key = http::Secret("dXNlcjpwdw==")});
  ASSERT_THAT(basic.Instant("up", kNow, {}), IsOk());
  EXPECT_EQ(plain.requests()[0].headers.at("authorization"), "Basic dXNlcjpwdw==");

  const testing::Authority authority("Galen test authority");
  ScriptedEndpoint secure([](const Recorded&) { return Scripted{.body = kVector}; },
                          authority.Issue("127.0.0.1"));
  const auto ask = [&](const http::Options& more) {
    http::Options options = more;
    options.server = absl::StrCat("https://127.0.0.1:", secure.port());
    return PrometheusClient({.http = options}).Instant("up", kNow, {});
  };
  const std::string ca = absl::StrCat(::testing::TempDir(), "/galen_prometheus_ca.pem");
  std::ofstream(ca) << authority.certificate();
  EXPECT_THAT(ask({.ca_file = ca}), IsOk());
  EXPECT_THAT(ask({}), StatusIs(Code::kPermissionDenied, HasSubstr("not trusted")));
  EXPECT_THAT(ask({.ca_file = ca,
                   .certificate_file = "/nowhere.pem",
                   .certificate_key_file = "/nowhere.pem"}),
              StatusIs(Code::kPermissionDenied, HasSubstr("/nowhere.pem")));
}

TEST(PrometheusClientTest, ALongQuestionIsPosted) {
  ScriptedEndpoint endpoint({Scripted{.body = kVector}});
  ASSERT_THAT(To(endpoint).Instant("up{a=\"" + std::string(4000, 'x') + "\"}", kNow, {}), IsOk());
  const auto seen = endpoint.requests();
  EXPECT_EQ(seen[0].method, "POST");
  EXPECT_EQ(seen[0].target, "/prefix/api/v1/query");
  EXPECT_EQ(seen[0].headers.at("content-type"), "application/x-www-form-urlencoded");
  EXPECT_THAT(seen[0].body, StartsWith("query=up%7Ba%3D%22xxxx"));
}

TEST(PrometheusClientTest, ReadsRangesSeriesAndLabelValues) {
  ScriptedEndpoint endpoint([](const Recorded& request) {
    if (request.target.find("/query_range") != std::string::npos) {
      return Scripted{
          .body =
              R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{"gpu":"0"},
        "values":[[1700000000,"1.5"],[1700000015,"+Inf"],[1700000030,"-2e3"]]}]}})"};
    }
    if (request.target.find("/series") != std::string::npos) {
      return Scripted{
          .body =
              R"({"status":"success","data":[{"__name__":"up","job":"a"},{"__name__":"up","job":"b"}]})"};
    }
    return Scripted{.body = R"({"status":"success","data":["b","a"]})"};
  });
  PrometheusClient client = To(endpoint);
  const auto range = client.RangeOf("x", {kNow, kNow + absl::Seconds(30), absl::Seconds(15)}, {});
  ASSERT_THAT(range, IsOk());
  ASSERT_THAT(range->series, SizeIs(1));
  ASSERT_THAT(range->series[0].samples, SizeIs(3));
  EXPECT_EQ(range->series[0].samples[2].value, -2000);
  const auto series = client.SeriesOf("up", kNow, kNow, {});
  ASSERT_THAT(series, IsOk());
  ASSERT_THAT(series->series, SizeIs(2));
  EXPECT_EQ(series->series[1].labels.at("job"), "b");
  bool complete = false;
  EXPECT_THAT(*client.LabelValues("job", "up", absl::InfinitePast(), kNow, {}, &complete),
              ElementsAre("a", "b"));
  EXPECT_TRUE(complete);
  EXPECT_THAT(endpoint.requests()[2].target,
              AllOf(HasSubstr("/label/job/values?end=1700000000.000&match%5B%5D=up"),
                    Not(HasSubstr("start"))));
}

TEST(PrometheusClientTest, WarningsMakeAnAnswerIncompleteAndRemarksDoNot) {
  const auto partial = Ask(
      {.body =
           R"({"status":"success","data":{"resultType":"vector","result":[]},"warnings":["store n3 is down"]})"});
  ASSERT_THAT(partial, IsOk());
  EXPECT_FALSE(partial->complete);
  EXPECT_THAT(partial->warnings, ElementsAre("store n3 is down"));
  EXPECT_THAT(Last(*partial, {{"a", "b"}}, kNow, absl::Minutes(1)).why(), HasSubstr("incomplete"));
  const auto whole = Ask(
      {.body =
           R"({"status":"success","data":{"resultType":"vector","result":[]},"infos":["might not be a counter"]})"});
  EXPECT_TRUE(whole->complete);
}

TEST(PrometheusClientTest, ErrorsSayWhatToDo) {
  const auto json = [](const char* type, const char* text) {
    return absl::StrCat("{\"status\":\"error\",\"errorType\":\"", type, "\",\"error\":\"", text,
                        "\"}");
  };
  EXPECT_THAT(Ask({.code = 400, .body = json("bad_data", "parse error at char 3")}),
              StatusIs(Code::kInvalidArgument, HasSubstr("parse error")));
  EXPECT_THAT(Ask({.code = 503, .body = json("timeout", "query timed out")}),
              StatusIs(Code::kDeadlineExceeded, HasSubstr("timed out")));
  EXPECT_THAT(
      Ask({.code = 422, .body = json("execution", "expanding series: context deadline exceeded")}),
      StatusIs(Code::kDeadlineExceeded, HasSubstr("shorter range")));
  EXPECT_THAT(Ask({.code = 422, .body = json("execution", "expanding series: context canceled")}),
              StatusIs(Code::kUnavailable, _));
  EXPECT_THAT(
      Ask({.code = 422,
           .body = json("execution", "query processing would load too many samples into memory")}),
      StatusIs(Code::kResourceExhausted, HasSubstr("shorter range")));
  EXPECT_THAT(Ask({.code = 500, .body = json("internal", "boom")}),
              StatusIs(Code::kUnavailable, HasSubstr("boom")));
  EXPECT_THAT(Ask({.code = 200, .body = json("internal", "boom")}),
              StatusIs(Code::kUnavailable, HasSubstr("boom")));
  EXPECT_THAT(Ask({.code = 500, .type = "text/html", .body = "<html>Internal Server Error"}),
              StatusIs(Code::kUnavailable, HasSubstr("HTTP 500")));
  EXPECT_THAT(Ask({.code = 502, .body = ""}), StatusIs(Code::kUnavailable, HasSubstr("HTTP 502")));
  EXPECT_THAT(Ask({.code = 429, .body = "slow down"}), StatusIs(Code::kResourceExhausted, _));
  EXPECT_THAT(Ask({.code = 401, .body = "who?"}),
              StatusIs(Code::kPermissionDenied, HasSubstr("key")));
  EXPECT_THAT(Ask({.code = 404, .body = "404 page not found"}),
              StatusIs(Code::kNotFound, HasSubstr("no Prometheus")));
  EXPECT_THAT(Ask({.code = 302, .body = ""}), StatusIs(Code::kDataLoss, HasSubstr("redirects")));
}

TEST(PrometheusClientTest, WhatIsNoAnswerIsNoEmptyAnswer) {
  EXPECT_THAT(Ask({.type = "text/html", .body = "<!DOCTYPE html><html>Log in"}),
              StatusIs(Code::kDataLoss, HasSubstr("<!DOCTYPE html>")));
  EXPECT_THAT(Ask({.body = ""}), StatusIs(Code::kDataLoss, _));
  EXPECT_THAT(Ask({.body = "{}"}), StatusIs(Code::kDataLoss, HasSubstr("no status")));
  EXPECT_THAT(Ask({.body = "[1,2]"}), StatusIs(Code::kDataLoss, _));
  EXPECT_THAT(Ask({.body = std::string(kVector).substr(0, 150)}),
              StatusIs(Code::kDataLoss, HasSubstr("ends early")));
  EXPECT_THAT(Ask({.body = "{\"status\":\"success\",\"data\":" + std::string(100'000, '[')}),
              StatusIs(Code::kDataLoss, HasSubstr("deep")));
  EXPECT_THAT(
      Ask({.body =
               R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"seven"]}]}})"}),
      StatusIs(Code::kDataLoss, HasSubstr("sample")));
  EXPECT_THAT(
      Ask({.body =
               R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1e300,"7"]}]}})"}),
      StatusIs(Code::kDataLoss, HasSubstr("sample")));
}

TEST(PrometheusClientTest, AConnectionThatBreaksIsNoAnswer) {
  EXPECT_THAT(Ask({.then = Scripted::Then::kReset, .no_head = true}),
              StatusIs(Code::kUnavailable, _));
  Scripted cut{.body = std::string(kVector).substr(0, 100)};
  cut.headers = {{"Content-Length", "5000"}};
  cut.then = Scripted::Then::kClose;
  EXPECT_FALSE(Ask(cut).ok());
  EXPECT_THAT(Ask({.then = Scripted::Then::kClose, .raw_head = "SSH-2.0-OpenSSH_9.2\r\n"}),
              Not(IsOk()));
}

TEST(PrometheusClientTest, OneThatIsDownIsUnavailable) {
  int port = 0;
  {
    ScriptedEndpoint endpoint({Scripted{}});
    port = endpoint.port();
  }
  PrometheusClient client({.http = {.server = absl::StrCat("http://127.0.0.1:", port)}});
  EXPECT_THAT(client.Instant("up", kNow, {}),
              StatusIs(Code::kUnavailable, HasSubstr("Prometheus")));
}

TEST(PrometheusClientTest, OneThatHangsIsGivenUpAtTheDeadline) {
  Call call;
  call.deadline = SteadyNow() + absl::Milliseconds(200);
  EXPECT_THAT(Ask(Hang(), call), StatusIs(Code::kDeadlineExceeded, HasSubstr("Prometheus")));
  call.deadline = SteadyNow() - absl::Seconds(1);
  EXPECT_THAT(Ask(Hang(), call), StatusIs(Code::kDeadlineExceeded, _));
}

TEST(PrometheusClientTest, OneThatSendsForEverSlowlyIsGivenUp) {
  Scripted slow{
      .body = std::string(kVector).substr(0, 100), .chunked = true, .then = Scripted::Then::kHang};
  Call call;
  call.deadline = SteadyNow() + absl::Milliseconds(200);
  EXPECT_THAT(Ask(slow, call), StatusIs(Code::kDeadlineExceeded, _));
}

TEST(PrometheusClientTest, ACallCanBeTakenBack) {
  ScriptedEndpoint endpoint({Hang()});
  PrometheusClient client = To(endpoint);
  Cancellation cancellation;
  Call call;
  call.cancellation = &cancellation;
  std::thread canceller([&] {
    endpoint.WaitForRequests(1);
    cancellation.Cancel();
  });
  EXPECT_THAT(client.Instant("up", kNow, call), StatusIs(Code::kCancelled, _));
  canceller.join();
}

TEST(PrometheusClientTest, ABodyWithoutEndIsTruncatedOff) {
  Call call;
  call.limits.bytes = 1 << 20;
  EXPECT_THAT(Ask(testing::HugeReply(64 << 20, false), call),
              StatusIs(Code::kResourceExhausted, HasSubstr("longer than 1048576 bytes")));
  EXPECT_THAT(Ask(testing::HugeReply(64 << 20, true), call), StatusIs(Code::kResourceExhausted, _));
}

TEST(PrometheusClientTest, TooManySeriesAreCutAndSaidToBe) {
  std::string body = R"({"status":"success","data":{"resultType":"vector","result":[)";
  for (int i = 0; i < 300'000; ++i)
    absl::StrAppend(&body, i > 0 ? "," : "", "{\"metric\":{\"i\":\"", i,
                    "\"},\"value\":[1700000000,\"1\"]}");
  body += "]}}";
  Call call;
  call.limits.series = 1000;
  const auto answer = Ask({.body = body}, call);
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(answer->series, SizeIs(1000));
  EXPECT_FALSE(answer->complete);
  EXPECT_THAT(answer->warnings, ElementsAre(HasSubstr("more than 1000 series")));
  call.limits.series = 1'000'000;
  call.limits.samples = 5000;
  EXPECT_FALSE(Ask({.body = body}, call)->complete);
}

TEST(PrometheusClientTest, NativeHistogramsAndDisorderAreSaid) {
  const auto histogram = Ask(
      {.body =
           R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{},"histogram":[1,{"count":"3","sum":"1"}]}]}})"});
  ASSERT_THAT(histogram, IsOk());
  EXPECT_FALSE(histogram->complete);
  EXPECT_THAT(histogram->warnings, ElementsAre(HasSubstr("histograms")));
  const auto disorder = Ask(
      {.body =
           R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[5,"1"],[4,"2"],[6,"3"]]}]}})"});
  ASSERT_THAT(disorder, IsOk());
  EXPECT_THAT(disorder->series[0].samples, SizeIs(2));
  EXPECT_FALSE(disorder->complete);
}

TEST(PrometheusClientTest, AScalarIsOneSeries) {
  const auto scalar = Ask(
      {.body =
           R"({"status":"success","data":{"resultType":"scalar","result":[1700000000,"42"]}})"});
  ASSERT_THAT(scalar, IsOk());
  ASSERT_THAT(scalar->series, SizeIs(1));
  EXPECT_EQ(scalar->series[0].samples[0].value, 42);
}

TEST(PrometheusClientTest, TooManyPointsAreNotEvenAskedFor) {
  ScriptedEndpoint endpoint({Scripted{.body = kVector}});
  EXPECT_THAT(To(endpoint).RangeOf("up", {kNow, kNow + absl::Hours(24), absl::Seconds(1)}, {}),
              StatusIs(Code::kInvalidArgument, HasSubstr("longer step")));
  EXPECT_THAT(To(endpoint).Samples("rate(up[5m])", kNow, kNow + absl::Hours(1), {}),
              StatusIs(Code::kUnimplemented, _));
  EXPECT_THAT(endpoint.requests(), IsEmpty());
}

TEST(PrometheusClientTest, TheKeyStandsInNoError) {
  ScriptedEndpoint endpoint({Scripted{.code = 500, .body = "you sent Bearer topsecret"}});
  const auto answer = To(endpoint, "topsecret").Instant("up", kNow, {});
  EXPECT_THAT(std::string(answer.status().message()),
              AllOf(HasSubstr("[key]"), Not(HasSubstr("topsecret"))));
}

TEST(PrometheusOptionsTest, AreChecked) {
  const auto with = [](const std::string& server, const std::string& key = "") {
    return Check(PrometheusOptions{.http = {.server = server}, .key = http::Secret(key)});
  };
  EXPECT_THAT(with("http://prometheus:9090"), IsOk());
  EXPECT_THAT(with("https://mimir/prometheus", "key"), IsOk());
  EXPECT_THAT(with("http://127.0.0.1:9090", "key"), IsOk());
  EXPECT_THAT(with("http://prometheus:9090", "key"),
              StatusIs(Code::kInvalidArgument, HasSubstr("unencrypted")));
  EXPECT_THAT(with("http://127.0.0.1.evil.example", "key"),
              StatusIs(Code::kInvalidArgument, HasSubstr("unencrypted")));
  for (const char* server : {"", "prometheus:9090", "file:///etc/passwd", "http://",
                             "http://user:pw@host", "http://host/?a=b", "http:///x"}) {
    EXPECT_THAT(with(server), StatusIs(Code::kInvalidArgument, HasSubstr("Prometheus"))) << server;
  }
}

}  // namespace prometheus_client_test
}  // namespace galen::telemetry
