// A Loki, as its API says it answers, and as a hostile one may.
#include "common/log_sources/loki.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/cancellation.h"
#include "fake_stores.h"
#include "tests/testing/scratch.h"
#include "tests/testing/status_matchers.h"

namespace galen::log_sources {
namespace loki_test {

using galen::testing::Hang;
using galen::testing::IsOk;
using galen::testing::Recorded;
using galen::testing::Scripted;
using galen::testing::ScriptedEndpoint;
using galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using Code = absl::StatusCode;

constexpr char kQuery[] = R"({job="train"} |= "a+b&c%d")";

std::unique_ptr<Loki> To(const ScriptedEndpoint& endpoint, http::Credentials credentials = {},
                         std::size_t most_bytes = 64 << 20) {
  auto server = JsonServer::Make({.what = "Loki",
                                  .url = absl::StrCat("http://127.0.0.1:", endpoint.port()),
                                  .ca_file = "",
                                  .credentials = std::move(credentials),
                                  .most_bytes = most_bytes});
  EXPECT_THAT(server.status(), IsOk());
  return std::make_unique<Loki>(*std::move(server), kQuery, Names());
}

absl::StatusOr<Fetched> Fetch(const Scripted& reply, const Limits& limits = {}) {
  ScriptedEndpoint endpoint({reply});
  return To(endpoint)->Fetch(Hour(), limits, nullptr);
}

std::vector<std::string> LinesOf(const FetchedLog& log) {
  std::vector<std::string> lines = absl::StrSplit(log.text, '\n');
  lines.pop_back();
  return lines;
}

// Lines of two pods; each time has three of them, so that pages end amid a time.
std::vector<StoredLine> Stored(int count) {
  std::vector<StoredLine> stored;
  for (int i = 0; i < count; ++i) {
    const std::string pod = absl::StrCat("train-", i % 2);
    stored.push_back({{{"job", "train"},
                       {"pod", pod},
                       {"container", "worker"},
                       {"node_name", absl::StrCat("gpu-", i % 2)},
                       {"level", i / 3 % 5 == 0 ? "error" : "info"}},
                      (kStart + 10) * kSecond + i / 3,
                      absl::StrCat("line ", i)});
  }
  return stored;
}

TEST(LokiTest, ReadsPageByPageAndLosesNothing) {
  const std::vector<StoredLine> stored = Stored(12'001);
  ScriptedEndpoint endpoint(
      [&stored](const Recorded& request) { return AnswerOfLoki(stored, request); });
  http::Credentials credentials;
  credentials.headers = {{"X-Scope-OrgID", http::Secret("team-a")}};
  const auto fetched = To(endpoint, credentials)->Fetch(Hour(), {}, nullptr);
  ASSERT_THAT(fetched, IsOk());
  EXPECT_THAT(fetched->cuts, IsEmpty());
  ASSERT_THAT(fetched->logs, SizeIs(2));
  EXPECT_EQ(fetched->logs[0].name, "train-0.worker.log");
  EXPECT_EQ(fetched->logs[0].node, "gpu-0");
  std::set<std::string> all;
  for (const FetchedLog& log : fetched->logs) {
    const std::vector<std::string> lines = LinesOf(log);
    EXPECT_EQ(lines.front(), log.name[6] == '0' ? "line 0" : "line 1");
    all.insert(lines.begin(), lines.end());
  }
  EXPECT_EQ(LinesOf(fetched->logs[0]).size() + LinesOf(fetched->logs[1]).size(), 12'001U);
  EXPECT_EQ(all.size(), 12'001U);
  const auto seen = endpoint.requests();
  ASSERT_THAT(seen, SizeIs(3));
  EXPECT_EQ(seen[0].method, "GET");
  EXPECT_EQ(seen[0].headers.at("x-scope-orgid"), "team-a");
  auto parameters = ParametersOf(seen[0]);
  EXPECT_EQ(parameters["query"], kQuery);
  EXPECT_EQ(parameters["direction"], "backward");
  EXPECT_EQ(parameters["start"], absl::StrCat(kStart * kSecond));
  EXPECT_EQ(parameters["end"], absl::StrCat((kStart + 3600) * kSecond + 1));
}

TEST(LokiTest, KeepsToTheLimitOfTheServer) {
  const std::vector<StoredLine> stored = Stored(2500);
  ScriptedEndpoint endpoint(
      [&stored](const Recorded& request) { return AnswerOfLoki(stored, request, 1000); });
  const auto fetched = To(endpoint)->Fetch(Hour(), {}, nullptr);
  ASSERT_THAT(fetched, IsOk());
  EXPECT_EQ(LinesOf(fetched->logs[0]).size() + LinesOf(fetched->logs[1]).size(), 2500U);
  // An answer that is too large for us is asked for in smaller pages, too.
  ScriptedEndpoint large(
      [&stored](const Recorded& request) { return AnswerOfLoki(stored, request); });
  const auto smaller = To(large, {}, 60'000)->Fetch(Hour(), {}, nullptr);
  ASSERT_THAT(smaller, IsOk());
  EXPECT_EQ(LinesOf(smaller->logs[0]).size() + LinesOf(smaller->logs[1]).size(), 2500U);
}

TEST(LokiTest, ALimitKeepsTheNewestAndSaysWhatIsMissing) {
  const std::vector<StoredLine> stored = Stored(12'000);
  ScriptedEndpoint endpoint(
      [&stored](const Recorded& request) { return AnswerOfLoki(stored, request); });
  const auto fetched = To(endpoint)->Fetch(Hour(), {.lines = 7000}, nullptr);
  ASSERT_THAT(fetched, IsOk());
  EXPECT_THAT(fetched->cuts, Contains(AllOf(HasSubstr("7000 lines"), HasSubstr("narrow"))));
  EXPECT_EQ(LinesOf(fetched->logs[0]).back(), "line 11998");
  EXPECT_EQ(LinesOf(fetched->logs[1]).back(), "line 11999");
  EXPECT_THAT(endpoint.requests(), SizeIs(2));
}

TEST(LokiTest, MoreLinesOfOneTimeThanAPageAreSaid) {
  std::vector<StoredLine> stored;
  for (int i = 0; i < 6000; ++i) {
    stored.push_back({{{"pod", "p"}}, (kStart + 5) * kSecond, absl::StrCat("line ", i)});
  }
  stored.push_back({{{"pod", "p"}}, (kStart + 4) * kSecond, "before"});
  ScriptedEndpoint endpoint(
      [&stored](const Recorded& request) { return AnswerOfLoki(stored, request); });
  const auto fetched = To(endpoint)->Fetch(Hour(), {}, nullptr);
  ASSERT_THAT(fetched, IsOk());
  EXPECT_EQ(LinesOf(fetched->logs[0]).front(), "before");
  EXPECT_THAT(fetched->cuts, Contains(HasSubstr("more than 5000 have this time")));
}

TEST(LokiTest, AQueryOfNumbersAndAWrongOneAreErrors) {
  EXPECT_THAT(Fetch({.body = R"({"status":"success","data":{"resultType":"matrix","result":[]}})"}),
              StatusIs(Code::kInvalidArgument, HasSubstr("query of log lines")));
  EXPECT_THAT(Fetch({.code = 400,
                     .type = "text/plain",
                     .body = "parse error at line 1, col 6: syntax error: unexpected IDENTIFIER"}),
              StatusIs(Code::kInvalidArgument, HasSubstr("parse error at line 1")));
  EXPECT_THAT(
      Fetch({.body = R"({"status":"success","data":{"resultType":"streams","result":[]}})"}),
      StatusIs(Code::kNotFound, HasSubstr("no line from 2023-11-14T22:13:20Z")));
}

TEST(LokiTest, HostileAnswersAreErrors) {
  EXPECT_THAT(Fetch({.code = 302, .headers = {{"Location", "http://169.254.169.254/"}}}),
              StatusIs(Code::kDataLoss, HasSubstr("redirects are not followed")));
  EXPECT_THAT(Fetch({.body = "<html>login</html>"}),
              StatusIs(Code::kDataLoss, HasSubstr("not JSON")));
  EXPECT_THAT(Fetch({.body = std::string(100, '[') + std::string(100, ']')}),
              StatusIs(Code::kResourceExhausted, HasSubstr("nests too deep")));
  EXPECT_THAT(Fetch({.body = R"({"status":"success"})"}),
              StatusIs(Code::kDataLoss, HasSubstr("not one of Loki's API")));
  EXPECT_THAT(Fetch({.body = R"({"status":"success","data":{"resultType":"streams","result":[
                     {"stream":{},"values":[[1,"x"]]}]}})"}),
              StatusIs(Code::kDataLoss, HasSubstr("a line of the answer is invalid")));
  // Lines that were not asked for do not count.
  EXPECT_THAT(Fetch({.body = R"({"status":"success","data":{"resultType":"streams","result":[
                     {"stream":{"pod":"p"},"values":[["9000000000000000000","x"],["5","y"]]}]}})"}),
              StatusIs(Code::kNotFound, HasSubstr("no line")));
  EXPECT_THAT(Fetch(Hang(), {.time = absl::Milliseconds(200)}),
              StatusIs(Code::kDeadlineExceeded, HasSubstr("Loki http://127.0.0.1")));
}

TEST(LokiTest, TheKeyStandsInNoErrorAndACallCanBeTakenBack) {
  ScriptedEndpoint endpoint({Scripted{.code = 403, .body = "no access for Bearer topsecret"}});
  http::Credentials credentials;
  credentials.key = http::Secret("topsecret");
  const auto refused = To(endpoint, credentials)->Fetch(Hour(), {}, nullptr);
  EXPECT_THAT(refused.status(), StatusIs(Code::kPermissionDenied, HasSubstr("[key]")));
  EXPECT_THAT(std::string(refused.status().message()), Not(HasSubstr("topsecret")));
  ScriptedEndpoint hangs({Hang()});
  Cancellation cancellation;
  cancellation.Cancel();
  EXPECT_THAT(To(hangs)->Fetch(Hour(), {}, &cancellation).status(),
              StatusIs(Code::kCancelled, HasSubstr("stopped")));
}

TEST(LokiTest, ATimeThatIsOverKeepsWhatCame) {
  const std::vector<StoredLine> stored = Stored(6000);
  ScriptedEndpoint endpoint([&stored](const Recorded& request) {
    return request.number == 0 ? AnswerOfLoki(stored, request) : Hang();
  });
  const auto fetched = To(endpoint)->Fetch(Hour(), {.time = absl::Seconds(2)}, nullptr);
  ASSERT_THAT(fetched, IsOk());
  EXPECT_GT(LinesOf(fetched->logs[0]).size() + LinesOf(fetched->logs[1]).size(), 4990U);
  EXPECT_THAT(fetched->cuts, Contains(HasSubstr("more than 2s")));
}

}  // namespace loki_test
}  // namespace galen::log_sources
