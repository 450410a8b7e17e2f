// The observations of the checks telemetry.* in the numbers of a window.
#include "services/execution/playbook/examine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/telemetry/open_metrics_source.h"
#include "tests/testing/status_matchers.h"

namespace galen::playbook {
namespace {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::_;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr int kStart = 1'700'000'000;
constexpr int kSeconds = 3600;

using telemetry::OpenMetricsSource;

const telemetry::Rules& Shipped() {
  static const auto* const rules =
      new absl::StatusOr<telemetry::Rules>(telemetry::LoadRules({GALEN_SOURCE_DIR "/knowledge"}));
  EXPECT_THAT(*rules, IsOk());
  return **rules;
}

const PlaybookCatalogue& ShippedPlaybooks() {
  static const auto* const catalogue =
      new absl::StatusOr<PlaybookCatalogue>(LoadPlaybooks({GALEN_SOURCE_DIR "/knowledge"}));
  EXPECT_THAT(*catalogue, IsOk());
  return **catalogue;
}

Times Hour() { return {absl::FromUnixSeconds(kStart), absl::FromUnixSeconds(kStart + kSeconds)}; }

// The observations of the shipped playbooks for one check.
absl::StatusOr<Examination> See(telemetry::Source& source, const std::string& check,
                                Times window = Hour()) {
  Request request;
  request.checks = {check};
  request.window = window;
  request.now = absl::FromUnixSeconds(kStart + kSeconds);
  auto all = Examine(ShippedPlaybooks(), Shipped(), source, request, {});
  if (!all.ok()) return all.status();
  if (!all->front().status.ok()) return all->front().status;
  return std::move(all->front());
}

// A metric with several places, a sample every fifteen seconds; NaN: no sample.
using Function = std::function<double(int node, int device, int t)>;
std::string Write(const std::string& metric, const std::string& node_label,
                  const std::string& device_label, int nodes, int devices, const Function& value) {
  std::string text;
  for (int node = 0; node < nodes; ++node) {
    for (int device = 0; device < devices; ++device) {
      for (int t = 0; t <= kSeconds; t += 15) {
        const double v = value(node, device, t);
        if (std::isnan(v)) continue;
        absl::StrAppend(&text, metric, "{", node_label, "=\"n", node, "\",", device_label, "=\"",
                        device, "\"} ", absl::StrFormat("%.17g", v), " ", kStart + t, "\n");
      }
    }
  }
  return text;
}

std::unique_ptr<OpenMetricsSource> Of(const std::string& text) {
  return OpenMetricsSource::OfText("window.om", text + "# EOF\n", std::nullopt, {});
}

// The observation of a finding at a place; null if there is none.
const Observation* Find(const Examination& examination, const std::string& finding,
                        const std::string& node = "", const std::string& device = "") {
  for (const Observation& observation : examination.observations) {
    if (observation.step->finding == finding && (node.empty() || observation.place.node == node) &&
        (device.empty() || observation.place.device == device)) {
      return &observation;
    }
  }
  return nullptr;
}

double NumberOf(const Examination& examination, const std::string& finding, const std::string& node,
                const std::string& device = "") {
  const Observation* const found = Find(examination, finding, node, device);
  const double* const number = found == nullptr ? nullptr : std::get_if<double>(&found->value);
  EXPECT_NE(number, nullptr) << finding << " of " << node << " " << device;
  return number == nullptr ? -1e9 : *number;
}

double Noise(int node, int device, int t) {
  std::minstd_rand bits(static_cast<unsigned>(node * 7919 + device * 104729 + t * 31 + 1));
  bits.discard(3);
  return static_cast<double>(bits() % 1000) / 1000;
}

TEST(GpuHealthTest, SeesADropAPeakAndAnUnevenNode) {
  const auto source =
      Of(Write("DCGM_FI_DEV_SM_CLOCK", "Hostname", "gpu", 2, 4,
               [](int node, int gpu, int t) {
                 return (node == 1 && gpu == 2 && t > 1800 ? 1200 : 1980) -
                        15 * std::floor(2 * Noise(node, gpu, t));
               }) +
         Write("DCGM_FI_DEV_GPU_TEMP", "Hostname", "gpu", 2, 4,
               [](int node, int gpu, int t) {
                 return node == 1 && gpu == 2 && t == 1815 ? 93 : 60 + gpu;
               }) +
         Write("DCGM_FI_DEV_POWER_USAGE", "Hostname", "gpu", 2, 4, [](int node, int gpu, int t) {
           return (node == 0 && gpu == 3 ? 400 : 690) + 10 * Noise(node, gpu, t);
         }));
  const auto seen = See(*source, "telemetry.gpu_health");
  ASSERT_THAT(seen, IsOk());
  EXPECT_NEAR(NumberOf(*seen, "clock_drop_pct", "n1", "2"), 39, 2);
  EXPECT_LT(NumberOf(*seen, "clock_drop_pct", "n0", "2"), 2);
  EXPECT_EQ(NumberOf(*seen, "temp_peak_c", "n1", "2"), 93);
  EXPECT_NEAR(NumberOf(*seen, "power_spread_w", "n0"), 290, 5);
  EXPECT_LT(NumberOf(*seen, "power_spread_w", "n1"), 5);
  EXPECT_EQ(seen->answers.size(), 3U);
}

TEST(GpuHealthTest, OneThatIsSlowAllTheTimeIsToldByItsPeers) {
  const auto source = Of(Write("DCGM_FI_DEV_SM_CLOCK", "Hostname", "gpu", 1, 8,
                               [](int, int gpu, int) { return gpu == 5 ? 990 : 1980; }));
  const auto seen = See(*source, "telemetry.gpu_health");
  ASSERT_THAT(seen, IsOk());
  EXPECT_NEAR(NumberOf(*seen, "clock_drop_pct", "n0", "5"), 50, 1);
  EXPECT_NEAR(NumberOf(*seen, "clock_drop_pct", "n0", "4"), 0, 1);
  // There is no power there, and that is said.
  ASSERT_NE(Find(*seen, "power_spread_w"), nullptr);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(Find(*seen, "power_spread_w")->value));
  EXPECT_THAT(Find(*seen, "power_spread_w")->why, HasSubstr("no series of gpu_power"));
}

TEST(GpuHealthTest, AHungCollectorIsNoEvenNode) {
  const auto source =
      Of(Write("DCGM_FI_DEV_POWER_USAGE", "Hostname", "gpu", 2, 4, [](int node, int gpu, int t) {
        return 690 + 10 * Noise(node, gpu, node == 1 && gpu < 3 ? 0 : t);
      }));
  const auto seen = See(*source, "telemetry.gpu_health");
  ASSERT_THAT(seen, IsOk());
  EXPECT_THAT(seen->remarks, Contains(HasSubstr("n1 0: gpu_power stands still")));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(Find(*seen, "power_spread_w", "n1")->value));
}

TEST(GpuHealthTest, ValuesThatMeanNoneAreUnknown) {
  const auto source =
      Of(Write("DCGM_FI_DEV_GPU_TEMP", "Hostname", "gpu", 1, 2,
               [](int, int gpu, int) { return gpu == 0 ? 60 : 9223372036854775794.0; }));
  const auto seen = See(*source, "telemetry.gpu_health");
  ASSERT_THAT(seen, IsOk());
  EXPECT_EQ(NumberOf(*seen, "temp_peak_c", "n0", "0"), 60);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(Find(*seen, "temp_peak_c", "n0", "1")->value));
}

TEST(EccRateTest, CountsTheWindowAloneAndNoLifetimes) {
  const auto source =
      Of(Write("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "Hostname", "gpu", 1, 2,
               [](int, int gpu, int t) { return gpu == 0 ? 5e6 : 1000.0 + 12 * t; }) +
         Write("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "Hostname", "gpu", 1, 2,
               [](int, int gpu, int t) { return gpu == 0 ? 7 : (t >= 2000 ? 2 : 0); }));
  const auto seen = See(*source, "telemetry.ecc_rate");
  ASSERT_THAT(seen, IsOk());
  EXPECT_EQ(NumberOf(*seen, "correctable_per_s", "n0", "0"), 0);
  EXPECT_NEAR(NumberOf(*seen, "correctable_per_s", "n0", "1"), 12, 0.1);
  EXPECT_EQ(NumberOf(*seen, "uncorrectable_delta", "n0", "0"), 0);
  EXPECT_EQ(NumberOf(*seen, "uncorrectable_delta", "n0", "1"), 2);
}

TEST(EccRateTest, ACounterThatWasHardlySeenIsNotZero) {
  const auto source =
      Of(Write("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "Hostname", "gpu", 1, 3, [](int, int gpu, int t) {
        return gpu == 0 || (gpu == 1 && t < 600) || (gpu == 2 && t == 0) ? 0 : std::nan("");
      }));
  const auto seen = See(*source, "telemetry.ecc_rate");
  ASSERT_THAT(seen, IsOk());
  EXPECT_EQ(NumberOf(*seen, "uncorrectable_delta", "n0", "0"), 0);
  EXPECT_TRUE(
      std::holds_alternative<std::monostate>(Find(*seen, "uncorrectable_delta", "n0", "1")->value));
  EXPECT_TRUE(
      std::holds_alternative<std::monostate>(Find(*seen, "uncorrectable_delta", "n0", "2")->value));
}

TEST(RetransmitsTest, TheHostThatDiffersIsNamed) {
  const auto counter = [](double faulty) {
    return [faulty](int node, int, int t) {
      return 1e9 + t * (node == 3 ? faulty : 0.5) + std::floor(3 * Noise(node, 0, t));
    };
  };
  const auto source = Of(Write("node_infiniband_local_ack_timeout_errors_total", "instance",
                               "device", 8, 1, counter(40)));
  const auto seen = See(*source, "telemetry.retransmits");
  ASSERT_THAT(seen, IsOk());
  EXPECT_NEAR(NumberOf(*seen, "retransmit_rate", "n3"), 40, 1);
  EXPECT_EQ(std::get<std::string>(Find(*seen, "outlier_host", "n3")->value), "n3");
  EXPECT_EQ(std::get<std::string>(Find(*seen, "outlier_host", "n2")->value), "none");
  const auto even = Of(Write("node_infiniband_local_ack_timeout_errors_total", "instance", "device",
                             8, 1, counter(0.5)));
  EXPECT_EQ(
      std::get<std::string>(Find(*See(*even, "telemetry.retransmits"), "outlier_host")->value),
      "none");
}

TEST(RetransmitsTest, TwoNodesCannotBeCompared) {
  const auto source = Of(Write("node_infiniband_local_ack_timeout_errors_total", "instance",
                               "device", 2, 1, [](int node, int, int t) { return node * t; }));
  const auto seen = See(*source, "telemetry.retransmits");
  ASSERT_THAT(seen, IsOk());
  EXPECT_TRUE(std::holds_alternative<std::monostate>(Find(*seen, "outlier_host")->value));
}

TEST(LinkEventsTest, FlapsAreThoseOfTheWindow) {
  const auto source = Of(Write("node_infiniband_link_downed_total", "instance", "device", 2, 1,
                               [](int node, int, int t) {
                                 return node == 0 ? 12 : 12 + (t > 1000) + (t > 1100) + (t > 1200);
                               }));
  const auto seen = See(*source, "telemetry.link_events");
  ASSERT_THAT(seen, IsOk());
  EXPECT_EQ(NumberOf(*seen, "flaps", "n0"), 0);
  EXPECT_EQ(NumberOf(*seen, "flaps", "n1"), 3);
}

TEST(StepTimeTest, ASlowRankAndItsNode) {
  const auto source =
      Of(Write("training_step_time_seconds", "host", "rank", 4, 8, [](int node, int rank, int t) {
        return 2.0 + 0.05 * Noise(node, rank, t) + (node == 2 && rank == 5 ? 0.4 : 0);
      }));
  const auto seen = See(*source, "telemetry.step_time");
  ASSERT_THAT(seen, IsOk());
  EXPECT_EQ(std::get<std::string>(Find(*seen, "slow_rank", "n2")->value), "5");
  EXPECT_EQ(std::get<std::string>(Find(*seen, "slow_rank", "n0")->value), "none");
  EXPECT_EQ(std::get<std::string>(Find(*seen, "follows_node", "n2")->value), "n2");
  EXPECT_FALSE(std::get<bool>(Find(*seen, "decay_over_time")->value));
}

TEST(StepTimeTest, AllThatGetSlowerDecayAndNobodyIsSlow) {
  const auto source =
      Of(Write("training_step_time_seconds", "host", "rank", 2, 8, [](int node, int rank, int t) {
        return 2.0 + 0.05 * Noise(node, rank, t) + 0.0003 * t;
      }));
  const auto seen = See(*source, "telemetry.step_time");
  ASSERT_THAT(seen, IsOk());
  EXPECT_EQ(std::get<std::string>(Find(*seen, "slow_rank")->value), "none");
  EXPECT_TRUE(std::get<bool>(Find(*seen, "decay_over_time")->value));
}

TEST(ExamineTest, ASourceWithoutAnythingSaysNothing) {
  const auto source = Of("up 1 1700000000\n");
  EXPECT_THAT(See(*source, "telemetry.gpu_health"), StatusIs(absl::StatusCode::kNotFound, _));
  EXPECT_THAT(See(*source, "telemetry.ecc_rate"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no series of")));
  EXPECT_THAT(See(*source, "telemetry.retransmits"), StatusIs(absl::StatusCode::kNotFound, _));
  EXPECT_THAT(See(*source, "telemetry.link_events"), StatusIs(absl::StatusCode::kNotFound, _));
  EXPECT_THAT(See(*source, "telemetry.step_time"), StatusIs(absl::StatusCode::kNotFound, _));
  Times before = Hour();
  before.end = absl::FromUnixSeconds(kStart) - absl::Hours(3);
  before.start = before.end - absl::Hours(1);
  EXPECT_THAT(See(*source, "telemetry.link_events", before),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no series of")));
}

// Eight machines of two customers on one server.
TEST(ExamineTest, OfASharedServerNothingOfOthersIsLookedAtOrTold) {
  const auto source =
      Of(Write("DCGM_FI_DEV_GPU_TEMP", "Hostname", "gpu", 8, 1,
               [](int node, int, int t) { return node == 6 ? 95 : 60 + t % 7; }) +
         Write("DCGM_FI_DEV_POWER_USAGE", "Hostname", "gpu", 8, 1,
               [](int node, int, int t) { return node == 7 ? 600 : 690 + t % 11; }) +
         absl::StrCat("DCGM_FI_DEV_GPU_TEMP 99 ", kStart + 60, "\n"));
  Request request;
  request.checks = {"telemetry.gpu_health"};
  request.window = Hour();
  request.now = absl::FromUnixSeconds(kStart + kSeconds);
  request.named = true;
  request.nodes = {"n0", "n1"};
  const auto seen = Examine(ShippedPlaybooks(), Shipped(), *source, request, {});
  ASSERT_THAT(seen, IsOk());
  std::size_t told = 0;
  for (const Observation& observation : seen->front().observations) {
    if (std::holds_alternative<std::monostate>(observation.value)) continue;
    ++told;
    EXPECT_THAT(observation.place.node, ::testing::AnyOf("n0", "n1"));
  }
  EXPECT_GT(told, 0U);
  for (const std::string& remark : seen->front().remarks) {
    EXPECT_THAT(remark, ::testing::Not(HasSubstr("n7")));  // whose collector hangs
  }
  request.nodes = {"stranger"};
  const auto nothing = Examine(ShippedPlaybooks(), Shipped(), *source, request, {});
  ASSERT_THAT(nothing, IsOk());
  EXPECT_THAT(nothing->front().status, StatusIs(absl::StatusCode::kNotFound, _));
  std::vector<std::string> whys;
  for (const Observation& observation : nothing->front().observations) {
    whys.push_back(observation.why);
  }
  EXPECT_THAT(whys, ::testing::Contains(HasSubstr("of other machines")));
  EXPECT_THAT(whys, ::testing::Each(::testing::Not(HasSubstr("n7"))));
}

}  // namespace
}  // namespace galen::playbook
