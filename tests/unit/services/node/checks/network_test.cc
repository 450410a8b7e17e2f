#include "services/node/checks/system/network.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/fixtures.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;

FakeHost HostThatKnowsItself() {
  FakeHost host;
  host.AddCommand("getent hosts node-1", "10.0.0.1 node-1\n");
  return host;
}

TEST(Resolve, ANameThatIsNotFoundIsAnUnresolvedPeer) {
  FakeHost host = HostThatKnowsItself();
  host.AddCommand("getent hosts node-2", "10.0.0.2 node-2\n");
  host.AddCommand("getent hosts node-3", "", 2);
  const auto output = CheckResolve({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "own_name_loopback"), "false");
  EXPECT_EQ(ValueOf(*output, "peer_unresolved"), "node-3");
}

TEST(Resolve, ThatAllNamesResolveIsToldOfTheNameThatTheJobGoesBy) {
  FakeHost host = HostThatKnowsItself();
  host.AddCommand("getent hosts node-2", "10.0.0.2 node-2\n");
  const auto peers = [&](const char* master) {
    host.SetJobEnvironment({{"MASTER_ADDR", master}});
    return ValueOf(*CheckResolve({host, RepositoryKnowledge()}), "peer_unresolved");
  };
  EXPECT_EQ(ValueOf(*CheckResolve({host, RepositoryKnowledge()}), "peer_unresolved"), "?");
  EXPECT_EQ(peers("trainer-master-0"), "?");
  EXPECT_EQ(peers("node-2"), "none");
  EXPECT_EQ(peers("node-1"), "none");
  EXPECT_EQ(peers("10.0.0.2"), "none");
}

TEST(Resolve, APeerOfWhichNothingWasAskedIsUnknown) {
  FakeHost host = HostThatKnowsItself();
  EXPECT_EQ(ValueOf(*CheckResolve({host, RepositoryKnowledge()}), "peer_unresolved"), "?");
  // It failed in another way than by not finding the name.
  host.SetJobEnvironment({{"MASTER_ADDR", "10.0.0.2"}});
  host.AddCommand("getent hosts node-2", "", 124);
  EXPECT_EQ(ValueOf(*CheckResolve({host, RepositoryKnowledge()}), "peer_unresolved"), "?");
}

std::string PortHolder(absl::string_view port, absl::string_view sockets) {
  FakeHost host;
  host.SetJobEnvironment({{"MASTER_PORT", std::string(port)}});
  host.AddFile("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
  host.AddCommand("ss -tan", absl::StrCat("State  Recv-Q Send-Q  Local Address:Port   Peer "
                                          "Address:Port Process\n",
                                          sockets));
  const auto output = CheckPorts({host, RepositoryKnowledge()});
  return output.ok() ? ValueOf(*output, "port_in_use_by") : "error";
}

TEST(Ports, AnOutgoingConnectionMayHoldThePort) {
  EXPECT_EQ(PortHolder("40000", "ESTAB 0 0 10.0.0.1:40000 10.0.0.9:443\n"),
            "a connection to 10.0.0.9:443");
  EXPECT_EQ(PortHolder("40000", "SYN-SENT 0 1 [fd00::1]:40000 [fd00::2]:443\n"),
            "a connection to [fd00::2]:443");
  EXPECT_EQ(PortHolder("40000", "ESTAB 0 0 10.0.0.1:40001 10.0.0.9:40000\n"), "none");
}

TEST(Ports, WhoListensIsNotToldAndMayBeTheJobItself) {
  EXPECT_EQ(PortHolder("29500", "LISTEN 0 2048 0.0.0.0:29500 0.0.0.0:*\n"), "?");
  EXPECT_EQ(PortHolder("40000",
                       "LISTEN 0 2048 *:40000 *:*\n"
                       "ESTAB 0 0 10.0.0.1:40000 10.0.0.2:51000\n"),
            "?");
  EXPECT_EQ(PortHolder("40000", "TIME-WAIT 0 0 10.0.0.1:40000 10.0.0.2:51000\n"), "?");
  // The kernel gives this one to no outgoing connection: who came in is a peer of the job.
  EXPECT_EQ(PortHolder("29500", "ESTAB 0 0 10.0.0.1:29500 10.0.0.2:51000\n"), "?");
}

TEST(Ports, AListingThatWasNotReadSaysNothing) {
  FakeHost host;
  host.SetJobEnvironment({{"MASTER_PORT", "29500"}});
  EXPECT_EQ(ValueOf(*CheckPorts({host, RepositoryKnowledge()}), "port_in_use_by"), "?");
  host.AddCommand("ss -tan", "nonsense\n");
  EXPECT_EQ(ValueOf(*CheckPorts({host, RepositoryKnowledge()}), "port_in_use_by"), "?");
}

constexpr char kNetstat[] =
    "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPTimeouts\n"
    "TcpExt: 0 4 5 1234\n"
    "IpExt: InNoRoutes\nIpExt: 7\n";

TEST(TcpCounters, TimeoutsAndDropsAreOfNetstat) {
  FakeHost host;
  host.AddFile("/proc/net/netstat", kNetstat);
  auto output = CheckTcpCounters({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "timeouts_total"), "1234");
  EXPECT_EQ(ValueOf(*output, "listen_drops_total"), "5");
  EXPECT_EQ(ValueOf(*output, "retransmit_pct"), "?");
}

TEST(TcpCounters, OneOfTheTwoFilesIsEnoughAndNoneIsNot) {
  FakeHost host;
  EXPECT_FALSE(CheckTcpCounters({host, RepositoryKnowledge()}).ok());
  host.AddFile("/proc/net/snmp", "Tcp: RtoAlgorithm OutSegs RetransSegs\nTcp: 1 100000 2000\n");
  const auto output = CheckTcpCounters({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "retransmit_pct"), "2");
  EXPECT_EQ(ValueOf(*output, "timeouts_total"), "?");
}

}  // namespace
}  // namespace galen::node
