#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forms_testing.h"
#include "nlohmann/json.hpp"

namespace galen::intake::ifconfig_test {
namespace {

using nlohmann::json;

json Json(absl::string_view text) { return json::parse(TextOf("ifconfig", text), nullptr, false); }

TEST(InterfaceConfig, NewReleasesTellFlagsAddressesAndCounters) {
  EXPECT_EQ(Json(R"(
eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500
        inet 192.0.2.7  netmask 255.255.254.0  broadcast 192.0.3.255
        inet6 fe80::42:acff:fe11:2  prefixlen 64  scopeid 0x20<link>
        ether 02:42:ac:11:00:02  txqueuelen 0  (Ethernet)
        RX packets 10  bytes 1000 (1000.0 B)
        RX errors 1  dropped 2  overruns 0  frame 0
        TX packets 20  bytes 2000 (1.9 KiB)
        TX errors 3  dropped 4 overruns 0  carrier 0  collisions 0
)"),
            json::parse(R"([
              {"ifname": "eth0", "flags": ["UP", "BROADCAST", "MULTICAST", "LOWER_UP"],
               "mtu": 1500, "link_type": "ether", "address": "02:42:ac:11:00:02",
               "addr_info": [
                 {"family": "inet", "local": "192.0.2.7", "prefixlen": 23, "scope": "global"},
                 {"family": "inet6", "local": "fe80::42:acff:fe11:2", "scope": "link"}],
               "stats64": {"rx": {"packets": 10, "bytes": 1000, "errors": 1, "dropped": 2},
                           "tx": {"packets": 20, "bytes": 2000, "errors": 3, "dropped": 4}}}])"));
}

TEST(InterfaceConfig, OldReleasesDoToo) {
  const json list = Json(R"(
ib0       Link encap:InfiniBand  HWaddr A0:00:02:20
          inet addr:10.1.0.5  Bcast:10.1.255.255  Mask:255.255.0.0
          inet6 addr: fe80::1/64 Scope:Link
          UP BROADCAST MULTICAST  MTU:2044  Metric:1
          RX packets:7 errors:1 dropped:0 overruns:0 frame:0

lo        Link encap:Local Loopback
          inet addr:127.0.0.1  Mask:255.0.0.0
          UP LOOPBACK RUNNING  MTU:65536  Metric:1
)");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]["link_type"], "infiniband");
  EXPECT_EQ(list[0]["mtu"], 2044);
  EXPECT_EQ(list[0]["flags"], json({"UP", "BROADCAST", "MULTICAST", "NO-CARRIER"}));
  EXPECT_EQ(list[0]["addr_info"][0]["prefixlen"], 16);
  EXPECT_EQ(list[0]["addr_info"][1]["scope"], "link");
  EXPECT_EQ(list[0]["stats64"]["rx"]["errors"], 1);
  EXPECT_EQ(list[1]["link_type"], "loopback");
}

TEST(InterfaceConfig, TheStateIsMissing) {
  const json list = Json("eth1: flags=4098<BROADCAST,MULTICAST>  mtu 1500\n");
  ASSERT_EQ(list.size(), 1u);
  EXPECT_FALSE(list[0].contains("operstate"));
  EXPECT_EQ(list[0]["addr_info"], json::array());
}

TEST(InterfaceConfig, OnlyAllInterfacesAreComplete) {
  constexpr char kText[] = "lo: flags=73<UP,LOOPBACK,RUNNING>  mtu 65536\n";
  EXPECT_FALSE(IsPartial("ifconfig", kText, "ifconfig -a"));
  EXPECT_TRUE(IsPartial("ifconfig", kText, "ifconfig"));
  EXPECT_TRUE(IsRefused("ifconfig", "bash: ifconfig: command not found\n"));
}

}  // namespace
}  // namespace galen::intake::ifconfig_test
