// Claims about a scheduler's reports on a job: sacct, kubectl, and its lines in the job's log.
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/node/checks/log/scheduler.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/fixtures.h"

namespace galen::node {
namespace scheduler_test {

using ::galen::testing::FakeHost;
using ::testing::HasSubstr;

CheckContext Context(const FakeHost& host) { return {host, RepositoryKnowledge()}; }

TEST(Sacct, RealRecordsAreReadWithTheirNewlinesAndBytes) {
  GALEN_NEED_FIXTURES();
  struct SacctCase {
    const char* file;
    const char* state;  // one that has to be among them
  };
  for (const SacctCase& one : {SacctCase{"gcm-sacct-output.txt", "COMPLETED"},
                               SacctCase{"gcm-sacct-multiline.txt", "FAILED"},
                               SacctCase{"gcm-sacct-invalid-utf8.txt", "TIMEOUT"},
                               SacctCase{"gcm-sacct-running.txt", "RUNNING"}}) {
    const auto records = ParseSacct(ReadFixture(std::string("slurm/") + one.file));
    ASSERT_TRUE(records.ok()) << one.file << ": " << records.status();
    bool found = false;
    for (const auto& record : *records) {
      const auto state = record.find("State");
      found = found || (state != record.end() && PlainState(state->second) == one.state);
    }
    EXPECT_TRUE(found) << one.file;
  }
  EXPECT_FALSE(ParseSacct(ReadFixture("slurm/rivos-sdiag.json")).ok());
}

TEST(Scheduler, TheWorstOfAJobsStepsIsItsState) {
  FakeHost host;
  host.AddCommand("sacct -j 48213 -P",
                  "JobID|JobName|State|ExitCode|ReqMem|NodeList\n"
                  "48213|train|FAILED|0:125|8G|n1\n48213.0|python|OUT_OF_ME+|0:125||n1\n");
  const auto output = CheckScheduler(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "state"), "OUT_OF_MEMORY");
  EXPECT_EQ(ValueOf(*output, "requested_memory_gib"), "8");
}

TEST(Scheduler, FailuresGatherOnANode) {
  FakeHost host;
  host.AddCommand("sacct -j 2 -P",
                  "JobID|State|NodeList\n1|COMPLETED|n1\n2|FAILED|n2\n3|FAILED|n2\n");
  const auto output = CheckScheduler(Context(host));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "state"), "FAILED");
  EXPECT_EQ(ValueOf(*output, "failures_by_node"), "n1 0/1, n2 2/2");
}

TEST(Scheduler, AKilledContainerOfAPodIsItsState) {
  FakeHost host;
  host.AddCommand("kubectl describe pod w-1",
                  "Name:     w-1\nStatus:   Failed\nContainers:\n  main:\n"
                  "    State:          Terminated\n      Reason:       OOMKilled\n"
                  "      Exit Code:    137\n    Limits:\n      memory:  8Gi\n");
  const auto output = CheckScheduler(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "state"), "OOMKilled");
  EXPECT_EQ(ValueOf(*output, "requested_memory_gib"), "8");
}

TEST(Scheduler, PartsOfArraysAndOfHeterogeneousJobsAreOfTheirJob) {
  const auto state = [](const std::string& job, const std::string& records) {
    FakeHost host;
    host.AddCommand(absl::StrCat("sacct -j ", job, " -P"), "JobID|State|ExitCode\n" + records);
    const auto output = CheckScheduler(Context(host));
    return output.ok() ? ValueOf(*output, "state") : output.status().ToString();
  };
  EXPECT_EQ(state("71244", "71244_3|TIMEOUT|0:0\n"), "TIMEOUT");
  EXPECT_EQ(state("71244", "71244+0|COMPLETED|0:0\n71244+1|NODE_FAIL|0:0\n"), "NODE_FAIL");
  // SLURM_JOB_ID of an array task is a separate number, which the list does not contain.
  EXPECT_EQ(state("71247", "71244_3|FAILED|1:0\n71244_3.batch|FAILED|1:0\n"), "FAILED");
  EXPECT_EQ(state("71244", "71244|COMPLETED|0:0\n712440|FAILED|1:0\n"), "COMPLETED");
}

struct PodCase {
  const char* status;
  const char* more;
  const char* containers;
  const char* state;
  const char* reason;  // a part of it
};

constexpr char kInitDone[] =
    "Init Containers:\n  init:\n    State:          Terminated\n      Reason:       Completed\n"
    "      Exit Code:    0\n";

std::string Ended(const char* heading, const char* reason, int code) {
  return absl::StrCat("Containers:\n  main:\n    ", heading,
                      "  Terminated\n      Reason:  ", reason, "\n      Exit Code:    ", code,
                      "\n");
}

TEST(Scheduler, WhatFailedOfAPodTellsMoreThanWhatCompleted) {
  const std::string failed = kInitDone + Ended("State:", "Error", 1);
  const std::string restarted = kInitDone + Ended("Last State:", "Error", 1);
  const std::string completed = kInitDone + Ended("State:", "Completed", 0);
  const std::string asked = Ended("State:", "Error", 143);
  for (const PodCase& one : {
           PodCase{"Failed", "", failed.c_str(), "FAILED", "w-1/main: Error, exit code 1"},
           PodCase{"Running", "", restarted.c_str(), "FAILED", "w-1/main: Error, exit code 1"},
           PodCase{"Running", "", kInitDone, "Running", "?"},
           PodCase{"Succeeded", "", completed.c_str(), "Succeeded", "?"},
           PodCase{"Failed", "Reason:   Evicted\nMessage:  low on disk\n", failed.c_str(),
                   "PREEMPTED", "Evicted: low on disk"},
           PodCase{"Failed", "Reason:   Terminated\nMessage:  node shutdown\n", asked.c_str(),
                   "PREEMPTED", "Terminated: node shutdown"},
           PodCase{"Running", "", asked.c_str(), "Error", "exit code 143"},
       }) {
    FakeHost host;
    host.AddCommand(
        "kubectl describe pod w-1",
        absl::StrCat("Name:     w-1\nStatus:   ", one.status, "\n", one.more, one.containers));
    const auto output = CheckScheduler(Context(host));
    ASSERT_TRUE(output.ok()) << output.status();
    EXPECT_EQ(ValueOf(*output, "state"), one.state) << one.containers;
    EXPECT_THAT(ValueOf(*output, "reason"), HasSubstr(one.reason)) << one.containers;
  }
}

TEST(Scheduler, WhatItWroteIntoRealLogsIsRead) {
  GALEN_NEED_FIXTURES();
  FakeHost limit;
  limit.AddLog("a.out", ReadFixture("training-log/megatron-ds-zero-n16-time-limit.out"));
  EXPECT_EQ(ValueOf(*CheckScheduler(Context(limit)), "state"), "TIMEOUT");
  FakeHost cancelled;
  cancelled.AddLog("a.out", ReadFixture("training-log/megatron-gpt2-n4-v100-cancelled.out"));
  EXPECT_EQ(ValueOf(*CheckScheduler(Context(cancelled)), "state"), "STEP_CANCELLED");
}

}  // namespace scheduler_test
}  // namespace galen::node
