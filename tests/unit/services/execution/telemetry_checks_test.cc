#include "services/execution/telemetry_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/host/bundle_files.h"
#include "common/knowledge/load.h"
#include "common/telemetry/merged_source.h"
#include "common/telemetry/open_metrics_source.h"
#include "runner_test_base.h"
#include "services/execution/check_runner.h"
#include "tests/testing/status_matchers.h"

namespace galen::execution {
namespace {

using galen::testing::IsOk;
using galen::v1::CheckResult;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::int64_t kStart = 1'700'000'000;

// Six machines for an hour; n3 retransmits, and the temperature of n5 is high.
std::string Numbers() {
  std::string text;
  for (int node = 0; node < 6; ++node) {
    for (int t = 0; t <= 3600; t += 15) {
      absl::StrAppend(&text, "node_infiniband_local_ack_timeout_errors_total{instance=\"n", node,
                      ":9100\",device=\"mlx5_0\",port=\"1\"} ",
                      7000 + (node == 3 ? 40 * t : t / 60), " ", kStart + t, "\n");
    }
  }
  return absl::StrCat(text, "# EOF\n");
}

class TelemetryChecksTest : public RunnerTestBase {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "/telemetryXXXXXX";
    ASSERT_NE(mkdtemp(root_.data()), nullptr);
    Write("bundle.yaml", "format: galen.bundle/v1\nnodes: [n0, n1, n2, n3, n4, n5]\n");
    Write("incident.yaml", "description: slow\n");
    std::filesystem::create_directory(root_ + "/telemetry");
    Write("telemetry/all.om", Numbers());
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ + "/" + name) << text;
  }

  TelemetryChecks::Options Options() const {
    auto options = TelemetryChecks::Load({GALEN_SOURCE_DIR "/knowledge"}, {});
    EXPECT_THAT(options, IsOk());
    options->bundle_root = [](const std::string& bundle) {
      return absl::StatusOr<std::string>(bundle);
    };
    return *std::move(options);
  }

  // Through the runner, as a diagnosis asks.
  std::map<std::string, CheckResult> Run(TelemetryChecks& telemetry,
                                         const v1::RunChecksRequest& request) const {
    CheckRunner::Options options;
    options.telemetry = &telemetry;
    options.bundle_nodes = [](const std::string&) {
      return absl::StatusOr<std::vector<std::string>>({"n0", "n1", "n2", "n3", "n4", "n5"});
    };
    return RunnerTestBase::Ask(std::move(options), request);
  }

  // Without a runner.
  static std::map<std::string, CheckResult> Ask(TelemetryChecks& telemetry,
                                                const v1::RunChecksRequest& request) {
    std::map<std::string, CheckResult> results;
    std::promise<void> ended;
    telemetry.Run(
        Shipped(), request, {request.checks().begin(), request.checks().end()},
        {request.nodes().begin(), request.nodes().end()}, /*named=*/false, absl::InfiniteFuture(),
        [&](const std::string&, CheckResult result) {
          results.emplace(result.id(), std::move(result));
        },
        [&] { ended.set_value(); });
    ended.get_future().get();
    return results;
  }

  v1::RunChecksRequest Question() const {
    v1::RunChecksRequest request;
    request.add_checks("telemetry.retransmits");
    request.set_bundle(root_);
    for (int node = 0; node < 6; ++node) request.add_nodes(absl::StrCat("n", node));
    return request;
  }

  std::string root_;
};

TEST_F(TelemetryChecksTest, TheNumbersOfABundleTellOneNodeFromItsPeers) {
  TelemetryChecks telemetry(Options(), clock_);
  const auto results = Run(telemetry, Question());
  ASSERT_EQ(results.size(), 6U);
  for (const auto& [id, result] : results) {
    EXPECT_EQ(result.status(),
              id == "telemetry.retransmits@n3" ? CheckResult::FAIL : CheckResult::PASS)
        << id << ": " << result.message();
  }
  EXPECT_THAT(results.at("telemetry.retransmits@n3").courses(), Not(IsEmpty()));
  EXPECT_THAT(results.at("telemetry.retransmits@n3").excerpt(),
              HasSubstr("node_infiniband_local_ack_timeout_errors_total"));
}

TEST_F(TelemetryChecksTest, ADiagnosisAsksAtOnceWhatABundleWithNumbersCanAnswer) {
  TelemetryChecks telemetry(Options(), clock_);
  EXPECT_TRUE(telemetry.Has(root_));
  const NodeRegistry registry(std::map<std::string, clients::NodeClient*>{}, {});
  CheckRunner::Options options;
  options.telemetry = &telemetry;
  options.bundle_nodes = [](const std::string&) {
    return absl::StatusOr<std::vector<std::string>>({"n0"});
  };
  const CheckRunner runner(registry, HotSwap<knowledge::Knowledge>(Shipped()), clock_, options);
  v1::ResolveNodesRequest request;
  request.set_bundle(root_);
  auto resolved = runner.ResolveNodes(request);
  ASSERT_THAT(resolved, IsOk());
  EXPECT_THAT(resolved->opening_checks(), Contains("telemetry.throughput"));
  for (const std::string& check : resolved->opening_checks()) {
    EXPECT_THAT(check, StartsWith("telemetry."));
  }
  std::filesystem::remove_all(root_ + "/telemetry");
  EXPECT_FALSE(telemetry.Has(root_));
  resolved = runner.ResolveNodes(request);
  ASSERT_THAT(resolved, IsOk());
  EXPECT_THAT(resolved->opening_checks(), IsEmpty());
}

TEST_F(TelemetryChecksTest, TheNumbersOfTheRunAreEnoughToAsk) {
  std::filesystem::remove_all(root_ + "/telemetry");
  Write("incident.yaml", "description: slow\nlogs:\n- {path: run, kind: tool}\n");
  std::filesystem::create_directory(root_ + "/logs");
  std::string text = "# TYPE job_log_scalar gauge\n";
  for (int t = 0; t <= 7200; t += 30) {
    absl::StrAppend(&text, "job_log_scalar{run_id=\"r\",tag=\"train/tok_per_sec\"} ",
                    t < 3600 ? 1000 + t % 7 : 700 + t % 7, " ", kStart + t, "\n");
  }
  Write("logs/run", text + "# EOF\n");
  TelemetryChecks telemetry(Options(), clock_);
  EXPECT_TRUE(telemetry.Has(root_));
  v1::RunChecksRequest request = Question();
  request.clear_checks();
  request.add_checks("telemetry.throughput");
  const auto results = Ask(telemetry, request);
  const CheckResult& result = results.at("telemetry.throughput@n0");
  EXPECT_NE(result.status(), CheckResult::SKIPPED) << result.message();
  EXPECT_NE(result.status(), CheckResult::ERROR) << result.message();
  EXPECT_THAT(result.courses(), Not(IsEmpty()));
}

TEST_F(TelemetryChecksTest, WithoutNumbersItIsSkippedAndSaysWhatToDo) {
  std::filesystem::remove_all(root_ + "/telemetry");
  TelemetryChecks telemetry(Options(), clock_);
  const auto results = Ask(telemetry, Question());
  ASSERT_EQ(results.size(), 6U);
  for (const auto& [id, result] : results) {
    EXPECT_EQ(result.status(), CheckResult::SKIPPED) << id;
    EXPECT_THAT(result.message(), HasSubstr("--prometheus"));
  }
}

TEST_F(TelemetryChecksTest, WhatASeriesIsMissingForIsSaidWithWhatToCollect) {
  Write("telemetry/all.om",
        "up{instance=\"n0\"} 1 1700000000\nup{instance=\"n0\"} 1 1700003600\n# EOF\n");
  TelemetryChecks telemetry(Options(), clock_);
  const auto results = Run(telemetry, Question());
  EXPECT_EQ(results.at("telemetry.retransmits@n3").status(), CheckResult::SKIPPED);
  EXPECT_THAT(results.at("telemetry.retransmits@n3").message(), HasSubstr("no series of"));
  EXPECT_THAT(results.at("telemetry.retransmits@n3").wanted(),
              Contains(HasSubstr("RDMA counters")));
}

TEST_F(TelemetryChecksTest, AServerThatIsAwayIsAnErrorAndHoldsNobodyUp) {
  auto options =
      TelemetryChecks::Load({GALEN_SOURCE_DIR "/knowledge"}, {{"http://127.0.0.1:1", "", ""}});
  ASSERT_THAT(options, IsOk());
  TelemetryChecks telemetry(*std::move(options), clock_);
  v1::RunChecksRequest request = Question();
  request.clear_bundle();
  const auto results = Run(telemetry, request);
  ASSERT_EQ(results.size(), 6U);
  for (const auto& [id, result] : results) {
    EXPECT_EQ(result.status(), CheckResult::ERROR) << id << ": " << result.message();
  }
}

TEST_F(TelemetryChecksTest, OneOfTwoServersThatIsAwayIsNamedAndNothingIsClear) {
  const auto files = host::BundleFiles::Open(root_);
  ASSERT_THAT(files, IsOk());
  auto numbers = telemetry::OpenMetricsSource::Open(*files, std::nullopt, telemetry::FileLimits(),
                                                    telemetry::Call());
  ASSERT_THAT(numbers, IsOk());
  std::shared_ptr<telemetry::Source> here = *std::move(numbers);
  const auto away = telemetry::OpenSources({{"http://127.0.0.1:1", "", ""}});
  ASSERT_THAT(away, IsOk());
  const playbook::Times hour = {absl::FromUnixSeconds(kStart),
                                absl::FromUnixSeconds(kStart + 3600)};
  v1::RunChecksRequest request = Question();
  request.clear_bundle();
  const auto run = [&](std::vector<std::shared_ptr<telemetry::Source>> sources) {
    auto options = Options();
    options.live = TelemetryChecks::Opened{
        std::make_shared<telemetry::MergedSource>(std::move(sources)), hour, std::nullopt};
    TelemetryChecks telemetry(std::move(options), clock_);
    return Run(telemetry, request);
  };
  const auto both = run({here, here});
  EXPECT_EQ(both.at("telemetry.retransmits@n0").status(), CheckResult::PASS);
  EXPECT_EQ(both.at("telemetry.retransmits@n3").status(), CheckResult::FAIL);
  const auto half = run({here, away->source});
  for (const auto& [id, result] : half) {
    EXPECT_EQ(result.status(),
              id == "telemetry.retransmits@n3" ? CheckResult::FAIL : CheckResult::SKIPPED)
        << id;
    EXPECT_THAT(result.message(), HasSubstr("http://127.0.0.1:1")) << id;
  }
}

TEST_F(TelemetryChecksTest, ACustomersBundleIsNotAnsweredFromTheProvidersServer) {
  auto options =
      TelemetryChecks::Load({GALEN_SOURCE_DIR "/knowledge"}, {{"http://127.0.0.1:1", "", ""}});
  ASSERT_THAT(options, IsOk());
  options->bundle_root = [](const std::string& bundle) {
    return absl::StatusOr<std::string>(bundle);
  };
  TelemetryChecks telemetry(*std::move(options), clock_);
  std::filesystem::remove_all(root_ + "/telemetry");
  EXPECT_FALSE(telemetry.Has(root_));
  EXPECT_EQ(Ask(telemetry, Question()).at("telemetry.retransmits@n0").status(),
            CheckResult::SKIPPED);
}

TEST_F(TelemetryChecksTest, ItTakesChecksOfTheKindAloneAndLeavesOthersToNodes) {
  TelemetryChecks telemetry(Options(), clock_);
  v1::RunChecksRequest request = Question();
  request.add_checks("gpu.ecc");
  const auto results = Run(telemetry, request);
  EXPECT_EQ(results.at("telemetry.retransmits@n0").status(), CheckResult::PASS);
  EXPECT_EQ(results.at("gpu.ecc@n0").status(), CheckResult::ERROR) << "no node reads the bundle";
}

}  // namespace
}  // namespace galen::execution
