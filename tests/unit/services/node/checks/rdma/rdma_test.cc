#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/node/checks/rdma/counters.h"
#include "services/node/checks/rdma/link.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/rdma/settings.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/real_knowledge.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

void AddPort(FakeHost& host, const std::string& hca, const std::string& state,
             const std::string& rate, const std::string& layer, const std::string& type) {
  const std::string root = "/sys/class/infiniband/" + hca;
  host.AddFile(root + "/ports/1/state", state + "\n");
  host.AddFile(root + "/ports/1/phys_state", state == "4: ACTIVE" ? "5: LinkUp\n" : "2: Polling\n");
  host.AddFile(root + "/ports/1/rate", rate + "\n");
  host.AddFile(root + "/ports/1/link_layer", layer + "\n");
  host.AddFile(root + "/ports/1/sm_lid", layer == "InfiniBand" ? "0x1b\n" : "0x0\n");
  host.AddFile(root + "/hca_type", type + "\n");
}

constexpr char kNdr[] = "400 Gb/sec (4X NDR)";

TEST(RdmaPorts, StandInNaturalOrder) {
  FakeHost host;
  for (const char* hca : {"mlx5_10", "mlx5_2", "mlx5_1"}) {
    AddPort(host, hca, "4: ACTIVE", kNdr, "InfiniBand", "MT4129");
  }
  const auto ports = ReadPorts(host);
  ASSERT_TRUE(ports.ok()) << ports.status();
  EXPECT_THAT(Hcas(*ports), ElementsAre("mlx5_1", "mlx5_2", "mlx5_10"));
}

TEST(RdmaPorts, IbstatGivesTheSamePorts) {
  const auto ports = ParseIbstat(
      "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Initializing\n"
      "\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tSM lid: 0\n\t\tLink layer: InfiniBand\n");
  ASSERT_EQ(ports.size(), 1U);
  EXPECT_EQ(DeviceOf(ports[0]), "nic:mlx5_0/port:1");
  EXPECT_EQ(ports[0].state, "INITIALIZING");
  EXPECT_EQ(ports[0].rate_gbps, 400.0);
  EXPECT_EQ(ports[0].sm_lid, 0);
  EXPECT_EQ(ports[0].type, "MT4129");
}

TEST(RdmaPorts, HostileTextHasNone) {
  EXPECT_THAT(ParseIbstat(""), IsEmpty());
  EXPECT_THAT(ParseIbstat(std::string(1 << 20, ':')), IsEmpty());
  EXPECT_THAT(ParseIbstat(std::string("State: Active\n\0\xff", 16)), IsEmpty());
}

TEST(RdmaLink, APortOfTheFabricThatIsDownIsSeenAndItsRateIsNot) {
  FakeHost host;
  AddPort(host, "mlx5_0", "4: ACTIVE", kNdr, "InfiniBand", "MT4129");
  AddPort(host, "mlx5_1", "1: DOWN", "10 Gb/sec (4X SDR)", "InfiniBand", "MT4129");
  const auto output = CheckRdmaLink({host, NoKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "state", "nic:mlx5_0/port:1"), "ACTIVE");
  EXPECT_EQ(ValueOf(*output, "state", "nic:mlx5_1/port:1"), "DOWN");
  EXPECT_EQ(ValueOf(*output, "phys_state", "nic:mlx5_1/port:1"), "Polling");
  EXPECT_EQ(ValueOf(*output, "rate_gbps", "nic:mlx5_1/port:1"), "?");
  EXPECT_EQ(ValueOf(*output, "rate_expected_gbps", "nic:mlx5_1/port:1"), "400");
  EXPECT_EQ(output->message, "mlx5_1 port 1 is DOWN, physical state Polling");
}

TEST(RdmaLink, AManagementPortWithoutACableIsNoFault) {
  FakeHost host;
  AddPort(host, "mlx5_0", "4: ACTIVE", kNdr, "InfiniBand", "MT4129");
  AddPort(host, "mlx5_1", "4: ACTIVE", "100 Gb/sec (4X EDR)", "Ethernet", "MT4125");
  AddPort(host, "mlx5_2", "1: DOWN", "40 Gb/sec (4X QDR)", "Ethernet", "MT4125");
  const auto output = CheckRdmaLink({host, NoKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "state", "nic:mlx5_2/port:1"), "absent");
  EXPECT_EQ(ValueOf(*output, "phys_state", "nic:mlx5_2/port:1"), "Polling");
  EXPECT_EQ(ValueOf(*output, "rate_expected_gbps", "nic:mlx5_1/port:1"), "100");
}

TEST(RdmaLink, AFabricThatIsSwitchedOffIsNotInUse) {
  FakeHost host;
  AddPort(host, "mlx5_0", "1: DOWN", "10 Gb/sec (4X SDR)", "InfiniBand", "MT4129");
  host.AddFile("/sys/class/infiniband/mlx5_0/ports/1/phys_state", "3: Disabled\n");
  AddPort(host, "mlx5_1", "4: ACTIVE", "100 Gb/sec (4X EDR)", "Ethernet", "MT4125");
  const auto output = CheckRdmaLink({host, NoKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "state", "nic:mlx5_0/port:1"), "absent");
  EXPECT_EQ(ValueOf(*output, "state", "nic:mlx5_1/port:1"), "ACTIVE");
}

TEST(RdmaLink, TheSamePortMattersWhenTheJobNamesIt) {
  FakeHost host;
  AddPort(host, "mlx5_0", "4: ACTIVE", kNdr, "InfiniBand", "MT4129");
  AddPort(host, "mlx5_2", "1: DOWN", "40 Gb/sec (4X QDR)", "Ethernet", "MT4125");
  host.SetJobEnvironment({{"NCCL_IB_HCA", "=mlx5_0,mlx5_2:1"}});
  const auto output = CheckRdmaLink({host, NoKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "state", "nic:mlx5_2/port:1"), "DOWN");
}

TEST(RdmaLink, ASlowPortIsHeldAgainstItsPeers) {
  FakeHost host;
  for (const char* hca : {"mlx5_0", "mlx5_1"}) {
    AddPort(host, hca, "4: ACTIVE", kNdr, "InfiniBand", "MT4129");
  }
  AddPort(host, "mlx5_2", "4: ACTIVE", "100 Gb/sec (1X NDR)", "InfiniBand", "MT4129");
  const auto output = CheckRdmaLink({host, NoKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "rate_gbps", "nic:mlx5_2/port:1"), "100");
  EXPECT_EQ(output->message, "mlx5_2 port 1 runs at 100 Gb/s, its peers at 400");
}

TEST(RdmaDevices, AnAdapterOnTheBusWithoutADeviceIsMissing) {
  FakeHost host;
  AddPort(host, "mlx5_0", "4: ACTIVE", kNdr, "InfiniBand", "MT4129");
  host.AddFile("/sys/class/infiniband/mlx5_0/fw_ver", "28.41.1000\n");
  host.AddCommand("lspci -vvv -nn",
                  "1a:00.0 Infiniband controller [0207]: Mellanox MT2910 [15b3:1021]\n"
                  "3c:00.0 Infiniband controller [0207]: Mellanox MT2910 [15b3:1021]\n");
  const auto output = CheckRdmaDevices({host, NoKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "device_count"), "1");
  EXPECT_EQ(ValueOf(*output, "device_count_expected"), "2");
  EXPECT_EQ(ValueOf(*output, "firmware", "nic:mlx5_0"), "28.41.1000");
}

TEST(RdmaDevices, AMachineWithoutAdaptersIsSkipped) {
  FakeHost host;
  EXPECT_FALSE(CheckRdmaDevices({host, NoKnowledge()}).ok());
}

std::vector<Growth> Growths() {
  const auto growths = GrowthsOf(RealKnowledge());
  EXPECT_TRUE(growths.ok()) << growths.status();
  return growths.ok() ? *growths : std::vector<Growth>();
}

TEST(RdmaCounters, ACaptureKnowsNoGrowth) {
  FakeHost host;
  AddPort(host, "mlx5_0", "4: ACTIVE", kNdr, "InfiniBand", "MT4129");
  host.AddFile("/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed", "9\n");
  const auto output = CheckRdmaCounters({host, RealKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "link_downed_delta", "nic:mlx5_0/port:1"), "?");
  EXPECT_THAT(output->excerpt, ::testing::HasSubstr("link_downed 9 since boot"));
}

TEST(RdmaCounters, PacketsOutOfSequenceAreCountedByRdmaInSoftwareToo) {
  CheckOutput output;
  AddDeltas("n", "d", Growths(), {{"out_of_seq_request", 1}, {"rcvd_seq_err", 2}},
            {{"out_of_seq_request", 4}, {"rcvd_seq_err", 7}}, absl::Seconds(1), &output);
  EXPECT_EQ(ValueOf(output, "out_of_sequence_delta", "d"), "8");
}

TEST(RdmaCounters, GrowthIsTheDifferenceOfTwoReads) {
  CheckOutput output;
  AddDeltas("n", "d", Growths(), {{"link_downed", 4}, {"symbol_error", 10}, {"out_of_sequence", 7}},
            {{"link_downed", 5}, {"symbol_error", 11}, {"out_of_sequence", 2}}, absl::Minutes(30),
            &output);
  EXPECT_EQ(ValueOf(output, "link_downed_delta", "d"), "1");
  EXPECT_EQ(ValueOf(output, "symbol_errors_per_h", "d"), "2");
  EXPECT_EQ(ValueOf(output, "out_of_sequence_delta", "d"), "?");  // was reset in between
  EXPECT_EQ(ValueOf(output, "rnr_delta", "d"), "?");
}

TEST(Gid, AnIndexThatIsNotRoceV2IsInvalid) {
  FakeHost host;
  AddPort(host, "mlx5_0", "4: ACTIVE", kNdr, "Ethernet", "MT4129");
  const std::string root = "/sys/class/infiniband/mlx5_0/ports/1";
  host.AddFile(root + "/gids/0", "fe80:0000:0000:0000:0000:0000:0000:0001\n");
  host.AddFile(root + "/gids/3", "0000:0000:0000:0000:0000:ffff:c000:0204\n");
  host.AddFile(root + "/gid_attrs/types/0", "IB/RoCE v1\n");
  host.AddFile(root + "/gid_attrs/types/3", "RoCE v2\n");
  host.SetJobEnvironment({{"NCCL_IB_GID_INDEX", "0"}});
  const auto output = CheckGid({host, NoKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "rocev2_ipv4_index", "nic:mlx5_0/port:1"), "3");
  EXPECT_EQ(ValueOf(*output, "configured_index_valid", "nic:mlx5_0/port:1"), "false");
}

TEST(Pkey, LimitedMembershipAtTheIndexInUseIsSeen) {
  FakeHost host;
  AddPort(host, "mlx5_0", "4: ACTIVE", kNdr, "InfiniBand", "MT4129");
  host.AddFile("/sys/class/infiniband/mlx5_0/ports/1/pkeys/0", "0x7fff\n");
  host.AddFile("/sys/class/infiniband/mlx5_0/ports/1/pkeys/1", "0x8001\n");
  const auto output = CheckPkey({host, NoKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "usable_index", "nic:mlx5_0/port:1"), "1");
  EXPECT_EQ(ValueOf(*output, "full_member", "nic:mlx5_0/port:1"), "false");
}

}  // namespace
}  // namespace galen::node
