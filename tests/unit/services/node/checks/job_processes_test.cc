// Claims about which processes of a machine are the job's.
#include "services/node/checks/system/job_processes.h"

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/host/live_host.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/node/checks/system/process_load.h"
#include "tests/testing/host/fake_host.h"
#include "tests/testing/scratch.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/fixtures.h"
#include "tests/unit/services/node/checks/real_job.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
constexpr host::View kJob = host::View::kJob;

std::string Status(const char* name, int pid, int parent) {
  return absl::StrCat("Name:\t", name, "\nTgid:\t", pid, "\nPid:\t", pid, "\nPPid:\t", parent,
                      "\nTracerPid:\t0\nThreads:\t3\n");
}

FakeHost& AddProcess(FakeHost& host, const char* name, int pid, int parent) {
  return host.AddFile(absl::StrCat("/proc/", pid, "/status"), Status(name, pid, parent));
}

// A machine with a container: its process 1 is the host's 600.
FakeHost Machine() {
  FakeHost host;
  host.SetLive(true);
  AddProcess(host, "systemd", 1, 0);
  AddProcess(host, "containerd-shim", 500, 1);
  AddProcess(host, "bash", 600, 500);
  AddProcess(host, "python", 601, 600);
  AddProcess(host, "python", 700, 1);
  host.AddFile("/proc/self/status", Status("python", 601, 600), kJob);
  host.AddFile("/proc/1/status", Status("bash", 1, 0), kJob);
  host.AddFile("/proc/7/status", Status("python", 7, 1), kJob);
  return host;
}

TEST(JobProcesses, OfALiveContainerAreNumberedAsTheHostDoes) {
  const JobProcesses job = FindJobProcesses({Machine(), NoKnowledge()});
  EXPECT_THAT(job.pids, ElementsAre(601));
  EXPECT_EQ(job.view, host::View::kHost);
}

TEST(JobProcesses, AllThatWasStartedWithTheOneThatIsKnownIsTheJobs) {
  EXPECT_THAT(FindJobProcesses({Machine(), RepositoryKnowledge()}).pids, ElementsAre(600, 601));
  FakeHost slurm;
  slurm.SetLive(true);
  AddProcess(slurm, "systemd", 1, 0);
  AddProcess(slurm, "slurmstepd", 400, 1);
  for (const int rank : {401, 402}) AddProcess(slurm, "python", rank, 400);
  AddProcess(slurm, "pt_data_worker", 410, 402);
  AddProcess(slurm, "slurmstepd", 450, 1);
  AddProcess(slurm, "python", 451, 450);
  slurm.AddFile("/proc/self/status", Status("python", 401, 400), kJob);
  EXPECT_THAT(FindJobProcesses({slurm, RepositoryKnowledge()}).pids, ElementsAre(401, 402, 410));
}

TEST(JobProcesses, OfABundleAreThoseThatWereCaptured) {
  FakeHost host = Machine();
  host.SetLive(false);
  const JobProcesses job = FindJobProcesses({host, RepositoryKnowledge()});
  EXPECT_THAT(job.pids, ElementsAre(1, 7));
  EXPECT_EQ(job.view, kJob);
}

TEST(JobProcesses, WithoutAProcessOfTheJobThereAreNone) {
  const host::LiveHost host({});
  EXPECT_THAT(FindJobProcesses({host, NoKnowledge()}).pids, IsEmpty());
}

TEST(JobProcesses, ACircleOfParentsEnds) {
  FakeHost host;
  host.SetLive(true);
  AddProcess(host, "a", 8, 9);
  AddProcess(host, "b", 9, 8);
  host.AddFile("/proc/self/status", Status("a", 8, 9), kJob);
  EXPECT_THAT(FindJobProcesses({host, RepositoryKnowledge()}).pids, ElementsAre(8, 9));
}

TEST(JobProcesses, OfThisMachineAreTheOneThatIsKnownAndItsChildren) {
  const RealJob job;
  const RealJob stranger;
  ASSERT_NE(job.child(), 0);
  host::LiveHost::Options options;
  options.job_pid = job.pid();
  const host::LiveHost host(options);
  EXPECT_THAT(FindJobProcesses({host, NoKnowledge()}).pids,
              UnorderedElementsAre(job.pid(), job.child()));
}

int ThreadsOf(pid_t pid) {
  int threads = 0;
  for (const auto& task :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/task"))) {
    threads += task.is_directory() ? 1 : 0;
  }
  return threads;
}

TEST(ProcessLoad, OnThisMachineWhatOthersRunIsForeign) {
  const galen::testing::Scratch tools;
  const RealJob job;
  ASSERT_NE(job.child(), 0);
  const auto line = [](int pid, int parent, int cpu) {
    return absl::StrCat(pid, " ", parent, " u R - 9 1 ", cpu, ".0 python x\\n");
  };
  tools.WriteProgram("ps", absl::StrCat("#!/bin/sh\nprintf '1 0 root S - 9 1 0.0 systemd init\\n",
                                        line(job.pid(), 1, 70), line(job.child(), job.pid(), 50),
                                        line(job.child() + 1, 1, 200), "'\n"));
  host::LiveHost::Options options;
  options.job_pid = job.pid();
  options.search_path = tools.path();
  const host::LiveHost host(options);
  const auto output = CheckProcessLoad({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_THAT(output->message, HasSubstr("outside the job take 2 of"));
  EXPECT_NE(ValueOf(*output, "foreign_cpu_pct"), "0");
  EXPECT_EQ(ValueOf(*output, "threads_of_job"),
            absl::StrCat(ThreadsOf(job.pid()) + ThreadsOf(job.child())));
}

}  // namespace
}  // namespace galen::node
