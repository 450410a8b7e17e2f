// Claims about counters as they are scraped: near the minute, and no later than now.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/telemetry/open_metrics_source.h"
#include "services/watch/early_warning/early_warning.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::watch::early_warning {
namespace {

using ::galen::testing::FakeClock;
using ::galen::testing::IsOk;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::int64_t kStart = 1'700'000'040;  // a whole minute
constexpr int kEnd = 130;                       // minutes
constexpr int kTrouble = 80;

// This much a minute from kTrouble on.
double Grows(double minute, double each) { return each * std::max(0.0, minute - kTrouble); }

// Two machines of two GPUs, each with counters that begin to grow.
std::string Scraped(int every, int second) {
  std::string text;
  const auto add = [&](const std::string& series, const std::function<double(double)>& value) {
    for (int at = second; at < 60 * kEnd; at += every) {
      absl::StrAppend(&text, series, " ", 1000 + value(at / 60.0), " ", kStart + at, "\n");
    }
  };
  for (const int node : {1, 2}) {
    for (const int gpu : {0, 1}) {
      const std::string labels = absl::StrCat("{Hostname=\"n", node, "\",gpu=\"", gpu, "\"}");
      const auto of = [&](int n, int g) { return node == n && gpu == g; };
      add("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL" + labels,
          [=](double m) { return of(1, 0) ? std::floor(Grows(m, 12)) : 0; });
      add("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL" + labels,
          [=](double m) { return of(1, 1) ? std::floor(Grows(m, 2)) : 0; });
      add("DCGM_FI_DEV_PCIE_REPLAY_COUNTER" + labels,
          [=](double m) { return of(2, 0) ? std::floor(Grows(m, 150)) : 0; });
      add("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS" + labels,
          [=](double m) { return of(2, 1) ? std::min(2.0, std::floor(Grows(m, 0.1))) : 0; });
    }
    add(absl::StrCat("node_infiniband_local_ack_timeout_errors_total{instance=\"n", node,
                     ":9100\",device=\"mlx5_0\",port=\"1\"}"),
        [=](double m) { return node == 1 ? std::floor(Grows(m, 90)) : 0; });
    add(absl::StrCat("node_pressure_io_stalled_seconds_total{instance=\"n", node, ":9100\"}"),
        [=](double m) { return node == 2 ? Grows(m, 30) : 0; });
  }
  return text + "# EOF\n";
}

// Has no samples from the future.
class UntilNow final : public telemetry::Source {
 public:
  UntilNow(const Clock& clock, const std::string& text)
      : clock_(clock),
        all_(telemetry::OpenMetricsSource::OfText("made up", text, std::nullopt, {})) {}
  std::string name() const override { return all_->name(); }
  bool evaluates() const override { return false; }
  absl::StatusOr<telemetry::Answer> Instant(const std::string& query, absl::Time at,
                                            const telemetry::Call& call) override {
    return all_->Instant(query, std::min(at, clock_.Now()), call);
  }
  absl::StatusOr<telemetry::Answer> RangeOf(const std::string& query, const telemetry::Range& range,
                                            const telemetry::Call& call) override {
    return all_->RangeOf(query, range, call);
  }
  absl::StatusOr<telemetry::Answer> Samples(const std::string& selector, absl::Time start,
                                            absl::Time end, const telemetry::Call& call) override {
    return all_->Samples(selector, start, std::min(end, clock_.Now()), call);
  }
  absl::StatusOr<telemetry::Answer> SeriesOf(const std::string& selector, absl::Time start,
                                             absl::Time end, const telemetry::Call& call) override {
    return all_->SeriesOf(selector, start, end, call);
  }
  absl::StatusOr<std::vector<std::string>> LabelValues(const std::string& label,
                                                       const std::string& selector,
                                                       absl::Time start, absl::Time end,
                                                       const telemetry::Call& call,
                                                       bool* complete) override {
    return all_->LabelValues(label, selector, start, end, call, complete);
  }

 private:
  const Clock& clock_;
  const std::shared_ptr<telemetry::Source> all_;
};

class ScrapesTest : public ::testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(ScrapesTest, WhatACounterGrewByIsKnownMinuteAfterMinute) {
  const auto [every, second] = GetParam();
  const std::unique_ptr<store::Store> store = store::OpenStore(":memory:").value();
  FakeClock clock(absl::FromUnixSeconds(kStart));
  const std::string knowledge = absl::StrCat(GALEN_SOURCE_DIR, "/knowledge");
  int opened = 0;
  EarlyWarning::Options options;
  options.owner = "one";
  options.leader_ttl = absl::Hours(1);
  EarlyWarning early(
      *store, std::make_shared<UntilNow>(clock, Scraped(every, second)),
      telemetry::LoadRules({knowledge}).value(), watch::detection::LoadRules({knowledge}).value(),
      clock,
      [&](const auto&) -> absl::StatusOr<std::string> {
        return absl::StrCat("tenants/t/diagnoses/", ++opened);
      },
      options);
  const auto rules = [&] {
    std::set<std::string> found;
    v1::EarlyState state;
    const auto notes = store->journal().Read("watch.early.state", 0, 1000).value();
    EXPECT_TRUE(state.ParseFromString(notes.back().record));
    for (const v1::EarlyState::Alarm& alarm : state.alarms()) {
      for (const v1::EarlyState::Notice& notice : alarm.notices()) {
        found.insert(absl::StrCat(notice.rule(), " ", notice.node(), " ", notice.device()));
      }
    }
    return found;
  };
  for (int minute = 3; minute < kEnd; ++minute) {
    clock.Advance(absl::FromUnixSeconds(kStart + 60 * minute + 61) - clock.Now());
    ASSERT_THAT(early.Round(), IsOk());
    if (minute == kTrouble) {
      EXPECT_THAT(rules(), IsEmpty());
    }
  }
  EXPECT_THAT(rules(),
              UnorderedElementsAre("ecc_builds_up n1 0", "nvlink_replays n1 1", "pcie_replays n2 0",
                                   "row_remaps n2 1", "rdma_retransmissions n1 ", "io_waits n2 "));
  EXPECT_EQ(opened, 2) << "one of each machine";
}

// Seconds between scrapes, and the second at which one falls.
INSTANTIATE_TEST_SUITE_P(Early, ScrapesTest,
                         ::testing::Values(std::tuple(15, 0), std::tuple(15, 7), std::tuple(30, 1),
                                           std::tuple(30, 15), std::tuple(60, 0),
                                           std::tuple(60, 15), std::tuple(60, 29),
                                           std::tuple(60, 45)));

}  // namespace
}  // namespace galen::watch::early_warning
