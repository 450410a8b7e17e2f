// Logs of pods, as an API server gives them.
#include "common/log_sources/pods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "fake_stores.h"
#include "tests/testing/kube/scripted_cluster.h"
#include "tests/testing/status_matchers.h"

namespace galen::log_sources {
namespace pods_test {

using galen::testing::IsOk;
using galen::testing::Replied;
using galen::testing::ScriptedCluster;
using galen::testing::StatusIs;
using kube::HttpReply;
using kube::HttpRequest;
using kube::Json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Code = absl::StatusCode;

Json ContainerStatus(const std::string& name, int restarts, const std::string& waits = "") {
  Json status = {{"name", name}, {"restartCount", restarts}};
  if (waits.empty()) {
    status["state"]["running"]["startedAt"] = "2023-11-14T22:13:20Z";
  } else {
    status["state"]["waiting"]["reason"] = waits;
  }
  return status;
}

Json Pod(const std::string& name, const std::string& node, std::vector<Json> statuses) {
  Json pod;
  pod["metadata"]["name"] = name;
  pod["spec"]["nodeName"] = node;
  pod["status"]["containerStatuses"] = statuses;
  return pod;
}

// Answers with these pods, and with the logs by what follows "pods/": "a/log?container=c".
ScriptedCluster::Script Cluster(std::vector<Json> pods, std::map<std::string, std::string> logs) {
  return [pods = std::move(pods), logs = std::move(logs)](const HttpRequest& request,
                                                          int) -> absl::StatusOr<HttpReply> {
    if (!absl::StrContains(request.target, "/log?")) {
      return Replied({{"items", pods}, {"metadata", {{"resourceVersion", "1"}}}});
    }
    for (auto log = logs.rbegin(); log != logs.rend(); ++log) {  // the longest one first
      const auto& [begin, text] = *log;
      if (!absl::StrContains(request.target, absl::StrCat("/pods/", begin, "&"))) continue;
      // In pieces that end amid a line.
      for (std::size_t at = 0; at < text.size(); at += 7) {
        if (const absl::Status status = request.on_bytes(text.substr(at, 7)); !status.ok()) {
          return status;
        }
      }
      return HttpReply{200, "", {}};
    }
    return Replied({{"kind", "Status"}, {"message", "container is waiting to start"}}, 400);
  };
}

std::string Line(int second, const std::string& text) {
  return absl::StrCat(absl::FormatTime("%Y-%m-%dT%H:%M:%S", absl::FromUnixSeconds(kStart + second),
                                       absl::UTCTimeZone()),
                      ".123456789Z ", text, "\n");
}

TEST(PodsTest, ReadEachContainerInTheWindowWithoutTheirTimes) {
  ScriptedCluster cluster(Cluster(
      {Pod("train-0", "gpu-1", {ContainerStatus("main", 0)}),
       Pod("train-1", "gpu-2", {ContainerStatus("main", 1), ContainerStatus("side", 0)})},
      {{"train-0/log?container=main", Line(-1, "early") + Line(1, "step 1") + Line(2, "")},
       {"train-1/log?container=main&previous=true", Line(3, "Traceback")},
       {"train-1/log?container=main", Line(5, "again") + Line(4000, "late") + Line(4001, "x")},
       {"train-1/log?container=side", Line(9, "side")}}));
  Pods pods(cluster.Connect(), "ml", "", "job-name=train");
  const auto fetched = pods.Fetch(Hour(), {}, nullptr);
  ASSERT_THAT(fetched, IsOk());
  EXPECT_THAT(fetched->cuts, IsEmpty());
  ASSERT_THAT(fetched->logs, SizeIs(4));
  EXPECT_EQ(fetched->logs[0].name, "train-0.log");
  EXPECT_EQ(fetched->logs[0].node, "gpu-1");
  EXPECT_EQ(fetched->logs[0].text, "step 1\n\n");
  EXPECT_EQ(fetched->logs[1].name, "train-1.main.previous.log");
  EXPECT_EQ(fetched->logs[1].text, "Traceback\n");
  EXPECT_EQ(fetched->logs[2].name, "train-1.main.log");
  EXPECT_EQ(fetched->logs[2].text, "again\n");
  EXPECT_EQ(fetched->logs[3].text, "side\n");
  EXPECT_THAT(cluster.lines()[0], AllOf(HasSubstr("GET /api/v1/namespaces/ml/pods?"),
                                        HasSubstr("labelSelector=job-name%3Dtrain")));
  EXPECT_EQ(cluster.lines()[1],
            "GET /api/v1/namespaces/ml/pods/train-0/log?container=main&sinceTime="
            "2023-11-14T22:13:20Z&timestamps=true");
}

TEST(PodsTest, WhatNeverRanOrCannotBeReadIsSaid) {
  ScriptedCluster cluster(Cluster({Pod("a", "gpu-1", {ContainerStatus("c", 0)}),
                                   Pod("b", "", {ContainerStatus("c", 0, "ImagePullBackOff")}),
                                   Pod("d", "gpu-3", {ContainerStatus("c", 0)})},
                                  {{"a/log?container=c", Line(1, "x")}}));
  Pods pods(cluster.Connect(), "ml", "", "");
  const auto fetched = pods.Fetch(Hour(), {}, nullptr);
  ASSERT_THAT(fetched, IsOk());
  ASSERT_THAT(fetched->logs, SizeIs(1));
  EXPECT_THAT(fetched->cuts,
              ElementsAre(HasSubstr("container c of pod b never ran: ImagePullBackOff"),
                          AllOf(HasSubstr("container c of pod d on gpu-3"),
                                HasSubstr("waiting to start"))));
}

TEST(PodsTest, ALimitKeepsTheNewestLines) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += Line(i, absl::StrCat("line ", i));
  ScriptedCluster cluster(
      Cluster({Pod("a", "n", {ContainerStatus("c", 0)})}, {{"a/log?container=c", text}}));
  Pods pods(cluster.Connect(), "ml", "", "");
  const auto fetched = pods.Fetch(Hour(), {.lines = 3}, nullptr);
  ASSERT_THAT(fetched, IsOk());
  EXPECT_EQ(fetched->logs[0].text, "line 997\nline 998\nline 999\n");
  EXPECT_THAT(fetched->cuts, Contains(HasSubstr("only its newest 3 lines")));
}

TEST(PodsTest, AccessThatIsMissingIsAnError) {
  ScriptedCluster cluster([](const HttpRequest& request, int) -> absl::StatusOr<HttpReply> {
    if (absl::StrContains(request.target, "/log?")) {
      return Replied({{"kind", "Status"}, {"message", "pods/log is forbidden"}}, 403);
    }
    return Replied(Pod("a", "n", {ContainerStatus("c", 0)}));
  });
  Pods pods(cluster.Connect(), "ml", "a", "");
  EXPECT_THAT(pods.Fetch(Hour(), {}, nullptr).status(),
              StatusIs(Code::kPermissionDenied, HasSubstr("pods/log is forbidden")));
  EXPECT_EQ(cluster.lines()[0], "GET /api/v1/namespaces/ml/pods/a");
  ScriptedCluster empty(Cluster({}, {}));
  Pods nobody(empty.Connect(), "ml", "", "a=b");
  EXPECT_THAT(nobody.Fetch(Hour(), {}, nullptr).status(),
              StatusIs(Code::kNotFound, HasSubstr("no pod is selected")));
}

}  // namespace pods_test
}  // namespace galen::log_sources
