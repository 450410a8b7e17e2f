#include "common/intake/prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::intake {
namespace prompt_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Form {
  const char* line;
  const char* user;
  const char* host;
  const char* typed;
};

class Prompts : public ::testing::TestWithParam<Form> {};

TEST_P(Prompts, TellsWhoTypedWhatWhere) {
  const auto prompt = FindPrompt(GetParam().line);
  ASSERT_TRUE(prompt.has_value()) << GetParam().line;
  EXPECT_EQ(prompt->user, GetParam().user);
  EXPECT_EQ(prompt->host, GetParam().host);
  EXPECT_EQ(prompt->typed, GetParam().typed);
}

INSTANTIATE_TEST_SUITE_P(
    Shells, Prompts,
    ::testing::Values(
        Form{"[root@gpu02 ~]# dmesg -T", "root", "gpu02", "dmesg -T"},
        Form{"mk@tarn:~$ groups", "mk", "tarn", "groups"},
        Form{"root@a7f3c9e0b214:/opt/nccl-tests# df -h", "root", "a7f3c9e0b214", "df -h"},
        Form{"u3107@cnode-118 ~ % nvidia-smi", "u3107", "cnode-118", "nvidia-smi"},
        Form{"root@cnode-118 ~ # lspci -vv", "root", "cnode-118", "lspci -vv"},
        Form{"(gt) u5120@cn-0233:~/gt$ python t.py", "u5120", "cn-0233", "python t.py"},
        Form{"gpu-r2-08$ ib_write_bw -d mlx5_3", "", "gpu-r2-08", "ib_write_bw -d mlx5_3"},
        Form{"  $ sudo lspci -s 41:00.0 -vv", "", "", "sudo lspci -s 41:00.0 -vv"}));

TEST(FindPrompt, WhatPeopleAndProgramsWriteIsNotAPrompt) {
  for (const char* line : {"", "We run it on gpu07 and see # of errors", "price: 5$ a card",
                           "mail me at ana@example.org please", "NCCL WARN Call to connect failed",
                           "/dev/shm 64M 0 64M 0% /dev/shm", "|  0%   34C    P8    21W / 350W |"}) {
    EXPECT_FALSE(FindPrompt(line).has_value()) << line;
  }
}

TEST(FindPrompt, AHeadingIsNoMoreThanABarePrompt) {
  EXPECT_TRUE(FindPrompt("# nThread 1 nGpus 8")->bare);
}

TEST(ReadCommand, ALoopOverSshRunsOnSeveralMachines) {
  const Command named =
      ReadCommand("for h in gpu01 gpu02; do echo == $h; ssh $h 'ibstat | grep State'; done");
  EXPECT_THAT(named.argv, ElementsAre("ibstat"));
  EXPECT_THAT(named.machines, ElementsAre("gpu01", "gpu02"));
  EXPECT_TRUE(named.several);
  EXPECT_TRUE(named.filtered);
  const Command read =
      ReadCommand("for n in $(cat hosts); do echo $n; ssh -o X=y root@$n uptime; done");
  EXPECT_THAT(read.argv, ElementsAre("uptime"));
  EXPECT_THAT(read.machines, IsEmpty());
  EXPECT_TRUE(read.several);
  EXPECT_FALSE(ReadCommand("for d in mlx5_0 mlx5_1; do echo $d; ibstat $d; done").several);
  // The list is of the interfaces of one machine.
  const Command devices = ReadCommand("for d in eth0 eth1; do echo $d; ssh $NODE ethtool $d; done");
  EXPECT_FALSE(devices.several);
  EXPECT_TRUE(devices.elsewhere);
  const Command numbers =
      ReadCommand("for i in 1 2; do ssh root@node${i} uptime; done | grep load");
  EXPECT_THAT(numbers.machines, ElementsAre("node1", "node2"));
  EXPECT_TRUE(numbers.filtered);
}

TEST(ReadCommand, ParallelShellsRunOnSeveralMachines) {
  for (const char* typed :
       {"pdsh -R ssh -w gpu[01-02] nvidia-smi -q | dshbak -c",
        "clush -bw gpu[01-02] sudo nvidia-smi -q", "pdsh -wgpu01,gpu02 nvidia-smi -q"}) {
    const Command command = ReadCommand(typed);
    EXPECT_THAT(command.argv, ElementsAre("nvidia-smi", "-q")) << typed;
    EXPECT_THAT(command.machines, ElementsAre("gpu01", "gpu02")) << typed;
    EXPECT_TRUE(command.several) << typed;
    EXPECT_FALSE(command.filtered) << typed;
  }
  EXPECT_TRUE(ReadCommand("pdsh -w gpu[01-02] dmesg | dshbak -c | grep Xid").filtered);
  EXPECT_THAT(ReadCommand("pssh -h hosts.txt -i uptime").argv, ElementsAre("uptime"));
  const Command ansible = ReadCommand("ansible gpus -b -m shell -a 'lsmod | grep peermem'");
  EXPECT_THAT(ansible.argv, ElementsAre("lsmod"));
  EXPECT_TRUE(ansible.several);
  EXPECT_TRUE(ansible.filtered);
}

TEST(ReadCommand, TakesWrappersOff) {
  EXPECT_THAT(ReadCommand("sudo -E LANG=C /usr/sbin/dmesg -T").argv, ElementsAre("dmesg", "-T"));
  EXPECT_THAT(ReadCommand("timeout -k 5 10 nvidia-smi -q").argv, ElementsAre("nvidia-smi", "-q"));
  EXPECT_THAT(ReadCommand("NCCL_DEBUG=INFO ./all_reduce_perf -g 4").argv,
              ElementsAre("all_reduce_perf", "-g", "4"));
  EXPECT_THAT(ReadCommand("cd /x && df -h").argv, ElementsAre("df", "-h"));
  EXPECT_THAT(ReadCommand("").argv, IsEmpty());
}

TEST(ReadCommand, TellsWhereItRan) {
  Command command = ReadCommand("ssh -p 22 ops@zephyr \"sudo dmesg -T | tail\"");
  EXPECT_EQ(command.host, "zephyr");
  EXPECT_THAT(command.argv, ElementsAre("dmesg", "-T"));
  EXPECT_TRUE(command.filtered);
  command = ReadCommand("docker exec -it web nvidia-smi");
  EXPECT_TRUE(command.in_container);
  EXPECT_THAT(command.argv, ElementsAre("nvidia-smi"));
  command = ReadCommand("kubectl -n ml exec p -c c -- getent hosts m");
  EXPECT_TRUE(command.in_container);
  EXPECT_THAT(command.argv, ElementsAre("getent", "hosts", "m"));
}

TEST(ReadCommand, TellsAFilteredOutput) {
  EXPECT_TRUE(ReadCommand("lspci -vv | grep LnkSta").filtered);
  EXPECT_TRUE(ReadCommand("apt list --installed 2>/dev/null | grep nvidia").filtered);
  EXPECT_FALSE(ReadCommand("dmesg -T 2>/dev/null").filtered);
  EXPECT_FALSE(ReadCommand("grep 'a|b' file").filtered);
}

TEST(IsContainerId, IsHexadecimal) {
  EXPECT_TRUE(IsContainerId("a7f3c9e0b214"));
  EXPECT_FALSE(IsContainerId("gpu02"));
  EXPECT_FALSE(IsContainerId("deadbeefcafe"));
}

TEST(WithoutSearches, KeepsWhatRanAndDropsTheWordsThatWereSought) {
  EXPECT_EQ(WithoutSearches("dmesg -T"), "dmesg -T");
  EXPECT_EQ(WithoutSearches("dmesg | grep -iE 'xgmi|ras.*error' | tail -3"), "dmesg | tail -3");
  EXPECT_EQ(WithoutSearches("sudo grep -c 'Xid 79' /var/log/messages"), "");
  EXPECT_EQ(WithoutSearches("NCCL_P2P_DISABLE=1 python train.py 2>&1 | tee out.log"),
            "NCCL_P2P_DISABLE=1 python train.py 2>&1 | tee out.log");
  EXPECT_EQ(WithoutSearches("cd /var/log && zgrep 'I/O error' kern.log"), "cd /var/log &&");
  EXPECT_EQ(WithoutSearches("for g in 0 1; do amd-smi metric -g $g | awk '/UNCORRECTABLE/'; done"),
            "for g in 0 1; do amd-smi metric -g $g | done");
  EXPECT_EQ(WithoutSearches(""), "");
  EXPECT_EQ(WithoutSearches("'unclosed | quote"), "'unclosed | quote");
}

}  // namespace prompt_test
}  // namespace galen::intake
