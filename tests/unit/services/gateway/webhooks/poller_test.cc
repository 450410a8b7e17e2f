#include "services/gateway/webhooks/poller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/store/store.h"
#include "services/gateway/webhooks/payload_parser.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/gateway/webhooks/senders.h"

namespace galen::gateway::webhooks {
namespace poller_test {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class Inline final : public Executor {
 public:
  bool TrySchedule(absl::AnyInvocable<void() &&> task) override {
    std::move(task)();
    return true;
  }
};

std::string Issue(int id, const std::string& updated, const std::string& state = "open",
                  const std::string& label = "gpu-incident") {
  return absl::StrCat(R"({"id":)", id, R"(,"number":)", id, R"(,"title":"hangs","state":")", state,
                      R"(","updated_at":")", updated, R"(","labels":[{"name":")", label, R"("}]})");
}

class PollerTest : public ::testing::Test {
 protected:
  PollerTest() {
    endpoint_.poll = EndpointPoll{endpoint_.sender->poll->settings, "token", "", absl::Hours(1)};
    endpoint_.poll->settings["repository"] = "acme/llm";
    EXPECT_THAT(webhook_journal_.Open(), IsOk());
  }
  absl::StatusOr<int> Poll() {
    return PollOnce(
        endpoint_,
        [this](const std::string& url) -> absl::StatusOr<std::string> {
          urls_.push_back(url);
          if (pages_.empty()) return absl::UnavailableError("away");
          std::string page = pages_.front();
          pages_.erase(pages_.begin());
          return page;
        },
        webhook_journal_, clock_);
  }

  absl::StatusOr<std::unique_ptr<store::Store>> store_ = store::OpenStore(":memory:");
  // 2023-11-14T22:13:20Z
  testing::FakeClock clock_;
  Inline executor_;
  WebhookJournal webhook_journal_{(*store_)->journal(), clock_, executor_,
                                  WebhookJournal::Options()};
  Endpoint endpoint_ = EndpointOf("github");
  std::vector<std::string> pages_;
  std::vector<std::string> urls_;
};

TEST_F(PollerTest, TheFirstLookBeginsNow) {
  EXPECT_EQ(Poll().value(), 0);
  EXPECT_TRUE(urls_.empty());
  EXPECT_EQ(webhook_journal_.CursorOf("in"), "2023-11-14T22:13:20+00:00");
}

TEST_F(PollerTest, TakesWhatNeverCameAndGoesOnBehindIt) {
  ASSERT_THAT(Poll(), IsOk());
  clock_.Advance(absl::Hours(1));
  pages_ = {absl::StrCat("[", Issue(1, "2023-11-14T22:20:00Z"), ",",
                         Issue(2, "2023-11-14T22:30:00Z", "open", "question"), ",",
                         Issue(3, "2023-11-14T22:40:00Z", "closed"), "]")};
  EXPECT_EQ(Poll().value(), 3);
  EXPECT_THAT(urls_,
              ElementsAre("https://api.github.com/repos/acme/llm/issues?state=all&sort=updated&"
                          "direction=asc&since=2023-11-14T22%3A11%3A20Z&per_page=100&page=1"));
  ASSERT_THAT(webhook_journal_.Waiting(10), SizeIs(1));
  EXPECT_EQ(
      webhook_journal_.Waiting(10)[0].request.diagnosis().incident().environment().attributes().at(
          "ticket.id"),
      "1");
  EXPECT_EQ(webhook_journal_.CursorOf("in"), "2023-11-14T22:40:00+00:00");
  // The same once more, as the overlap brings it.
  pages_ = {absl::StrCat("[", Issue(1, "2023-11-14T22:20:00Z"), "]")};
  EXPECT_EQ(Poll().value(), 1);
  EXPECT_THAT(webhook_journal_.Waiting(10), SizeIs(1));
  EXPECT_THAT(urls_[1], HasSubstr("since=2023-11-14T22%3A38%3A00Z"));
}

TEST_F(PollerTest, AnIncidentThatWasDeliveredIsOneWithWhatALookFinds) {
  http::Request request =
      Post(absl::StrCat(R"({"action":"labeled","issue":)", Issue(1, "2023-11-14T22:19:00Z"), "}"));
  request.headers.Add("X-GitHub-Event", "issues");
  auto reading = ParseDelivery(endpoint_, request);
  ASSERT_THAT(reading, IsOk());
  webhook_journal_.Take("in", std::move(reading->events),
                        [](const absl::StatusOr<std::vector<Outcome>>&) {});
  ASSERT_THAT(Poll(), IsOk());
  pages_ = {absl::StrCat("[", Issue(1, "2023-11-14T22:20:00Z"), "]")};
  ASSERT_THAT(Poll(), IsOk());
  EXPECT_THAT(webhook_journal_.Waiting(10), SizeIs(1));
}

TEST_F(PollerTest, ReadsPageAfterPageAndKeepsWhatItHasWhenOneFails) {
  ASSERT_THAT(Poll(), IsOk());
  clock_.Advance(absl::Hours(1));
  std::string page;
  for (int i = 1; i <= 100; ++i) {
    absl::StrAppend(&page, page.empty() ? "[" : ",", Issue(i, "2023-11-14T22:20:00Z"));
  }
  pages_ = {page + "]"};
  EXPECT_THAT(Poll(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("away")));
  EXPECT_THAT(urls_, SizeIs(2));
  EXPECT_THAT(urls_[1], HasSubstr("page=2"));
  EXPECT_EQ(webhook_journal_.waiting(), 100U);
  EXPECT_EQ(webhook_journal_.CursorOf("in"), "2023-11-14T22:20:00+00:00");
}

TEST_F(PollerTest, WhatIsNoListOrLiesAheadMovesNothing) {
  ASSERT_THAT(Poll(), IsOk());
  pages_ = {"<html>"};
  EXPECT_THAT(Poll(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not JSON")));
  pages_ = {absl::StrCat("[7,null,", Issue(1, "2150-01-01T00:00:00Z"), "]")};
  EXPECT_EQ(Poll().value(), 3);
  EXPECT_EQ(webhook_journal_.CursorOf("in"), "2023-11-14T22:13:20+00:00");
}

TEST_F(PollerTest, LooksAtEveryEndpointByItself) {
  Site site;
  site.endpoints.emplace("in", endpoint_);
  WebhookCounters counters;
  Mutex mu;
  std::condition_variable changed;
  int made = 0;
  {
    const Poller poller(
        site,
        [&](const EndpointPoll& poll) -> Fetch {
          EXPECT_EQ(poll.token, "token");
          const MutexLock lock(mu);
          ++made;
          return [](const std::string&) { return std::string("[]"); };
        },
        webhook_journal_, clock_, counters, [](const std::string&) {});
    while (counters.polls()[{"in", "ok"}] == 0) std::this_thread::yield();
  }
  EXPECT_EQ(made, 1);
}

TEST(FillUrlTest, EncodesValuesAndLeavesSettings) {
  EXPECT_EQ(FillUrl("{base}/a?q={query}&s={since}", {{"base", "http://x"}, {"query", "a%3Db"}},
                    {{"since", "2026-11-18 00:00:00&x={base}"}}),
            "http://x/a?q=a%3Db&s=2026-11-18%2000%3A00%3A00%26x%3D%7Bbase%7D");
}

}  // namespace poller_test
}  // namespace galen::gateway::webhooks
