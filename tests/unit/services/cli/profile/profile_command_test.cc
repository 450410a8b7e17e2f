#include "services/cli/profile/profile_command.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "services/cli/triage/triage_command.h"
#include "tests/unit/common/profile/profile_testing.h"

namespace galen::cli {
namespace {

namespace fs = std::filesystem;
using profile::Host;
using profile::Kernel;
using profile::StepMark;
using profile::TraceText;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kShape[] =
    "layers=1,hidden=64,heads=4,vocabulary=10,sequence=1,batch=1,precision=bf16";

class ProfileCommandTest : public ::testing::Test {
 protected:
  ProfileCommandTest() {
    std::string root = ::testing::TempDir() + "galen-profile-XXXXXX";
    root_ = ::mkdtemp(root.data());
    arguments_.knowledge = {GALEN_SOURCE_DIR "/knowledge"};
    arguments_.paths = {root_};
  }
  ~ProfileCommandTest() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(fs::path(root_) / name) << text;
  }
  void WriteTrace(int rank, double compute, absl::string_view gpu = "NVIDIA H100 80GB HBM3") {
    Write(
        absl::StrCat("rank-", rank, ".json"),
        TraceText({StepMark(1, 0, 100), Host("cpu_op", 0, 5),
                   Kernel("ampere_sgemm_128x64_nn", 0, 7, 0, compute),
                   Kernel("ncclDevKernel_AllReduce", 0, 9, 40, 80)},
                  absl::StrCat(R"("distributedInfo":{"rank":)", rank,
                               R"(,"world_size":2},"deviceProperties":[{"name":")", gpu, "\"}],")));
  }
  ExitCode Run() {
    out_.str("");
    err_.str("");
    return RunProfile(arguments_, console_);
  }

  std::string root_;
  ProfileArguments arguments_;
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  Console console_{in_, out_, err_, Terminal{}, false};
};

TEST_F(ProfileCommandTest, SaysWhereTheTimeGoesAndWhoIsSlower) {
  WriteTrace(0, 50);
  WriteTrace(1, 70);
  ASSERT_EQ(Run(), kOk) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("status      the GPU computes for 60.0 % of a step"),
                    HasSubstr("rank 0      1  100 us   50.0 %       30.0 %   0.0 %"),
                    HasSubstr("overlap     50.0 % of the communication is covered by compute"),
                    HasSubstr("straggler   rank 1: computes 70 us a step, 40.0 % more than the "),
                    HasSubstr("matrix multiplication"), HasSubstr("NCCL and RCCL"),
                    HasSubstr("mfu         not known: the model's shape is not declared")));
}

TEST_F(ProfileCommandTest, JsonHasTheSame) {
  WriteTrace(0, 50);
  WriteTrace(1, 70);
  arguments_.json = true;
  ASSERT_EQ(Run(), kOk) << err_.str();
  const auto json = nlohmann::json::parse(out_.str());
  ASSERT_EQ(json["traces"].size(), 2u);
  EXPECT_EQ(json["traces"][0]["rank"], 0);
  EXPECT_NEAR(json["traces"][0]["devices"][0]["split"]["exposed_communication"].get<double>(),
              30e-6, 1e-12);
  EXPECT_EQ(json["comparison"]["slowest"], "rank 1");
  EXPECT_EQ(json["comparison"]["certain"], false);
  EXPECT_FALSE(json.contains("mfu"));
}

TEST_F(ProfileCommandTest, ADifferenceIsToldPartByPart) {
  WriteTrace(0, 50);
  fs::create_directory(root_ + "/now");
  Write("now/rank-0.json", TraceText({StepMark(1, 0, 140), Host("cpu_op", 0, 5),
                                      Kernel("ampere_sgemm_128x64_nn", 0, 7, 0, 50),
                                      Kernel("ncclDevKernel_AllReduce", 0, 9, 50, 120),
                                      Kernel("new_kernel", 0, 7, 120, 121)}));
  arguments_.paths = {root_ + "/now"};
  arguments_.against = {root_ + "/rank-0.json"};
  ASSERT_EQ(Run(), kOk) << err_.str();
  EXPECT_THAT(
      out_.str(),
      AllOf(
          HasSubstr("status      a step takes 140 us instead of 100 us (+40 us, +40.0 %)\n"
                    "            most of it in communication alone: +40 us\n"),
          HasSubstr("compared    1 GPU with 1 step, beside 1 GPU with 1 step; means of a GPU and"),
          HasSubstr("            communication alone   70 us    30 us      +40 us  +133.3 %\n"),
          HasSubstr("            copies alone           0 us     0 us       +0 us\n"),
          HasSubstr("NCCL and RCCL"), HasSubstr("new_kernel"), HasSubstr("new")));
  arguments_.json = true;
  arguments_.operators = 1;
  ASSERT_EQ(Run(), kOk) << err_.str();
  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_NEAR(json["difference"]["step"]["difference"].get<double>(), 40e-6, 1e-12);
  EXPECT_EQ(json["difference"]["parts"][0]["name"], "exposed_communication");
  ASSERT_EQ(json["difference"]["operators"].size(), 1u);
  EXPECT_EQ(json["difference"]["operators"][0]["name"], "ncclDevKernel_AllReduce");
  EXPECT_EQ(json["difference"]["operators_in_all"], 3);
  EXPECT_EQ(json["traces"][0]["devices"][0]["kernels"].size(), 1u);
}

TEST_F(ProfileCommandTest, JobsWithoutADifferenceSaySo) {
  WriteTrace(0, 50);
  arguments_.against = arguments_.paths;
  ASSERT_EQ(Run(), kOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("a step takes as long as before: 100 us beside 100 us"));
  Write("host.json", TraceText({StepMark(1, 0, 100), Host("cpu_op", 0, 5)}));
  arguments_.against = {root_ + "/host.json"};
  EXPECT_NE(Run(), kOk);
  EXPECT_THAT(err_.str(), HasSubstr("there is nothing to compare"));
}

TEST_F(ProfileCommandTest, OperatorsAreToldWithCallsAndMean) {
  Write("rank-0.json",
        TraceText({StepMark(1, 0, 100), Kernel("ampere_sgemm", 0, 7, 0, 20),
                   Kernel("ampere_sgemm", 0, 7, 30, 40), Kernel("small_kernel", 0, 7, 50, 51)}));
  arguments_.operators = 1;
  ASSERT_EQ(Run(), kOk) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("calls   mean  longest\n"),
                    HasSubstr("ampere_sgemm     30 us  96.8 %      2  15 us    20 us"),
                    HasSubstr("of rank 0, 2 names in all"), Not(HasSubstr("small_kernel"))));
}

TEST_F(ProfileCommandTest, MfuIsToldWhereShapeAndGpuAreKnown) {
  WriteTrace(0, 50);
  arguments_.shape = kShape;
  arguments_.json = true;
  ASSERT_EQ(Run(), kOk) << err_.str();
  // 6 (4 * 64^2 + 2 * 64 * 256 + 640) + 12 * 64 operations a step of 100 us, two GPUs of 989
  // TFLOP/s.
  const double flops = 6.0 * (16384 + 32768 + 640) + 12 * 64;
  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_DOUBLE_EQ(json["mfu"]["flops_per_step"].get<double>(), flops);
  EXPECT_NEAR(json["mfu"]["share"].get<double>(), flops / (100e-6 * 2 * 989e12), 1e-12);
}

TEST_F(ProfileCommandTest, MfuOfAnUnknownGpuIsNotKnown) {
  WriteTrace(0, 50, "AMD Radeon Graphics");
  arguments_.shape = kShape;
  ASSERT_EQ(Run(), kOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("not known: \"AMD Radeon Graphics\" is not a model of"));
  arguments_.gpu = "AMD Instinct MI300X";
  ASSERT_EQ(Run(), kOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("(MI300X-192GB)"));
  arguments_.shape = "layers=2";
  EXPECT_EQ(Run(), kBadInput);
}

TEST_F(ProfileCommandTest, APictureIsDrawn) {
  WriteTrace(0, 50);
  arguments_.svg = root_ + "/out.svg";
  ASSERT_EQ(Run(), kOk) << err_.str();
  std::ostringstream svg;
  svg << std::ifstream(arguments_.svg).rdbuf();
  EXPECT_THAT(svg.str(), AllOf(HasSubstr("<svg "), HasSubstr("rank 0"), HasSubstr("</svg>")));
}

TEST_F(ProfileCommandTest, AHangIsSaidFirst) {
  const auto dump = [](int sequence, const char* state) {
    return absl::StrCat(R"({"version":"2.9","pg_config":{"0":{"ranks":"[0, 1]"}},"entries":[)",
                        R"({"process_group":["0","dp"],"collective_seq_id":)", sequence,
                        R"(,"profiling_name":"nccl:all_reduce","input_sizes":[[8]],"state":")",
                        state, R"(","is_p2p":false}]})");
  };
  Write("nccl_trace_rank_0", dump(5, "scheduled"));
  Write("nccl_trace_rank_1", dump(4, "completed"));
  Write("ras-answer.txt",
        "DEAD\n  1 job process is considered dead\n  Process 7 on node a managing GPU 5\n");
  Write("notes.json", "{\"a\":1}");
  ASSERT_EQ(Run(), kOk) << err_.str();
  EXPECT_THAT(
      out_.str(),
      AllOf(HasSubstr("status      hangs: ranks 1 did not come to a collective"),
            HasSubstr("nccl:all_reduce [[8]] of group 0, number 5: ranks 0 wait, ranks 1 did"),
            HasSubstr("ras-answer.txt: process 7 on node a (GPU 5) is dead"),
            HasSubstr("no trace of a profiler"), Not(HasSubstr("mfu"))));
}

TEST_F(ProfileCommandTest, WhatCannotBeReadIsRefused) {
  EXPECT_EQ(Run(), kBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("holds no trace"));
  Write("x.json", "{\"traceEvents\":7}");
  EXPECT_NE(Run(), kOk);
  arguments_.paths = {"/nowhere"};
  EXPECT_NE(Run(), kOk);
}

TEST_F(ProfileCommandTest, TriageNamesTheFilesAndTheCommand) {
  WriteTrace(0, 50);
  Write("nccl_trace_rank_0", "x");
  Write("job.log", "2026-05-01 12:00:00 completed step: 0, seconds: 60.0, loss: 2.0\n");
  TriageArguments triage;
  triage.knowledge = arguments_.knowledge;
  triage.paths = {root_};
  ASSERT_EQ(RunTriage(triage, console_), kOk) << err_.str();
  EXPECT_THAT(out_.str(),
              HasSubstr("profiles    1 file of a profiler, of the flight recorder or of "
                        "NCCL's RAS: galen profile "));
}

}  // namespace
}  // namespace galen::cli
