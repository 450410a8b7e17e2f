#include "services/node/checks/job_process_tree.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string> kHosts = {"slurmstepd", "containerd-shim-runc-v2"};

TEST(JobProcessTree, WhatTheJobStartedIsTheJobs) {
  const JobProcessTree tree(
      {{1, 0, "init"}, {10, 1, "bash"}, {20, 10, "python3"}, {21, 20, "worker"}}, {20}, kHosts);
  EXPECT_EQ(tree.Holds(20), true);
  EXPECT_EQ(tree.Holds(21), true);
  EXPECT_EQ(tree.Holds(10), std::nullopt);  // a shell may start several jobs
  EXPECT_THAT(tree.Members(), ElementsAre(20, 21));
}

TEST(JobProcessTree, WhatStartsOneJobOnlyTellsItsSiblings) {
  const JobProcessTree tree({{5, 1, "slurmstepd"}, {20, 5, "python3"}, {30, 5, "python3"}}, {20},
                            kHosts);
  EXPECT_EQ(tree.Holds(30), true);
  EXPECT_EQ(tree.Holds(5), std::nullopt);  // what starts the job is not of it
  EXPECT_THAT(tree.Members(), ElementsAre(20, 30));
}

TEST(JobProcessTree, NamesAreComparedAsTheKernelCutsThem) {
  const JobProcessTree tree({{5, 1, "containerd-shim"}, {20, 5, "python3"}, {30, 5, "python3"}},
                            {20}, kHosts);
  EXPECT_EQ(tree.Holds(30), true);
}

TEST(JobProcessTree, WhatTheFirstProcessStartedBesideIsForeign) {
  const JobProcessTree tree({{20, 1, "python3"}, {40, 1, "sshd"}, {41, 40, "python3"}}, {20},
                            kHosts);
  EXPECT_EQ(tree.Holds(41), false);
  EXPECT_EQ(tree.Holds(99), std::nullopt);  // not listed
}

TEST(JobProcessTree, ATableThatIsNotOfOneInstantHidesNoChild) {
  // The process that started 10 has ended meanwhile.
  const JobProcessTree tree({{10, 9, "torchrun"}, {20, 10, "python3"}, {50, 8, "python3"}}, {10},
                            kHosts);
  EXPECT_EQ(tree.Holds(20), true);
  EXPECT_EQ(tree.Holds(50), std::nullopt);
  const JobProcessTree circle({{7, 8, "a"}, {8, 7, "b"}, {20, 1, "python3"}}, {20}, kHosts);
  EXPECT_EQ(circle.Holds(7), std::nullopt);
}

TEST(JobProcessTree, NothingIsForeignToAJobThatIsNotKnown) {
  const JobProcessTree tree({{20, 1, "python3"}}, {}, kHosts);
  EXPECT_EQ(tree.Holds(20), std::nullopt);
  EXPECT_THAT(tree.Members(), IsEmpty());
}

TEST(ProcessTable, ComesFromStatusAndFromPs) {
  const auto process = ParseProcessStatus("Name:\tpt main\nPid:\t12\nPPid:\t3\n");
  ASSERT_TRUE(process.has_value());
  EXPECT_EQ(process->name, "pt main");
  EXPECT_EQ(process->pid, 12);
  EXPECT_EQ(process->parent, 3);
  EXPECT_EQ(ParseProcessStatus("Name:\tx\n"), std::nullopt);
  EXPECT_EQ(ParseProcessStatus("Pid:\t99999999999999999999\n"), std::nullopt);
  const auto table = ParseProcessTable(
      "    PID    PPID USER     STAT WCHAN                            ELAPSED   RSS %CPU COMMAND "
      "        COMMAND\n"
      "     12       3 root     Sl   futex_wait_queue                      59 12345  5.0 python3 "
      "        python3 train.py\n"
      "     13\n");
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0].pid, 12);
  EXPECT_EQ(table[0].parent, 3);
  EXPECT_EQ(table[0].name, "python3");
}

}  // namespace
}  // namespace galen::node
