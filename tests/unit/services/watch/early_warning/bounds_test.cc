// Claims about names that are too long, and about how much is kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/watch/early_warning/early_warning.h"
#include "services/watch/early_warning/request.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::watch::early_warning {
namespace {

using ::galen::testing::FakeClock;
using ::galen::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kMachines = 40;

// Links that replay, of machines whose names are 300,000 bytes long.
class LongNames final : public telemetry::Source {
 public:
  std::string name() const override { return "long names"; }
  bool evaluates() const override { return false; }
  absl::StatusOr<telemetry::Answer> Instant(const std::string&, absl::Time,
                                            const telemetry::Call&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<telemetry::Answer> RangeOf(const std::string&, const telemetry::Range&,
                                            const telemetry::Call&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<telemetry::Answer> Samples(const std::string& selector, absl::Time start,
                                            absl::Time end, const telemetry::Call&) override {
    telemetry::Answer answer;
    if (!absl::StrContains(selector, "NVLINK_REPLAY")) return answer;
    for (int machine = 0; machine < kMachines; ++machine) {
      telemetry::TimeSeries series;
      series.labels = {{telemetry::kMetricName, selector},
                       {"Hostname", absl::StrCat(machine, std::string(300'000, 'n'))},
                       {"gpu", "0"}};
      for (absl::Time at = start; at <= end; at += absl::Minutes(1)) {
        series.samples.push_back(
            {absl::ToUnixMillis(at), static_cast<double>(absl::ToUnixSeconds(at)) / 10});
      }
      answer.series.push_back(std::move(series));
    }
    return answer;
  }
  absl::StatusOr<telemetry::Answer> SeriesOf(const std::string&, absl::Time, absl::Time,
                                             const telemetry::Call&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::vector<std::string>> LabelValues(const std::string&, const std::string&,
                                                       absl::Time, absl::Time,
                                                       const telemetry::Call&, bool*) override {
    return absl::UnimplementedError("");
  }
};

TEST(EarlyBounds, NamesOfAnyLengthAreKeptAndTheirCausesOpened) {
  const std::unique_ptr<store::Store> store = store::OpenStore(":memory:").value();
  FakeClock clock(absl::FromUnixSeconds(1'700'000'040));
  const std::string knowledge = absl::StrCat(GALEN_SOURCE_DIR, "/knowledge");
  int opened = 0;
  EarlyWarning::Options options;
  options.owner = "one";
  options.leader_ttl = absl::Hours(1);
  EarlyWarning early(
      *store, std::make_shared<LongNames>(), telemetry::LoadRules({knowledge}).value(),
      watch::detection::LoadRules({knowledge}).value(), clock,
      [&](const auto& request) -> absl::StatusOr<std::string> {
        EXPECT_TRUE(request.diagnosis().incident().nodes().empty());
        return absl::StrCat("tenants/t/diagnoses/", ++opened);
      },
      options);
  for (int minute = 0; minute < 14; ++minute) {
    clock.Advance(absl::Minutes(1));
    ASSERT_THAT(early.Round(), IsOk());
  }
  EXPECT_EQ(opened, kMachines);
  const auto notes = store->journal().Read("watch.early.state", 0, 1000).value();
  EXPECT_LT(notes.back().record.size(), std::size_t{1} << 20);
}

TEST(EarlyRequest, ANameThatNoMachineMayHaveIsLeftOutAndTheOthersStay) {
  watch::detection::Alarm alarm;
  alarm.first = alarm.last = alarm.told = absl::FromUnixSeconds(1'700'000'000);
  for (const std::string& node :
       {std::string(254, 'x'), std::string("n1"), std::string(254, 'x'), std::string(253, 'y')}) {
    alarm.notices.push_back({"r", {node, "0", "", ""}, 2, 1, 1, alarm.first});
  }
  const auto request = RequestOf(alarm, watch::detection::RuleSet(), {}, "tenants/t");
  const galen::v1::Incident& incident = request.diagnosis().incident();
  EXPECT_THAT(incident.nodes(), ElementsAre("n1", std::string(253, 'y')));
  EXPECT_THAT(incident.logs(0).content(), HasSubstr("not among the machines"));
}

TEST(EarlyRequest, StaysSmallWhateverItTells) {
  watch::detection::RuleSet rule_set;
  watch::detection::Rule rule;
  rule.name = "r";
  rule.title = std::string(1 << 20, 't');
  rule_set.rules.push_back(rule);
  watch::detection::Alarm alarm;
  alarm.first = alarm.last = alarm.told = absl::FromUnixSeconds(1'700'000'000);
  for (int i = 0; i < 64; ++i) {
    alarm.notices.push_back(
        {"r", {absl::StrCat(i, std::string(248, 'n')), "0", "", ""}, 2, 1, 1, alarm.first});
  }
  const auto request = RequestOf(alarm, rule_set, {}, "tenants/t");
  EXPECT_EQ(request.diagnosis().incident().nodes_size(), 64);
  EXPECT_LT(request.ByteSizeLong(), std::size_t{128} << 10);
}

}  // namespace
}  // namespace galen::watch::early_warning
