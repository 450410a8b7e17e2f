// An Elasticsearch or OpenSearch, as its API says it answers.
#include "common/log_sources/elasticsearch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "fake_stores.h"
#include "tests/testing/status_matchers.h"

namespace galen::log_sources {
namespace elasticsearch_test {

using galen::testing::IsOk;
using galen::testing::Recorded;
using galen::testing::Scripted;
using galen::testing::ScriptedEndpoint;
using galen::testing::StatusIs;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Code = absl::StatusCode;

std::unique_ptr<Elasticsearch> To(const ScriptedEndpoint& endpoint,
                                  const std::string& query = "kubernetes.labels.job:train") {
  auto server = JsonServer::Make({.what = "Elasticsearch",
                                  .url = absl::StrCat("http://127.0.0.1:", endpoint.port(), "/es"),
                                  .ca_file = "",
                                  .credentials = {}});
  EXPECT_THAT(server.status(), IsOk());
  return std::make_unique<Elasticsearch>(*std::move(server), "logs-*", query, Names());
}

absl::StatusOr<Fetched> Fetch(const Scripted& reply) {
  ScriptedEndpoint endpoint({reply});
  return To(endpoint)->Fetch(Hour(), {}, nullptr);
}

std::vector<std::string> LinesOf(const FetchedLog& log) {
  std::vector<std::string> lines = absl::StrSplit(log.text, '\n');
  lines.pop_back();
  return lines;
}

// `together` lines in each millisecond.
std::vector<StoredLine> Stored(int count, int together) {
  std::vector<StoredLine> stored;
  for (int i = 0; i < count; ++i) {
    stored.push_back({{{"kubernetes.pod.name", "train-0"},
                       {"kubernetes.container.name", "worker"},
                       {"kubernetes.node.name", "gpu-7"}},
                      (kStart + 10) * kSecond + i / together * 1'000'000 + i % together,
                      absl::StrCat("line ", i)});
  }
  return stored;
}

TEST(ElasticsearchTest, ReadsPageByPageAndLosesNothing) {
  for (const bool nanoseconds : {false, true}) {
    const std::vector<StoredLine> stored = Stored(5003, 7);
    ScriptedEndpoint endpoint([&](const Recorded& request) {
      return AnswerOfElasticsearch(stored, request, nanoseconds);
    });
    const auto fetched = To(endpoint)->Fetch(Hour(), {}, nullptr);
    ASSERT_THAT(fetched, IsOk());
    EXPECT_THAT(fetched->cuts, IsEmpty());
    ASSERT_THAT(fetched->logs, SizeIs(1));
    EXPECT_EQ(fetched->logs[0].name, "train-0.worker.log");
    EXPECT_EQ(fetched->logs[0].node, "gpu-7");
    const std::vector<std::string> lines = LinesOf(fetched->logs[0]);
    EXPECT_EQ(lines.size(), 5003U);
    EXPECT_EQ(std::set<std::string>(lines.begin(), lines.end()).size(), 5003U);
    EXPECT_EQ(lines.front(), "line 0");
    EXPECT_EQ(lines.back(), "line 5002");
    const auto seen = endpoint.requests();
    EXPECT_EQ(seen[0].method, "POST");
    EXPECT_EQ(seen[0].target, "/es/logs-*/_search?ignore_unavailable=true");
    EXPECT_EQ(seen[0].headers.at("content-type"), "application/json");
    const nlohmann::json body = ParseJson(seen[0].body);
    EXPECT_EQ(body["query"]["bool"]["filter"][0]["query_string"]["query"],
              "kubernetes.labels.job:train");
    EXPECT_EQ(body["sort"][0]["@timestamp"]["order"], "desc");
    EXPECT_EQ(body["query"]["bool"]["filter"][1]["range"]["@timestamp"]["format"], "epoch_millis");
    EXPECT_THAT(body["_source"].dump(), HasSubstr("kubernetes.pod_name"));
  }
}

TEST(ElasticsearchTest, MoreLinesOfAMillisecondThanAPageAreRead) {
  std::vector<StoredLine> stored = Stored(9000, 9000);
  stored.push_back({{{"kubernetes.pod.name", "train-0"}}, (kStart + 1) * kSecond, "before"});
  ScriptedEndpoint endpoint(
      [&stored](const Recorded& request) { return AnswerOfElasticsearch(stored, request); });
  const auto fetched = To(endpoint)->Fetch(Hour(), {}, nullptr);
  ASSERT_THAT(fetched, IsOk());
  EXPECT_THAT(fetched->cuts, IsEmpty());
  std::size_t lines = 0;
  for (const FetchedLog& log : fetched->logs) lines += LinesOf(log).size();
  EXPECT_EQ(lines, 9001U);
}

TEST(ElasticsearchTest, MoreThanAnIndexGivesAtOnceIsSaid) {
  std::vector<StoredLine> stored = Stored(12'000, 12'000);
  stored.push_back({{{"kubernetes.pod.name", "train-0"}}, (kStart + 1) * kSecond, "before"});
  ScriptedEndpoint endpoint(
      [&stored](const Recorded& request) { return AnswerOfElasticsearch(stored, request); });
  const auto fetched = To(endpoint)->Fetch(Hour(), {}, nullptr);
  ASSERT_THAT(fetched, IsOk());
  EXPECT_THAT(fetched->cuts, Contains(HasSubstr("more than 10000 have this time")));
  std::size_t lines = 0;
  for (const FetchedLog& log : fetched->logs) lines += LinesOf(log).size();
  EXPECT_EQ(lines, 10'001U);
}

TEST(ElasticsearchTest, FieldsMayBeLevelsOrNamesWithDots) {
  const auto fetched = Fetch({.body = R"({"timed_out":false,"_shards":{"failed":1},"hits":{"hits":[
    {"_index":"a","_id":"1","_source":{"kubernetes":{"pod_name":"p","host":"n1"},"log":"x\n"},
     "sort":[1700000010000,null]},
    {"_index":"a","_id":"2","_source":{"host.name":"n2","log.file.path":"/var/log/train.log",
     "message":["y"]},"sort":[1700000009000,null]},
    {"_index":"a","_id":"3","_source":{"level":"info"},"sort":[1700000008000,null]}]}})"});
  ASSERT_THAT(fetched, IsOk());
  ASSERT_THAT(fetched->logs, SizeIs(2));
  EXPECT_EQ(fetched->logs[0].name, "p.log");
  EXPECT_EQ(fetched->logs[0].node, "n1");
  EXPECT_EQ(fetched->logs[0].text, "x\n");
  EXPECT_EQ(fetched->logs[1].name, "train.log");
  EXPECT_EQ(fetched->logs[1].node, "n2");
  EXPECT_THAT(fetched->cuts, Contains(HasSubstr("1 of its shards did not answer")));
  EXPECT_THAT(fetched->cuts, Contains(HasSubstr("1 documents have no message")));
}

TEST(ElasticsearchTest, ErrorsSayWhatToDo) {
  EXPECT_THAT(
      Fetch({.code = 404, .body = R"({"error":{"root_cause":[{"type":"index_not_found_exception",
    "reason":"no such index [logs]"}],"reason":"no such index [logs]"},"status":404})"}),
      StatusIs(Code::kNotFound, HasSubstr("no such index [logs]")));
  EXPECT_THAT(Fetch({.code = 401, .body = R"({"error":{"reason":"missing credentials"}})"}),
              StatusIs(Code::kPermissionDenied, HasSubstr("look at the key")));
  EXPECT_THAT(Fetch({.code = 400, .body = R"({"error":{"root_cause":[{"reason":
    "Failed to parse query [a:(]"}]}})"}),
              StatusIs(Code::kInvalidArgument, HasSubstr("Failed to parse query")));
  EXPECT_THAT(Fetch({.body = R"({"hits":{"hits":[{"_id":"1","_source":{}}]}})"}),
              StatusIs(Code::kDataLoss, HasSubstr("has no time")));
  EXPECT_THAT(Fetch({.body = R"({"hits":{"hits":[]}})"}),
              StatusIs(Code::kNotFound, HasSubstr("no line")));
}

TEST(ElasticsearchTest, AnIndexIsNoOtherPartOfTheApi) {
  for (const char* const index : {"logs", "logs-*", "a,b", ".ds-logs-1", "eu:logs-*"}) {
    EXPECT_TRUE(Elasticsearch::IsIndex(index)) << index;
  }
  for (const char* const index : {"", "_all", "_cluster", "../x", "a b", "a/b", "a?b", "-a"}) {
    EXPECT_FALSE(Elasticsearch::IsIndex(index)) << index;
  }
}

}  // namespace elasticsearch_test
}  // namespace galen::log_sources
