// Requests as an API server may answer them: refused, throttled, cut off, in pages that are gone.
#include "common/kube/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/testing/kube/scripted_cluster.h"
#include "tests/testing/status_matchers.h"

namespace galen::kube {
namespace {

using galen::testing::IsOk;
using galen::testing::Refused;
using galen::testing::Replied;
using galen::testing::ScriptedCluster;
using galen::testing::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Code = absl::StatusCode;
using Reply = absl::StatusOr<HttpReply>;

const Resource kNodes{"", "v1", "nodes"};
const Resource kEvents{"", "v1", "events"};

// Answers in their order, the last one again and again.
ScriptedCluster::Script InOrder(std::vector<Reply> replies) {
  return [replies](const HttpRequest&, int number) {
    return replies[std::min<std::size_t>(static_cast<std::size_t>(number), replies.size() - 1)];
  };
}

Json Node(const std::string& name) {
  return {{"metadata", {{"name", name}, {"resourceVersion", "1"}, {"uid", name}}}};
}

Json Page(const std::vector<std::string>& names, const std::string& version,
          const std::string& next = "") {
  Json items = Json::array();
  for (const std::string& name : names) items.push_back(Node(name));
  return {{"metadata", {{"resourceVersion", version}, {"continue", next}}}, {"items", items}};
}

std::vector<std::string> NamesOf(const Listing& listing) {
  std::vector<std::string> names;
  for (const Json& item : listing.items) names.push_back(TextAt(item, {"metadata", "name"}));
  return names;
}

TEST(ClientTest, GetsAnObject) {
  ScriptedCluster cluster(InOrder({Replied(Node("a"))}));
  const auto client = cluster.Connect();
  const auto node = client->Get(kNodes, {"", "a"}, {});
  ASSERT_THAT(node, IsOk());
  EXPECT_EQ(TextAt(*node, {"metadata", "name"}), "a");
  EXPECT_THAT(cluster.lines(), ElementsAre("GET /api/v1/nodes/a"));
  EXPECT_THAT(client->Get(kNodes, {}, {}), StatusIs(Code::kInvalidArgument, HasSubstr("no name")));
  EXPECT_THAT(client->Get(kNodes, {"", "../secrets"}, {}), StatusIs(Code::kInvalidArgument, _));
  EXPECT_THAT(cluster.seen(), SizeIs(1));
}

TEST(ClientTest, TriesAgainWhatWillPassAndNothingElse) {
  struct Case {
    Reply first;
    bool get_again;
    bool create_again;
  };
  HttpReply throttled = Refused(429, "TooManyRequests");
  throttled.retry_after = absl::Seconds(3);
  HttpReply draining = Refused(503, "ServiceUnavailable");
  draining.retry_after = absl::Seconds(3);
  for (const Case& one : std::vector<Case>{{throttled, true, true},
                                           {Refused(429, "TooManyRequests"), true, true},
                                           {draining, true, true},
                                           {Refused(500, "InternalError"), true, false},
                                           {HttpReply{502, "<html>", {}}, true, false},
                                           {absl::UnavailableError("cut off"), true, false},
                                           {absl::DataLossError("too large"), false, false},
                                           {absl::PermissionDeniedError("no trust"), false, false},
                                           {absl::DeadlineExceededError("late"), false, false},
                                           {Refused(409, "Conflict"), false, false},
                                           {Refused(403, "Forbidden"), false, false},
                                           {Refused(404, "NotFound"), false, false},
                                           {Refused(422, "Invalid"), false, false}}) {
    const std::string what =
        one.first.ok() ? absl::StrCat(one.first->code) : one.first.status().ToString();
    ScriptedCluster gets(InOrder({one.first, Replied(Node("a"))}));
    EXPECT_EQ(gets.Connect()->Get(kNodes, {"", "a"}, {}).ok(), one.get_again) << what;
    EXPECT_THAT(gets.seen(), SizeIs(one.get_again ? 2 : 1)) << what;
    ScriptedCluster creates(InOrder({one.first, Replied(Node("a"))}));
    EXPECT_EQ(creates.Connect()->Create(kEvents, "default", Node("a"), {}).ok(), one.create_again)
        << what;
    EXPECT_THAT(creates.seen(), SizeIs(one.create_again ? 2 : 1)) << what;
  }
}

TEST(ClientTest, WaitsAtLeastAsLongAsTheServerAsksAndLongerEachTime) {
  HttpReply throttled = Refused(429, "TooManyRequests");
  throttled.retry_after = absl::Seconds(7);
  ScriptedCluster cluster(
      InOrder({throttled, Refused(503, ""), Refused(503, ""), Replied(Node("a"))}));
  EXPECT_THAT(cluster.Connect()->Get(kNodes, {"", "a"}, {}), IsOk());
  // Half of 1 s, 2 s and 4 s by chance.
  EXPECT_THAT(cluster.slept(), ElementsAre(absl::Seconds(7.5), absl::Seconds(1), absl::Seconds(2)));
}

TEST(ClientTest, GivesTheServersAnswerRatherThanADeadline) {
  HttpReply throttled = Refused(429, "TooManyRequests", "too many");
  throttled.retry_after = absl::Minutes(5);
  ScriptedCluster cluster(InOrder({throttled}));
  EXPECT_THAT(cluster.Connect()->Get(kNodes, {"", "a"}, {}),
              StatusIs(Code::kResourceExhausted, HasSubstr("too many")));
  EXPECT_THAT(cluster.seen(), SizeIs(1));
  ScriptedCluster failing(InOrder({Refused(503, "")}));
  EXPECT_THAT(failing.Connect()->Get(kNodes, {"", "a"}, {}), StatusIs(Code::kUnavailable, _));
  EXPECT_THAT(failing.seen(), SizeIs(4));
}

TEST(ClientTest, SendsNoMoreASecondThanItMay) {
  ScriptedCluster cluster(InOrder({Replied(Node("a"))}));
  const auto client = cluster.Connect([](Options& options) {
    options.requests_per_second = 2;
    options.burst = 3;
  });
  for (int i = 0; i < 5; ++i) ASSERT_THAT(client->Get(kNodes, {"", "a"}, {}), IsOk());
  EXPECT_THAT(cluster.slept(), ElementsAre(absl::Milliseconds(500), absl::Milliseconds(500)));
  // A call that would wait beyond its deadline is not sent at all.
  const Call hurried{.timeout = absl::Milliseconds(100)};
  EXPECT_THAT(client->Get(kNodes, {"", "a"}, hurried),
              StatusIs(Code::kResourceExhausted, HasSubstr("2 a second")));
  EXPECT_THAT(cluster.seen(), SizeIs(5));
}

TEST(ClientTest, EndsWithItsCallerInEveryPause) {
  Cancellation cancelled;
  ScriptedCluster cluster([&](const HttpRequest&, int) -> Reply {
    cancelled.Cancel();
    return Refused(503, "");
  });
  const auto client = cluster.Connect();
  EXPECT_THAT(client->Get(kNodes, {"", "a"}, {.cancellation = &cancelled}),
              StatusIs(Code::kCancelled, _));
  EXPECT_THAT(cluster.seen(), SizeIs(1));
}

class WithToken : public ::testing::Test {
 protected:
  WithToken() {
    std::string pattern = ::testing::TempDir() + "galen-client-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    Exchange("first");
  }
  ~WithToken() override { std::filesystem::remove_all(folder_); }
  void Exchange(const std::string& token) const {
    std::ofstream(folder_ + "/new") << token;
    std::filesystem::rename(folder_ + "/new", folder_ + "/token");
  }
  std::unique_ptr<Client> Connect(ScriptedCluster& cluster) const {
    return cluster.Connect([this](Options& options) { options.token_file = folder_ + "/token"; });
  }
  static std::vector<std::string> TokensOf(const ScriptedCluster& cluster) {
    std::vector<std::string> tokens;
    for (const auto& one : cluster.seen()) tokens.push_back(one.token);
    return tokens;
  }
  std::string folder_;
};

TEST_F(WithToken, SendsTheTokenThatTheFileHasNow) {
  ScriptedCluster cluster(InOrder({Replied(Node("a"))}));
  const auto client = Connect(cluster);
  ASSERT_THAT(client->Get(kNodes, {"", "a"}, {}), IsOk());
  Exchange("second");
  ASSERT_THAT(client->Get(kNodes, {"", "a"}, {}), IsOk());
  EXPECT_THAT(TokensOf(cluster), ElementsAre("first", "second"));
}

TEST_F(WithToken, AsksOnceMoreWhenTheTokenWasExchangedWhileItAsked) {
  ScriptedCluster cluster([this](const HttpRequest&, int number) -> Reply {
    if (number > 0) return Replied(Node("a"));
    Exchange("second");
    return Refused(401, "Unauthorized");
  });
  EXPECT_THAT(Connect(cluster)->Get(kNodes, {"", "a"}, {}), IsOk());
  EXPECT_THAT(TokensOf(cluster), ElementsAre("first", "second"));
}

TEST_F(WithToken, DoesNotInsistOnATokenThatIsRefused) {
  ScriptedCluster cluster(InOrder({Refused(401, "Unauthorized")}));
  EXPECT_THAT(Connect(cluster)->Get(kNodes, {"", "a"}, {}),
              StatusIs(Code::kUnauthenticated, HasSubstr("its token")));
  EXPECT_THAT(cluster.seen(), SizeIs(1));
}

TEST_F(WithToken, SaysThatThereIsNoToken) {
  std::filesystem::remove(folder_ + "/token");
  ScriptedCluster cluster(InOrder({Replied(Node("a"))}));
  EXPECT_THAT(Connect(cluster)->Get(kNodes, {"", "a"}, {}),
              StatusIs(Code::kFailedPrecondition, HasSubstr("/token")));
  EXPECT_THAT(cluster.seen(), IsEmpty());
}

TEST(ClientListTest, GoesThroughAllPages) {
  ScriptedCluster cluster(
      InOrder({Replied(Page({"a", "b"}, "7", "next/1")), Replied(Page({"c"}, "7"))}));
  const auto listing = cluster.Connect()->List({kNodes, "", "gpu=true", "x=y"}, {}, 2);
  ASSERT_THAT(listing, IsOk());
  EXPECT_THAT(NamesOf(*listing), ElementsAre("a", "b", "c"));
  EXPECT_EQ(listing->resource_version, "7");
  EXPECT_THAT(cluster.lines(),
              ElementsAre("GET /api/v1/nodes?limit=2&labelSelector=gpu%3Dtrue&fieldSelector=x%3Dy",
                          "GET /api/v1/nodes?limit=2&labelSelector=gpu%3Dtrue&fieldSelector=x%3Dy&"
                          "continue=next%2F1"));
}

TEST(ClientListTest, BeginsAgainWhenAPageIsGoneAndMixesNothing) {
  ScriptedCluster cluster(
      InOrder({Replied(Page({"a", "b"}, "7", "next")), Refused(410, "Expired"),
               Replied(Page({"b", "c"}, "9", "next")), Replied(Page({"d"}, "9"))}));
  const auto listing = cluster.Connect()->List({kNodes, "", "", ""}, {});
  ASSERT_THAT(listing, IsOk());
  EXPECT_THAT(NamesOf(*listing), ElementsAre("b", "c", "d"));
  EXPECT_EQ(listing->resource_version, "9");
  // Not for ever.
  ScriptedCluster hopeless([](const HttpRequest&, int number) -> Reply {
    if (number % 2 == 0) return Replied(Page({"a"}, "7", "next"));
    return Refused(410, "Expired");
  });
  EXPECT_THAT(hopeless.Connect()->List({kNodes, "", "", ""}, {}), StatusIs(Code::kOutOfRange, _));
  EXPECT_THAT(hopeless.seen(), SizeIs(6));
}

TEST(ClientListTest, RefusesWhatIsNoListOrMoreThanItHolds) {
  const auto list = [](const Json& body) {
    ScriptedCluster cluster(InOrder({Replied(body)}));
    return cluster
        .Connect([](Options& options) {
          options.most_items = 3;
          options.most_list_bytes = 1000;
        })
        ->List({kNodes, "", "", ""}, {});
  };
  const auto none = list(Json::parse(R"({"metadata": {"resourceVersion": "1"}, "items": null})"));
  ASSERT_THAT(none, IsOk());
  EXPECT_THAT(none->items, IsEmpty());
  EXPECT_THAT(list({{"kind", "Node"}}), StatusIs(Code::kDataLoss, HasSubstr("is not a list")));
  EXPECT_THAT(list({{"items", 3}}), StatusIs(Code::kDataLoss, HasSubstr("is not a list")));
  EXPECT_THAT(list({{"items", {1, 2}}}),
              StatusIs(Code::kDataLoss, HasSubstr("is not a JSON object")));
  EXPECT_THAT(list(Page({"a", "b", "c", "d"}, "1")),
              StatusIs(Code::kResourceExhausted, HasSubstr("more than 3 objects")));
  EXPECT_THAT(list(Page({std::string(1100, 'a')}, "1")),
              StatusIs(Code::kResourceExhausted, HasSubstr("1000 bytes")));
}

TEST(ClientListTest, EndsWhenTheServerNeverRunsOutOfPages) {
  ScriptedCluster cluster(InOrder({Replied(Page({}, "1", "next"))}));
  EXPECT_THAT(cluster.Connect()->List({kNodes, "", "", ""}, {.timeout = absl::Hours(10)}),
              StatusIs(Code::kResourceExhausted, HasSubstr("pages")));
}

TEST(ClientWriteTest, PatchesInTheWayThatIsAskedFor) {
  ScriptedCluster cluster(InOrder({Replied(Node("a"))}));
  const auto client = cluster.Connect();
  const Json content = {{"status", {{"state", "x\xff"}}}};  // invalid UTF-8 is sent cleaned
  ASSERT_THAT(client->Apply(kNodes, {"", "a"}, {Patch::Kind::kMerge, content, "status"}, {}),
              IsOk());
  ASSERT_THAT(client->Apply(kNodes, {"", "a"}, {Patch::Kind::kStrategic, content}, {}), IsOk());
  ASSERT_THAT(client->Apply(kNodes, {"", "a"},
                            {Patch::Kind::kApply, content, "status", "me", /*force=*/true}, {}),
              IsOk());
  const auto seen = cluster.seen();
  ASSERT_THAT(seen, SizeIs(3));
  EXPECT_EQ(seen[0].line(), "PATCH /api/v1/nodes/a/status?fieldManager=galen");
  EXPECT_EQ(seen[0].content_type, "application/merge-patch+json");
  EXPECT_EQ(seen[0].body, "{\"status\":{\"state\":\"x\xef\xbf\xbd\"}}");
  EXPECT_EQ(seen[1].line(), "PATCH /api/v1/nodes/a?fieldManager=galen");
  EXPECT_EQ(seen[1].content_type, "application/strategic-merge-patch+json");
  EXPECT_EQ(seen[2].line(), "PATCH /api/v1/nodes/a/status?fieldManager=me&force=true");
  EXPECT_EQ(seen[2].content_type, "application/apply-patch+yaml");
}

TEST(ClientWriteTest, CreatesInANamespace) {
  ScriptedCluster cluster(InOrder({Replied(Node("a"), 201)}));
  ASSERT_THAT(cluster.Connect()->Create(kEvents, "default", Node("a"), {}), IsOk());
  EXPECT_THAT(cluster.lines(), ElementsAre("POST /api/v1/namespaces/default/events"));
  EXPECT_EQ(cluster.seen()[0].content_type, "application/json");
}

TEST(ClientWatchTest, AsksForBookmarksFromAVersionOnAndForAnEnd) {
  ScriptedCluster cluster([](const HttpRequest& request, int) -> Reply {
    EXPECT_THAT(request.on_bytes("one\ntwo"), IsOk());
    return HttpReply{200, "", {}};
  });
  std::string heard;
  EXPECT_THAT(cluster.Connect()->WatchOnce({kNodes, "", "a=b", ""}, "42",
                                           [&](absl::string_view bytes) {
                                             heard.append(bytes.data(), bytes.size());
                                             return absl::OkStatus();
                                           },
                                           {.timeout = absl::Minutes(5)}),
              IsOk());
  EXPECT_EQ(heard, "one\ntwo");
  EXPECT_THAT(cluster.lines(),
              ElementsAre("GET /api/v1/nodes?watch=true&allowWatchBookmarks=true&"
                          "resourceVersion=42&timeoutSeconds=300&labelSelector=a%3Db"));
}

TEST(ClientWatchTest, TellsWhyItWasRefusedAndTriesNothingByItself) {
  for (const auto& [code, want] : std::vector<std::pair<int, Code>>{
           {410, Code::kOutOfRange}, {429, Code::kResourceExhausted}, {503, Code::kUnavailable}}) {
    ScriptedCluster cluster(InOrder({Refused(code, "Reason")}));
    EXPECT_THAT(
        cluster.Connect()->WatchOnce({kNodes, "", "", ""}, "1",
                                     [](absl::string_view) { return absl::OkStatus(); }, {}),
        StatusIs(want, AllOf(HasSubstr("watch /api/v1/nodes"), HasSubstr("Reason"))));
    EXPECT_THAT(cluster.seen(), SizeIs(1));
  }
}

TEST(ClientTest, IsNotMadeForAnAddressThatIsNone) {
  Options options;
  options.server = "http://api.example.com";
  EXPECT_THAT(Client::Make(options), StatusIs(Code::kInvalidArgument, HasSubstr("unencrypted")));
}

}  // namespace
}  // namespace galen::kube
