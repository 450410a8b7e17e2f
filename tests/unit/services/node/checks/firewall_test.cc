#include "services/node/checks/system/firewall.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/fixtures.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;

constexpr PortRange kHigh = {32768, 60999};

// What a filter table with that policy of INPUT, and these chains and rules, does.
Input Of(absl::string_view policy, absl::string_view rules) {
  return InputOf(absl::StrCat("*filter\n:INPUT ", policy, " [0:0]\n", rules, "COMMIT\n"), kHigh);
}

// One rule of INPUT.
Input OfRule(absl::string_view policy, absl::string_view rule) {
  return Of(policy, absl::StrCat("-A INPUT ", rule, "\n"));
}

TEST(Firewall, TheFirstRuleForAllTrafficDecidesBeforeThePolicy) {
  EXPECT_EQ(Of("ACCEPT", ""), Input::kOpen);
  EXPECT_EQ(Of("DROP", ""), Input::kClosed);
  EXPECT_EQ(OfRule("DROP", "-p tcp -j ACCEPT"), Input::kOpen);
  EXPECT_EQ(OfRule("DROP", "-m comment --comment \"we -j DROP\" -j ACCEPT"), Input::kOpen);
  EXPECT_EQ(OfRule("ACCEPT", "-j REJECT --reject-with icmp-host-prohibited"), Input::kClosed);
  EXPECT_EQ(OfRule("ACCEPT", "-p tcp -m conntrack --ctstate NEW -j DROP"), Input::kClosed);
  EXPECT_EQ(OfRule("ACCEPT", "-m conntrack ! --ctstate RELATED,ESTABLISHED -j DROP"),
            Input::kClosed);
  EXPECT_EQ(OfRule("ACCEPT", "-p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN -j DROP"),
            Input::kClosed);
  EXPECT_EQ(OfRule("ACCEPT", "! -i lo -j DROP"), Input::kClosed);
  EXPECT_EQ(InputOf("", kHigh), Input::kNoChain);
  EXPECT_EQ(InputOf("*nat\n:INPUT ACCEPT [0:0]\nCOMMIT\n", kHigh), Input::kNoChain);
}

TEST(Firewall, ARuleThatTakesNoNewConnectionDecidesNothing) {
  for (const char* rule :
       {"-p sctp", "-p vrrp", "-p udp", "-p icmp", "! -p tcp", "-i lo", "-p tcp -m tcp --dport 22",
        "-p tcp -m tcp --dport 1024:2048", "-m conntrack --ctstate RELATED,ESTABLISHED",
        "-m conntrack --ctstate INVALID", "-m state ! --state NEW",
        "-m addrtype --dst-type MULTICAST", "-s 10.0.0.0/8 -p udp"}) {
    EXPECT_EQ(OfRule("ACCEPT", absl::StrCat(rule, " -j DROP")), Input::kOpen) << rule;
    EXPECT_EQ(OfRule("DROP", absl::StrCat(rule, " -j ACCEPT")), Input::kClosed) << rule;
  }
}

TEST(Firewall, WhoIsLetInByAddressOrInterfaceOnlyIsNotKnown) {
  for (const char* rule :
       {"-s 10.0.0.0/8", "! -s 10.0.0.0/8", "-i eth0", "-d 169.254.169.254/32",
        "-m set --match-set cluster src", "-m recent --rcheck --name good --rsource",
        "-m limit --limit 5/min", "-m iprange --src-range 10.1.0.1-10.1.0.99",
        "-s 10.0.0.0/8 -p tcp -m tcp --dport 1024:65535"}) {
    EXPECT_EQ(OfRule("DROP", absl::StrCat(rule, " -j ACCEPT")), Input::kSome) << rule;
    // Lists of blocked addresses are on healthy machines.
    EXPECT_EQ(OfRule("ACCEPT", absl::StrCat(rule, " -j DROP")), Input::kOpen) << rule;
  }
}

TEST(Firewall, ChainsAreFollowed) {
  EXPECT_EQ(Of("ACCEPT", "-A INPUT -j A\n-A A -j B\n-A B -j DROP\n"), Input::kClosed);
  EXPECT_EQ(Of("DROP", "-A INPUT -p tcp -j A\n-A A -j ACCEPT\n"), Input::kOpen);
  EXPECT_EQ(Of("DROP", "-A INPUT -s 10.0.0.0/8 -j A\n-A A -j ACCEPT\n"), Input::kSome);
  EXPECT_EQ(Of("DROP", "-A INPUT -j A\n-A A -s 10.0.0.0/8 -j ACCEPT\n"), Input::kSome);
  EXPECT_EQ(Of("DROP", "-A INPUT -s 10.0.0.0/8 -j A\n-A A -j DROP\n"), Input::kClosed);
  EXPECT_EQ(Of("ACCEPT", "-A INPUT -j A\n-A A -j RETURN\n-A A -j DROP\n"), Input::kOpen);
  EXPECT_EQ(Of("ACCEPT", "-A INPUT -j A\n-A A -s 10.0.0.0/8 -j RETURN\n-A A -j DROP\n"),
            Input::kSome);
  EXPECT_EQ(Of("DROP", "-A INPUT -j LOG --log-prefix \"-j ACCEPT\"\n"), Input::kClosed);
  // Behind -g the rules that follow are not reached; behind -j they are.
  EXPECT_EQ(Of("DROP", ":A - [0:0]\n-A INPUT -g A\n-A INPUT -j ACCEPT\n"), Input::kClosed);
  EXPECT_EQ(Of("DROP", ":A - [0:0]\n-A INPUT -j A\n-A INPUT -j ACCEPT\n"), Input::kOpen);
}

TEST(Firewall, AChainThatIsNotListedMayLetAnybodyIn) {
  EXPECT_EQ(Of("DROP", "-A INPUT -j ELSEWHERE\n"), Input::kSome);
  EXPECT_EQ(Of("ACCEPT", "-A INPUT -j KUBE-FIREWALL\n"), Input::kOpen);
}

TEST(Firewall, ChainsInACircleOrWithoutEndEnd) {
  EXPECT_EQ(Of("DROP", "-A INPUT -j A\n-A A -j B\n-A B -j A\n"), Input::kClosed);
  std::string deep = "-A INPUT -j C0\n";
  for (int i = 0; i < 100000; ++i) {
    // Twice each: walked anew each time, that would take for ever.
    absl::StrAppend(&deep, "-A C", i, " -j C", i + 1, "\n-A C", i, " -j C", i + 1, "\n");
  }
  EXPECT_EQ(Of("DROP", deep), Input::kSome);
}

// As ufw writes them, with its policy for what comes in and one rule of the user's.
Input OfUfw(absl::string_view rule) {
  return Of("DROP", absl::StrCat(R"(:ufw-before-input - [0:0]
:ufw-not-local - [0:0]
:ufw-user-input - [0:0]
:ufw-after-input - [0:0]
:ufw-logging-deny - [0:0]
:ufw-skip-to-policy-input - [0:0]
-A INPUT -j ufw-before-input
-A INPUT -j ufw-after-input
-A ufw-before-input -i lo -j ACCEPT
-A ufw-before-input -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A ufw-before-input -m conntrack --ctstate INVALID -j ufw-logging-deny
-A ufw-before-input -m conntrack --ctstate INVALID -j DROP
-A ufw-before-input -p icmp -m icmp --icmp-type 8 -j ACCEPT
-A ufw-before-input -p udp -m udp --sport 67 --dport 68 -j ACCEPT
-A ufw-before-input -j ufw-not-local
-A ufw-before-input -d 224.0.0.251/32 -p udp -m udp --dport 5353 -j ACCEPT
-A ufw-before-input -j ufw-user-input
-A ufw-not-local -m addrtype --dst-type LOCAL -j RETURN
-A ufw-not-local -m addrtype --dst-type MULTICAST -j RETURN
-A ufw-not-local -m limit --limit 3/min --limit-burst 10 -j ufw-logging-deny
-A ufw-not-local -j DROP
-A ufw-user-input -p tcp -m tcp --dport 22 -j ACCEPT
-A ufw-after-input -p udp -m udp --dport 137 -j ufw-skip-to-policy-input
-A ufw-after-input -m addrtype --dst-type BROADCAST -j ufw-skip-to-policy-input
-A ufw-logging-deny -m conntrack --ctstate INVALID -m limit --limit 3/min -j RETURN
-A ufw-logging-deny -m limit --limit 3/min --limit-burst 10 -j LOG --log-prefix "[UFW BLOCK] "
-A ufw-skip-to-policy-input -j DROP
)",
                                 rule));
}

TEST(Firewall, UfwIsRead) {
  EXPECT_EQ(OfUfw(""), Input::kClosed);
  EXPECT_EQ(OfUfw("-A ufw-user-input -s 10.0.0.0/8 -j ACCEPT\n"), Input::kSome);
  EXPECT_EQ(OfUfw("-A ufw-user-input -p tcp -m tcp --dport 1024:65535 -j ACCEPT\n"), Input::kOpen);
}

TEST(Firewall, ARangeThatHoldsThePortsThatAreGivenOutDecides) {
  for (const char* ports : {"-m tcp --dport 1024:65535", "-m tcp --dport 32768:60999",
                            "-m tcp --dport 1024:", "-m multiport --dports 22,1024:65535"}) {
    EXPECT_EQ(OfRule("DROP", absl::StrCat("-p tcp ", ports, " -j ACCEPT")), Input::kOpen) << ports;
    EXPECT_EQ(OfRule("ACCEPT", absl::StrCat("-p tcp ", ports, " -j DROP")), Input::kClosed)
        << ports;
  }
  EXPECT_EQ(OfRule("DROP", "-p tcp -m tcp --dport 32769:65535 -j ACCEPT"), Input::kClosed);
}

TEST(Firewall, ThePortsAreThoseOfTheMachine) {
  FakeHost host;
  host.AddCommand("iptables-save",
                  "*filter\n:INPUT DROP [0:0]\n-A INPUT -p tcp -m tcp --dport 50000:51000 -j "
                  "ACCEPT\nCOMMIT\n");
  EXPECT_EQ(ValueOf(*CheckFirewall({host, RepositoryKnowledge()}), "restrictive_input"), "true");
  host.AddFile("/proc/sys/net/ipv4/ip_local_port_range", "50000\t51000\n");
  EXPECT_EQ(ValueOf(*CheckFirewall({host, RepositoryKnowledge()}), "restrictive_input"), "false");
}

TEST(Firewall, WhatLetsOnlySomeInIsNeitherOpenNorClosed) {
  FakeHost host;
  host.AddCommand("iptables-save",
                  "*filter\n:INPUT DROP [0:0]\n-A INPUT -s 10.0.0.0/8 -j ACCEPT\nCOMMIT\n");
  const auto output = CheckFirewall({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "restrictive_input"), "?");
  EXPECT_EQ(ValueOf(*output, "allows_ephemeral"), "?");
}

}  // namespace
}  // namespace galen::node
