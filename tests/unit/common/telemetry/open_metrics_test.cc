// Files of metrics, as exporters and bundles have them.
#include "common/telemetry/open_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/steady.h"
#include "common/telemetry/open_metrics_source.h"
#include "tests/testing/status_matchers.h"

namespace galen::telemetry {
namespace open_metrics_test {

namespace fs = std::filesystem;

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

absl::Time At(int second) { return absl::FromUnixSeconds(1'700'000'000 + second); }

TEST(MetricLineTest, ReadsWhatTheFormatsAllow) {
  const auto plain = ParseMetricLine("up 1");
  ASSERT_THAT(plain, IsOk());
  EXPECT_EQ(plain->value, 1);
  EXPECT_FALSE(plain->at.has_value());
  const auto full = ParseMetricLine(
      "a_bucket{le=\"0.5\",path=\"C:\\\\x\\ny \\\"z\\\"\"} 17 1700000000.25 # {trace=\"a b\"} 0.4 "
      "1700000000");
  ASSERT_THAT(full, IsOk());
  EXPECT_EQ(full->at, 1'700'000'000'250);
  EXPECT_EQ(full->value, 17);
  EXPECT_EQ(full->labels.at("path"), "C:\\x\ny \"z\"");
  EXPECT_EQ(ParseMetricLine("m{a=\"1\",} 2 1700000000123")->at, 1'700'000'000'123);  // milliseconds
  EXPECT_EQ(ParseMetricLine("m 2 # {a=\"b\"} 1")->value, 2);
  EXPECT_TRUE(std::isnan(ParseMetricLine("m NaN")->value));
  EXPECT_EQ(ParseMetricLine("m +Inf")->value, INFINITY);
  EXPECT_EQ(
      ParseMetricLine("m{ gpu=\"0\", UUID=\"GPU-1\" } 9223372036854775794")->labels.at("UUID"),
      "GPU-1");
}

TEST(MetricLineTest, RefusesWhatIsNone) {
  for (const char* line : {"", "...", "m", "m x", "m{a=\"b\" 1", "m{a=\"b\"}", "m{a=b} 1", "m 1 x",
                           "m 1 2 3", "m 1 1e300", "m 1 NaN", "m{a=\"1\",a=\"2\"} 1",
                           "m{__name__=\"n\"} 1", "m{a=\"\xff\"} 1", "{a=\"b\"} 1", "0m 1"}) {
    EXPECT_THAT(ParseMetricLine(line), StatusIs(absl::StatusCode::kInvalidArgument, _)) << line;
  }
}

std::vector<std::string> Names(const std::string& text, std::size_t piece,
                               OpenMetricsReader& reader) {
  std::vector<std::string> names;
  const auto sink = [&](MetricLine line) {
    names.push_back(line.labels.at(kMetricName));
    return absl::OkStatus();
  };
  for (std::size_t at = 0; at < text.size(); at += piece)
    EXPECT_THAT(reader.Take(absl::string_view(text).substr(at, piece), sink), IsOk());
  EXPECT_THAT(reader.Finish(sink), IsOk());
  return names;
}

TEST(OpenMetricsReaderTest, GivesTheSameHoweverItIsTruncated) {
  const std::string text = "# TYPE a counter\na_total 1 5\r\nbroken {\n\nb{x=\"y\"} 2\n# EOF\n";
  for (std::size_t piece = 1; piece < 20; ++piece) {
    OpenMetricsReader reader;
    EXPECT_THAT(Names(text, piece, reader), ElementsAre("a_total", "b"));
    EXPECT_EQ(reader.damaged(), 1U);
    EXPECT_THAT(reader.first_damage(), HasSubstr("line 3"));
    EXPECT_TRUE(reader.whole());
  }
}

TEST(OpenMetricsReaderTest, ALineThatDoesNotEndTakesNoMemory) {
  OpenMetricsReader reader;
  EXPECT_THAT(Names(std::string(1 << 22, 'x') + "\nm 1", 4096, reader), ElementsAre("m"));
  EXPECT_EQ(reader.damaged(), 1U);
  EXPECT_THAT(reader.first_damage(), HasSubstr("64 KiB"));
  EXPECT_FALSE(reader.whole());
}

constexpr char kText[] = R"(# TYPE temp gauge
temp{gpu="0",instance="n1"} 60 1700000000
temp{gpu="0",instance="n1"} 61 1700000010
temp{gpu="1",instance="n1"} 70 1700000010
temp{gpu="0",instance="n1"} 99 1700000005
temp{gpu="0",instance="n2"} 50 1700000000
# EOF
)";

std::unique_ptr<OpenMetricsSource> Of(const std::string& text, const FileLimits& limits = {}) {
  return OpenMetricsSource::OfText("gpu.om", text, std::nullopt, limits);
}

TEST(OpenMetricsSourceTest, AnswersInstantsAndRanges) {
  const auto source = Of(kText);
  const auto now = source->Instant("temp{instance=\"n1\"}", At(12), {});
  ASSERT_THAT(now, IsOk());
  ASSERT_THAT(now->series, SizeIs(2));
  EXPECT_TRUE(now->complete);
  EXPECT_EQ(Last(*now, {{"gpu", "0"}}, At(12), absl::Minutes(1)).value(), 61);
  const auto range =
      source->RangeOf("temp{gpu=\"0\",instance=\"n1\"}", {At(0), At(20), absl::Seconds(5)}, {});
  ASSERT_THAT(range, IsOk());
  ASSERT_THAT(range->series, SizeIs(1));
  std::vector<double> values;
  for (const timeseries::Sample& sample : range->series[0].samples) values.push_back(sample.value);
  EXPECT_THAT(values, ElementsAre(60, 99, 61, 61, 61));
  const auto samples = source->Samples("temp{gpu=\"0\",instance=\"n1\"}", At(1), At(20), {});
  ASSERT_THAT(samples, IsOk());
  EXPECT_THAT(samples->series[0].samples, SizeIs(2));
  EXPECT_EQ(source->span()->first, At(0));
  EXPECT_EQ(source->span()->last, At(10));
}

TEST(OpenMetricsSourceTest, WhatIsMissingIsUnknown) {
  const auto source = Of(kText);
  const auto now = source->Instant("temp", At(11), {});
  ASSERT_THAT(now, IsOk());
  EXPECT_FALSE(Last(*now, {{"gpu", "7"}}, At(11), absl::Minutes(5)).known());
  const Reading two = Last(*now, {{"gpu", "0"}}, At(11), absl::Minutes(5));
  EXPECT_FALSE(two.known());
  EXPECT_THAT(two.why(), HasSubstr("more than one"));
  const Reading old = Last(*now, {{"instance", "n2"}}, At(11), absl::Seconds(5));
  EXPECT_FALSE(old.known());
  EXPECT_THAT(old.why(), HasSubstr("11s old"));
  // Five minutes on nothing is left, and nothing is said.
  EXPECT_THAT(source->Instant("temp", At(400), {})->series, IsEmpty());
  EXPECT_THAT(source->Instant("absent", At(11), {})->series, IsEmpty());
}

TEST(OpenMetricsSourceTest, LabelsAndSeriesAreOfTheirTime) {
  const auto source = Of(kText);
  bool complete = false;
  EXPECT_THAT(*source->LabelValues("instance", "temp", At(-10), At(20), {}, &complete),
              ElementsAre("n1", "n2"));
  EXPECT_TRUE(complete);
  EXPECT_THAT(*source->LabelValues("instance", "", At(5), At(20), {}, nullptr), ElementsAre("n1"));
  EXPECT_THAT(*source->LabelValues(kMetricName, "", At(0), At(20), {}, nullptr),
              ElementsAre("temp"));
  EXPECT_THAT(source->SeriesOf("temp", At(10), At(20), {})->series, SizeIs(2));
}

TEST(OpenMetricsSourceTest, SaysThatItsFileIsTruncatedDamagedOrTooLarge) {
  const auto cut = Of("temp 1 1700000000\ntemp 2 17000")->Instant("temp", At(0), {});
  EXPECT_FALSE(cut->complete);
  EXPECT_THAT(cut->warnings, Contains(HasSubstr("# EOF")));
  const auto damaged = Of("temp 1 1700000000\n<html>\n# EOF\n")->Instant("temp", At(0), {});
  EXPECT_FALSE(damaged->complete);
  EXPECT_THAT(damaged->warnings, ElementsAre(HasSubstr("1 damaged lines, the first line 2")));
  std::string many;
  for (int i = 0; i < 1000; ++i) many += absl::StrCat("temp{i=\"", i, "\"} 1 1700000000\n");
  const auto large = Of(many + "# EOF\n", {.series = 100})->Instant("temp", At(0), {});
  EXPECT_THAT(large->series, SizeIs(100));
  EXPECT_THAT(large->warnings, ElementsAre(HasSubstr("more than 100 series")));
  const auto untimed = Of("temp 1\n# EOF\n")->Instant("temp", At(0), {});
  EXPECT_THAT(untimed->series, IsEmpty());
  EXPECT_THAT(untimed->warnings, ElementsAre(HasSubstr("1 samples without a time")));
  const auto timed =
      OpenMetricsSource::OfText("gpu.om", "temp 1\n# EOF\n", At(0), {})->Instant("temp", At(0), {});
  EXPECT_THAT(timed->series, SizeIs(1));
  EXPECT_TRUE(timed->complete);
}

TEST(OpenMetricsSourceTest, QuestionsAreBounded) {
  const auto source = Of(kText);
  Call call;
  call.limits.series = 1;
  const auto cut = source->Instant("temp", At(11), call);
  EXPECT_THAT(cut->series, SizeIs(1));
  EXPECT_FALSE(cut->complete);
  EXPECT_THAT(source->RangeOf("temp", {At(0), At(100'000), absl::Seconds(1)}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("longer step")));
  EXPECT_THAT(source->Instant("rate(temp[5m])", At(0), {}),
              StatusIs(absl::StatusCode::kUnimplemented, _));
  Cancellation cancelled;
  cancelled.Cancel();
  call.cancellation = &cancelled;
  EXPECT_THAT(source->Instant("temp", At(0), call), StatusIs(absl::StatusCode::kCancelled, _));
  Call late;
  late.deadline = SteadyNow() - absl::Seconds(1);
  EXPECT_THAT(source->Instant("temp", At(0), late),
              StatusIs(absl::StatusCode::kDeadlineExceeded, _));
}

class BundleTest : public ::testing::Test {
 protected:
  BundleTest() {
    std::string pattern = absl::StrCat(::testing::TempDir(), "galen_telemetry_XXXXXX");
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  ~BundleTest() override { fs::remove_all(root_); }

  fs::path root_;
};

TEST_F(BundleTest, ReadsTheFilesOfABundleAndNothingElse) {
  fs::create_directory(root_ / "telemetry");
  std::ofstream(root_ / "telemetry/gpu.om") << kText;
  std::ofstream(root_ / "telemetry/more.om") << "power{instance=\"n1\"} 700 1700000000\n# EOF\n";
  std::ofstream(root_ / "telemetry/notes.txt") << "temp 1 1700000000\n";
  fs::create_symlink("/proc/self/environ", root_ / "telemetry/leak.om");
  ASSERT_EQ(mkfifo((root_ / "telemetry/pipe.om").c_str(), 0600), 0);
  const auto bundle = host::BundleFiles::Open(root_.string());
  ASSERT_THAT(bundle, IsOk());
  const auto source = OpenMetricsSource::Open(*bundle, std::nullopt, {}, {});
  ASSERT_THAT(source, IsOk());
  EXPECT_THAT(*(*source)->LabelValues(kMetricName, "", At(-100), At(100), {}, nullptr),
              ElementsAre("power", "temp"));
  EXPECT_THAT((*source)->Instant("power", At(0), {})->warnings,
              ElementsAre("leak.om: cannot be read", "pipe.om: cannot be read"));
}

TEST_F(BundleTest, ABundleWithoutTelemetryHasNone) {
  const auto bundle = host::BundleFiles::Open(root_.string());
  EXPECT_THAT(OpenMetricsSource::Open(*bundle, std::nullopt, {}, {}),
              StatusIs(absl::StatusCode::kNotFound, _));
  fs::create_directory(root_ / "telemetry");
  EXPECT_THAT(OpenMetricsSource::Open(*bundle, std::nullopt, {}, {}),
              StatusIs(absl::StatusCode::kNotFound, _));
}

TEST(FixturesTest, EveryLineOfRealExportersIsRead) {
  const fs::path fixtures = fs::path(GALEN_SOURCE_DIR) / "../shared/fixtures/openmetrics";
  if (!fs::exists(fixtures)) GTEST_SKIP() << fixtures << " is not here";
  int files = 0;
  for (const auto& file : fs::directory_iterator(fixtures)) {
    if (file.path().extension() != ".prom") continue;
    ++files;
    std::ifstream in(file.path());
    std::ostringstream text;
    text << in.rdbuf();
    OpenMetricsReader reader;
    const std::size_t samples = Names(text.str(), 4096, reader).size();
    EXPECT_GT(samples, 2U) << file.path();
    // The readme of DCGM leaves two lines out of its output; the output of EFA contains the
    // progress of a download.
    const std::string name = file.path().filename().string();
    EXPECT_EQ(reader.damaged(),
              absl::StrContains(name, "readme") || absl::StrContains(name, "efa") ? 2U : 0U)
        << file.path() << ": " << reader.first_damage();
  }
  EXPECT_GE(files, 12);
}

}  // namespace open_metrics_test
}  // namespace galen::telemetry
