// One machine, one name; the relations between several metrics of a quantity; counters that grow
// while nobody reads them.
#include "common/telemetry/named_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/telemetry/discovery.h"
#include "common/telemetry/growing_errors.h"
#include "common/telemetry/open_metrics_source.h"
#include "tests/testing/status_matchers.h"

namespace galen::telemetry {
namespace named_source_test {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kStart = 1'700'000'000;

absl::Time At(int second) { return absl::FromUnixSeconds(kStart + second); }

const Rules& Shipped() {
  static const auto* const rules =
      new absl::StatusOr<Rules>(LoadRules({GALEN_SOURCE_DIR "/knowledge"}));
  EXPECT_THAT(*rules, IsOk());
  return **rules;
}

// A sample every 30 seconds for 10 minutes: `level`, and `growth` more each.
std::string Series(const std::string& series, double level, double growth = 0) {
  std::string text;
  for (int t = 0; t <= 600; t += 30) {
    absl::StrAppend(&text, series, " ", level + growth * t / 30, " ", kStart + t, "\n");
  }
  return text;
}

std::unique_ptr<OpenMetricsSource> Of(const std::string& text) {
  return OpenMetricsSource::OfText("names.om", text + "# EOF\n", std::nullopt, {});
}

std::unique_ptr<NamedSource> Open(Source& source) {
  auto named = NamedSource::Open(source, Shipped(), At(0), At(600), {});
  EXPECT_THAT(named, IsOk());
  return *std::move(named);
}

std::vector<std::string> NodesOf(NamedSource& source, const std::string& quantity) {
  const auto measured = Measure(source, Shipped(), quantity, {At(0), At(600), absl::Seconds(60)},
                                absl::Seconds(90), {});
  EXPECT_THAT(measured, IsOk()) << quantity;
  std::vector<std::string> nodes;
  if (measured.ok()) {
    for (const Measured::Row& row : measured->rows) nodes.push_back(row.place.node);
  }
  return nodes;
}

TEST(NamedSourceTest, AnAddressAPodAndAHostNameAreOneMachine) {
  const auto source = Of(absl::StrCat(
      Series("node_procs_running{instance=\"10.20.0.12:9100\"}", 18),
      Series("node_uname_info{instance=\"10.20.0.12:9100\",nodename=\"gpu-a03\"}", 1),
      Series("DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",Hostname=\"dcgm-exporter-x7k\",instance=\"10.244.1."
             "7:9400\"}",
             600),
      Series(
          "kube_pod_info{created_by_kind=\"DaemonSet\",pod=\"dcgm-exporter-x7k\",pod_ip=\"10.244."
          "1.7\",node=\"gpu-a03\"}",
          1)));
  const auto named = Open(*source);
  EXPECT_THAT(NodesOf(*named, "runnable_tasks"), ElementsAre("gpu-a03"));
  EXPECT_THAT(NodesOf(*named, "gpu_power"), ElementsAre("gpu-a03"));
}

TEST(NamedSourceTest, ANameThatTwoMachinesClaimSaysNothing) {
  const auto source =
      Of(absl::StrCat(Series("node_procs_running{instance=\"10.0.0.1:9100\"}", 18),
                      Series("node_uname_info{instance=\"10.0.0.1:9100\",nodename=\"a\"}", 1),
                      Series("node_uname_info{instance=\"10.0.0.1:9101\",nodename=\"b\"}", 1)));
  EXPECT_THAT(NodesOf(*Open(*source), "runnable_tasks"), ElementsAre("10.0.0.1"));
}

TEST(NamedSourceTest, WhatIsNotThereIsNotAskedFor) {
  class Counting final : public Source {
   public:
    explicit Counting(Source& source) : source_(source) {}
    std::string name() const override { return "counting"; }
    bool evaluates() const override { return false; }
    absl::StatusOr<Answer> Instant(const std::string& q, absl::Time at, const Call& c) override {
      return source_.Instant(q, at, c);
    }
    absl::StatusOr<Answer> RangeOf(const std::string& q, const Range& r, const Call& c) override {
      return source_.RangeOf(q, r, c);
    }
    absl::StatusOr<Answer> Samples(const std::string& q, absl::Time s, absl::Time e,
                                   const Call& c) override {
      ++asked;
      return source_.Samples(q, s, e, c);
    }
    absl::StatusOr<Answer> SeriesOf(const std::string& q, absl::Time s, absl::Time e,
                                    const Call& c) override {
      return source_.SeriesOf(q, s, e, c);
    }
    absl::StatusOr<std::vector<std::string>> LabelValues(const std::string& l, const std::string& q,
                                                         absl::Time s, absl::Time e, const Call& c,
                                                         bool* complete) override {
      return source_.LabelValues(l, q, s, e, c, complete);
    }
    int asked = 0;

   private:
    Source& source_;
  };
  const auto source = Of(Series("nvidia_smi_power_draw_watts{uuid=\"u\",instance=\"n:1\"}", 600));
  Counting counting(*source);
  EXPECT_THAT(NodesOf(*Open(counting), "gpu_power"), ElementsAre("n"));
  EXPECT_EQ(counting.asked, 1);
}

TEST(AmongTest, OfOneFactEachPlaceTakesTheExporterThatKnowsIt) {
  const auto source =
      Of(absl::StrCat(Series("DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",Hostname=\"a\"}", 600),
                      Series("gpu_package_power{gpu_id=\"0\",hostname=\"b\"}", 900)));
  EXPECT_THAT(NodesOf(*Open(*source), "gpu_power"), ElementsAre("a", "b"));
}

TEST(AmongTest, SignsOfOneFaultAreJudgedSingly) {
  const auto source = Of(absl::StrCat(
      Series("node_infiniband_local_ack_timeout_errors_total{device=\"m\",port=\"1\",instance=\"a:"
             "1\"}",
             5),
      Series(
          "node_infiniband_packet_sequence_errors_total{device=\"m\",port=\"1\",instance=\"a:1\"}",
          5, 60)));
  auto measured = Measure(*source, Shipped(), "rdma_retransmissions",
                          {At(60), At(600), absl::Seconds(60)}, absl::Seconds(90), {});
  ASSERT_THAT(measured, IsOk());
  ASSERT_THAT(measured->rows, SizeIs(2));
  EXPECT_EQ(measured->values.Row(0)[3], 0);
  EXPECT_FLOAT_EQ(measured->values.Row(1)[3], 2);
  // With one row for each place, the row that moves is kept.
  TakeHighest(*measured);
  ASSERT_THAT(measured->rows, SizeIs(1));
  EXPECT_FLOAT_EQ(measured->values.Row(0)[3], 2);
}

TEST(AmongTest, FlagsAndCodesBecomeNumbers) {
  const auto source = Of(absl::StrCat(
      Series("DCGM_FI_DEV_CLOCKS_EVENT_REASONS{gpu=\"0\",Hostname=\"a\"}", 0x88),
      Series("nvidia_smi_xid_errors_total{uuid=\"u\",xid=\"94\",instance=\"a:1\"}", 1)));
  const Range range{At(0), At(600), absl::Seconds(60)};
  const auto brake =
      Measure(*source, Shipped(), "clock_held_by_brake", range, absl::Seconds(90), {});
  ASSERT_THAT(brake, IsOk());
  EXPECT_EQ(brake->values.Row(0)[2], 1);
  const auto heat = Measure(*source, Shipped(), "clock_held_by_heat", range, absl::Seconds(90), {});
  ASSERT_THAT(heat, IsOk());
  EXPECT_EQ(heat->values.Row(0)[2], 0);
  const auto xid = Measure(*source, Shipped(), "gpu_xid", range, absl::Seconds(90), {});
  ASSERT_THAT(xid, IsOk());
  EXPECT_EQ(xid->values.Row(0)[2], 94);
}

TEST(GrowingErrorsTest, OnlyACounterThatNobodyReadsOrWaivedAndThatGrowsIsTold) {
  const std::string labels = "{device=\"m\",port=\"1\",instance=\"a:1\"}";
  const auto source =
      Of(absl::StrCat(Series("node_infiniband_new_fatal_errors_total" + labels, 7, 3),
                      Series("node_infiniband_old_fatal_errors_total" + labels, 7),
                      Series("node_infiniband_symbol_error_total" + labels, 7, 3),
                      Series("node_infiniband_roce_slow_restart_total" + labels, 7, 3)));
  bool complete = true;
  const auto named = Open(*source);
  const auto growing =
      FindGrowingErrors(*named, Shipped(), At(0), At(600), {"node_infiniband_symbol_error_total"},
                        nullptr, {}, complete);
  ASSERT_THAT(growing, IsOk());
  ASSERT_THAT(*growing, SizeIs(1));
  EXPECT_EQ(growing->front().metric, "node_infiniband_new_fatal_errors_total");
  EXPECT_EQ(growing->front().clears, "network");
  EXPECT_EQ(growing->front().place.node, "a");
  EXPECT_EQ(growing->front().growth, 60);
  EXPECT_TRUE(complete);
}

TEST(SiteTest, ANameOfTheSitesOwnTakesALineAndGoesBefore) {
  const auto rules = ParseRules("series:\n  throughput: 'our_tokens{phase=\"train\"}'\n", "f");
  ASSERT_THAT(rules, IsOk());
  ASSERT_THAT(rules->quantities, SizeIs(1));
  EXPECT_EQ(rules->quantities[0].metrics[0].metric, "our_tokens");
  EXPECT_EQ(rules->quantities[0].metrics[0].where, "{phase=\"train\"}");
  EXPECT_THAT(ParseRules("series:\n  throughput: 'rate(x[5m])'\n", "f"),
              StatusIs(absl::StatusCode::kInvalidArgument, _));
}

}  // namespace named_source_test
}  // namespace galen::telemetry
