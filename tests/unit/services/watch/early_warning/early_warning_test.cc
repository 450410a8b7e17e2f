// Claims about what early warning opens, and what becomes of it when it is killed.
#include "services/watch/early_warning/early_warning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/telemetry/open_metrics_source.h"
#include "model_of_knowledge.h"
#include "services/watch/early_warning/policy_state_codec.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::watch::early_warning {
namespace {

using ::galen::testing::FakeClock;
using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr std::int64_t kBegin = 1'700'000'040;  // a whole minute
constexpr int kMinutes = 200;
constexpr int kFault = 100;  // minutes from the beginning

// Two machines of eight busy GPUs, a sample a minute; GPU 3 of "n1" is held at 200 MHz from kFault
// on.
std::string Text() {
  std::map<std::string, std::string> families;
  for (int minute = 0; minute < kMinutes; ++minute) {
    for (int gpu = 0; gpu < 16; ++gpu) {
      const bool slow = gpu == 3 && minute >= kFault;
      const double noise = ((gpu * 31 + minute * 17) % 13 - 6) / 6.0;
      const std::string labels =
          absl::StrFormat("{Hostname=\"n%d\",gpu=\"%d\"}", 1 + gpu / 8, gpu % 8);
      const auto add = [&](const char* name, double value) {
        absl::StrAppend(&families[name], name, labels, " ", value, " ", kBegin + 60 * minute, "\n");
      };
      add("DCGM_FI_DEV_POWER_USAGE", (slow ? 95 : 340) + 3 * noise);
      add("DCGM_FI_DEV_SM_CLOCK", (slow ? 200 : 1400) + 5 * noise);
      add("DCGM_FI_DEV_GPU_UTIL", 100);
    }
  }
  std::string text;
  for (const auto& [name, lines] : families) {
    absl::StrAppend(&text, "# TYPE ", name, " gauge\n", lines);
  }
  return text + "# EOF\n";
}

std::shared_ptr<telemetry::Source> Telemetry() {
  static const std::shared_ptr<telemetry::Source> source =
      telemetry::OpenMetricsSource::OfText("made up", Text(), std::nullopt, {});
  return source;
}

// Has nothing, for a reason.
class Away final : public telemetry::Source {
 public:
  std::string name() const override { return "away"; }
  bool evaluates() const override { return false; }
  absl::StatusOr<telemetry::Answer> Instant(const std::string&, absl::Time,
                                            const telemetry::Call&) override {
    return Status();
  }
  absl::StatusOr<telemetry::Answer> RangeOf(const std::string&, const telemetry::Range&,
                                            const telemetry::Call&) override {
    return Status();
  }
  absl::StatusOr<telemetry::Answer> Samples(const std::string&, absl::Time, absl::Time,
                                            const telemetry::Call&) override {
    return Status();
  }
  absl::StatusOr<telemetry::Answer> SeriesOf(const std::string&, absl::Time, absl::Time,
                                             const telemetry::Call&) override {
    return Status();
  }
  absl::StatusOr<std::vector<std::string>> LabelValues(const std::string&, const std::string&,
                                                       absl::Time, absl::Time,
                                                       const telemetry::Call&, bool*) override {
    return Status();
  }

 private:
  static absl::Status Status() { return absl::UnavailableError("the server is away"); }
};

class EarlyWarningTest : public ::testing::Test {
 protected:
  std::unique_ptr<EarlyWarning> Make(const std::string& owner,
                                     std::shared_ptr<telemetry::Source> source = Telemetry()) {
    EarlyWarning::Options options;
    options.owner = owner;
    options.leader_ttl = leader_ttl_;
    options.every = absl::Milliseconds(1);
    options.jobs = jobs_;
    options.on_problem = [this](const absl::Status& problem) {
      problems_.emplace_back(problem.message());
      if (on_problem_) on_problem_(problem);
    };
    const std::string knowledge = absl::StrCat(GALEN_SOURCE_DIR, "/knowledge");
    watch::detection::RuleSet rule_set = watch::detection::LoadRules({knowledge}).value();
    rule_set.silences = silences_;
    return std::make_unique<EarlyWarning>(
        *store_, std::move(source), telemetry::LoadRules({knowledge}).value(), std::move(rule_set),
        clock_,
        [this](const galen::v1::CreateDiagnosisRequest& request) -> absl::StatusOr<std::string> {
          ++calls_;
          if (before_.ok()) opened_.try_emplace(request.request_id(), request);
          if (!before_.ok()) return before_;
          if (!after_.ok()) return after_;
          return absl::StrCat("tenants/t/diagnoses/", opened_.size());
        },
        options);
  }
  void GoTo(int minute) {
    clock_.Advance(absl::FromUnixSeconds(kBegin + 60 * minute + 61) - clock_.Now());
  }
  // Until it leads: who was there before may not have given the lead back.
  static void RunUntilItLeads(EarlyWarning& early) {
    while (!early.IsLeader()) ASSERT_THAT(early.Round(), IsOk());
  }

  const std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
  FakeClock clock_{absl::FromUnixSeconds(kBegin)};
  std::vector<watch::detection::Silence> silences_;
  absl::Duration leader_ttl_ = absl::Milliseconds(50);
  std::function<void(const absl::Status&)> on_problem_;
  std::shared_ptr<JobFiles> jobs_;
  std::vector<std::string> problems_;
  absl::Status before_;  // why nothing is opened
  absl::Status after_;   // why the answer to an opening is lost
  int calls_ = 0;
  std::map<std::string, galen::v1::CreateDiagnosisRequest> opened_;
};

TEST_F(EarlyWarningTest, AGpuHeldAt200MHzOpensOneDiagnosisThatNamesItsMachine) {
  const auto early = Make("one");
  for (int minute = 5; minute < kFault; ++minute) {
    GoTo(minute);
    ASSERT_THAT(early->Round(), IsOk());
  }
  EXPECT_THAT(opened_, IsEmpty());
  int first = 0;
  for (int minute = kFault; minute < kMinutes; ++minute) {
    GoTo(minute);
    ASSERT_THAT(early->Round(), IsOk());
    if (first == 0 && !opened_.empty()) first = minute - kFault;
  }
  ASSERT_THAT(opened_, SizeIs(1));
  EXPECT_LE(first, 5);
  const galen::v1::Incident& incident = opened_.begin()->second.diagnosis().incident();
  EXPECT_THAT(incident.nodes(), ElementsAre("n1"));
  EXPECT_THAT(incident.description(), HasSubstr("n1 GPU 3"));
  EXPECT_THAT(incident.logs(0).content(), HasSubstr("gpu_power: "));
  EXPECT_THAT(incident.logs(0).content(), HasSubstr("gpu_clock: 2"));
  EXPECT_GE(incident.start_time().seconds(), kBegin + 60 * kFault - 120);
}

// Killed with the decision in the store and nothing opened.
TEST_F(EarlyWarningTest, WhatWasDecidedAndNotOpenedIsOpenedByTheNext) {
  before_ = absl::UnavailableError("away");
  auto first = Make("one");
  GoTo(kFault + 20);
  while (calls_ == 0) first->Round().IgnoreError();
  first.reset();
  EXPECT_THAT(opened_, IsEmpty());
  before_ = absl::OkStatus();
  const auto second = Make("two");
  RunUntilItLeads(*second);
  GoTo(kFault + 40);
  ASSERT_THAT(second->Round(), IsOk());
  EXPECT_THAT(opened_, SizeIs(1));
}

// Killed after it was opened and before it was recorded.
TEST_F(EarlyWarningTest, WhatWasOpenedAndNotNotedIsNotOpenedTwice) {
  after_ = absl::UnavailableError("the connection broke");
  auto first = Make("one");
  GoTo(kFault + 20);
  while (calls_ == 0) first->Round().IgnoreError();
  first.reset();
  after_ = absl::OkStatus();
  const auto second = Make("two");
  RunUntilItLeads(*second);
  for (int minute = kFault + 21; minute < kMinutes; ++minute) {
    GoTo(minute);
    ASSERT_THAT(second->Round(), IsOk());
  }
  EXPECT_GE(calls_, 2);
  EXPECT_THAT(opened_, SizeIs(1)) << "the same request id";
}

TEST_F(EarlyWarningTest, ARestartNeitherForgetsNorRepeatsACause) {
  for (int minute = 20; minute < kMinutes; minute += 7) {
    GoTo(minute);
    const auto early = Make(absl::StrCat("run ", minute));
    RunUntilItLeads(*early);
    ASSERT_THAT(early->Round(), IsOk());
  }
  EXPECT_THAT(opened_, SizeIs(1));
}

TEST_F(EarlyWarningTest, OfTwoOneReadsAndTheOtherWaits) {
  leader_ttl_ = absl::Hours(1);
  const auto first = Make("one");
  const auto second = Make("two");
  GoTo(kFault - 50);
  ASSERT_THAT(first->Round(), IsOk());
  ASSERT_TRUE(first->IsLeader());
  for (int minute = kFault - 49; minute < kFault + 30; ++minute) {
    GoTo(minute);
    first->Round().IgnoreError();
    second->Round().IgnoreError();
    EXPECT_TRUE(first->IsLeader());
    EXPECT_FALSE(second->IsLeader());
  }
  EXPECT_EQ(calls_, 1);
  EXPECT_THAT(opened_, SizeIs(1));
}

TEST_F(EarlyWarningTest, MinutesThatNobodyReadAreReadLater) {
  const auto early = Make("one");
  GoTo(10);
  ASSERT_THAT(early->Round(), IsOk());
  GoTo(kFault + 30);
  ASSERT_THAT(early->Round(), IsOk());
  EXPECT_THAT(opened_, SizeIs(1));
}

TEST_F(EarlyWarningTest, WithoutTelemetryItSaysSoAndOpensNothing) {
  const auto early = Make("one", std::make_shared<Away>());
  GoTo(kFault + 30);
  EXPECT_THAT(early->Round(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("away")));
  EXPECT_THAT(opened_, IsEmpty());
}

TEST_F(EarlyWarningTest, WhatIsPlannedOpensNothing) {
  silences_.push_back({absl::FromUnixSeconds(kBegin), absl::FromUnixSeconds(kBegin + 60 * kMinutes),
                       "n1", "", "clocks are tested"});
  const auto early = Make("one");
  GoTo(10);
  ASSERT_THAT(early->Round(), IsOk());
  GoTo(kFault + 60);
  ASSERT_THAT(early->Round(), IsOk());
  EXPECT_THAT(opened_, IsEmpty());
}

// A person who cancels the diagnosis says that there was nothing.
TEST_F(EarlyWarningTest, ACancelledDiagnosisRaisesTheLimitsOfItsRules) {
  const auto early = Make("one");
  GoTo(10);
  ASSERT_THAT(early->Round(), IsOk());
  GoTo(kFault + 20);
  ASSERT_THAT(early->Round(), IsOk());
  ASSERT_THAT(opened_, SizeIs(1));
  const std::string name = "tenants/t/diagnoses/1";
  galen::v1::DiagnosisEvent created;
  created.mutable_created()->set_name(name);
  ASSERT_THAT(store_->events().Create(created), IsOk());
  const auto lease =
      store_->events().AcquireLease(name, "orchestrator", clock_.Now(), absl::Hours(1));
  ASSERT_THAT(lease, IsOk());
  galen::v1::DiagnosisEvent cancelled;
  cancelled.set_sequence(2);
  cancelled.mutable_cancelled()->set_reason("nothing was wrong");
  ASSERT_THAT(store_->events().Append(*lease, 1, {cancelled}), IsOk());
  GoTo(kFault + 40);
  ASSERT_THAT(early->Round(), IsOk());
  const auto notes = store_->journal().Read("watch.early.state", 0, 1000).value();
  v1::EarlyState state;
  ASSERT_TRUE(state.ParseFromString(notes.back().record));
  EXPECT_EQ(state.false_alarms_size(), 1);
  EXPECT_DOUBLE_EQ(state.raised().at("clock_below_peers"), 1.25);
}

// A replica that lost the lead writes nothing when it stops: its successor knows more.
TEST_F(EarlyWarningTest, WhoLostTheLeadLeavesWhatTheNextOneKept) {
  const auto kept = [&] {
    v1::EarlySubjects subjects;
    const auto value = store_->values().Get("watch.early.subjects", "0", clock_.Now()).value();
    EXPECT_TRUE(value.has_value() && subjects.ParseFromString(*value));
    return subjects.minute();
  };
  auto first = Make("one");
  GoTo(10);
  ASSERT_THAT(first->Round(), IsOk());
  auto second = Make("two");
  RunUntilItLeads(*second);  // once the first one's time is over
  GoTo(30);
  ASSERT_THAT(second->Round(), IsOk());
  EXPECT_EQ(kept(), kBegin / 60 + 30);
  first.reset();
  EXPECT_EQ(kept(), kBegin / 60 + 30);
}

// The state of the detectors means something else after rules changed their places.
TEST_F(EarlyWarningTest, WhatWasKeptOfOtherRulesIsNotTaken) {
  for (const bool same : {true, false}) {
    auto early = Make("one");
    RunUntilItLeads(*early);
    GoTo(same ? 20 : 40);
    ASSERT_THAT(early->Round(), IsOk());
    early.reset();
    v1::EarlySubjects subjects;
    ASSERT_TRUE(subjects.ParseFromString(
        store_->values().Get("watch.early.subjects", "0", clock_.Now()).value().value()));
    ASSERT_EQ(subjects.kind(), "gpu");
    for (v1::EarlySubjects::Subject& each : *subjects.mutable_subjects()) {
      // The sum of the first rule. (Each time of another machine, as each is a separate cause.)
      if (each.node() == (same ? "n2" : "n1")) each.set_numbers(1, 1e6F);
    }
    if (!same) subjects.set_rules(subjects.rules() + 1);
    ASSERT_THAT(store_->values().Put("watch.early.subjects", "0", subjects.SerializeAsString(),
                                     clock_.Now(), absl::Hours(1)),
                IsOk());
    const std::size_t before = opened_.size();
    early = Make("two");
    RunUntilItLeads(*early);
    GoTo(same ? 24 : 44);
    ASSERT_THAT(early->Round(), IsOk());
    EXPECT_EQ(opened_.size() - before, same ? 1u : 0u);
    GoTo(same ? 39 : 59);
    early.reset();
    ASSERT_THAT(store_->values().Remove("watch.early.subjects", "0"), IsOk());
  }
}

// Answers, and says that there is more.
class Part final : public telemetry::Source {
 public:
  std::string name() const override { return "part"; }
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
                                            absl::Time end, const telemetry::Call& call) override {
    absl::StatusOr<telemetry::Answer> answer = Telemetry()->Samples(selector, start, end, call);
    if (answer.ok()) answer->Incomplete("there is more");
    latest_ = std::max<std::int64_t>(latest_, absl::ToUnixSeconds(end));
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
  // Until when it was asked for.
  std::int64_t latest() const { return latest_; }

 private:
  std::atomic<std::int64_t> latest_ = 0;
};

TEST_F(EarlyWarningTest, WhatIsNotAllIsSaidOnceOfEachQuantity) {
  leader_ttl_ = absl::Hours(1);
  std::vector<std::string> problems;  // of its thread, which is gone when they are read
  std::atomic<std::size_t> said = 0;
  on_problem_ = [&](const absl::Status& problem) {
    problems.push_back(std::string(problem.message()));
    said = problems.size();
  };
  const auto source = std::make_shared<Part>();
  auto early = Make("one", source);
  GoTo(5);
  early->Start();
  while (said < 3) absl::SleepFor(absl::Milliseconds(1));
  for (int minute = 6; minute < 16; ++minute) {
    const std::int64_t before = source->latest();
    GoTo(minute);
    while (source->latest() == before) absl::SleepFor(absl::Milliseconds(1));
  }
  early.reset();
  EXPECT_THAT(problems, UnorderedElementsAre(HasSubstr("not all of gpu_power came"),
                                             HasSubstr("not all of gpu_clock came"),
                                             HasSubstr("not all of gpu_utilization came")));
}

TEST_F(EarlyWarningTest, AStateThatCannotBeReadIsToldAndNotPassedOver) {
  ASSERT_THAT(store_->journal().Append("watch.early.state", {"\xff\xff\xff"}), IsOk());
  const auto early = Make("one");
  GoTo(10);
  EXPECT_THAT(early->Round(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("watch.early.state")));
}

// ---- held against the performance model

// Two machines of job "llm-7b" that export its throughput, `of_low` of the model's lower bound,
// from the first minute on; with `exported`, the site itself exports this as the expected value.
std::shared_ptr<telemetry::Source> Throughput(double of_low, std::optional<double> exported) {
  const double low = PredictJob(kJob, "job", Facts(), Calibrated()).value().low;
  std::map<std::string, std::string> families;
  for (int minute = 0; minute < kMinutes; ++minute) {
    for (int node = 1; node <= 2; ++node) {
      const std::string labels =
          absl::StrFormat("{host=\"n%d\",job_id=\"llm-7b\",rank=\"%d\"}", node, node);
      const auto add = [&](const char* name, double value) {
        absl::StrAppend(&families[name], name, labels, " ", value, " ", kBegin + 60 * minute, "\n");
      };
      add("training_tokens_per_second", low * of_low * (1 + 0.001 * (minute % 5)));
      if (exported) add("training_predicted_low_tokens_per_second", low * *exported);
    }
  }
  std::string text;
  for (const auto& [name, lines] : families) {
    absl::StrAppend(&text, "# TYPE ", name, " gauge\n", lines);
  }
  return telemetry::OpenMetricsSource::OfText("made up", text + "# EOF\n", std::nullopt, {});
}

class PredictedTest : public EarlyWarningTest {
 protected:
  PredictedTest() {
    std::string name = absl::StrCat(::testing::TempDir(), "/jobs-XXXXXX");
    directory_ = mkdtemp(name.data());
    Describe(kJob);
    jobs_ = JobFiles::Open({.directory = directory_}, Facts(), Calibrated()).value();
  }
  ~PredictedTest() override { std::filesystem::remove_all(directory_); }
  void Describe(const std::string& text) const {
    std::ofstream(absl::StrCat(directory_, "/llm-7b.yaml"), std::ios::trunc) << text;
  }
  // The descriptions of diagnoses opened for a job with this throughput.
  std::vector<std::string> Opened(double of_low, std::optional<double> exported = {}) {
    const auto early = Make("one", Throughput(of_low, exported));
    GoTo(10);
    early->Round().IgnoreError();
    GoTo(kMinutes - 1);
    EXPECT_THAT(early->Round(), IsOk());
    std::vector<std::string> told;
    for (const auto& [id, request] : opened_) {
      told.push_back(request.diagnosis().incident().description());
    }
    return told;
  }
  std::string directory_;
};

TEST_F(PredictedTest, AJobBelowWhatTheModelSaysAtTheLeastIsToldOf) {
  EXPECT_THAT(Opened(0.6), ElementsAre(HasSubstr("llm-7b")));
  EXPECT_THAT(opened_.begin()->second.diagnosis().incident().description(),
              HasSubstr("less than the model of its performance predicts at the least"));
}

TEST_F(PredictedTest, AJobThatDoesWhatTheModelSaysIsNot) { EXPECT_THAT(Opened(1.2), IsEmpty()); }

TEST_F(PredictedTest, WhatTheSiteExportsGoesBeforeTheModel) {
  EXPECT_THAT(Opened(0.6, 0.5), IsEmpty());
}

TEST_F(PredictedTest, WhatTheSiteExportsGoesBeforeTheModelAlsoWhereItIsMore) {
  EXPECT_THAT(Opened(1.2, 2), SizeIs(1));
}

TEST_F(PredictedTest, OfShareSeriesTheShareIsAwaited) {
  Describe(absl::StrCat(kJob, "throughput_of: node\n"));
  EXPECT_THAT(Opened(0.6), IsEmpty()) << "a machine does 0.6 where half of it is awaited";
}

TEST_F(PredictedTest, WhatCannotBePredictedIsUnknownAndNamedAndNotZero) {
  Describe("gpu: none\nshape: layers=1\n");
  EXPECT_THAT(Opened(0.01), IsEmpty());
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("llm-7b.yaml")));
  bool named = false;
  const auto early = Make("two");
  for (const auto& family : early->metrics()->Collect()) {
    if (family.name != "galen_watch_early_unread_job_files") continue;
    ASSERT_THAT(family.metric, SizeIs(1));
    named = family.metric[0].label.at(0).value == "llm-7b.yaml";
  }
  EXPECT_TRUE(named);
}

TEST(EarlyState, ComesBackAsItWas) {
  watch::detection::PolicyState state;
  state.next_id = 7;
  watch::detection::Alarm alarm;
  alarm.id = 6;
  alarm.notices.push_back({"r", {"n", "d", "j", "s"}, 1.5, 2, 3, absl::FromUnixSeconds(5)});
  alarm.first = absl::FromUnixSeconds(10);
  alarm.last = absl::FromUnixSeconds(20);
  alarm.told = absl::InfinitePast();
  state.alarms.push_back(alarm);
  state.unjudged.push_back({3, {"r"}, "tenants/t/diagnoses/1", absl::FromUnixSeconds(50)});
  state.raised["r"] = 1.25;
  state.false_alarms.push_back(absl::FromUnixSeconds(30));
  state.forgiven = absl::FromUnixSeconds(40);
  const watch::detection::PolicyState back = FromStored(ToStored(state));
  EXPECT_EQ(ToStored(back).SerializeAsString(), ToStored(state).SerializeAsString());
  EXPECT_EQ(back.alarms.at(0).told, absl::InfinitePast());
  EXPECT_EQ(back.alarms.at(0).notices.at(0).where, alarm.notices[0].where);
}

}  // namespace
}  // namespace galen::watch::early_warning
