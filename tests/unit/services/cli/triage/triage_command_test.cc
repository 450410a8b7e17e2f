#include "services/cli/triage/triage_command.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "services/cli/triage/logs_of.h"
#include "tests/testing/status_matchers.h"

namespace galen::cli {
namespace {

namespace fs = std::filesystem;
using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kLog[] =
    "PASSTHROUGH_ARGS: steps=100\n"
    "2026-05-01 12:00:00 completed step: 0, seconds: 60.0, Tokens/s/device: 3000.0, loss: 2.0\n"
    "2026-05-01 12:00:10 completed step: 1, seconds: 10.0, Tokens/s/device: 3000.0, loss: 2.0\n"
    "2026-05-01 12:00:20 completed step: 2, seconds: 10.0, Tokens/s/device: 3000.0, loss: 2.0\n";
constexpr char kOutOfMemory[] =
    "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n";

const std::string kDamagedGzip =
    std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10) + "this was never packed";

class TriageCommandTest : public ::testing::Test {
 protected:
  TriageCommandTest() {
    std::string root = ::testing::TempDir() + "galen-triage-XXXXXX";
    root_ = ::mkdtemp(root.data());
    arguments_.knowledge = {GALEN_SOURCE_DIR "/knowledge"};
  }
  ~TriageCommandTest() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  std::string Write(const std::string& name, const std::string& text) {
    const fs::path path = fs::path(root_) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }
  ExitCode Run() {
    out_.str("");
    err_.str("");
    return RunTriage(arguments_, console_);
  }

  std::string root_;
  TriageArguments arguments_;
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  Console console_{in_, out_, err_, Terminal{}, false};
};

TEST_F(TriageCommandTest, TellsAPersonWhatIsKnownAndWhatIsNot) {
  arguments_.paths = {Write("train.log", std::string(kLog) + kOutOfMemory)};
  EXPECT_EQ(Run(), kOk) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("status      failed, training\n"),
                                HasSubstr("primary     gpu_oom: memory of a GPU ran out\n"),
                                HasSubstr("train.log:5, 2026-05-01 12:00:20, rank 3\n"),
                                HasSubstr("progress    MaxText: step 2 of 100, from 0\n"),
                                HasSubstr("in steps 1m20s"), HasSubstr("tokens per GPU 3000 /s"),
                                HasSubstr("not known   which step the last checkpoint is of"),
                                HasSubstr("look at     the step and the shape")));
}

TEST_F(TriageCommandTest, TellsAProgramTheSame) {
  arguments_.paths = {Write("train.log", std::string(kLog) + kOutOfMemory)};
  arguments_.json = true;
  EXPECT_EQ(Run(), kOk) << err_.str();
  const nlohmann::json report = nlohmann::json::parse(out_.str(), nullptr, false);
  ASSERT_TRUE(report.is_object()) << out_.str();
  EXPECT_EQ(report["status"], "failed");
  EXPECT_EQ(report["primary"]["class"], "gpu_oom");
  EXPECT_EQ(report["primary"]["signature"], "cuda_oom");
  EXPECT_EQ(report["primary"]["first"]["writer"], "rank 3");
  EXPECT_EQ(report["primary"]["first"]["line"], 5);
  EXPECT_EQ(report["progress"]["last_step"], 2);
  EXPECT_EQ(report["progress"]["sum_of_steps_seconds"], 80);
  EXPECT_FALSE(report["progress"].contains("saved_step"));
  EXPECT_EQ(report["courses"][0]["points"].size(), 3);
  EXPECT_EQ(report["logs"][0]["lines"], 5);
}

TEST_F(TriageCommandTest, LinesThatNobodyKnowsAreShownAsLeads) {
  arguments_.paths = {Write("train.log", std::string(kLog) + "the glue of frame 3 came off\n")};
  EXPECT_EQ(Run(), kOk) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("strange     lines that nobody knows; leads, no finding\n"
                                          "            the glue of frame <*> came off\n"),
                                HasSubstr("train.log:5; 1 line; at the end of its log, once\n")));
  arguments_.json = true;
  EXPECT_EQ(Run(), kOk) << err_.str();
  const nlohmann::json report = nlohmann::json::parse(out_.str(), nullptr, false);
  ASSERT_TRUE(report.is_object()) << out_.str();
  ASSERT_EQ(report["leads"].size(), 1);
  EXPECT_EQ(report["leads"][0]["template"], "the glue of frame <*> came off");
  EXPECT_EQ(report["leads"][0]["first"]["line"], 5);
  EXPECT_EQ(report["leads"][0]["lines"], 1);
  EXPECT_FALSE(report.contains("primary"));
}

TEST_F(TriageCommandTest, WhatTheSchedulerSaysDecides) {
  arguments_.paths = {Write("train.log", kLog)};
  arguments_.now = "2026-05-01T14:00:00Z";
  EXPECT_EQ(Run(), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("status      unknown"));
  arguments_.scheduler_state = "running";
  EXPECT_EQ(Run(), kOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("status      hanging"), HasSubstr("primary     hang")));
  arguments_.now = "2026-05-01T12:00:30Z";
  EXPECT_EQ(Run(), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("status      running"));
  arguments_.scheduler_state = "ended";
  EXPECT_EQ(Run(), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("status      unknown-death"));
}

TEST_F(TriageCommandTest, WhatCannotBeReadIsSaid) {
  arguments_.paths = {root_ + "/gone.log"};
  EXPECT_EQ(Run(), kBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("gone.log: is not there"));

  arguments_.paths = {Write("train.log", kLog), Write("cut.log.gz", kDamagedGzip)};
  EXPECT_EQ(Run(), kOk);
  EXPECT_THAT(err_.str(), HasSubstr("cut.log.gz"));
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("2 logs"), HasSubstr("cut.log.gz: ")));

  arguments_.now = "yesterday";
  EXPECT_EQ(Run(), kBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("--now \"yesterday\""));
}

TEST_F(TriageCommandTest, TextOfALogDoesNotReachTheTerminalAsItIs) {
  arguments_.paths = {
      Write("train.log", "[rank3]: ValueError: \x1b]0;owned\x07 \xff\xfe \x1b[2J end\n")};
  EXPECT_EQ(Run(), kOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("ValueError"), Not(HasSubstr("\x1b")),
                                Not(HasSubstr("\x07")), Not(HasSubstr("\xff"))));
}

TEST_F(TriageCommandTest, ADirectoryStandsForItsLogs) {
  const std::string beside = Write("1234-llama.log", kLog);
  const std::string two = Write("1234-llama/rank-2.log", "x\n");
  const std::string ten = Write("1234-llama/rank-10.log", "x\n");
  const std::string packed = Write("1234-llama/ray_logs/h1/worker-1.out", "x\n");
  Write("1234-llama/prometheus/wal/a.log", "x\n");
  Write("1234-llama/weights.bin", "x\n");
  fs::create_symlink(beside, root_ + "/1234-llama/log");
  const auto logs = LogsOf({root_ + "/1234-llama"});
  ASSERT_THAT(logs, IsOk());
  EXPECT_THAT(*logs, ElementsAre(beside, two, ten, packed));
  EXPECT_THAT(*LogsOf({two, root_ + "/1234-llama/", two}), ElementsAre(two, beside, ten, packed));
  fs::create_directories(root_ + "/empty");
  EXPECT_THAT(LogsOf({root_ + "/empty"}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("holds no log")));
}

TEST_F(TriageCommandTest, MoreLogsThanAreReadAreRefusedAndNotLeftOut) {
  fs::create_directories(root_ + "/many");
  for (std::size_t i = 0; i < kMostLogs; ++i) {
    std::ofstream(absl::StrCat(root_, "/many/rank-", i, ".log"));
  }
  const auto all = LogsOf({root_ + "/many"});
  ASSERT_THAT(all, IsOk());
  EXPECT_EQ(all->size(), kMostLogs);
  std::ofstream(root_ + "/many/one-more.log");
  EXPECT_THAT(LogsOf({root_ + "/many"}).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("name those of fewer")));
}

}  // namespace
}  // namespace galen::cli
