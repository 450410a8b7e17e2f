#include "services/node/watch/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "temp_root.h"

namespace galen::node {
namespace sampler_test {

absl::Time At(int second) { return absl::FromUnixSeconds(1'000'000 + second); }

class SamplerTest : public ::testing::Test {
 protected:
  Sampler& Make(absl::string_view list) {
    auto specs = ParseWatchList(list, "test");
    EXPECT_TRUE(specs.ok()) << specs.status();
    Sampler::Options options;
    options.root = root.path();
    sampler = std::make_unique<Sampler>("node-1", *std::move(specs), options);
    return *sampler;
  }
  void Sample(int second) {
    sampler->Sample(At(second), [this](const std::string& check, galen::v1::Finding finding) {
      noticed.emplace_back(check, std::move(finding));
    });
  }

  const TempRoot root;
  std::unique_ptr<Sampler> sampler;
  std::vector<std::pair<std::string, galen::v1::Finding>> noticed;
};

TEST_F(SamplerTest, ACounterThatRisesToItsLimitIsAnEvent) {
  root.Write("/sys/ib/mlx5_0/ports/1/link_downed", "3\n");
  Make(
      "/sys/ib/*/ports/*/link_downed value event rdma.counters link_downed_delta count "
      "nic:{1}/port:{2} 2 60s");
  Sample(0);
  root.Write("/sys/ib/mlx5_0/ports/1/link_downed", "4\n");
  Sample(1);
  EXPECT_TRUE(noticed.empty()) << "what was counted before the watch began is no event";
  root.Write("/sys/ib/mlx5_0/ports/1/link_downed", "5\n");
  Sample(2);
  ASSERT_EQ(noticed.size(), 1u);
  EXPECT_EQ(noticed[0].first, "rdma.counters");
  const galen::v1::Finding& finding = noticed[0].second;
  EXPECT_EQ(finding.name(), "link_downed_delta");
  EXPECT_EQ(finding.subject().node(), "node-1");
  EXPECT_EQ(finding.subject().device(), "nic:mlx5_0/port:1");
  EXPECT_EQ(finding.int_value(), 2);
  EXPECT_EQ(finding.unit(), "count");
  EXPECT_TRUE(finding.abnormal());
}

TEST_F(SamplerTest, ARiseIsToldOnceAndAgainAfterAWhile) {
  root.Write("/proc/vmstat", "oom_kill 0\n");
  Make("/proc/vmstat oom_kill event system.memory oom_kills count - 1 30s");
  for (int i = 0; i <= 130; ++i) {
    root.Write("/proc/vmstat", "oom_kill " + std::to_string(i) + "\n");
    Sample(i);
  }
  EXPECT_EQ(noticed.size(), 3u);  // at 1, 61 and 121 seconds
}

TEST_F(SamplerTest, ANewRiseAfterQuietIsAnEventAgain) {
  root.Write("/proc/vmstat", "oom_kill 0\n");
  Make("/proc/vmstat oom_kill event system.memory oom_kills count - 1 5s");
  Sample(0);
  root.Write("/proc/vmstat", "oom_kill 1\n");
  for (int i = 1; i < 20; ++i) Sample(i);
  EXPECT_EQ(noticed.size(), 1u);
  root.Write("/proc/vmstat", "oom_kill 2\n");
  Sample(20);
  EXPECT_EQ(noticed.size(), 2u);
}

TEST_F(SamplerTest, ASlowRiseBelowTheLimitIsNone) {
  root.Write("/proc/vmstat", "oom_kill 0\n");
  Make("/proc/vmstat oom_kill event system.memory oom_kills count - 3 2s");
  for (int i = 0; i < 50; ++i) {
    root.Write("/proc/vmstat", "oom_kill " + std::to_string(i) + "\n");
    Sample(i);
  }
  EXPECT_TRUE(noticed.empty());
}

TEST_F(SamplerTest, ACounterThatIsResetIsNoRise) {
  root.Write("/proc/vmstat", "oom_kill 7\n");
  Make("/proc/vmstat oom_kill event system.memory oom_kills count - 1 60s");
  Sample(0);
  root.Write("/proc/vmstat", "oom_kill 0\n");
  Sample(1);
  EXPECT_TRUE(noticed.empty());
}

TEST_F(SamplerTest, ACounterThatNoRuleJudgesIsNotSampled) {
  root.Write("/proc/vmstat", "oom_kill 1\npgfault 5\n");
  Make("/proc/vmstat pgfault\n/proc/vmstat oom_kill event system.memory oom_kills count - 1 60s");
  Sample(0);
  EXPECT_EQ(sampler->counters(), 1u);
}

TEST_F(SamplerTest, ADeviceThatComesIsFoundAndOneThatGoesIsUnknown) {
  root.Write("/sys/n/a/errors", "0\n");
  Make("/sys/n/*/errors value event net.interfaces errors_delta count netdev:{1} 1 60s");
  Sample(0);
  root.Write("/sys/n/b/errors", "4\n");
  Sample(61);
  EXPECT_EQ(sampler->counters(), 2u);
  root.Write("/sys/n/b/errors", "5\n");
  Sample(62);
  ASSERT_EQ(noticed.size(), 1u);
  EXPECT_EQ(noticed[0].second.subject().device(), "netdev:b");
  root.Remove("/sys/n/a");
  root.Write("/sys/n/b/errors", "5\n");
  Sample(130);
  EXPECT_EQ(sampler->files(), 1u);
}

TEST_F(SamplerTest, AnHourlyRateIsInItsUnit) {
  root.Write("/sys/s", "0\n");
  Make("/sys/s value event rdma.counters symbol_errors_per_h 1/h nic:x 120 30m");
  Sample(0);
  root.Write("/sys/s", "150\n");
  Sample(1);
  ASSERT_EQ(noticed.size(), 1u);
  EXPECT_DOUBLE_EQ(noticed[0].second.double_value(), 300);
}

TEST_F(SamplerTest, ARateByTheSecondIsInItsUnit) {
  root.Write("/sys/s", "0\n");
  Make("/sys/s value event rdma.counters resent_per_s 1/s nic:x 61 60s");
  Sample(0);
  root.Write("/sys/s", "90\n");
  Sample(1);
  ASSERT_EQ(noticed.size(), 1u);
  EXPECT_DOUBLE_EQ(noticed[0].second.double_value(), 1.5);
}

}  // namespace sampler_test
}  // namespace galen::node
