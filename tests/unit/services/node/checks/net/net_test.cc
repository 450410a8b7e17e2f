#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/steady.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/node/checks/net/cloud_policy.h"
#include "services/node/checks/net/links.h"
#include "services/node/checks/net/reachability.h"
#include "services/node/checks/net/routes.h"
#include "services/node/checks/net/tcp/tcp.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/real_knowledge.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kToken[] = "0123456789abcdef0123456789abcdef";

CheckContext Context(const FakeHost& host, absl::string_view check,
                     const std::map<std::string, std::string>& values = {}) {
  return {.host = host,
          .knowledge = RealKnowledge(),
          .deadline = absl::Now() + absl::Seconds(20),
          .parameters = ParametersOf(check, values)};
}

TEST(NetFixtures, InterfacesOfAllKindsAreRead) {
  GALEN_NEED_FIXTURES();
  const auto json = ParseIpLinkJson(Fixture("ip-link/gcm-ip-j-link-7-ib-interfaces.json"));
  ASSERT_TRUE(json.ok()) << json.status();
  int infiniband = 0;
  for (const NetLink& link : *json) infiniband += link.kind == "infiniband" && link.carrier;
  EXPECT_EQ(infiniband, 7);  // of the eight that the node should have
}

TEST(NetFixtures, EthtoolIsRead) {
  GALEN_NEED_FIXTURES();
  const auto virtio = ParseEthtoolSettings(Fixture("ethtool/hotsos-ens3-settings.txt"));
  ASSERT_TRUE(virtio.ok()) << virtio.status();
  EXPECT_FALSE(virtio->speed_mbps.has_value());
  EXPECT_EQ(virtio->link, true);
  EXPECT_TRUE(ParseEthtoolSettings(Fixture("ethtool/nodeexporter-eth0-settings.txt")).ok());
  for (const char* name : {"hotsos-ens3-S", "ionic-pollara-vf-S", "nodeexporter-eth0-S"}) {
    const auto counters = ParseEthtoolStatistics(Fixture("ethtool/" + std::string(name) + ".txt"));
    ASSERT_TRUE(counters.ok()) << name << counters.status();
    EXPECT_GT(counters->size(), 5U) << name;
  }
}

TEST(NetInterfaces, ACaptureKnowsStateAndSpeedAndNoGrowth) {
  FakeHost host;
  host.AddCommand(
      "ip -j -s link show",
      R"([{"ifname":"eth0","flags":["UP","LOWER_UP"],"operstate":"UP","link_type":"ether",
                  "stats64":{"rx":{"errors":3,"dropped":0},"tx":{"errors":1,"dropped":0}}}])");
  host.AddFile("/sys/class/net/eth0/speed", "100000\n");
  const auto output = CheckInterfaces(Context(host, "net.interfaces"));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "state", "netdev:eth0"), "UP");
  EXPECT_EQ(ValueOf(*output, "speed_mbps", "netdev:eth0"), "100000");
  EXPECT_EQ(ValueOf(*output, "errors_delta", "netdev:eth0"), "?");
  EXPECT_THAT(output->excerpt, HasSubstr("eth0 4 errors since boot"));
}

TEST(NetInterfaces, NumbersThatNoCounterReachesAreNotAddedUp) {
  const auto links = ParseIpLinkJson(
      R"([{"ifname":"eth0","stats64":{"rx":{"errors":9223372036854775807,"dropped":2},
                                      "tx":{"errors":9223372036854775807,"dropped":1}}},
          {"ifname":"eth1","stats64":{"rx":{"errors":18446744073709551615},"tx":{"errors":0}}}])");
  ASSERT_TRUE(links.ok()) << links.status();
  EXPECT_EQ(links->at(0).errors, std::nullopt);
  EXPECT_EQ(links->at(0).dropped, 3);
  EXPECT_EQ(links->at(1).errors, std::nullopt);
}

TEST(NetInterfaces, ALiveHostShowsTheGrowthOfItsWindow) {
  FakeHost host;
  host.SetLive(true);
  host.AddCommand("ip -j -s link show", R"([{"ifname":"eth0","operstate":"UP"}])");
  host.AddFile("/sys/class/net/eth0/statistics/rx_errors", "5\n");
  const auto output = CheckInterfaces(Context(host, "net.interfaces", {{"window", "0.01"}}));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "errors_delta", "netdev:eth0"), "0");
  EXPECT_EQ(ValueOf(*output, "carrier_changes_delta", "netdev:eth0"), "?");
}

constexpr char kRoutes[] =
    R"([{"dst":"default","gateway":"10.0.0.1","dev":"eth0","flags":[]},
        {"dst":"10.1.0.0/16","dev":"eth1","flags":["linkdown"]},
        {"dst":"10.1.2.0/24","dev":"eth2","flags":[]},
        {"type":"unreachable","dst":"10.9.0.0/16","flags":[]}])";

TEST(NetRoutes, TheLongestPrefixDecides) {
  const auto routes = ParseIpRoutes(kRoutes);
  ASSERT_TRUE(routes.ok()) << routes.status();
  ASSERT_THAT(*routes, SizeIs(4));
  EXPECT_EQ(RouteTo(*routes, *ParseIpv4("10.1.2.3"))->netdev, "eth2");
  EXPECT_TRUE(RouteTo(*routes, *ParseIpv4("10.1.3.3"))->link_down);
  EXPECT_TRUE(RouteTo(*routes, *ParseIpv4("10.9.1.1"))->refused);
  EXPECT_EQ(RouteTo(*routes, *ParseIpv4("8.8.8.8"))->netdev, "eth0");
  EXPECT_FALSE(RouteTo({}, 1).has_value());
}

TEST(NetRoutes, PeersWithoutAWayAreNamed) {
  FakeHost host;
  host.AddCommand("ip -j route show", kRoutes);
  host.AddCommand("getent hosts node-2", "10.9.0.7   node-2\n");
  const auto output =
      CheckRoutes(Context(host, "net.routes", {{"peers", "10.1.2.3:29500,10.1.7.7"}}));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "route_to_peer", "peer:10.1.2.3:29500"), "true");
  EXPECT_EQ(ValueOf(*output, "route_to_peer", "peer:10.1.7.7"), "false");
  EXPECT_EQ(ValueOf(*output, "route_to_peer", "peer:node-2"), "false");
}

TEST(NetRoutes, OnlyAnAddressIsAnAddress) {
  for (const char* text :
       {"", "1.2.3", "1.2.3.4.5", "1.2.3.256", "a.b.c.d", "+1.2.3.4", "1..2.3"}) {
    EXPECT_FALSE(ParseIpv4(text).has_value()) << text;
  }
  EXPECT_EQ(ParseIpv4("1.2.3.4"), 0x01020304U);
}

TEST(NetCloudPolicy, AGroupThatDoesNotLetOutToItselfIsFound) {
  const auto groups = ParseSecurityGroupRules(
      R"({"SecurityGroupRules":[
        {"GroupId":"sg-0a","IsEgress":true,"IpProtocol":"-1","CidrIpv4":"0.0.0.0/0"},
        {"GroupId":"sg-0a","IsEgress":false,"IpProtocol":"-1","ReferencedGroupInfo":{"GroupId":"sg-0a"}}]})");
  ASSERT_TRUE(groups.ok()) << groups.status();
  EXPECT_TRUE(groups->at("sg-0a").self_in);
  EXPECT_FALSE(groups->at("sg-0a").self_out);
}

TEST(NetCloudPolicy, WhatOneGroupAllowsTheOtherOfTheInstanceMayDoWithout) {
  constexpr char kOut[] =
      R"({"GroupId":"sg-0a","IsEgress":true,"IpProtocol":"-1","ReferencedGroupInfo":{"GroupId":"sg-0a"}})";
  constexpr char kSsh[] = R"({"GroupId":"sg-0b","IsEgress":false,"IpProtocol":"tcp"})";
  FakeHost host;
  host.AddCommand("aws ec2 describe-security-group-rules --filters Name=group-id,Values=sg-0a",
                  absl::StrCat(R"({"SecurityGroupRules":[)", kOut, "]}"));
  host.AddCommand("aws ec2 describe-security-group-rules --filters Name=group-id,Values=sg-0b",
                  absl::StrCat(R"({"SecurityGroupRules":[)", kSsh, "]}"));
  const auto output = CheckCloudPolicy(Context(host, "net.cloud_policy"));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "self_reference_out", "group:sg-0a"), "true");
  EXPECT_EQ(ValueOf(*output, "self_reference_out", "group:sg-0b"), "?");
  // None has this one.
  EXPECT_EQ(ValueOf(*output, "self_reference_in", "group:sg-0a"), "false");
  EXPECT_EQ(ValueOf(*output, "self_reference_in", "group:sg-0b"), "false");
}

TEST(NetCloudPolicy, AGroupIsAnIdAndNothingElse) {
  const FakeHost host;
  EXPECT_EQ(CheckCloudPolicy(Context(host, "net.cloud_policy", {{"group", "sg-1 --debug"}}))
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(NetTcp, AddressesAreNumbers) {
  EXPECT_EQ(ParseSocketAddress("192.0.2.1:80")->Text(), "192.0.2.1:80");
  EXPECT_EQ(ParseSocketAddress("[2001:db8::1]:80")->Text(), "[2001:db8::1]:80");
  for (const char* text : {"", ":", "host:80", "192.0.2.1", "192.0.2.1:70000", "[::1:80"}) {
    EXPECT_FALSE(ParseSocketAddress(text).ok()) << text;
  }
}

TEST(NetTcp, ALineTooLongIsRefused) {
  const auto listener = Listener::Open(*ParseSocketAddress("127.0.0.1:0"));
  ASSERT_TRUE(listener.ok());
  const WaitLimits limits{absl::Now() + absl::Seconds(10)};
  auto client = Connection::Open(listener->address(), limits);
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE(client->SendLine(std::string(3000, 'a'), limits).ok());
  auto server = const_cast<Listener&>(*listener).Accept(limits);
  ASSERT_TRUE(server.ok());
  EXPECT_EQ(server->ReceiveLine(1000, limits).status().code(), absl::StatusCode::kOutOfRange);
}

TEST(NetTcp, WaitingEndsWhenItIsCancelled) {
  auto listener = Listener::Open(*ParseSocketAddress("127.0.0.1:0"));
  ASSERT_TRUE(listener.ok());
  Cancellation cancelled;
  std::thread canceller([&] { cancelled.Cancel(); });
  EXPECT_EQ(listener->Accept({absl::InfiniteFuture(), cancelled}).status().code(),
            absl::StatusCode::kCancelled);
  canceller.join();
}

TEST(NetReachability, APortThatNobodyListensOnIsRefused) {
  std::string address;
  {
    const auto listener = Listener::Open(*ParseSocketAddress("127.0.0.1:0"));
    ASSERT_TRUE(listener.ok());
    address = listener->address().Text();
  }
  FakeHost host;
  host.SetLive(true);
  host.AddCommand("ping -c 5 -i 0.2 -W 1 127.0.0.1",
                  "5 packets transmitted, 5 received, 0% packet loss, time 800ms\n");
  const auto output = CheckReachability(Context(host, "net.reachability", {{"peers", address}}));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "connect_failed", "peer:" + address), "3");
  EXPECT_EQ(ValueOf(*output, "packet_loss_pct", "peer:" + address), "0");
  EXPECT_EQ(ValueOf(*output, "icmp_ok_tcp_fails", "peer:" + address), "false");
}

TEST(NetReachability, PingsThatAFilterDropsAreNoLoss) {
  const auto listener = Listener::Open(*ParseSocketAddress("127.0.0.1:0"));
  ASSERT_TRUE(listener.ok());
  const std::string address = listener->address().Text();
  FakeHost host;
  host.SetLive(true);
  host.AddCommand("ping -c 5 -i 0.2 -W 1 127.0.0.1",
                  "5 packets transmitted, 0 received, 100% packet loss, time 4080ms\n", 1);
  const auto output = CheckReachability(Context(host, "net.reachability", {{"peers", address}}));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "connect_failed", "peer:" + address), "0");
  EXPECT_EQ(ValueOf(*output, "packet_loss_pct", "peer:" + address), "?");
}

TEST(NetReachability, PeersThatNoTimeWasLeftForAreUnknown) {
  const auto listener = Listener::Open(*ParseSocketAddress("127.0.0.1:0"));
  ASSERT_TRUE(listener.ok());
  const auto reached =
      Reach(listener->address(), 3, absl::Seconds(1), {absl::Now() - absl::Seconds(60)});
  ASSERT_TRUE(reached.ok()) << reached.status();
  EXPECT_EQ(reached->attempts, 0);
  EXPECT_EQ(reached->failed, 0);

  FakeHost host;
  host.SetLive(true);
  CheckContext context = Context(host, "net.reachability", {{"peers", listener->address().Text()}});
  context.deadline = absl::Now() - absl::Seconds(60);
  EXPECT_EQ(CheckReachability(context).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(NetReachability, APeerWhoseProgramAnswersLateIsReached) {
  // It takes connections and says nothing.
  const auto listener = Listener::Open(*ParseSocketAddress("127.0.0.1:0"));
  ASSERT_TRUE(listener.ok());
  FakeHost host;
  host.SetLive(true);
  const auto output = CheckReachability(Context(host, "net.reachability",
                                                {{"token", kToken},
                                                 {"role", "client"},
                                                 {"attempts", "1"},
                                                 {"peer", listener->address().Text()}}));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "connect_failed", "peer:127.0.0.1"), "0");
}

// Listens, but its queue of connections is full: the kernel drops what comes, as a filter does.
class FullQueue {
 public:
  FullQueue() : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(own);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&own), length) != 0 ||
        listen(listener_, 0) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&own), &length) != 0) {
      ADD_FAILURE() << "listen: " << strerror(errno);
    }
    port_ = ntohs(own.sin_port);
    for (int& filler : fillers_) {
      filler = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
      (void)connect(filler, reinterpret_cast<sockaddr*>(&own), length);
    }
  }
  ~FullQueue() {
    for (const int filler : fillers_) close(filler);
    close(listener_);
  }
  std::string Address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  const int listener_;
  int port_ = 0;
  std::array<int, 4> fillers_{};
};

TEST(NetReachability, AConnectionThatNothingAnswersHasFailed) {
  const FullQueue silent;
  const auto reached = Reach(*ParseSocketAddress(silent.Address()), 1, absl::Milliseconds(50),
                             {SteadyNow() + absl::Seconds(60)});
  ASSERT_TRUE(reached.ok()) << reached.status();
  EXPECT_EQ(reached->attempts, 1);
  EXPECT_EQ(reached->failed, 1);
}

TEST(NetReachability, AnAttemptThatTheEndOfTheTimeCutsShortHasNotFailed) {
  const FullQueue silent;
  const auto reached = Reach(*ParseSocketAddress(silent.Address()), 3, absl::Seconds(60),
                             {SteadyNow() + absl::Milliseconds(50)});
  ASSERT_TRUE(reached.ok()) << reached.status();
  EXPECT_EQ(reached->attempts, 0);
  EXPECT_EQ(reached->failed, 0);
}

TEST(NetReachability, NoPeersAreNotAllReached) {
  FakeHost host;
  host.SetLive(true);
  EXPECT_EQ(CheckReachability(Context(host, "net.reachability", {{"peers", ","}})).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(NetReachability, TwoNodesReachEachOther) {
  FakeHost server_host("node-1");
  server_host.SetLive(true);
  FakeHost client_host("node-2");
  client_host.SetLive(true);
  CheckContext server =
      Context(server_host, "net.reachability", {{"token", kToken}, {"address", "127.0.0.1:0"}});
  absl::StatusOr<CheckOutput> client_output = absl::UnknownError("");
  std::thread client;
  server.progress = [&](double, absl::string_view what) {
    ASSERT_THAT(std::string(what), HasSubstr("listening on 127.0.0.1:"));
    const std::string peer(what.substr(what.rfind(' ') + 1));
    client = std::thread([&, peer] {
      client_output =
          CheckReachability(Context(client_host, "net.reachability",
                                    {{"token", kToken}, {"role", "client"}, {"peer", peer}}));
    });
  };
  const auto served = CheckReachability(server);
  client.join();
  ASSERT_TRUE(served.ok()) << served.status();
  ASSERT_TRUE(client_output.ok()) << client_output.status();
  // It has no connection.
  EXPECT_EQ(ValueOf(*served, "connect_failed", "peer:127.0.0.1"), "?");
  EXPECT_NE(ValueOf(*served, "path_mtu", "peer:127.0.0.1"), "?");
  EXPECT_EQ(ValueOf(*client_output, "connect_failed", "peer:127.0.0.1"), "0");
  EXPECT_NE(ValueOf(*client_output, "path_mtu", "peer:127.0.0.1"), "?");
}

TEST(NetReachability, LossIsReadOfPingOfAllKinds) {
  EXPECT_EQ(*ParsePingLoss("5 packets transmitted, 4 received, 20% packet loss, time 1ms"), 20);
  EXPECT_EQ(*ParsePingLoss("3 packets transmitted, 0 packets received, 100% packet loss"), 100);
  EXPECT_FALSE(ParsePingLoss("").ok());
  EXPECT_FALSE(ParsePingLoss("999% packet loss").ok());
}

TEST(NetParsers, HostileTextIsRefused) {
  for (const std::string& text :
       {std::string(), std::string(100000, '['), std::string("\0\xff", 2)}) {
    EXPECT_FALSE(ParseIpLinkJson(text).ok());
    EXPECT_FALSE(ParseIpRoutes(text).ok());
    EXPECT_FALSE(ParseSecurityGroupRules(text).ok());
    EXPECT_FALSE(ParseEthtoolSettings(text).ok());
    EXPECT_FALSE(ParseEthtoolStatistics(text).ok());
  }
}

}  // namespace
}  // namespace galen::node
