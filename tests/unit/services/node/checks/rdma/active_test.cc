#include "services/node/checks/rdma/active.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/node/checks/rdma/gid_table.h"
#include "services/node/checks/rdma/mtu.h"
#include "services/node/checks/rdma/netdevs.h"
#include "services/node/checks/rdma/nic_model.h"
#include "services/node/checks/rdma/qos.h"
#include "services/node/checks/rdma/retries.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/real_knowledge.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;
using ::testing::HasSubstr;

constexpr char kBandwidth[] =
    " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
    " 1048576    5000             394.11             394.02               0.046971\n";

void AddNdrPort(FakeHost& host) {
  const std::string root = "/sys/class/infiniband/mlx5_0";
  host.AddFile(root + "/ports/1/state", "4: ACTIVE\n");
  host.AddFile(root + "/ports/1/link_layer", "InfiniBand\n");
  host.AddFile(root + "/ports/1/rate", "400 Gb/sec (4X NDR)\n");
  host.AddFile(root + "/hca_type", "MT4129\n");
  host.AddFile(root + "/board_id", "MT_0000000838\n");
}

CheckContext Context(const FakeHost& host, absl::string_view check,
                     const std::map<std::string, std::string>& values = {}) {
  return {.host = host, .knowledge = RealKnowledge(), .parameters = ParametersOf(check, values)};
}

TEST(RdmaActive, ACapturedRunOfPerftestStandsForThePair) {
  FakeHost host;
  AddNdrPort(host);
  host.AddCommand("ib_write_bw -d mlx5_0 -F --report_gbits node-2", kBandwidth);
  const auto output = CheckPair(Context(host, "rdma.pair"));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "gbps_host", "nic:mlx5_0/port:1"), "394.02");
  EXPECT_EQ(ValueOf(*output, "failed", "nic:mlx5_0/port:1"), "false");
  EXPECT_EQ(output->findings[0].expected(), "390");  // of the model, from the knowledge
  // It had a peer, so it is not a loopback.
  EXPECT_EQ(CheckLoopback(Context(host, "rdma.loopback")).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST(RdmaActive, ACapturedRunFromAGpuIsTheGpus) {
  FakeHost host;
  AddNdrPort(host);
  host.AddCommand("ib_write_bw -d mlx5_0 --use_cuda=0 node-2", kBandwidth);
  const auto output = CheckPair(Context(host, "rdma.pair"));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "gbps_gpu", "nic:mlx5_0/port:1"), "394.02");
  EXPECT_EQ(ValueOf(*output, "gbps_host", "nic:mlx5_0/port:1"), "absent");
}

TEST(RdmaActive, ARunWithoutAResultHasFailed) {
  FakeHost host;
  AddNdrPort(host);
  host.AddCommand("ib_send_bw -d mlx5_0 node-2", "Completion with error at client\n", 1);
  const auto output = CheckPair(Context(host, "rdma.pair"));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "failed", "nic:mlx5_0/port:1"), "true");
  EXPECT_EQ(ValueOf(*output, "gbps_host", "nic:mlx5_0/port:1"), "absent");
}

TEST(RdmaActive, ABundleWithoutARunIsSkipped) {
  FakeHost host;
  AddNdrPort(host);
  EXPECT_EQ(CheckPair(Context(host, "rdma.pair")).status().code(), absl::StatusCode::kUnavailable);
}

TEST(RdmaActive, AloneTheCheckOfTwoSaysWhatItNeeds) {
  FakeHost host;
  host.SetLive(true);
  EXPECT_EQ(CheckPair(Context(host, "rdma.pair")).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(CheckPair(Context(host, "rdma.pair", {{"token", "short"}})).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(RdmaActive, ALoadOfTheCpuBesideTheResultIsNoFailure) {
  FakeHost host;
  AddNdrPort(host);
  host.AddCommand(
      "ib_write_bw -d mlx5_0 --cpu_util --report_gbits node-2",
      " #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps] CPU_Util[%]\n"
      " 65536  5000        394.11          394.02             0.751542      3.08\n");
  const auto output = CheckPair(Context(host, "rdma.pair"));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "failed", "nic:mlx5_0/port:1"), "false");
  EXPECT_EQ(ValueOf(*output, "gbps_host", "nic:mlx5_0/port:1"), "394.02");
}

TEST(RdmaActive, TheSumOfBothDirectionsIsNotHeldAgainstAFloorForOne) {
  FakeHost host;
  AddNdrPort(host);
  host.AddCommand("ib_write_bw -d mlx5_0 -b node-2", kBandwidth);
  host.AddCommand("ib_send_bw -d mlx5_0 node-2",
                  absl::StrCat("                    Send Bidirectional BW Test\n", kBandwidth));
  const auto output = CheckPair(Context(host, "rdma.pair"));
  ASSERT_TRUE(output.ok()) << output.status();
  for (const v1::Finding& finding : output->findings) {
    if (finding.name() == "failed") {
      EXPECT_FALSE(finding.bool_value());
    } else {
      EXPECT_EQ(finding.value_case(), v1::Finding::VALUE_NOT_SET) << finding.name();
    }
  }
}

std::string FloorAt(const std::string& rate, const char* bandwidth = kBandwidth) {
  FakeHost host;
  AddNdrPort(host);
  host.AddFile("/sys/class/infiniband/mlx5_0/ports/1/rate", rate + "\n");
  host.AddCommand("ib_write_bw -d mlx5_0 node-2", bandwidth);
  const auto output = CheckPair(Context(host, "rdma.pair"));
  if (!output.ok()) return output.status().ToString();
  return ValueOf(*output, "gbps_host_floor", "nic:mlx5_0/port:1");
}

TEST(RdmaActive, TheFloorIsThatOfTheRateThePortRunsAt) {
  EXPECT_EQ(FloorAt("400 Gb/sec (4X NDR)"), "390");
  EXPECT_EQ(FloorAt("200 Gb/sec (2X NDR)"), "190");
  EXPECT_EQ(FloorAt("50 Gb/sec (1X HDR)"), "?");  // no expected value is known there
}

TEST(RdmaActive, SmallMessagesAreHeldAgainstNoFloor) {
  constexpr char kSmall[] =
      " #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]\n"
      " 65536  5000        178.11          177.60             0.338745\n";
  EXPECT_EQ(FloorAt("200 Gb/sec (2X NDR)", kSmall), "?");
  EXPECT_EQ(FloorAt("200 Gb/sec (2X NDR)",
                    absl::StrCat(kSmall, " 8388608 5000 195.00 195.00 0.002906\n").c_str()),
            "190");

  FakeHost host;
  AddNdrPort(host);
  const auto ports = ReadPorts(host);
  ASSERT_TRUE(ports.ok()) << ports.status();
  Measured measured;
  measured.own.device = "mlx5_0";
  measured.gbps_one = measured.gbps_many = 170;
  // The message size that the limit of locked memory allows.
  measured.message_bytes = 64 << 10;
  CheckOutput small;
  AddMeasured(Context(host, "rdma.pair"), *ports, measured, "gbps_host", 1 << 20, &small);
  EXPECT_EQ(ValueOf(small, "gbps_host", "nic:mlx5_0/port:1"), "170");
  EXPECT_EQ(ValueOf(small, "gbps_host_floor", "nic:mlx5_0/port:1"), "?");
  EXPECT_EQ(small.findings[1].expected(), "");
  measured.message_bytes = 1 << 20;
  CheckOutput large;
  AddMeasured(Context(host, "rdma.pair"), *ports, measured, "gbps_host", 1 << 20, &large);
  EXPECT_EQ(ValueOf(large, "gbps_host_floor", "nic:mlx5_0/port:1"), "390");
}

TEST(RdmaActive, WhatCouldNotBeTriedIsNeitherGoodNorBad) {
  FakeHost host;
  Measured measured;
  measured.own.device = "mlx5_0";
  measured.unmeasured = "no memory may be locked";
  CheckOutput output;
  AddMeasured(Context(host, "rdma.pair"), {}, measured, "gbps_host", 1 << 20, &output);
  EXPECT_EQ(ValueOf(output, "failed", "nic:mlx5_0/port:1"), "?");
  EXPECT_EQ(ValueOf(output, "gbps_host", "nic:mlx5_0/port:1"), "?");

  EXPECT_EQ(Tried({measured}).code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(Tried({measured}).message()), HasSubstr("no memory may be locked"));
  Measured of_peer = measured;
  of_peer.unmeasured_by_peer = true;
  // Not skipped: with another partner it can be tested.
  EXPECT_EQ(Tried({of_peer}).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Tried({of_peer, measured}).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Tried({of_peer, Measured()}).ok());
}

TEST(RdmaActive, WhatFailedHasNoBandwidthRatherThanNone) {
  FakeHost host;
  Measured measured;
  measured.own.device = "mlx5_0";
  measured.failed = "a write failed";
  CheckOutput output;
  AddMeasured(Context(host, "rdma.pair"), {}, measured, "gbps_host", 1 << 20, &output);
  EXPECT_EQ(ValueOf(output, "failed", "nic:mlx5_0/port:1"), "true");
  EXPECT_EQ(ValueOf(output, "gbps_host", "nic:mlx5_0/port:1"), "?");
}

TEST(RdmaActive, RetriesAreWhatIsSentAgainAtTheMeasuredPortAlone) {
  FakeHost host;
  const auto set = [&](const std::string& hca, const std::string& counter, int value) {
    host.AddFile("/sys/class/infiniband/" + hca + "/ports/1/hw_counters/" + counter,
                 absl::StrCat(value, "\n"));
  };
  for (const char* hca : {"mlx5_0", "mlx5_storage"}) {
    set(hca, "packet_seq_err", 1);
    set(hca, "out_of_sequence", 1);
  }
  RdmaPort fabric;
  fabric.hca = "mlx5_0";
  RdmaPort storage;
  storage.hca = "mlx5_storage";
  const CheckContext context = Context(host, "rdma.pair");
  const Retries retries(context, {fabric, storage}, {{.device = "mlx5_0", .port = 1}});
  set("mlx5_0", "packet_seq_err", 4);
  set("mlx5_0", "out_of_sequence", 5000);  // by adaptive routing
  set("mlx5_storage", "packet_seq_err", 900);
  CheckOutput output;
  retries.Add(&output);
  ASSERT_EQ(output.findings.size(), 1u);
  EXPECT_EQ(ValueOf(output, "retries", "nic:mlx5_0/port:1"), "3");
}

TEST(NicModel, RateIsOfTheBoardNotOfTheChip) {
  RdmaPort port;
  port.type = "MT4129";
  EXPECT_EQ(NicFact(RealKnowledge(), port, "rate_gbps"), std::nullopt);
  port.board = "MT_0000000838";
  EXPECT_EQ(NicFact(RealKnowledge(), port, "rate_gbps"), 400.0);
  EXPECT_EQ(NicFact(RealKnowledge(), port, "no_such_fact"), std::nullopt);
}

constexpr char kQos[] =
    "DCBX mode: OS controlled\nPriority trust state: dscp\ndscp2prio mapping:\n"
    "\tprio:0 dscp:07,06,05,04,03,02,01,00,\n\tprio:3 dscp:31,30,29,28,27,26,25,24,\n"
    "PFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n"
    "\tenabled     0   0   0   1   0   0   0   0   \n";

FakeHost RoceHost() {
  FakeHost host;
  const std::string root = "/sys/class/infiniband/mlx5_0";
  host.AddFile(root + "/ports/1/state", "4: ACTIVE\n");
  host.AddFile(root + "/ports/1/link_layer", "Ethernet\n");
  host.AddCommand("rdma -j link show",
                  R"([{"ifname":"mlx5_0","port":1,"state":"ACTIVE","netdev":"eth4"}])");
  host.AddCommand("mlnx_qos -i eth4", kQos);
  return host;
}

TEST(RdmaQos, AClassThatPfcDoesNotProtectIsFound) {
  FakeHost host = RoceHost();
  host.SetJobEnvironment({{"NCCL_IB_TC", "0"}});
  const auto output = CheckQos(Context(host, "rdma.qos"));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "pfc_enabled", "nic:mlx5_0/port:1"), "true");
  EXPECT_EQ(ValueOf(*output, "pfc_priorities", "nic:mlx5_0/port:1"), "3");
  EXPECT_EQ(ValueOf(*output, "traffic_class_matches", "nic:mlx5_0/port:1"), "false");
  EXPECT_EQ(ValueOf(*output, "ecn_enabled", "nic:mlx5_0/port:1"), "?");
}

TEST(RdmaQos, TheClassOfTheProtectedPriorityMatches) {
  FakeHost host = RoceHost();
  host.SetJobEnvironment({{"NCCL_IB_TC", "106"}});  // DSCP 26
  const auto output = CheckQos(Context(host, "rdma.qos"));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "traffic_class_matches", "nic:mlx5_0/port:1"), "true");
}

TEST(RdmaQos, AJobThatSetsNoClassIsNotJudged) {
  const FakeHost host = RoceHost();
  const auto output = CheckQos(Context(host, "rdma.qos"));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "traffic_class_matches", "nic:mlx5_0/port:1"), "absent");
}

TEST(RdmaGid, SpeaksWithTheRoutableAddress) {
  GidTable table;
  table.gids = {{0, "fe80:0000:0000:0000:0a00:27ff:fe00:0001"},
                {1, "0000:0000:0000:0000:0000:ffff:0a00:0102"},
                {2, "0000:0000:0000:0000:0000:0000:0000:0000"}};
  table.types = {{0, "RoCE v2"}, {1, "RoCE v2"}};
  EXPECT_EQ(UsableGidIndex(table), 1);
  table.types[1] = "IB/RoCE v1";
  EXPECT_EQ(UsableGidIndex(table), 0);
  EXPECT_EQ(UsableGidIndex({}), 0);
}

TEST(RdmaNetdevs, ANameThatIsAnOptionIsNone) {
  EXPECT_TRUE(NetdevsOfRdmaLink(R"([{"ifname":"a","port":1,"netdev":"-e"}])").empty());
  EXPECT_EQ(NetdevsOfIbdev2netdev("mlx5_0 port 1 ==> ib0 (Up)\n").at("mlx5_0/1"), "ib0");
}

}  // namespace
}  // namespace galen::node
