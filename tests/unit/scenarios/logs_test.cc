// Triage can read the logs of scenes, and they agree with the series.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/scenarios/scene.h"
#include "tests/unit/common/log_analysis/triage/triage_testing.h"
#include "tests/unit/scenarios/looking.h"

namespace galen::scenarios {
namespace {

triage::JobReport Read(const Scene& scene, std::size_t job) {
  std::vector<std::pair<std::string, std::string>> logs;
  for (const Log& log : scene.logs) {
    if (log.path == absl::StrCat("job-", scene.jobs[job].name, ".log") || log.kernel)
      logs.push_back({log.path, log.text});
  }
  triage::TriageOptions options;
  options.scheduler =
      scene.jobs[job].runs ? triage::SchedulerState::kRunning : triage::SchedulerState::kEnded;
  options.now = scene.end;
  options.near = scene.start;
  return triage::TriageOf(logs, options);
}

TEST(SceneLogsTest, StepsAreThoseOfTheSeries) {
  for (const std::string& study : Studies()) {
    for (const std::uint64_t seed : {1U, 2U}) {
      Looking at = Look(study, seed, {.nodes = 8});
      SCOPED_TRACE(absl::StrCat(study, " ", seed));
      const Job& job = at.scene().jobs.back();
      const auto told = at.source().Samples(
          absl::StrCat("{__name__=~\"tb_step|training_step\",job_id=\"", job.name, "\"}"),
          at.scene().start, at.scene().end, {});
      ASSERT_TRUE(told.ok());
      const triage::JobReport report = Read(at.scene(), at.scene().jobs.size() - 1);
      if (told->series.empty()) {
        EXPECT_FALSE(report.progress.last_step.has_value());
        continue;
      }
      ASSERT_TRUE(report.progress.last_step.has_value());
      // (Megatron-LM counts from one. A scrape may have come before the last step.)
      const double last = told->series[0].samples.back().value +
                          (report.progress.framework == "Megatron-LM" ? 1 : 0);
      EXPECT_GE(static_cast<double>(*report.progress.last_step), last);
      EXPECT_LE(static_cast<double>(*report.progress.last_step), last + 8);
    }
  }
}

TEST(SceneLogsTest, WhatEndedTheJobIsRead) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    SCOPED_TRACE(seed);
    const triage::JobReport heartbeat = Read(Look("heartbeat", seed).scene(), 0);
    ASSERT_TRUE(heartbeat.primary.has_value());
    EXPECT_EQ(heartbeat.primary->name, "heartbeat_timeout");
    const triage::JobReport memory = Read(Look("host_memory", seed).scene(), 0);
    ASSERT_TRUE(memory.primary.has_value());
    EXPECT_EQ(memory.primary->name, "host_oom");
    const triage::JobReport hang = Read(Look("hang", seed).scene(), 0);
    if (hang.primary.has_value()) {
      EXPECT_EQ(hang.primary->name, "hang");
    } else {
      // MaxText's steps have no times: only telemetry shows when the last one was done.
      EXPECT_EQ(hang.progress.framework, "MaxText");
      EXPECT_EQ(hang.decision.status, triage::Status::kUnknown);
    }
    const triage::JobReport fine = Read(Look("fine", seed).scene(), 0);
    EXPECT_TRUE(!fine.primary.has_value() || fine.primary->relation == "note");
  }
}

TEST(SceneLogsTest, OfTwoJobsTheSecondWasRestored) {
  for (const std::uint64_t seed : {1U, 2U}) {
    Looking at = Look("restore_leak", seed, {.nodes = 16});
    EXPECT_EQ(Read(at.scene(), 0).progress.restored, false);
    EXPECT_EQ(Read(at.scene(), 1).progress.restored, true);
  }
}

}  // namespace
}  // namespace galen::scenarios
