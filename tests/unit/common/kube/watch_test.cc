// A watch through all failures of its connections.
#include "common/kube/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/kube/scripted_cluster.h"
#include "tests/testing/status_matchers.h"

namespace galen::kube {
namespace {

using galen::testing::Refused;
using galen::testing::Replied;
using galen::testing::ScriptedCluster;
using galen::testing::StatusIs;
using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using Code = absl::StatusCode;
using Reply = absl::StatusOr<HttpReply>;

Json Node(const std::string& name, int version) {
  return {
      {"metadata", {{"name", name}, {"uid", name}, {"resourceVersion", absl::StrCat(version)}}}};
}

std::string Line(const std::string& type, const Json& object) {
  return Json{{"type", type}, {"object", object}}.dump() + "\n";
}

Json ListOf(const std::vector<Json>& items, int version) {
  return {{"metadata", {{"resourceVersion", absl::StrCat(version)}}}, {"items", items}};
}

const char kGone[] =
    R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"old"}})";

// Steps of a server, one a request; after the last one the watch is cancelled.
struct Play {
  struct Step {
    bool list = false;
    Reply reply = HttpReply{200, "", {}};
    std::string bytes;      // of a watch
    absl::Status end = {};  // the end of its connection
  };
  explicit Play(std::vector<Step> all)
      : steps(std::move(all)),
        cluster([this](const HttpRequest& request, int number) { return Do(request, number); }) {}

  Reply Do(const HttpRequest& request, int number) {
    if (number >= static_cast<int>(steps.size())) {
      cancellation.Cancel();
      return absl::CancelledError("the end");
    }
    const Step& step = steps[static_cast<std::size_t>(number)];
    EXPECT_EQ(step.list, !request.on_bytes) << number << " " << request.target;
    if (request.on_bytes && !step.bytes.empty()) {
      if (absl::Status status = request.on_bytes(step.bytes); !status.ok()) return status;
    }
    if (!step.end.ok()) return step.end;
    return step.reply;
  }

  void Run(const std::function<void(Options&)>& change = {}) {
    const auto client = cluster.Connect(change);
    RunWatch(
        *client, {{"", "v1", "nodes"}, "", "", ""},
        {[this](const Change& now) {
           const std::string name = TextAt(now.object, {"metadata", "name"});
           const char* const sign = now.kind == Change::Kind::kAdded     ? "+"
                                    : now.kind == Change::Kind::kChanged ? "~"
                                                                         : "-";
           told.push_back(sign + name);
         },
         [this] { ++synced; }, [this](const absl::Status& status) { troubles.push_back(status); }},
        cancellation);
  }

  std::vector<Step> steps;
  Cancellation cancellation;
  ScriptedCluster cluster;
  std::vector<std::string> told;
  std::vector<absl::Status> troubles;
  int synced = 0;
};

Play::Step List(const std::vector<Json>& items, int version) {
  return {.list = true, .reply = Replied(ListOf(items, version))};
}
Play::Step Watched(const std::string& bytes, absl::Status end = absl::OkStatus()) {
  return {.bytes = bytes, .end = std::move(end)};
}

TEST(WatchTest, ResumesFromTheLastVersionWhenAConnectionEnds) {
  Play play(
      {List({Node("a", 1)}, 10),
       Watched(Line("ADDED", Node("b", 11)) +
               R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"40"}}})" + "\n"),
       Watched(Line("DELETED", Node("a", 41)) + "{\"type\":\"ADD",  // cut in a line
               absl::UnavailableError("reset")),
       Watched(Line("ADDED", Node("c", 42)))});
  play.Run();
  EXPECT_THAT(play.told, ElementsAre("+a", "+b", "-a", "+c"));
  EXPECT_EQ(play.synced, 1);
  const auto lines = play.cluster.lines();
  ASSERT_THAT(lines, SizeIs(5));
  EXPECT_THAT(lines[1], HasSubstr("resourceVersion=10&"));
  EXPECT_THAT(lines[2], HasSubstr("resourceVersion=40&"));
  EXPECT_THAT(lines[3], HasSubstr("resourceVersion=41&"));
  EXPECT_THAT(lines[4], HasSubstr("resourceVersion=42&"));
}

TEST(WatchTest, ListsAnewAndTellsTheDifferenceWhenItsVersionIsGone) {
  for (const bool in_the_stream : {true, false}) {
    Play play({List({Node("a", 1), Node("b", 2)}, 10),
               in_the_stream ? Watched(std::string(kGone) + "\n")
                             : Play::Step{.reply = Refused(410, "Expired")},
               List({Node("a", 1), Node("b", 30), Node("c", 31)}, 50), Watched("")});
    play.Run();
    EXPECT_THAT(play.told, ElementsAre("+a", "+b", "~b", "+c"));
    EXPECT_EQ(play.synced, 2);
    EXPECT_THAT(play.troubles, Contains(StatusIs(Code::kOutOfRange, _)));
    EXPECT_THAT(play.cluster.lines()[3], HasSubstr("resourceVersion=50&"));
  }
}

TEST(WatchTest, WaitsAsLongAsTheServerAsks) {
  HttpReply throttled = Refused(429, "TooManyRequests");
  throttled.retry_after = absl::Seconds(20);
  Play play({List({}, 10), {.reply = throttled}, Watched(Line("ADDED", Node("a", 11)))});
  play.Run();
  EXPECT_THAT(play.told, ElementsAre("+a"));
  // And half of a second, by chance.
  EXPECT_THAT(play.cluster.slept(), ElementsAre(absl::Seconds(20.5)));
}

TEST(WatchTest, WaitsLongerEachTimeForAServerThatIsAway) {
  const Play::Step away{.end = absl::UnavailableError("refused")};
  Play play({List({}, 10), away, away, away, away, Watched(Line("ADDED", Node("a", 11)))});
  play.Run();
  EXPECT_THAT(play.told, ElementsAre("+a"));
  EXPECT_THAT(play.cluster.slept(), ElementsAre(absl::Seconds(0.5), absl::Seconds(1),
                                                absl::Seconds(2), absl::Seconds(4)));
}

TEST(WatchTest, WaitsForAKindThatIsNotThereOrNotAllowedYet) {
  Play play({{.list = true, .reply = Refused(404, "NotFound")},
             {.list = true, .reply = Refused(403, "Forbidden")},
             List({Node("a", 1)}, 10)});
  play.Run();
  EXPECT_THAT(play.told, ElementsAre("+a"));
  EXPECT_THAT(play.troubles,
              ElementsAre(StatusIs(Code::kNotFound, _), StatusIs(Code::kPermissionDenied, _)));
}

TEST(WatchTest, LeavesAConnectionThatTalksNonsenseOrALineWithoutEnd) {
  Play play({List({}, 10), Watched("nonsense\n"), Watched(std::string(5000, 'x')),
             Watched(Line("ADDED", Node("a", 11)))});
  play.Run([](Options& options) { options.most_event_bytes = 1000; });
  EXPECT_THAT(play.told, ElementsAre("+a"));
  EXPECT_THAT(play.troubles,
              ElementsAre(StatusIs(Code::kDataLoss, HasSubstr("is not a JSON object")),
                          StatusIs(Code::kDataLoss, HasSubstr("1000 bytes"))));
}

TEST(WatchTest, ApplyingItsChangesGivesWhatTheServerHas) {
  // A server that loses connections and versions at random: the fold of the changes is its state.
  for (unsigned seed = 1; seed <= 40; ++seed) {
    unsigned random = seed;
    const auto draw = [&random](unsigned below) {
      random = random * 1664525u + 1013904223u;
      return (random >> 16) % below;
    };
    std::map<std::string, int> there;              // name to version
    std::vector<std::pair<int, std::string>> log;  // of events, by version
    int version = 1;
    const auto happen = [&] {
      const std::string name(1, static_cast<char>('a' + draw(6)));
      ++version;
      const auto found = there.find(name);
      if (found == there.end()) {
        there[name] = version;
        log.emplace_back(version, Line("ADDED", Node(name, version)));
      } else if (draw(2) == 0) {
        found->second = version;
        log.emplace_back(version, Line("MODIFIED", Node(name, version)));
      } else {
        there.erase(found);
        log.emplace_back(version, Line("DELETED", Node(name, version)));
      }
    };
    Cancellation cancellation;
    int rounds = 0;
    std::map<std::string, int> fold;
    ScriptedCluster cluster([&](const HttpRequest& request, int) -> Reply {
      for (unsigned i = draw(5); i > 0; --i) happen();
      if (draw(8) == 0) return absl::UnavailableError("away");
      if (!request.on_bytes) {
        std::vector<Json> items;
        for (const auto& [name, at] : there) items.push_back(Node(name, at));
        return Replied(ListOf(items, version));
      }
      const bool last = ++rounds > 60;
      const std::size_t at = request.target.find("resourceVersion=") + 16;
      const int from = std::stoi(request.target.substr(at));
      if (!last && draw(6) == 0) return Refused(410, "Expired");
      std::string bytes;
      for (const auto& [when, line] : log) {
        if (when > from) bytes += line;
      }
      const std::size_t cut = last ? bytes.size() : draw(static_cast<unsigned>(bytes.size()) + 1);
      if (absl::Status status = request.on_bytes(bytes.substr(0, cut)); !status.ok()) return status;
      if (last) {
        EXPECT_EQ(fold, there) << "seed " << seed;
        cancellation.Cancel();
      }
      return HttpReply{200, "", {}};
    });
    const auto client = cluster.Connect();
    RunWatch(*client, {{"", "v1", "nodes"}, "", "", ""},
             {[&](const Change& change) {
                const std::string name = TextAt(change.object, {"metadata", "name"});
                if (change.kind == Change::Kind::kDeleted) {
                  EXPECT_EQ(fold.erase(name), 1u);
                  return;
                }
                EXPECT_EQ(fold.count(name), change.kind == Change::Kind::kAdded ? 0u : 1u);
                fold[name] = std::stoi(TextAt(change.object, {"metadata", "resourceVersion"}));
              },
              {},
              {}},
             cancellation);
    EXPECT_GT(rounds, 60);
  }
}

TEST(WatchTest, OnAThreadOfItsOwnEndsWithItsOwner) {
  std::mutex mu;
  std::condition_variable changed;
  int added = 0;
  ScriptedCluster cluster([](const HttpRequest& request, int) -> Reply {
    if (!request.on_bytes) return Replied(ListOf({Node("a", 1)}, 10));
    // A quiet connection, which a cancellation ends.
    while (!request.cancellation->SleepFor(absl::Minutes(1))) {
    }
    return absl::CancelledError("stopped");
  });
  const auto client = cluster.Connect();
  {
    const Watch watch(*client, {{"", "v1", "nodes"}, "", "", ""},
                      {[&](const Change&) {
                         const std::lock_guard lock(mu);
                         ++added;
                         changed.notify_all();
                       },
                       {},
                       {}});
    std::unique_lock lock(mu);
    changed.wait(lock, [&] { return added == 1; });
  }
  EXPECT_EQ(added, 1);
}

}  // namespace
}  // namespace galen::kube
