// Several sources as one: what two have counts once, and one that is away is named.
#include "common/telemetry/merged_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/steady.h"
#include "common/telemetry/open_source.h"
#include "common/telemetry/prometheus_client.h"
#include "tests/testing/llm/scripted_endpoint.h"
#include "tests/testing/scratch.h"
#include "tests/testing/status_matchers.h"

namespace galen::telemetry {
namespace merged_source_test {

using galen::testing::Hang;
using galen::testing::IsOk;
using galen::testing::Recorded;
using galen::testing::Scratch;
using galen::testing::Scripted;
using galen::testing::ScriptedEndpoint;
using galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using Code = absl::StatusCode;
using timeseries::Sample;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

// Answers everything by the same series, or by an error.
class Fixed final : public Source {
 public:
  Fixed(std::string name, std::vector<TimeSeries> series, absl::Status status = absl::OkStatus())
      : name_(std::move(name)), series_(std::move(series)), status_(std::move(status)) {}

  std::string name() const override { return name_; }
  bool evaluates() const override { return true; }
  absl::StatusOr<Answer> Instant(const std::string& query, absl::Time, const Call&) override {
    return All(query);
  }
  absl::StatusOr<Answer> RangeOf(const std::string& query, const Range&, const Call&) override {
    return All(query);
  }
  absl::StatusOr<Answer> Samples(const std::string& selector, absl::Time, absl::Time,
                                 const Call&) override {
    return All(selector);
  }
  absl::StatusOr<Answer> SeriesOf(const std::string& selector, absl::Time, absl::Time,
                                  const Call&) override {
    return All(selector);
  }
  absl::StatusOr<std::vector<std::string>> LabelValues(const std::string&, const std::string&,
                                                       absl::Time, absl::Time, const Call&,
                                                       bool* complete) override {
    ++asked;
    if (!status_.ok()) return status_;
    *complete = true;
    std::vector<std::string> names;
    for (const TimeSeries& series : series_) names.push_back(series.labels.at(kMetricName));
    return names;
  }

  std::atomic<int> asked = 0;

 private:
  absl::StatusOr<Answer> All(const std::string& query) {
    ++asked;
    if (!status_.ok()) return status_;
    Answer answer;
    answer.source = name_;
    answer.query = query;
    answer.series = series_;
    return answer;
  }

  const std::string name_;
  const std::vector<TimeSeries> series_;
  const absl::Status status_;
};

// A counter of a machine, collected every 15 s from `from` to `to`, each `late` milliseconds late.
TimeSeries Counter(Labels labels, int from, int to, int late = 0, double rate = 2) {
  labels[kMetricName] = "errors_total";
  TimeSeries series{std::move(labels), {}};
  for (int t = from; t <= to; t += 15) {
    const std::int64_t at = absl::ToUnixMillis(kNow) + t * 1000 + late;
    series.samples.push_back({at, rate * (t + late / 1000.0)});
  }
  return series;
}

bool Grows(const TimeSeries& series) {
  return std::is_sorted(
      series.samples.begin(), series.samples.end(),
      [](const Sample& a, const Sample& b) { return a.at < b.at && a.value <= b.value; });
}

absl::StatusOr<Answer> Samples(Source& source) {
  return source.Samples("errors_total", kNow, kNow + absl::Hours(1), {});
}

MergedSource Of(std::vector<std::shared_ptr<Source>> sources) {
  return MergedSource(std::move(sources));
}

TEST(MergedSourceTest, WhatTwoServersHaveCountsOnce) {
  const auto one =
      std::make_shared<Fixed>("A", std::vector<TimeSeries>{Counter({{"instance", "n1"}}, 0, 600),
                                                           Counter({{"instance", "n2"}}, 0, 600)});
  const auto other =
      std::make_shared<Fixed>("B", std::vector<TimeSeries>{Counter({{"instance", "n2"}}, 0, 600),
                                                           Counter({{"instance", "n3"}}, 0, 600)});
  MergedSource merged = Of({one, other});
  const auto answer = Samples(merged);
  ASSERT_THAT(answer, IsOk());
  EXPECT_TRUE(answer->complete);
  EXPECT_THAT(answer->warnings, IsEmpty());
  EXPECT_EQ(answer->source, "A, B");
  ASSERT_THAT(answer->series, SizeIs(3));
  for (const TimeSeries& series : answer->series) EXPECT_THAT(series.samples, SizeIs(41));
  bool complete = false;
  EXPECT_THAT(*merged.LabelValues(kMetricName, "", kNow, kNow, {}, &complete),
              ElementsAre("errors_total"));
  EXPECT_TRUE(complete);
}

TEST(MergedSourceTest, LabelsThatAStoreAddsDoNotMakeTwoSeriesOfOne) {
  const auto prometheus =
      std::make_shared<Fixed>("A", std::vector<TimeSeries>{Counter({{"instance", "n1"}}, 0, 600)});
  const auto thanos = std::make_shared<Fixed>(
      "B", std::vector<TimeSeries>{
               Counter({{"instance", "n1"}, {"cluster", "c"}, {"replica", "0"}}, 0, 600)});
  for (const auto& sources : {std::vector<std::shared_ptr<Source>>{prometheus, thanos},
                              std::vector<std::shared_ptr<Source>>{thanos, prometheus}}) {
    MergedSource merged = Of(sources);
    const auto answer = Samples(merged);
    ASSERT_THAT(answer, IsOk());
    ASSERT_THAT(answer->series, SizeIs(1));
    EXPECT_EQ(answer->series[0].labels.at("cluster"), "c");
    EXPECT_TRUE(answer->complete);
  }
}

TEST(MergedSourceTest, SeriesThatMayBeOfTwoThingsStayTwo) {
  // Two clusters in the second one: which of them is the machine of the first is not known.
  const auto one =
      std::make_shared<Fixed>("A", std::vector<TimeSeries>{Counter({{"instance", "n1"}}, 0, 600)});
  const auto two = std::make_shared<Fixed>(
      "B", std::vector<TimeSeries>{Counter({{"instance", "n1"}, {"cluster", "c1"}}, 0, 600),
                                   Counter({{"instance", "n1"}, {"cluster", "c2"}}, 0, 600)});
  MergedSource merged = Of({one, two});
  EXPECT_THAT(Samples(merged)->series, SizeIs(3));
  // A throughput of no machine, and that of a job.
  const auto job =
      std::make_shared<Fixed>("C", std::vector<TimeSeries>{Counter({{"job_id", "7"}}, 0, 600)});
  const auto nobody = std::make_shared<Fixed>("D", std::vector<TimeSeries>{Counter({}, 0, 600)});
  MergedSource jobs = Of({nobody, job});
  EXPECT_THAT(Samples(jobs)->series, SizeIs(2));
}

TEST(MergedSourceTest, TheGapOfOneServerIsFilledFromTheOtherWithoutResets) {
  TimeSeries gap = Counter({{"instance", "n1"}}, 0, 3600);
  gap.samples.erase(gap.samples.begin() + 40, gap.samples.begin() + 80);
  // The second one collects 4 s later, by a clock of its own, and knows less of the hour.
  const TimeSeries other = Counter({{"instance", "n1"}}, 300, 1500, 4000);
  MergedSource merged = Of({std::make_shared<Fixed>("A", std::vector<TimeSeries>{other}),
                            std::make_shared<Fixed>("B", std::vector<TimeSeries>{gap})});
  const auto answer = Samples(merged);
  ASSERT_THAT(answer, IsOk());
  ASSERT_THAT(answer->series, SizeIs(1));
  const TimeSeries& series = answer->series[0];
  EXPECT_TRUE(Grows(series));
  EXPECT_GT(series.samples.size(), gap.samples.size() + 35);
  EXPECT_LT(series.samples.size(), gap.samples.size() + 41);
  std::int64_t longest = 0;
  for (std::size_t i = 1; i < series.samples.size(); ++i) {
    longest = std::max(longest, series.samples[i].at - series.samples[i - 1].at);
  }
  EXPECT_LE(longest, 30'000);
}

TEST(MergedSourceTest, TwoMachinesWithOneNameAreNamed) {
  MergedSource merged =
      Of({std::make_shared<Fixed>(
              "A", std::vector<TimeSeries>{Counter({{"instance", "gpu-1"}}, 0, 600)}),
          std::make_shared<Fixed>(
              "B", std::vector<TimeSeries>{Counter({{"instance", "gpu-1"}}, 0, 600, 0, 7)})});
  const auto answer = Samples(merged);
  ASSERT_THAT(answer, IsOk());
  EXPECT_FALSE(answer->complete);
  EXPECT_THAT(answer->warnings, Contains(AllOf(HasSubstr("B and A differ"), HasSubstr("gpu-1"))));
  ASSERT_THAT(answer->series, SizeIs(1));
  EXPECT_EQ(answer->series[0].samples[1].value, 30);
}

TEST(MergedSourceTest, WhoDoesNotAnswerIsNamedAndNotAskedForAWhile) {
  const auto here =
      std::make_shared<Fixed>("A", std::vector<TimeSeries>{Counter({{"instance", "n1"}}, 0, 600)});
  const auto away = std::make_shared<Fixed>("Prometheus http://b", std::vector<TimeSeries>{},
                                            absl::UnavailableError("connection refused"));
  absl::Time now = kNow;
  MergedSource merged({here, away}, {.pause = absl::Minutes(1), .now = [&now] { return now; }});
  for (int i = 0; i < 3; ++i) {
    const auto answer = Samples(merged);
    ASSERT_THAT(answer, IsOk());
    EXPECT_FALSE(answer->complete);
    EXPECT_EQ(answer->source, "A");
    EXPECT_THAT(answer->warnings,
                ElementsAre("no answer: Prometheus http://b: connection refused"));
  }
  bool complete = true;
  EXPECT_THAT(merged.LabelValues(kMetricName, "", kNow, kNow, {}, &complete), IsOk());
  EXPECT_FALSE(complete);
  EXPECT_EQ(away->asked, 1);
  now += absl::Minutes(2);
  EXPECT_THAT(Samples(merged), IsOk());
  EXPECT_EQ(away->asked, 2);
  EXPECT_EQ(here->asked, 5);
}

TEST(MergedSourceTest, WhereNobodyAnswersAllAreNamed) {
  MergedSource merged =
      Of({std::make_shared<Fixed>("A", std::vector<TimeSeries>{}, absl::UnavailableError("gone")),
          std::make_shared<Fixed>("B", std::vector<TimeSeries>{},
                                  absl::PermissionDeniedError("no key"))});
  EXPECT_THAT(Samples(merged).status(), StatusIs(Code::kUnavailable, "A: gone; B: no key"));
  EXPECT_THAT(merged.LabelValues(kMetricName, "", kNow, kNow, {}, nullptr).status(),
              StatusIs(Code::kUnavailable, "A: gone; B: no key"));
}

TEST(MergedSourceTest, OneThatHangsDoesNotTakeTheTimeOfTheOthers) {
  ScriptedEndpoint hangs({Hang()});
  const auto here =
      std::make_shared<Fixed>("A", std::vector<TimeSeries>{Counter({{"instance", "n1"}}, 0, 600)});
  MergedSource merged(
      {here, std::make_shared<PrometheusClient>(PrometheusOptions{
                 .http = {.server = absl::StrCat("http://127.0.0.1:", hangs.port())}})},
      {.most_time = absl::Milliseconds(200)});
  Call call;
  call.deadline = SteadyNow() + absl::Minutes(1);
  const auto answer = merged.Samples("errors_total", kNow, kNow + absl::Hours(1), call);
  ASSERT_THAT(answer, IsOk());
  EXPECT_FALSE(answer->complete);
  EXPECT_THAT(answer->series, SizeIs(1));
  EXPECT_THAT(answer->warnings,
              Contains(HasSubstr(absl::StrCat("http://127.0.0.1:", hangs.port()))));
}

constexpr char kPartial[] = R"({"status":"success","isPartial":true,"data":{"resultType":"matrix",
  "result":[{"metric":{"__name__":"up","instance":"n1"},"values":[[1700000000,"1"]]}]},
  "stats":{"seriesFetched":"1"}})";

TEST(MergedSourceTest, EachServerGetsItsOwnKeyAndTenant) {
  const Scratch scratch;
  ScriptedEndpoint mimir({Scripted{.body = R"({"status":"success","data":["up"]})"}});
  ScriptedEndpoint plain({Scripted{.body = R"({"status":"success","data":["up"]})"}});
  const auto addresses =
      PairSources({absl::StrCat("http://127.0.0.1:", mimir.port(), "/prometheus"),
                   absl::StrCat("http://127.0.0.1:", plain.port())},
                  {scratch.Write("key", "Bearer topsecret"), "none"},
                  {scratch.Write("headers", "X-Scope-OrgID: team-a"), ""}, "--prometheus-");
  ASSERT_THAT(addresses, IsOk());
  const auto opened = OpenSources(*addresses);
  ASSERT_THAT(opened, IsOk());
  bool complete = false;
  EXPECT_THAT(*opened->source->LabelValues(kMetricName, "", kNow, kNow, {}, &complete),
              ElementsAre("up"));
  EXPECT_TRUE(complete);
  ASSERT_THAT(mimir.requests(), SizeIs(1));
  EXPECT_EQ(mimir.requests()[0].headers.at("x-scope-orgid"), "team-a");
  EXPECT_EQ(mimir.requests()[0].headers.at("authorization"), "Bearer topsecret");
  EXPECT_THAT(mimir.requests()[0].target, HasSubstr("/prometheus/api/v1/label/__name__/values"));
  ASSERT_THAT(plain.requests(), SizeIs(1));
  EXPECT_FALSE(plain.requests()[0].headers.contains("x-scope-orgid"));
  EXPECT_FALSE(plain.requests()[0].headers.contains("authorization"));
  EXPECT_THAT(PairSources({"http://a", "http://b"}, {"one.key"}, {}, "--prometheus_").status(),
              StatusIs(Code::kInvalidArgument, HasSubstr("--prometheus_key_file: 1 file for 2")));
}

TEST(MergedSourceTest, APartialAnswerOfVictoriaMetricsIsIncomplete) {
  ScriptedEndpoint endpoint({Scripted{.body = kPartial}});
  PrometheusClient client({.http = {.server = absl::StrCat("http://127.0.0.1:", endpoint.port())}});
  const auto answer = client.Samples("up", kNow, kNow + absl::Hours(1), {});
  ASSERT_THAT(answer, IsOk());
  EXPECT_FALSE(answer->complete);
  EXPECT_THAT(answer->warnings, Contains(HasSubstr("parts of it do not answer")));
  // Its errors repeat the code.
  ScriptedEndpoint refuses({Scripted{
      .code = 422, .body = R"({"status":"error","errorType":"422","error":"unknown func"})"}});
  PrometheusClient asks({.http = {.server = absl::StrCat("http://127.0.0.1:", refuses.port())}});
  EXPECT_THAT(asks.Instant("f(up)", kNow, {}).status(),
              StatusIs(Code::kInvalidArgument, HasSubstr("unknown func")));
}

}  // namespace merged_source_test
}  // namespace galen::telemetry
