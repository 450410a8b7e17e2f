// A real Prometheus: a TSDB that promtool writes is opened, asked, and left as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/steady.h"
#include "common/host/process.h"
#include "common/telemetry/discovery.h"
#include "common/telemetry/open_source.h"
#include "common/telemetry/prometheus_client.h"
#include "common/telemetry/stored_tsdb.h"
#include "tests/testing/status_matchers.h"

namespace galen::telemetry {
namespace prometheus_test {

namespace fs = std::filesystem;

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::_;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kStart = 1'700'000'000;
absl::Time At(int second) { return absl::FromUnixSeconds(kStart + second); }

bool Eventually(const std::function<bool()>& condition) {
  const absl::Time end = SteadyNow() + absl::Seconds(50);
  while (SteadyNow() < end) {
    if (condition()) return true;
    absl::SleepFor(absl::Milliseconds(20));
  }
  return false;
}

// Every file below a folder, with its bytes and the time it was written.
std::map<std::string, std::string> Contents(const fs::path& root) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::ostringstream bytes;
    bytes << in.rdbuf();
    contents[entry.path().lexically_relative(root)] =
        absl::StrCat(bytes.str(), "|", entry.last_write_time().time_since_epoch().count());
  }
  return contents;
}

class PrometheusTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto version = host::RunProcess({"promtool", "--version"}, kPath, {}, {});
    const auto server = host::RunProcess({"prometheus", "--version"}, kPath, {}, {});
    if (!version.ok() || !server.ok()) return;
    std::string pattern = absl::StrCat(::testing::TempDir(), "galen_prometheus_XXXXXX");
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    const fs::path text = fs::path(root_) / "samples.om";
    std::ofstream out(text);
    out << "# TYPE DCGM_FI_DEV_POWER_USAGE gauge\n";
    for (const char* node : {"n1", "n2"}) {
      for (int gpu = 0; gpu < 2; ++gpu) {
        for (int t = 0; t <= 3600; t += 15) {
          out << "DCGM_FI_DEV_POWER_USAGE{Hostname=\"" << node << "\",gpu=\"" << gpu << "\"} "
              << 600 + gpu + t % 7 << " " << kStart + t << "\n";
        }
      }
    }
    out << "# TYPE node_infiniband_local_ack_timeout_errors counter\n";
    for (int t = 0; t <= 3600; t += 15) {
      out << "node_infiniband_local_ack_timeout_errors_total{instance=\"n1:9100\",device=\"mlx5_"
             "0\",port=\"1\"} "
          << t * 2 << " " << kStart + t << "\n";
    }
    out << "# EOF\n";
    out.close();
    fs::create_directory(fs::path(root_) / "tsdb");
    const auto made = host::RunProcess(
        {"promtool", "tsdb", "create-blocks-from", "openmetrics", text.string(), root_ + "/tsdb"},
        kPath, {}, {.time = absl::Minutes(1)});
    ASSERT_THAT(made, IsOk());
    ASSERT_EQ(made->exit_code, 0) << made->err;
    std::ofstream(root_ + "/tsdb/lock") << "12345";
    const auto opened = StoredTsdb::Open(root_ + "/tsdb", {}, {});
    ASSERT_THAT(opened.status(), IsOk());
  }
  static void TearDownTestSuite() {
    if (!root_.empty()) fs::remove_all(root_);
  }
  void SetUp() override {
    if (root_.empty())
      GTEST_SKIP() << "prometheus and promtool are not installed (Debian's package prometheus)";
  }

  std::unique_ptr<StoredTsdb> Open() {
    auto tsdb = StoredTsdb::Open(root_ + "/tsdb", {}, {});
    EXPECT_THAT(tsdb.status(), IsOk());
    return tsdb.ok() ? *std::move(tsdb) : nullptr;
  }

  static constexpr char kPath[] = "/usr/local/bin:/usr/bin:/bin";
  static inline std::string root_;
};

TEST_F(PrometheusTest, AnswersAllKindsOfQuestions) {
  const auto tsdb = Open();
  ASSERT_NE(tsdb, nullptr);
  EXPECT_EQ(tsdb->first(), At(0));
  EXPECT_GE(tsdb->last(), At(3600));
  PrometheusClient client({.http = {.server = absl::StrCat("http://127.0.0.1:", tsdb->port())}});
  const auto instant = client.Instant("sum by (Hostname) (DCGM_FI_DEV_POWER_USAGE)", At(1800), {});
  ASSERT_THAT(instant, IsOk());
  EXPECT_TRUE(instant->complete);
  EXPECT_THAT(instant->series, SizeIs(2));
  EXPECT_EQ(Last(*instant, {{"Hostname", "n1"}}, At(1800), absl::Minutes(1)).value(),
            2 * (600 + 1800 % 7) + 1);
  const auto range = client.RangeOf("rate(node_infiniband_local_ack_timeout_errors_total[1m])",
                                    {At(600), At(1200), absl::Minutes(1)}, {});
  ASSERT_THAT(range, IsOk());
  ASSERT_THAT(range->series, SizeIs(1));
  ASSERT_THAT(range->series[0].samples, SizeIs(11));
  EXPECT_NEAR(range->series[0].samples[5].value, 2, 1e-9);
  const auto samples =
      client.Samples("DCGM_FI_DEV_POWER_USAGE{gpu=\"1\",Hostname=\"n2\"}", At(100), At(160), {});
  ASSERT_THAT(samples, IsOk());
  ASSERT_THAT(samples->series, SizeIs(1));
  EXPECT_THAT(samples->series[0].samples, SizeIs(4));
  EXPECT_EQ(samples->series[0].samples[0].at, absl::ToUnixMillis(At(105)));
  EXPECT_THAT(client.SeriesOf("{gpu=\"0\"}", At(0), At(3600), {})->series, SizeIs(2));
  EXPECT_THAT(*client.LabelValues("Hostname", "", At(0), At(3600), {}, nullptr),
              ElementsAre("n1", "n2"));
}

TEST_F(PrometheusTest, TwoOfOneStoreAreOneSource) {
  const auto tsdb = Open();
  const auto again = Open();
  ASSERT_NE(tsdb, nullptr);
  ASSERT_NE(again, nullptr);
  const auto at = [](const StoredTsdb& each) {
    return SourceAddress{absl::StrCat("http://127.0.0.1:", each.port()), "", ""};
  };
  const auto one = OpenSources({at(*tsdb)});
  const auto two = OpenSources({at(*tsdb), at(*again)});
  const auto with_dead = OpenSources({at(*tsdb), {"http://127.0.0.1:1", "", ""}});
  ASSERT_THAT(one, IsOk());
  ASSERT_THAT(two, IsOk());
  ASSERT_THAT(with_dead, IsOk());
  for (const char* const selector :
       {"DCGM_FI_DEV_POWER_USAGE", "node_infiniband_local_ack_timeout_errors_total"}) {
    const auto alone = one->source->Samples(selector, At(0), At(3600), {});
    const auto both = two->source->Samples(selector, At(0), At(3600), {});
    const auto half = with_dead->source->Samples(selector, At(0), At(3600), {});
    ASSERT_THAT(alone, IsOk());
    ASSERT_THAT(both, IsOk());
    ASSERT_THAT(half, IsOk());
    EXPECT_TRUE(both->complete);
    EXPECT_FALSE(half->complete);
    ASSERT_EQ(both->series.size(), alone->series.size());
    for (std::size_t i = 0; i < alone->series.size(); ++i) {
      EXPECT_EQ(both->series[i].labels, alone->series[i].labels);
      EXPECT_EQ(both->series[i].samples.size(), alone->series[i].samples.size());
    }
  }
  const std::string total = "sum(increase(node_infiniband_local_ack_timeout_errors_total[1h]))";
  const auto alone = one->source->Instant(total, At(3600), {});
  const auto both = two->source->Instant(total, At(3600), {});
  ASSERT_THAT(both, IsOk());
  EXPECT_TRUE(both->complete);
  ASSERT_THAT(both->series, SizeIs(1));
  EXPECT_EQ(both->series[0].samples[0].value, alone->series[0].samples[0].value);
}

TEST_F(PrometheusTest, WhatIsNotThereIsNotZero) {
  const auto tsdb = Open();
  ASSERT_NE(tsdb, nullptr);
  const auto absent = tsdb->Instant("DCGM_FI_DEV_GPU_TEMP", At(1800), {});
  ASSERT_THAT(absent, IsOk());
  EXPECT_FALSE(Last(*absent, {}, At(1800), absl::Minutes(5)).known());
  // Now is long after the last sample of a stored TSDB.
  const auto now = tsdb->Instant("DCGM_FI_DEV_POWER_USAGE", absl::Now(), {});
  ASSERT_THAT(now, IsOk());
  EXPECT_THAT(now->series, IsEmpty());
}

TEST_F(PrometheusTest, ItsErrorsAreUnderstood) {
  const auto tsdb = Open();
  ASSERT_NE(tsdb, nullptr);
  EXPECT_THAT(tsdb->Instant("sum(", At(0), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("parse error")));
  EXPECT_THAT(tsdb->Instant("label_replace(up, \"a\", \"b\", \"c\", \"(\")", At(0), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, _));
  PrometheusClient elsewhere(
      {.http = {.server = absl::StrCat("http://127.0.0.1:", tsdb->port(), "/nowhere")}});
  EXPECT_THAT(elsewhere.Instant("up", At(0), {}), StatusIs(absl::StatusCode::kNotFound, _));
  Call call;
  call.limits.series = 1;
  const auto cut = tsdb->Instant("DCGM_FI_DEV_POWER_USAGE", At(1800), call);
  ASSERT_THAT(cut, IsOk());
  EXPECT_FALSE(cut->complete);
  EXPECT_THAT(cut->series, SizeIs(1));
}

TEST_F(PrometheusTest, DiscoversAndMeasures) {
  const auto tsdb = Open();
  ASSERT_NE(tsdb, nullptr);
  const auto rules = LoadRules({GALEN_SOURCE_DIR "/knowledge"});
  ASSERT_THAT(rules, IsOk());
  const auto inventory =
      Discover(*tsdb, *rules, tsdb->first(), tsdb->last(), {"n1", "n2", "n3"}, {});
  ASSERT_THAT(inventory, IsOk());
  ASSERT_THAT(inventory->families, SizeIs(2));
  EXPECT_EQ(inventory->families[0].devices, 4U);
  EXPECT_THAT(inventory->missing_nodes, ElementsAre("n3"));
  EXPECT_THAT(inventory->absent, Contains("training"));
  const auto growth = Measure(*tsdb, *rules, "rdma_retransmissions",
                              {At(600), At(1200), absl::Seconds(15)}, absl::Minutes(1), {});
  ASSERT_THAT(growth, IsOk());
  ASSERT_THAT(growth->rows, SizeIs(1));
  for (const float rate : growth->values.Row(0)) EXPECT_NEAR(rate, 2, 1e-4);
}

TEST_F(PrometheusTest, LeavesTheOriginalAsItWasItsLockToo) {
  const auto before = Contents(root_ + "/tsdb");
  ASSERT_GT(before.size(), 3U);
  {
    const auto tsdb = Open();
    ASSERT_NE(tsdb, nullptr);
    EXPECT_THAT(tsdb->Instant("up", At(0), {}), IsOk());
  }
  EXPECT_EQ(Contents(root_ + "/tsdb"), before);
}

TEST_F(PrometheusTest, ADamagedLogIsLeftAsItWas) {
  const fs::path copy = fs::path(root_) / "damaged";
  fs::copy(root_ + "/tsdb", copy, fs::copy_options::recursive);
  fs::create_directory(copy / "wal");
  fs::create_directory(copy / "chunks_head");
  std::ofstream(copy / "wal/00000000") << std::string(40'000, 'x');
  std::ofstream(copy / "wal/00000001") << std::string(100, 'y');
  std::ofstream(copy / "chunks_head/000001") << std::string(200, 'z');
  const auto before = Contents(copy);
  {
    const auto tsdb = StoredTsdb::Open(copy.string(), {}, {});
    // Prometheus repairs its log, here a view of it, or gives up; both are fine.
    if (tsdb.ok()) {
      EXPECT_THAT((*tsdb)->Instant("DCGM_FI_DEV_POWER_USAGE", At(1800), {})->series, SizeIs(4));
    } else {
      EXPECT_THAT(tsdb.status(),
                  StatusIs(absl::StatusCode::kUnavailable, HasSubstr("Prometheus ended")));
    }
  }
  EXPECT_EQ(Contents(copy), before);
}

TEST_F(PrometheusTest, RefusesWhatIsNoTsdb) {
  EXPECT_THAT(StoredTsdb::Open("/nowhere", {}, {}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nowhere")));
  fs::create_directory(root_ + "/empty");
  EXPECT_THAT(StoredTsdb::Open(root_ + "/empty", {}, {}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("neither blocks")));
  EXPECT_THAT(
      StoredTsdb::Open(root_ + "/tsdb", {.program = "no-such-prometheus"}, {}).status(),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("no-such-prometheus is not installed")));
  EXPECT_THAT(StoredTsdb::Open(root_ + "/tsdb", {.program = "false"}, {}).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("ended with 1")));
}

// Whether a port of the loopback interface answers.
bool Answers(int port) {
  PrometheusClient client(
      {.http = {.server = absl::StrCat("http://127.0.0.1:", port)}, .most_time = absl::Seconds(2)});
  return client.Instant("1", At(0), {}).ok();
}

TEST_F(PrometheusTest, EndsWithItsOwner) {
  auto tsdb = Open();
  ASSERT_NE(tsdb, nullptr);
  const int port = tsdb->port();
  EXPECT_TRUE(Answers(port));
  tsdb.reset();
  EXPECT_FALSE(Answers(port));
}

TEST_F(PrometheusTest, DiesWithAProcessThatIsKilled) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto tsdb = StoredTsdb::Open(root_ + "/tsdb", {}, {});
    const int port = tsdb.ok() ? (*tsdb)->port() : 0;
    if (write(ends[1], &port, sizeof(port)) != sizeof(port)) _exit(1);
    pause();
    _exit(0);
  }
  ASSERT_GT(child, 0);
  int port = 0;
  ASSERT_EQ(read(ends[0], &port, sizeof(port)), static_cast<ssize_t>(sizeof(port)));
  close(ends[0]);
  close(ends[1]);
  ASSERT_NE(port, 0);
  EXPECT_TRUE(Answers(port));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(Eventually([port] { return !Answers(port); }));
}

}  // namespace prometheus_test
}  // namespace galen::telemetry
