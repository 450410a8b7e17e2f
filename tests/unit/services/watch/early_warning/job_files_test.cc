// Claims about reading a directory of jobs.
#include "services/watch/early_warning/job_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model_of_knowledge.h"
#include "tests/testing/status_matchers.h"

namespace galen::watch::early_warning {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class JobFilesTest : public ::testing::Test {
 protected:
  JobFilesTest() {
    std::string name = absl::StrCat(::testing::TempDir(), "/jobs-XXXXXX");
    directory_ = mkdtemp(name.data());
  }
  ~JobFilesTest() override { std::filesystem::remove_all(directory_); }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(absl::StrCat(directory_, "/", name), std::ios::trunc) << text;
  }
  std::unique_ptr<JobFiles> Open() const {
    return JobFiles::Open({.directory = directory_, .most_files = 5, .most_bytes = 1000}, Facts(),
                          Calibrated())
        .value();
  }
  std::string directory_;
};

TEST_F(JobFilesTest, AJobIsPredictedUnderItsLabel) {
  Write("llm-7b.yaml", kJob);
  const auto files = Open();
  EXPECT_THAT(files->Refresh(), IsEmpty());
  const auto read = files->read();
  ASSERT_THAT(read->jobs, ElementsAre(Pair("llm-7b", ::testing::_)));
  const auto same = PredictJob(kJob, "job", Facts(), Calibrated());
  ASSERT_THAT(same, IsOk());
  EXPECT_GT(same->low, 0);
  EXPECT_EQ(read->jobs.at("llm-7b").low, same->low);
  EXPECT_EQ(same->gpus, 16);
  EXPECT_EQ(same->nodes, 2);
}

TEST_F(JobFilesTest, WhatCannotBeReadIsNamedOnceAndTheRestIsPredicted) {
  Write("good.yaml", kJob);
  Write("other.yaml", absl::StrCat(kJob, "gpu2: A\n"));
  Write("unknown.yaml", "gpu: B\nshape: layers=1\n");
  Write("large.yaml", absl::StrCat(kJob, "# ", std::string(2000, 'x'), "\n"));
  Write("notes.txt", "hello");
  Write(".hidden", "hello");
  const auto files = Open();
  EXPECT_THAT(files->Refresh(), ElementsAre(HasSubstr("large.yaml: is larger than 1000 bytes"),
                                            HasSubstr("notes.txt: is not a job's description"),
                                            HasSubstr("other.yaml"), HasSubstr("unknown.yaml")));
  EXPECT_THAT(files->read()->jobs, ElementsAre(Pair("good", ::testing::_)));
  EXPECT_THAT(files->read()->problems, SizeIs(4));
  EXPECT_THAT(files->Refresh(), IsEmpty()) << "it was said";
  EXPECT_THAT(files->read()->problems, SizeIs(4)) << "and holds";
}

TEST_F(JobFilesTest, AFileThatChangedIsReadAgainAndOneThatIsGoneIsForgotten) {
  Write("a.yaml", kJob);
  Write("b.yaml", "no job");
  const auto files = Open();
  EXPECT_THAT(files->Refresh(), SizeIs(1));
  Write("b.yaml", absl::StrCat(kJob, "throughput_of: gpu\n"));
  EXPECT_THAT(files->Refresh(), IsEmpty());
  EXPECT_THAT(files->read()->problems, IsEmpty());
  EXPECT_EQ(files->read()->jobs.at("b").covers, perfmodel::Covers::kGpu);
  Write("b.yaml", absl::StrCat(kJob, "throughput_of: rack\n"));
  EXPECT_THAT(files->Refresh(), ElementsAre(HasSubstr("rack: is job, node or gpu")));
  EXPECT_FALSE(files->read()->jobs.contains("b")) << "what it said before is not true any more";
  std::filesystem::remove(absl::StrCat(directory_, "/a.yaml"));
  files->Refresh();
  EXPECT_THAT(files->read()->jobs, IsEmpty());
}

TEST_F(JobFilesTest, NeitherPipesNorTooManyFilesKeepItFromTheOthers) {
  ASSERT_EQ(mkfifo(absl::StrCat(directory_, "/a.yaml").c_str(), 0600), 0);
  for (int i = 0; i < 20; ++i) Write(absl::StrCat("b", 10 + i, ".yaml"), kJob);
  const auto files = Open();
  EXPECT_THAT(files->Refresh(), ElementsAre(HasSubstr("a.yaml"),
                                            HasSubstr("b14.yaml: 21 files are more than the 5")));
  EXPECT_THAT(files->read()->jobs, SizeIs(4));
}

TEST_F(JobFilesTest, WithoutItsDirectoryNothingIsKnown) {
  EXPECT_THAT(JobFiles::Open({.directory = "/nowhere/at/all"}, Facts(), Calibrated()).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/nowhere/at/all")));
  Write("a.yaml", kJob);
  const auto files = Open();
  files->Refresh();
  std::filesystem::remove_all(directory_);
  EXPECT_THAT(files->Refresh(), ElementsAre(HasSubstr("cannot be read")));
  EXPECT_THAT(files->read()->jobs, IsEmpty());
}

// ---- what a series is held against

telemetry::Measured ThroughputBy(const telemetry::Quantity& quantity, const std::string& metric) {
  return {&quantity, {}, {{{}, metric}}, timeseries::Panel(1, 1)};
}

TEST(LowEnds, AreOfWhatASeriesCovers) {
  telemetry::Quantity quantity;
  quantity.metrics = {{"tokens", "", 1, ""}, {"tokens_a_gpu", "", 1, "gpu"}};
  using perfmodel::Covers;
  const std::map<std::string, PredictedJob> jobs = {{"job", {1600, 16, 2, Covers::kJob}},
                                                    {"node", {1600, 16, 2, Covers::kNode}},
                                                    {"gpu", {1600, 16, 2, Covers::kGpu}}};
  const auto low = [&](const std::string& metric) {
    return LowEndsOf(jobs, {{"throughput", ThroughputBy(quantity, metric)}})
        .at("throughput_predicted_low");
  };
  EXPECT_THAT(low("tokens"), ElementsAre(Pair("gpu", 100), Pair("job", 1600), Pair("node", 800)));
  EXPECT_THAT(low("tokens_a_gpu"),
              ElementsAre(Pair("gpu", 100), Pair("job", 100), Pair("node", 100)));
  EXPECT_THAT(LowEndsOf(jobs, {}), IsEmpty()) << "nobody measures throughput";
}

}  // namespace
}  // namespace galen::watch::early_warning
