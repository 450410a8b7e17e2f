// Claims about the check of network file systems.
#include "services/node/checks/system/network_fs.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/fixtures.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;
using ::testing::HasSubstr;

CheckContext Of(const FakeHost& host) { return {host, RepositoryKnowledge()}; }

constexpr char kMounts[] = "10.0.0.1:/d /data nfs4 rw 0 0\n/dev/sda1 / ext4 rw 0 0\n";

TEST(NetworkFs, OnlyOfNfsTheKernelsSilenceIsAnAnswer) {
  FakeHost host;
  host.AddFile("/proc/mounts",
               "10.0.0.1:/d /data nfs4 rw 0 0\n10.0.0.2@tcp:/l /lustre lustre rw 0 0\n"
               "s3fs /bucket fuse.s3fs rw 0 0\n");
  host.AddCommand("dmesg --time-format iso", "[ 1.0] quiet\n");
  const auto output = CheckNetworkFs(Of(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "server_not_responding", "mount:/data"), "false");
  EXPECT_EQ(ValueOf(*output, "server_not_responding", "mount:/lustre"), "?");
  EXPECT_EQ(ValueOf(*output, "server_not_responding", "mount:/bucket"), "?");
  EXPECT_THAT(output->message, HasSubstr("none of the 1 NFS mounts is stalled"));
}

TEST(NetworkFs, AServerThatAnsweredAgainIsNotSilent) {
  FakeHost host;
  host.AddFile("/proc/mounts", kMounts);
  const std::string lost =
      "2024-05-06T07:08:09,000000+00:00 nfs: server 10.0.0.1 not responding, still trying\n";
  host.AddCommand("dmesg --time-format iso", lost);
  auto output = CheckNetworkFs(Of(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "server_not_responding", "mount:/data"), "true");
  host.AddCommand("dmesg --time-format iso",
                  lost + "2024-05-06T07:09:09,000000+00:00 nfs: server 10.0.0.1 OK\n");
  output = CheckNetworkFs(Of(host));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "server_not_responding", "mount:/data"), "false");
}

TEST(NetworkFs, TheLastWordOfAServerCountsHoweverOftenTheFirstWasPrinted) {
  FakeHost host;
  host.AddFile("/proc/mounts", kMounts);
  const std::string lost = "[ 10.0] nfs: server 10.0.0.1 not responding, still trying\n";
  const std::string back = "[ 20.0] nfs: server 10.0.0.1 OK\n";
  host.AddCommand("dmesg --time-format iso", lost + lost + back);
  EXPECT_EQ(ValueOf(*CheckNetworkFs(Of(host)), "server_not_responding", "mount:/data"), "false");
  host.AddCommand("dmesg --time-format iso", lost + back + back + lost);
  EXPECT_EQ(ValueOf(*CheckNetworkFs(Of(host)), "server_not_responding", "mount:/data"), "true");
}

TEST(NetworkFs, ASoftMountThatGaveUpIsNotSilentForGood) {
  FakeHost host;
  host.AddFile("/proc/mounts", kMounts);
  host.AddCommand("dmesg --time-format iso",
                  "[ 10.0] nfs: server 10.0.0.1 not responding, timed out\n");
  const auto output = CheckNetworkFs(Of(host));
  EXPECT_EQ(ValueOf(*output, "server_not_responding", "mount:/data"), "false");
  EXPECT_THAT(output->excerpt, HasSubstr("timed out"));
}

TEST(NetworkFs, AServerIsNoOtherWhoseNameBeginsWithItsOwn) {
  FakeHost host;
  host.AddFile("/proc/mounts",
               "10.0.0.10:/d /data nfs4 rw 0 0\n10.0.0.1:/d /home nfs4 rw 0 0\n"
               "[2001:db8::1]:/d /six nfs4 rw 0 0\n");
  host.AddCommand("dmesg --time-format iso",
                  "[ 10.0] nfs: server 10.0.0.1 not responding, still trying\n"
                  "[ 11.0] nfs: server 2001:db8::1 not responding, still trying\n");
  const auto output = CheckNetworkFs(Of(host));
  EXPECT_EQ(ValueOf(*output, "server_not_responding", "mount:/data"), "false");
  EXPECT_EQ(ValueOf(*output, "server_not_responding", "mount:/home"), "true");
  EXPECT_EQ(ValueOf(*output, "server_not_responding", "mount:/six"), "true");
}

FakeHost WithBacklog(int sum) {
  FakeHost host;
  host.AddFile("/proc/mounts", kMounts);
  host.AddFile("/proc/self/mountstats",
               absl::StrCat("device 10.0.0.1:/d mounted on /data with fstype nfs4 statvers=1.1\n"
                            "\tage:\t100\n\tbytes:\t1 2 3 4 5000 6 7 8\n"
                            "\txprt:\ttcp 875 1 5 0 0 1000 1000 0 8371 ",
                            sum,
                            " 128 2 4703\n"
                            "\tper-op statistics\n\t        READ: 10 13 0 1 2 3 4 5\n"));
  return host;
}

TEST(NetworkFs, OnlyALongQueueSinceTheMountIsABacklogOfNow) {
  EXPECT_EQ(ValueOf(*CheckNetworkFs(Of(WithBacklog(64000))), "rpc_backlog", "mount:/data"), "64");
}

TEST(NetworkFs, NfsiostatTellsTheBacklogWithWhateverOptionsItWasRun) {
  FakeHost host;
  host.AddCommand("nfsiostat /data 5 2",
                  "\n10.0.0.1:/d mounted on /data:\n\n           ops/s       rpc bklog\n"
                  "           1.000           0.000\n\nread:   ops/s\n"
                  "\n10.0.0.1:/d mounted on /data:\n\n           ops/s       rpc bklog\n"
                  "        2228.931         645.635\n\nread:   ops/s\n");
  const auto output = CheckNetworkFs(Of(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "rpc_backlog", "mount:/data"), "646");
  EXPECT_TRUE(ParseNfsiostat("rpc bklog\n1 2\n").empty());
  for (const char* number : {"inf", "nan", "-1", "1e300"}) {
    EXPECT_TRUE(
        ParseNfsiostat(absl::StrCat("s:/d mounted on /d:\nops/s rpc bklog\n1 ", number, "\n"))
            .empty())
        << number;
  }
}

TEST(NetworkFs, CountersSinceTheMountAreNoBacklogOfNow) {
  const auto output = CheckNetworkFs(Of(WithBacklog(2000)));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "rpc_backlog", "mount:/data"), "?");
  EXPECT_EQ(ValueOf(*output, "slots_in_use", "mount:/data"), "128");
  EXPECT_EQ(ValueOf(*output, "retransmissions", "mount:/data"), "3");
  EXPECT_THAT(output->message, HasSubstr("since it was mounted"));
}

TEST(NetworkFs, TheRpcLineOfARealMachineIsRead) {
  GALEN_NEED_FIXTURES();
  const auto count = ParseRpcRetransmissions(ReadFixture("procfs/nodeexporter-net-rpc-nfs"));
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(*count, 374636);
  EXPECT_FALSE(ParseRpcRetransmissions("net 1 2 3\n").ok());
}

}  // namespace
}  // namespace galen::node
