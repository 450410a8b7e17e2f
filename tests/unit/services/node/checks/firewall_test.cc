#include "services/node/checks/system/firewall.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "services/node/checks/system/nft_rules.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/fixtures.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;

constexpr PortRange kHigh = {32768, 60999};

// The effect of a filter table with this policy of INPUT and these chains and rules.
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
    // Two jumps to each chain: following each of them would take for ever.
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
  host.AddAbsentCommand("nft list ruleset");
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

// firewalld of RHEL 9, with that zone's own rules and these zones of the interfaces.
std::string Firewalld(absl::string_view allow, absl::string_view zones = "") {
  return absl::StrCat(R"(table inet firewalld {
	ct helper helper-netbios-ns-udp {
		type "netbios-ns" protocol udp
		l3proto ip
	}

	chain mangle_PREROUTING {
		type filter hook prerouting priority mangle + 10; policy accept;
		jump mangle_PREROUTING_ZONES
	}

	chain filter_PREROUTING {
		type filter hook prerouting priority filter + 10; policy accept;
		icmpv6 type { nd-router-advert, nd-neighbor-solicit } accept
		meta nfproto ipv6 fib saddr . mark . iif oif missing drop
	}

	chain filter_INPUT {
		type filter hook input priority filter + 10; policy accept;
		ct state { established, related } accept
		ct status dnat accept
		iifname "lo" accept
		ct state invalid drop
		jump filter_INPUT_ZONES
		reject with icmpx admin-prohibited
	}

	chain filter_FORWARD {
		type filter hook forward priority filter + 10; policy accept;
		ip6 daddr { ::/96, ::ffff:0.0.0.0/96 } reject with icmpv6 addr-unreachable
		reject with icmpx admin-prohibited
	}

	chain filter_INPUT_ZONES {
)",
                      zones, R"(		iifname "eno1" goto filter_IN_public
		goto filter_IN_public
	}

	chain filter_IN_public {
		jump filter_INPUT_POLICIES_pre
		jump filter_IN_public_allow
		jump filter_INPUT_POLICIES_post
		meta l4proto { icmp, ipv6-icmp } accept
		reject with icmpx admin-prohibited
	}

	chain filter_IN_public_allow {
		tcp dport 22 accept
		ip6 daddr fe80::/64 udp dport 546 accept
		tcp dport 9090 ct state { new, untracked } accept
)",
                      allow, R"(	}

	chain filter_IN_trusted {
		jump filter_INPUT_POLICIES_pre
		accept
	}

	chain filter_INPUT_POLICIES_pre {
		jump filter_IN_policy_allow-host-ipv6
	}

	chain filter_IN_policy_allow-host-ipv6 {
		icmpv6 type { nd-neighbor-advert, nd-router-advert } accept
	}

	chain filter_INPUT_POLICIES_post {
	}
}
)");
}

// A table with one chain for what comes in.
Input OfNft(absl::string_view policy, absl::string_view rules) {
  return InputOfNft(
      absl::StrCat("table inet filter {\n\tchain input {\n\t\ttype filter hook input priority "
                   "filter; policy ",
                   policy, ";\n", rules, "\n\t}\n}\n"),
      kHigh, false);
}

TEST(NftRules, FirewalldIsRead) {
  EXPECT_EQ(InputOfNft(Firewalld(""), kHigh, false), Input::kClosed);
  EXPECT_EQ(InputOfNft(Firewalld("\t\ttcp dport 1024-65535 accept\n"), kHigh, false), Input::kOpen);
  EXPECT_EQ(InputOfNft(Firewalld("\t\tip saddr 10.0.0.0/8 accept\n"), kHigh, false), Input::kSome);
  EXPECT_EQ(InputOfNft(Firewalld("", "\t\tiifname \"ib0\" goto filter_IN_trusted\n"), kHigh, false),
            Input::kSome);
  EXPECT_EQ(InputOfNft(Firewalld("", "\t\tgoto filter_IN_trusted\n"), kHigh, false), Input::kOpen);
}

TEST(NftRules, TheFirstRuleForAllTrafficDecidesBeforeThePolicy) {
  EXPECT_EQ(OfNft("accept", ""), Input::kOpen);
  EXPECT_EQ(OfNft("drop", ""), Input::kClosed);
  for (const char* all :
       {"", "meta l4proto tcp", "ip protocol { tcp, udp }", "ct state new",
        "ct state { new, untracked }", "ct state != established,related", "iifname != \"lo\"",
        "meta nfproto ipv4", "tcp dport 1024-65535", "tcp dport >= 1024", "tcp dport != { 22, 80 }",
        "tcp dport { 22, 32768-60999 } ct state new", "fib daddr type local", "meta pkttype host",
        "tcp flags & (fin | syn | rst | ack) == syn", "tcp flags syn / fin,syn,rst,ack",
        "counter packets 12 bytes 720", "log prefix \"we accept \" level info",
        "meta mark set 0x1"}) {
    EXPECT_EQ(OfNft("accept", absl::StrCat(all, " drop")), Input::kClosed) << all;
    EXPECT_EQ(OfNft("drop", absl::StrCat(all, " accept comment \"drop\"")), Input::kOpen) << all;
  }
  EXPECT_EQ(OfNft("accept", "reject with tcp reset"), Input::kClosed);
}

TEST(NftRules, ARuleThatTakesNoNewConnectionDecidesNothing) {
  for (const char* none :
       {"meta l4proto { icmp, ipv6-icmp }", "udp dport 1024-65535", "icmp type echo-request",
        "iif lo", "iifname \"lo\"", "tcp dport 22", "tcp dport ssh", "tcp dport { 22, 1024-40000 }",
        "ct state established,related", "ct state { invalid }", "ct status dnat",
        "ip6 saddr fe80::/10", "meta nfproto ipv6", "fib daddr type { broadcast, multicast }",
        "ip saddr 10.0.0.0/8 udp dport 53"}) {
    EXPECT_EQ(OfNft("accept", absl::StrCat(none, " drop")), Input::kOpen) << none;
    EXPECT_EQ(OfNft("drop", absl::StrCat(none, " accept")), Input::kClosed) << none;
  }
}

TEST(NftRules, WhoIsLetInByAddressOrInterfaceOnlyIsNotKnown) {
  for (const char* some :
       {"ip saddr 10.0.0.0/8", "ip saddr @cluster", "ip saddr != { 10.0.0.1, 10.0.0.2 }",
        "iifname \"ib0\"", "iifname { \"lo\", \"ib0\" }", "tcp dport @open", "limit rate 5/minute",
        "ip saddr . tcp dport { 10.0.0.1 . 1024-65535 }", "xt match \"set\"", "frobnicate 5"}) {
    EXPECT_EQ(OfNft("drop", absl::StrCat(some, " accept")), Input::kSome) << some;
    // Lists of blocked addresses are on healthy machines.
    EXPECT_EQ(OfNft("accept", absl::StrCat(some, " drop")), Input::kOpen) << some;
  }
}

TEST(NftRules, VerdictMapsAreRulesForEachOfTheirEntries) {
  const char* states = "ct state vmap { established : accept, related : accept, invalid : drop }";
  EXPECT_EQ(OfNft("drop", states), Input::kClosed);
  EXPECT_EQ(OfNft("accept", states), Input::kOpen);
  EXPECT_EQ(OfNft("drop", "ct state vmap { invalid : drop, new : accept }"), Input::kOpen);
  EXPECT_EQ(OfNft("drop", "iifname vmap { \"lo\" : accept, \"eth0\" : drop }"), Input::kClosed);
  EXPECT_EQ(OfNft("drop", "iifname vmap { \"lo\" : accept, \"ib0\" : accept }"), Input::kSome);
  EXPECT_EQ(OfNft("drop", "tcp dport vmap { 22 : accept, 1024-65535 : accept }"), Input::kOpen);
}

TEST(NftRules, WhatCannotBeJudgedIsNeitherOpenNorClosed) {
  for (const char* rule : {"queue num 0", "xt target \"REJECT\"", "ip daddr vmap @elsewhere",
                           "ip saddr { 10.0.0.1, 10.0.0.2", "log prefix \"cut o"}) {
    EXPECT_EQ(OfNft("accept", rule), Input::kSome) << rule;
    EXPECT_EQ(OfNft("drop", rule), Input::kSome) << rule;
  }
  const std::string whole =
      "table inet t {\n\tchain i {\n\t\ttype filter hook input priority 0; "
      "policy accept;\n\t}\n";
  EXPECT_EQ(InputOfNft(whole + "}\n", kHigh, false), Input::kOpen);
  EXPECT_EQ(InputOfNft(whole + "\tset s {\n", kHigh, false), Input::kSome);
}

TEST(NftRules, EveryChainForWhatComesInHasToLetItPass) {
  const std::string open =
      "table ip a {\n chain i {\n type filter hook input priority 0; policy "
      "accept;\n }\n}\n";
  const std::string closed =
      "table ip b {\n chain i {\n type filter hook input priority 5; policy "
      "drop;\n }\n}\n";
  EXPECT_EQ(InputOfNft(open + closed, kHigh, false), Input::kClosed);
  EXPECT_EQ(InputOfNft(open, kHigh, false), Input::kOpen);
  EXPECT_EQ(InputOfNft("table ip6 b" + closed.substr(10), kHigh, false), Input::kNoChain);
  EXPECT_EQ(InputOfNft("table ip b {\n flags dormant;\n" + closed.substr(13), kHigh, false),
            Input::kNoChain);
  EXPECT_EQ(InputOfNft("", kHigh, false), Input::kNoChain);
}

TEST(NftRules, APortThatIsNoneIsNotReckonedWith) {
  for (const char* rule : {"tcp dport > 9223372036854775807", "tcp dport < -9223372036854775808",
                           "tcp dport >= 65536"}) {
    const std::string chain = absl::StrCat(
        "table ip a {\n chain c {\n type filter hook input priority 0; policy drop;\n ", rule,
        " accept\n }\n}\n");
    EXPECT_EQ(InputOfNft(chain, kHigh, false), Input::kSome) << rule;
  }
}

TEST(NftRules, AnythingEnds) {
  std::string deep =
      "table ip t {\nchain i {\ntype filter hook input priority 0; policy drop;\njump c0\n}\n";
  for (int i = 0; i < 100000; ++i) {
    absl::StrAppend(&deep, "chain c", i, " {\njump c", i + 1, "\njump c", i + 1, "\n}\n");
  }
  EXPECT_EQ(InputOfNft(deep + "}\n", kHigh, false), Input::kSome);
  EXPECT_EQ(OfNft("drop", "jump input"), Input::kClosed);
}

TEST(Firewall, RulesOfNftCountBesideThoseOfIptables) {
  FakeHost host;
  host.AddCommand("iptables-save", "*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n");
  // The output of nft was not read.
  EXPECT_EQ(ValueOf(*CheckFirewall({host, RepositoryKnowledge()}), "restrictive_input"), "?");
  host.AddCommand("nft list ruleset", Firewalld(""));
  EXPECT_EQ(ValueOf(*CheckFirewall({host, RepositoryKnowledge()}), "restrictive_input"), "true");
  host.AddCommand("nft list ruleset",
                  Firewalld("", "\t\tiifname \"ib0\" goto filter_IN_trusted\n"));
  EXPECT_EQ(ValueOf(*CheckFirewall({host, RepositoryKnowledge()}), "restrictive_input"), "?");
  host.AddCommand("nft list ruleset", Firewalld("", "\t\tgoto filter_IN_trusted\n"));
  EXPECT_EQ(ValueOf(*CheckFirewall({host, RepositoryKnowledge()}), "restrictive_input"), "false");
  // Nothing filters.
  host.AddCommand("nft list ruleset", "");
  host.AddCommand("iptables-save", "");
  EXPECT_EQ(ValueOf(*CheckFirewall({host, RepositoryKnowledge()}), "restrictive_input"), "false");
}

TEST(Firewall, WhatIptablesKeepsInNftIsReadOnceOnly) {
  FakeHost host;
  host.AddCommand(
      "iptables-save",
      "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -m statistic --mode random -j MARK\nCOMMIT\n");
  host.AddCommand("nft list ruleset",
                  "# Warning: table ip filter is managed by iptables-nft, do not touch!\n"
                  "table ip filter {\n\tchain INPUT {\n\t\ttype filter hook input priority filter; "
                  "policy accept;\n\t\tcounter packets 0 bytes 0 xt target \"MARK\"\n\t}\n}\n");
  EXPECT_EQ(ValueOf(*CheckFirewall({host, RepositoryKnowledge()}), "restrictive_input"), "false");
}

TEST(Firewall, FirewalldWithoutAProgramThatShowsItsRulesIsNotOpen) {
  FakeHost host;
  host.AddCommand("iptables-save", "*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n");
  host.AddAbsentCommand("nft list ruleset");
  EXPECT_EQ(ValueOf(*CheckFirewall({host, RepositoryKnowledge()}), "restrictive_input"), "false");
  host.AddCommand(
      "systemctl show -p Id,LoadState,ActiveState,SubState,Result,ExecMainStatus "
      "nvidia-fabricmanager nvidia-persistenced nvidia-imex nvidia-mps opensm opensmd "
      "firewalld ufw chronyd systemd-timesyncd kubelet containerd docker slurmd",
      "Id=firewalld.service\nLoadState=loaded\nActiveState=active\nResult=success\n");
  EXPECT_EQ(ValueOf(*CheckFirewall({host, RepositoryKnowledge()}), "restrictive_input"), "?");
}

}  // namespace
}  // namespace galen::node
