#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forms_testing.h"
#include "nlohmann/json.hpp"

namespace galen::intake::network_test {
namespace {

using nlohmann::json;

json Json(absl::string_view form, absl::string_view text, absl::string_view command = "") {
  return json::parse(TextOf(form, text, command), nullptr, false);
}

constexpr char kAddresses[] = R"(
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    inet 127.0.0.1/8 scope host lo
       valid_lft forever preferred_lft forever
7: eth0@if8: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue master bond0 state UP group default
    link/ether 02:42:ac:11:00:02 brd ff:ff:ff:ff:ff:ff link-netnsid 0
    inet 192.0.2.7/24 brd 192.0.2.255 scope global dynamic noprefixroute eth0
    inet6 fe80::42:acff:fe11:2/64 scope link
9: ib0: <NO-CARRIER,BROADCAST,UP> mtu 4092 qdisc mq state DOWN group default qlen 256
    link/infiniband 00:00:10:29 brd 00:ff:ff:ff
)";

TEST(IpAddress, LinesBecomeTheListOfIpsJson) {
  EXPECT_EQ(Json("ip_addr", kAddresses), json::parse(R"([
        {"ifindex": 1, "ifname": "lo", "flags": ["LOOPBACK", "UP", "LOWER_UP"], "mtu": 65536,
         "qdisc": "noqueue", "operstate": "UNKNOWN", "group": "default", "txqlen": 1000,
         "link_type": "loopback", "address": "00:00:00:00:00:00",
         "broadcast": "00:00:00:00:00:00",
         "addr_info": [{"family": "inet", "local": "127.0.0.1", "prefixlen": 8, "scope": "host"}]},
        {"ifindex": 7, "ifname": "eth0", "link": "if8",
         "flags": ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"], "mtu": 1500, "qdisc": "noqueue",
         "master": "bond0", "operstate": "UP", "group": "default", "link_type": "ether",
         "address": "02:42:ac:11:00:02", "broadcast": "ff:ff:ff:ff:ff:ff",
         "addr_info": [
           {"family": "inet", "local": "192.0.2.7", "prefixlen": 24, "broadcast": "192.0.2.255",
            "scope": "global"},
           {"family": "inet6", "local": "fe80::42:acff:fe11:2", "prefixlen": 64,
            "scope": "link"}]},
        {"ifindex": 9, "ifname": "ib0", "flags": ["NO-CARRIER", "BROADCAST", "UP"], "mtu": 4092,
         "qdisc": "mq", "operstate": "DOWN", "group": "default", "txqlen": 256,
         "link_type": "infiniband", "address": "00:00:10:29", "broadcast": "00:ff:ff:ff",
         "addr_info": []}])"));
  EXPECT_FALSE(IsPartial("ip_addr", kAddresses));
}

TEST(IpAddress, ALineEachTellsTheSame) {
  const json list = Json("ip_addr",
                         "1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever\n"
                         "7: eth0    inet 192.0.2.7/24 brd 192.0.2.255 scope global eth0\\  valid\n"
                         "7: eth0    inet6 fe80::1/64 scope link \\       valid_lft forever\n");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[1]["ifname"], "eth0");
  EXPECT_EQ(list[1]["addr_info"].size(), 2u);
  EXPECT_EQ(list[1]["addr_info"][1]["scope"], "link");
  EXPECT_FALSE(list[1].contains("mtu"));
}

TEST(IpAddress, TheBriefFormTellsStateAndAddresses) {
  const json list = Json("ip_addr",
                         "lo        UNKNOWN  127.0.0.1/8 ::1/128\n"
                         "eth0@if3  UP       192.0.2.7/24 fe80::1/64\n"
                         "ib0       DOWN\n");
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[1]["operstate"], "UP");
  EXPECT_EQ(list[1]["addr_info"][0]["scope"], "global");
  EXPECT_EQ(list[1]["addr_info"][1]["scope"], "link");
  EXPECT_EQ(list[2]["addr_info"], json::array());
}

TEST(IpAddress, AddressesThatGrepRemovedAreUnknown) {
  const json list = Json("ip_addr", "2: eth0: <BROADCAST,UP> mtu 1500 state UP\n");
  ASSERT_EQ(list.size(), 1u);
  EXPECT_FALSE(list[0].contains("addr_info"));
  EXPECT_TRUE(IsPartial("ip_addr", "2: eth0: <BROADCAST,UP> mtu 1500 state UP\n"));
  // Lines without a heading cannot be attributed.
  EXPECT_TRUE(IsRefused("ip_addr", "    inet 192.0.2.7/24 scope global eth0\n"));
}

TEST(IpLink, CountersStandBelowTheirNames) {
  const json list = Json("ip_link", R"(
2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT group default qlen 1000
    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff
    RX:  bytes packets errors dropped  missed   mcast
        123456     789      3       4       0       5
    TX:  bytes packets errors dropped carrier collsns
          1.2G     456      7       8       9       0
)");
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["mtu"], 9000);
  EXPECT_EQ(list[0]["linkmode"], "DEFAULT");
  EXPECT_EQ(list[0]["stats64"]["rx"]["errors"], 3);
  EXPECT_EQ(list[0]["stats64"]["rx"]["multicast"], 5);
  EXPECT_EQ(list[0]["stats64"]["tx"]["dropped"], 8);
  EXPECT_EQ(list[0]["stats64"]["tx"]["carrier_errors"], 9);
  // A rounded number is not the count.
  EXPECT_FALSE(list[0]["stats64"]["tx"].contains("bytes"));
}

TEST(IpLink, ALineEachTellsTheSame) {
  const json list = Json("ip_link",
                         "2: eth0: <UP,LOWER_UP> mtu 1500 qdisc mq state UP mode DEFAULT\\    "
                         "link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff\n");
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["operstate"], "UP");
  EXPECT_EQ(list[0]["link_type"], "ether");
}

TEST(IpRoute, LinesBecomeTheListOfIpsJson) {
  EXPECT_EQ(Json("ip_route",
                 "default via 192.0.2.1 dev eth0 proto dhcp src 192.0.2.7 metric 100\n"
                 "192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.7 linkdown\n"
                 "unreachable 198.51.100.0/24\n"
                 "203.0.113.9 via 192.0.2.254 dev eth0\n"),
            json::parse(R"([
              {"dst": "default", "gateway": "192.0.2.1", "dev": "eth0", "protocol": "dhcp",
               "prefsrc": "192.0.2.7", "metric": 100, "flags": []},
              {"dst": "192.0.2.0/24", "dev": "eth0", "protocol": "kernel", "scope": "link",
               "prefsrc": "192.0.2.7", "flags": ["linkdown"]},
              {"type": "unreachable", "dst": "198.51.100.0/24", "flags": []},
              {"dst": "203.0.113.9", "gateway": "192.0.2.254", "dev": "eth0", "flags": []}])"));
}

TEST(IpRoute, NextHopsBelongToTheirRoute) {
  const json list = Json("ip_route",
                         "default proto static\n"
                         "\tnexthop via 192.0.2.1 dev eth0 weight 1\n"
                         "\tnexthop via 192.0.2.2 dev eth1 weight 1\n");
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["nexthops"][1]["dev"], "eth1");
}

TEST(IpRoute, OtherTablesAndOtherLinesAreLeftOut) {
  EXPECT_EQ(Json("ip_route",
                 "$ ip route\n192.0.2.0/24 dev eth0 scope link\n"
                 "198.51.100.0/24 dev eth1 table 100 scope link\n10.0.0.1 is alive\n")
                .size(),
            1u);
  EXPECT_TRUE(IsPartial("ip_route", "192.0.2.0/24 dev eth0 scope link\n"));
  EXPECT_TRUE(IsRefused("ip_route", "RTNETLINK answers: Network is unreachable\n"));
}

}  // namespace
}  // namespace galen::intake::network_test
