#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "check_fixture.h"
#include "gpu_xml.h"
#include "services/node/checks/gpu/gpu_checks.h"

namespace galen::node {
namespace processes_test {

using ::galen::testing::FakeHost;
using ::testing::HasSubstr;

FakeHost HostWith(const std::vector<std::string>& gpus) {
  FakeHost host("node-1");
  host.AddCommand("nvidia-smi -q -x", SmiXml(gpus));
  return host;
}

std::string Process(int pid, const char* name) {
  return absl::StrCat("<processes><process_info><pid>", pid, "</pid><type>C</type><process_name>",
                      name, "</process_name></process_info></processes>");
}

constexpr char kPs[] = "ps -eo pid,ppid,user,stat,wchan:32,etimes,rss,pcpu,comm,args";

struct PsLine {
  int pid;
  int parent;
  const char* name;
};

std::string Ps(const std::vector<PsLine>& lines) {
  std::string text = "    PID    PPID USER STAT WCHAN ELAPSED RSS %CPU COMMAND COMMAND\n";
  for (const PsLine& line : lines) {
    absl::StrAppend(&text, line.pid, " ", line.parent, " u S - 9 1 0.0 ", line.name, " ", line.name,
                    " -x\n");
  }
  return text;
}

TEST(Processes, RanksOfOneLauncherAreOfOneJob) {
  FakeHost host =
      HostWith({GpuXml("1B", Process(100, "python3")), GpuXml("2B", Process(101, "python3")),
                GpuXml("3B", Process(200, "python3")),
                GpuXml("4B", Process(300, "/usr/bin/nvidia-cuda-mps-server"))});
  host.SetJobEnvironment({{"RANK", "0"}});
  // One rank is all that a bundle shows of the job.
  host.AddFile("/proc/100/status", "", host::View::kJob);
  host.AddCommand(kPs, Ps({{50, 1, "slurmstepd"},
                           {100, 50, "python3"},
                           {101, 50, "python3"},
                           {150, 1, "slurmstepd"},
                           {200, 150, "python3"},
                           {300, 1, "nvidia-cuda-mps"}}));
  const auto output = RunGpuCheck("gpu.processes", host);
  EXPECT_EQ(ValueOf(output, "foreign_process", "gpu:0"), "false");
  EXPECT_EQ(ValueOf(output, "foreign_process", "gpu:1"), "false");
  EXPECT_EQ(ValueOf(output, "foreign_process", "gpu:2"), "true");
  EXPECT_THAT(output->message, HasSubstr("1 process, python3 (200)"));
  EXPECT_EQ(ValueOf(output, "foreign_process", "gpu:3"), "false");
  EXPECT_EQ(ValueOf(output, "daemon_holds_device", "gpu:3"), "nvidia-cuda-mps-server");
  // A shell may start several jobs.
  host.AddCommand(kPs, Ps({{50, 1, "bash"}, {100, 50, "python3"}, {101, 50, "python3"}}));
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.processes", host), "foreign_process", "gpu:1"), "unknown");
}

TEST(Processes, AreForeignOnlyWhereTheJobsOwnAreKnown) {
  FakeHost host =
      HostWith({GpuXml("1B", Process(100, "python3")),
                GpuXml("2B", Process(999, "/usr/bin/nv-hostengine -n")),
                GpuXml("3B", "<processes></processes>"), GpuXml("4B", Process(998, "python3"))});
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.processes", host), "foreign_process", "gpu:3"), "unknown");
  host.SetJobEnvironment({{"RANK", "0"}});
  host.AddFile("/proc/100/status", "", host::View::kJob);
  // The parent of 998 is unknown.
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.processes", host), "foreign_process", "gpu:3"), "unknown");
  host.AddCommand(kPs, Ps({{100, 1, "python3"}, {998, 1, "python3"}, {999, 1, "nv-hostengine"}}));
  const auto output = RunGpuCheck("gpu.processes", host);
  EXPECT_EQ(ValueOf(output, "foreign_process", "gpu:0"), "false");
  // A daemon belongs to no user.
  EXPECT_EQ(ValueOf(output, "foreign_process", "gpu:1"), "false");
  EXPECT_EQ(ValueOf(output, "foreign_process", "gpu:2"), "false");
  EXPECT_EQ(ValueOf(output, "foreign_process", "gpu:3"), "true");
  EXPECT_EQ(ValueOf(output, "daemon_holds_device", "gpu:0"), "none");
  EXPECT_EQ(ValueOf(output, "daemon_holds_device", "gpu:1"), "nv-hostengine");
}

TEST(Processes, ASecondContextIsTheSmallerOneOfAProcessOnTwoGpus) {
  const auto process = [](int pid, const char* name, int mib) {
    return absl::StrCat("<process_info><pid>", pid, "</pid><type>C</type><process_name>", name,
                        "</process_name><used_memory>", mib, " MiB</used_memory></process_info>");
  };
  const auto gpu = [](const std::string& bus, const std::string& processes) {
    return GpuXml(bus, absl::StrCat("<processes>", processes, "</processes>"));
  };
  const std::string server = process(9, "/usr/bin/nvidia-cuda-mps-server", 27);
  const FakeHost host = HostWith(
      {gpu("1B", process(100, "python3", 4651) + process(101, "python3", 647) +
                     process(102, "python3", 651) + server),
       gpu("2B", process(101, "python3", 4651) + process(9, "/usr/bin/nvidia-cuda-mps-server", 90)),
       gpu("3B", process(102, "python3", 4651))});
  const auto output = RunGpuCheck("gpu.processes", host);
  EXPECT_EQ(ValueOf(output, "second_contexts", "gpu:0"), "2");
  EXPECT_EQ(ValueOf(output, "second_context_mib", "gpu:0"), "651");
  EXPECT_EQ(ValueOf(output, "second_contexts", "gpu:1"), "0");
  EXPECT_EQ(ValueOf(output, "second_context_mib", "gpu:1"), "unknown");
}

TEST(Processes, NumbersOfAContainerAreNotCompared) {
  FakeHost host = HostWith({GpuXml("1B", Process(5000, "python3"))});
  host.SetJobEnvironment({});
  host.AddFile("/proc/12/status", "", host::View::kJob);
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.processes", host), "foreign_process", "gpu:0"), "unknown");
}

}  // namespace processes_test
}  // namespace galen::node
