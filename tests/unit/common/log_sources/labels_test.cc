#include "common/log_sources/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "common/log_sources/collector.h"
#include "fake_stores.h"
#include "tests/testing/scratch.h"
#include "tests/testing/status_matchers.h"

namespace galen::log_sources {
namespace labels_test {

using galen::testing::IsOk;
using galen::testing::Scratch;
using galen::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

LabelOf From(std::map<std::string, std::string> labels) {
  return [labels](const std::string& name) {
    const auto found = labels.find(name);
    return found == labels.end() ? std::string() : found->second;
  };
}

TEST(LabelNamesTest, TheSitesOwnComeFirst) {
  const Scratch scratch;
  scratch.Write("telemetry/logs.yaml", "node: [blade]\nmessage: [text]\n");
  const auto names = LoadLabelNames({GALEN_SOURCE_DIR "/knowledge", scratch.path()});
  ASSERT_THAT(names, IsOk());
  EXPECT_EQ(names->node.front(), "blade");
  EXPECT_THAT(names->node, Contains("kubernetes.host"));
  EXPECT_EQ(names->message.front(), "text");
  EXPECT_THAT(ParseLabelNames("nodes: [a]\n", "f.yaml").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("f.yaml:1")));
}

TEST(CollectorTest, LinesOfOneLogAreInOrderWhateverStreamTheyCameIn) {
  Collector collector(Names(), Limits());
  const auto info = collector.LogOf(From({{"pod", "t-0"}, {"level", "info"}}));
  const auto error = collector.LogOf(From({{"pod", "t-0"}, {"level", "error"}}));
  const auto other = collector.LogOf(From({{"pod", "t-1"}, {"node_name", "gpu-2:9100"}}));
  EXPECT_EQ(info, error);
  for (const auto& [log, at, line] :
       std::vector<std::tuple<std::size_t, int, const char*>>{{*error, 3, "boom\r\n"},
                                                              {*error, 2, "second"},
                                                              {*info, 2, "first"},
                                                              {*other, 1, "hello"},
                                                              {*info, 1, "begin"}}) {
    EXPECT_TRUE(collector.Add(log, at, line));
  }
  const auto fetched = collector.Take("x", Hour());
  ASSERT_THAT(fetched, IsOk());
  ASSERT_THAT(fetched->logs, SizeIs(2));
  EXPECT_EQ(fetched->logs[0].name, "t-0.log");
  EXPECT_EQ(fetched->logs[0].text, "begin\nfirst\nsecond\nboom\n");
  EXPECT_EQ(fetched->logs[1].node, "gpu-2");
}

TEST(CollectorTest, EachLimitIsSaid) {
  for (const Limits& limits : {Limits{.bytes = 10}, Limits{.lines = 2}}) {
    Collector collector(Names(), limits);
    const auto log = collector.LogOf(From({}));
    EXPECT_TRUE(collector.Add(*log, 3 * kSecond, "new"));
    EXPECT_TRUE(collector.Add(*log, 2 * kSecond, "old"));
    EXPECT_FALSE(collector.Add(*log, kSecond, "older"));
    const auto fetched = collector.Take("x", Hour());
    ASSERT_THAT(fetched, IsOk());
    EXPECT_EQ(fetched->logs[0].text, "old\nnew\n");
    EXPECT_THAT(fetched->cuts,
                ElementsAre(HasSubstr("lines older than 1970-01-01T00:00:02Z are left out")));
  }
  Collector one(Names(), {.logs = 1});
  EXPECT_TRUE(one.LogOf(From({{"pod", "a"}})).has_value());
  EXPECT_FALSE(one.LogOf(From({{"pod", "b"}})).has_value());
  EXPECT_TRUE(one.LogOf(From({{"pod", "a"}})).has_value());
  EXPECT_THAT(one.Take("Loki x", Hour()).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("Loki x: no line from 2023-11-14T22:13:20Z to")));
}

}  // namespace labels_test
}  // namespace galen::log_sources
