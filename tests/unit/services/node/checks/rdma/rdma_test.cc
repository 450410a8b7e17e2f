#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/node/checks/rdma/link.h"
#include "services/node/checks/rdma/pcie_tuning.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/rdma/settings.h"
#include "services/node/checks/rdma/transceiver.h"
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
  const auto output = CheckRdmaLink({host, RealKnowledge()});
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
  const auto output = CheckRdmaLink({host, RealKnowledge()});
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
  const auto output = CheckRdmaLink({host, RealKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "state", "nic:mlx5_0/port:1"), "absent");
  EXPECT_EQ(ValueOf(*output, "state", "nic:mlx5_1/port:1"), "ACTIVE");
}

TEST(RdmaLink, TheSamePortMattersWhenTheJobNamesIt) {
  FakeHost host;
  AddPort(host, "mlx5_0", "4: ACTIVE", kNdr, "InfiniBand", "MT4129");
  AddPort(host, "mlx5_2", "1: DOWN", "40 Gb/sec (4X QDR)", "Ethernet", "MT4125");
  const auto state = [&](const char* list) {
    host.SetJobEnvironment({{"NCCL_IB_HCA", list}});
    const auto output = CheckRdmaLink({host, RealKnowledge()});
    return output.ok() ? ValueOf(*output, "state", "nic:mlx5_2/port:1")
                       : output.status().ToString();
  };
  EXPECT_EQ(state("=mlx5_0,mlx5_2:1"), "DOWN");
  EXPECT_EQ(state("mlx5_0,mlx5_2"), "DOWN");
  EXPECT_EQ(state("^mlx5_2"), "absent");
  EXPECT_EQ(state("mlx5"), "absent");  // a prefix of all makes no choice
}

TEST(RdmaLink, ASlowPortIsHeldAgainstItsPeers) {
  FakeHost host;
  for (const char* hca : {"mlx5_0", "mlx5_1"}) {
    AddPort(host, hca, "4: ACTIVE", kNdr, "InfiniBand", "MT4129");
  }
  AddPort(host, "mlx5_2", "4: ACTIVE", "100 Gb/sec (1X NDR)", "InfiniBand", "MT4129");
  const auto output = CheckRdmaLink({host, RealKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "rate_gbps", "nic:mlx5_2/port:1"), "100");
  EXPECT_EQ(output->message, "mlx5_2 port 1 runs at 100 Gb/s, its peers at 400");
}

// Ports of the 400 Gb/s board at these rates.
FakeHost Node(const std::vector<std::string>& rates, const std::string& layer = "InfiniBand") {
  FakeHost host;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const std::string hca = absl::StrCat("mlx5_", i);
    AddPort(host, hca, "4: ACTIVE", rates[i], layer, "MT4129");
    host.AddFile("/sys/class/infiniband/" + hca + "/board_id", "MT_0000000838\n");
  }
  return host;
}

// The ports below their expected speed, with "rate" or "width" before each.
std::vector<std::string> Slow(const FakeHost& host) {
  const auto output = CheckRdmaLink({host, RealKnowledge()});
  if (!output.ok()) return {output.status().ToString()};
  std::vector<std::string> slow;
  for (const v1::Finding& finding : output->findings) {
    double expected = 0;
    if (!absl::SimpleAtod(finding.expected(), &expected)) continue;
    const double value =
        finding.has_int_value() ? static_cast<double>(finding.int_value()) : finding.double_value();
    if (finding.value_case() != v1::Finding::VALUE_NOT_SET && value < expected) {
      slow.push_back(absl::StrCat(finding.name(), " ", finding.subject().device()));
    }
  }
  return slow;
}

constexpr char kHdr[] = "200 Gb/sec (4X HDR)";
constexpr char kHalf[] = "200 Gb/sec (2X NDR)";

TEST(RdmaLink, APortOfEightThatTrainedDownIsFound) {
  EXPECT_THAT(Slow(Node({kNdr, kNdr, kNdr, kHalf})),
              ElementsAre("rate_gbps nic:mlx5_3/port:1", "width nic:mlx5_3/port:1"));
  EXPECT_THAT(Slow(Node({kNdr, kHdr, kHdr, kHdr})),
              ElementsAre("rate_gbps nic:mlx5_1/port:1", "rate_gbps nic:mlx5_2/port:1",
                          "rate_gbps nic:mlx5_3/port:1"));
  EXPECT_THAT(Slow(Node({kHalf, kHalf, "100 Gb/sec (1X NDR)"})),
              ElementsAre("rate_gbps nic:mlx5_2/port:1", "width nic:mlx5_2/port:1"));
}

TEST(RdmaLink, WhereAllPortsAgreeOnLessTheSiteIsBuiltSo) {
  EXPECT_THAT(Slow(Node({kHdr, kHdr, kHdr, kHdr})), IsEmpty());
  EXPECT_THAT(Slow(Node({kHalf, kHalf, kHalf, kHalf})), IsEmpty());
  EXPECT_THAT(Slow(Node({kHalf, kHalf}, "Ethernet")), IsEmpty());
  const FakeHost node = Node({kHdr, kHdr});
  const auto output = CheckRdmaLink({node, RealKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  // The other nodes show whether it is.
  EXPECT_EQ(ValueOf(*output, "fabric_rate_of_model_pct"), "50");
  EXPECT_EQ(ValueOf(*output, "rate_expected_gbps", "nic:mlx5_0/port:1"), "?");
  EXPECT_THAT(output->message, ::testing::HasSubstr("50 % of what its adapters can"));
  // No cable leaves a port one lane.
  EXPECT_THAT(Slow(Node({"100 Gb/sec (1X NDR)", "100 Gb/sec (1X NDR)"})), ::testing::SizeIs(4));
}

// Dual-port cards, whose second ports are in this state.
FakeHost DualPortCards(const std::string& second) {
  FakeHost host;
  for (int i = 0; i < 4; ++i) {
    const std::string hca = absl::StrCat("mlx5_", i);
    AddPort(host, hca, i % 2 == 0 ? "4: ACTIVE" : second, kNdr, "InfiniBand", "MT4129");
    host.AddFile(
        "/sys/class/infiniband/" + hca + "/device/uevent",
        absl::StrCat("DRIVER=mlx5_core\nPCI_SLOT_NAME=0000:", 10 + i / 2, ":00.", i % 2, "\n"));
  }
  return host;
}

TEST(RdmaLink, ThePortThatAllCardsHaveWithoutACableIsNoFabric) {
  FakeHost host = DualPortCards("1: DOWN");
  const auto output = CheckRdmaLink({host, RealKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "state", "nic:mlx5_0/port:1"), "ACTIVE");
  EXPECT_EQ(ValueOf(*output, "state", "nic:mlx5_1/port:1"), "absent");

  // A port that lost its link had a cable.
  host.AddFile("/sys/class/infiniband/mlx5_3/ports/1/counters/link_downed", "1\n");
  const auto lost = CheckRdmaLink({host, RealKnowledge()});
  ASSERT_TRUE(lost.ok()) << lost.status();
  EXPECT_EQ(ValueOf(*lost, "state", "nic:mlx5_1/port:1"), "DOWN");
  EXPECT_EQ(ValueOf(*lost, "state", "nic:mlx5_3/port:1"), "DOWN");
}

TEST(RdmaLink, TheSecondPortOfOneCardOfTwoIsMissed) {
  FakeHost host = DualPortCards("4: ACTIVE");
  AddPort(host, "mlx5_3", "1: DOWN", kNdr, "InfiniBand", "MT4129");
  const auto output = CheckRdmaLink({host, RealKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "state", "nic:mlx5_3/port:1"), "DOWN");
}

TEST(RdmaTransceiver, AnOpticInADarkPortBesideTheFabricIsNotJudged) {
  constexpr char kDark[] = R"({"result": {"output": {"Module Info": {
      "Rx LOS [per lane]": "1", "Rx Power Current [dBm]": "-40 [-9.9..6.9]"}}}})";
  FakeHost host;
  AddPort(host, "mlx5_0", "4: ACTIVE", kNdr, "InfiniBand", "MT4129");
  AddPort(host, "mlx5_1", "1: DOWN", "40 Gb/sec (4X QDR)", "Ethernet", "MT4125");
  AddPort(host, "mlx5_2", "1: DOWN", kNdr, "InfiniBand", "MT4129");
  for (const char* hca : {"mlx5_0", "mlx5_1", "mlx5_2"}) {
    host.AddCommand(absl::StrCat("mlxlink -d ", hca, " -m -c -e --json"), kDark);
  }
  const auto output = CheckTransceiver({host, RealKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "module_faults", "nic:mlx5_0/port:1"), "Rx LOS");
  EXPECT_EQ(ValueOf(*output, "module_faults", "nic:mlx5_1/port:1"), "absent");
  EXPECT_EQ(ValueOf(*output, "rx_power_low", "nic:mlx5_1/port:1"), "absent");
  // A dark port of the fabric should not be.
  EXPECT_EQ(ValueOf(*output, "module_faults", "nic:mlx5_2/port:1"), "Rx LOS");
}

TEST(RdmaTransceiver, AnAlarmOfOneLaneIsAFaultOfTheModule) {
  const auto module = ParseEthtoolModule(
      "\tIdentifier                                : 0x11 (QSFP28)\n"
      "\tLaser bias current low alarm threshold    : 3.000 mA\n"
      "\tLaser tx power low alarm    (Channel 1)   : On\n"
      "\tLaser tx power low alarm    (Channel 2)   : Off\n"
      "\tLaser rx power low alarm    (Channel 2)   : On\n"
      "\tLaser tx power low warning  (Channel 3)   : On\n"
      "\tModule temperature high alarm             : Off\n");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(module->faults_known);
  EXPECT_THAT(module->faults, ElementsAre("Laser tx power low alarm (Channel 1)",
                                          "Laser rx power low alarm (Channel 2)"));
  EXPECT_EQ(module->rx_power_low, true);
  const auto sound = ParseEthtoolModule(
      "\tIdentifier                                : 0x11 (QSFP28)\n"
      "\tLaser tx power low alarm    (Channel 1)   : Off\n");
  ASSERT_TRUE(sound.ok()) << sound.status();
  EXPECT_TRUE(sound->faults_known);
  EXPECT_THAT(sound->faults, IsEmpty());
}

// The number of devices that the bus expects if the RDMA devices are these functions.
std::string OnBus(const std::vector<std::string>& functions, const std::string& lspci) {
  FakeHost host;
  int i = 0;
  for (const std::string& function : functions) {
    const std::string hca = absl::StrCat("rdma_", i++);
    AddPort(host, hca, "4: ACTIVE", kNdr, "Ethernet", "");
    host.AddFile("/sys/class/infiniband/" + hca + "/device/uevent",
                 absl::StrCat("PCI_SLOT_NAME=", function, "\n"));
  }
  host.AddCommand("lspci -vvv -nn", lspci);
  const auto output = CheckRdmaDevices({host, RealKnowledge()});
  if (!output.ok()) return output.status().ToString();
  return ValueOf(*output, "device_count_expected");
}

TEST(RdmaDevices, AdaptersOfOtherVendorsAreCountedOnTheBus) {
  EXPECT_EQ(OnBus({"0000:00:06.0"},
                  "00:05.0 Ethernet controller [0200]: Amazon.com, Inc. Elastic Network Adapter "
                  "(ENA) [1d0f:ec20]\n"
                  "00:06.0 Ethernet controller [0200]: Amazon.com, Inc. Elastic Fabric Adapter "
                  "(EFA) [1d0f:efa2]\n"
                  "00:07.0 Ethernet controller [0200]: Amazon.com, Inc. Elastic Fabric Adapter "
                  "(EFA) [1d0f:efa2]\n"),
            "2");
  // Besides adapters of the fabric, a server has ports of the same vendor that do not support RDMA.
  EXPECT_EQ(OnBus({"0000:1a:00.0"},
                  "1a:00.0 Ethernet controller [0200]: Broadcom Inc. BCM57608 [14e4:1760]\n"
                  "3c:00.0 Ethernet controller [0200]: Broadcom Inc. BCM57608 [14e4:1760]\n"
                  "5f:00.0 Ethernet controller [0200]: Broadcom Inc. BCM57414 [14e4:16d7]\n"),
            "2");
}

TEST(RdmaDevices, VirtualFunctionsCountWhereAMachineHasNoOthers) {
  const std::string two =
      "0101:00:00.0 Infiniband controller [0207]: Mellanox [ConnectX-6 Virtual Function] "
      "[15b3:101c]\n"
      "0102:00:00.0 Infiniband controller [0207]: Mellanox [ConnectX-6 Virtual Function] "
      "[15b3:101c]\n"
      "c941:00:02.0 Ethernet controller [0200]: Mellanox [ConnectX-4 Lx Virtual Function] "
      "[15b3:1016]\n";
  EXPECT_EQ(OnBus({"0101:00:00.0"}, two), "2");
  // On the host that makes them they are for guests and containers.
  EXPECT_EQ(
      OnBus({"0000:1a:00.0", "0101:00:00.0"},
            "1a:00.0 Infiniband controller [0207]: Mellanox [ConnectX-6] [15b3:101b]\n" + two),
      "1");
}

TEST(RdmaDevices, AnAdapterOnTheBusWithoutADeviceIsMissing) {
  FakeHost host;
  AddPort(host, "mlx5_0", "4: ACTIVE", kNdr, "InfiniBand", "MT4129");
  host.AddFile("/sys/class/infiniband/mlx5_0/fw_ver", "28.41.1000\n");
  host.AddCommand("lspci -vvv -nn",
                  "1a:00.0 Infiniband controller [0207]: Mellanox MT2910 [15b3:1021]\n"
                  "3c:00.0 Infiniband controller [0207]: Mellanox MT2910 [15b3:1021]\n");
  const auto output = CheckRdmaDevices({host, RealKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "device_count"), "1");
  EXPECT_EQ(ValueOf(*output, "device_count_expected"), "2");
  EXPECT_EQ(ValueOf(*output, "firmware", "nic:mlx5_0"), "28.41.1000");
}

TEST(RdmaDevices, ABondIsOneDeviceOverTwoFunctions) {
  FakeHost host;
  AddPort(host, "mlx5_bond_0", "4: ACTIVE", kNdr, "Ethernet", "MT4125");
  host.AddFile("/sys/class/infiniband/mlx5_bond_0/ports/1/gid_attrs/ndevs/0", "bond0\n");
  host.AddFile("/proc/net/bonding/bond0",
               "Bonding Mode: IEEE 802.3ad\nSlave Interface: eth0\nSlave Interface: eth1\n");
  const std::string two =
      "31:00.0 Ethernet controller [0200]: Mellanox MT2892 [15b3:101d]\n"
      "31:00.1 Ethernet controller [0200]: Mellanox MT2892 [15b3:101d]\n";
  host.AddCommand("lspci -vvv -nn", two);
  const auto output = CheckRdmaDevices({host, RealKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "device_count_expected"), "1");

  // Another adapter is missing all the same.
  FakeHost other;
  AddPort(other, "mlx5_bond_0", "4: ACTIVE", kNdr, "Ethernet", "MT4125");
  other.AddCommand("lspci -vvv -nn",
                   two + "4b:00.0 Infiniband controller [0207]: Mellanox MT2910 [15b3:1021]\n");
  const auto found = CheckRdmaDevices({other, RealKnowledge()});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(ValueOf(*found, "device_count"), "1");
  EXPECT_EQ(ValueOf(*found, "device_count_expected"), "2");
}

TEST(RdmaDevices, AMachineWithoutAdaptersIsSkipped) {
  FakeHost host;
  EXPECT_FALSE(CheckRdmaDevices({host, RealKnowledge()}).ok());
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
  const auto output = CheckGid({host, RealKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "rocev2_ipv4_index", "nic:mlx5_0/port:1"), "3");
  EXPECT_EQ(ValueOf(*output, "configured_index_valid", "nic:mlx5_0/port:1"), "false");
}

// The default index of a RoCE port with a link-local GID 0 and GID 3 of RoCE v2, and the job's
// setting.
std::string DefaultIndex(const std::string& log, std::map<std::string, std::string> environment) {
  FakeHost host;
  AddPort(host, "mlx5_0", "4: ACTIVE", kNdr, "Ethernet", "MT4129");
  const std::string root = "/sys/class/infiniband/mlx5_0/ports/1";
  host.AddFile(root + "/gids/0", "fe80:0000:0000:0000:0000:0000:0000:0001\n");
  host.AddFile(root + "/gids/3", "0000:0000:0000:0000:0000:ffff:c000:0204\n");
  host.AddFile(root + "/gid_attrs/types/0", "IB/RoCE v1\n");
  host.AddFile(root + "/gid_attrs/types/3", "RoCE v2\n");
  host.SetJobEnvironment(std::move(environment));
  if (!log.empty()) host.AddLog("train.log", log);
  const auto output = CheckGid({host, RealKnowledge()});
  if (!output.ok()) return output.status().ToString();
  return ValueOf(*output, "default_index_routable", "nic:mlx5_0/port:1");
}

TEST(Gid, OldReleasesOfNcclTakeTheFirstIndexAndNewOnesChoose) {
  const std::map<std::string, std::string> nothing = {{"PATH", "/bin"}};
  EXPECT_EQ(DefaultIndex("NCCL version 2.18.1+cuda12.1\n", nothing), "false");
  EXPECT_EQ(DefaultIndex("NCCL version 2.21.5+cuda12.4\n", nothing), "true");
  EXPECT_EQ(DefaultIndex("", nothing), "?");
  // It is the job's own choice then.
  EXPECT_EQ(DefaultIndex("NCCL version 2.18.1+cuda12.1\n", {{"NCCL_IB_GID_INDEX", "3"}}), "absent");
  EXPECT_EQ(DefaultIndex("NCCL version 2.18.1+cuda12.1\n"
                         "n:1:2 [0] NCCL INFO NCCL_IB_GID_INDEX set by environment to 3.\n",
                         nothing),
            "absent");
}

std::string Valid(const std::string& index, std::map<std::string, std::string> environment) {
  FakeHost host;
  AddPort(host, "mlx5_0", "4: ACTIVE", kNdr, "Ethernet", "MT4129");
  const std::string root = "/sys/class/infiniband/mlx5_0/ports/1";
  host.AddFile(root + "/gids/3", "0000:0000:0000:0000:0000:ffff:c000:0204\n");
  host.AddFile(root + "/gids/5", "0000:0000:0000:0000:0000:ffff:c000:0304\n");
  host.AddFile(root + "/gids/7", "2001:0db8:0000:0000:0000:0000:0000:0001\n");
  host.AddFile(root + "/gids/9", "fe80:0000:0000:0000:0000:0000:0000:0001\n");
  for (const char* at : {"3", "5", "7", "9"}) {
    host.AddFile(root + "/gid_attrs/types/" + at, "RoCE v2\n");
  }
  environment["NCCL_IB_GID_INDEX"] = index;
  host.SetJobEnvironment(std::move(environment));
  const auto output = CheckGid({host, RealKnowledge()});
  if (!output.ok()) return output.status().ToString();
  return ValueOf(*output, "configured_index_valid", "nic:mlx5_0/port:1");
}

TEST(Gid, AnIndexIsJudgedByItsOwnAddress) {
  EXPECT_EQ(Valid("3", {}), "true");
  EXPECT_EQ(Valid("5", {}), "true");     // the second address of IPv4 is as good
  EXPECT_EQ(Valid("-1", {}), "absent");  // NCCL's default: it chooses
  EXPECT_EQ(Valid("7", {{"NCCL_IB_ADDR_FAMILY", "AF_INET6"}}), "true");
  EXPECT_EQ(Valid("7", {}), "?");
  EXPECT_EQ(Valid("9", {{"NCCL_IB_ADDR_FAMILY", "AF_INET6"}}), "false");
  EXPECT_EQ(Valid("4", {}), "false");
}

TEST(Gid, WhereAnIndexStandsInTheTableIsNoFaultByItself) {
  for (const auto& [check, finding] :
       {std::pair("rdma.gid", "rocev2_ipv4_index"), std::pair("rdma.pkey", "usable_index")}) {
    const auto* const spec = RealKnowledge().FindFinding(check, finding);
    ASSERT_NE(spec, nullptr) << finding;
    EXPECT_FALSE(spec->has_abnormal()) << finding;
  }
  // If NCCL chooses, each node may have its own.
  for (const auto& comparison : RealKnowledge().FindCheck("rdma.gid")->comparisons()) {
    EXPECT_TRUE(comparison.of() == "configured_index_valid" ||
                comparison.of() == "configured_address_kind");
  }
}

// An adapter with this link, below a bridge with the other link ("": none).
std::string Downgraded(const std::string& bridge, const std::string& more = "") {
  FakeHost host;
  host.AddCommand(
      "lspci -vvv -nn",
      (bridge.empty() ? std::string()
                      : "00:01.0 PCI bridge [0604]: Intel Corporation Device [8086:a70d]\n"
                        "\tBus: primary=00, secondary=1a, subordinate=1a, "
                        "sec-latency=0\n\t\tLnkCap:\tPort #2, " +
                            bridge + "\n") +
          "1a:00.0 Ethernet controller [0200]: Mellanox MT2892 [15b3:101d]\n"
          "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n"
          "\t\tLnkSta:\tSpeed 16GT/s, Width x8 (downgraded)\n" +
          more);
  const auto output = CheckRdmaPcie({host, RealKnowledge()});
  if (!output.ok()) return output.status().ToString();
  return ValueOf(*output, "downgraded", "pci:0000:1a:00.0");
}

TEST(RdmaPcie, AnAdapterIsHeldAgainstItsSlotToo) {
  EXPECT_EQ(Downgraded("Speed 16GT/s, Width x8"), "false");
  EXPECT_EQ(Downgraded("Speed 32GT/s, Width x16"), "true");
}

TEST(RdmaPcie, WhereTheSlotIsNotShownCardsOfTheKindTell) {
  const auto card = [](const std::string& at, const std::string& width) {
    return at +
           ":00.0 Ethernet controller [0200]: Mellanox MT2892 [15b3:101d]\n"
           "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n"
           "\t\tLnkSta:\tSpeed 16GT/s, Width " +
           width + "\n";
  };
  EXPECT_EQ(Downgraded(""), "?");
  EXPECT_EQ(Downgraded("", card("3c", "x8")), "false");
  EXPECT_EQ(Downgraded("", card("3c", "x16") + card("5d", "x16")), "true");
}

TEST(RdmaPcie, OfACardThatSomebodyPickedOutItsOwnWidthCounts) {
  host::CommandResult shown;
  shown.out =
      "3c:00.0 Ethernet controller [0200]: Mellanox MT2892 [15b3:101d]\n"
      "\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n\tLnkSta:\tSpeed 16GT/s, Width x8\n";
  for (const bool excerpt : {true, false}) {
    shown.excerpt = excerpt;
    FakeHost host;
    host.AddCommandResult("lspci -vvv -nn", shown);
    const auto output = CheckRdmaPcie({host, RealKnowledge()});
    ASSERT_TRUE(output.ok()) << output.status();
    ASSERT_FALSE(output->findings.empty());
    EXPECT_EQ(Shown(output->findings.back()), excerpt ? "true" : "?");
  }
}

TEST(RdmaPcie, ReadsUnderWayAreHeldAgainstWhatTheModelNeeds) {
  FakeHost host;
  AddPort(host, "mlx5_0", "4: ACTIVE", kNdr, "InfiniBand", "MT4123");
  AddPort(host, "mlx5_1", "4: ACTIVE", kNdr, "InfiniBand", "MT4123");
  const std::string head =
      "\nDevice #1:\n----------\n\nDevice type:    ConnectX6\n"
      "Configurations:                              Next Boot\n";
  host.AddCommand("mlxconfig -d mlx5_0 q", head + "        MAX_ACC_OUT_READ            16\n");
  host.AddCommand("mlxconfig -d mlx5_1 q", head + "        MAX_ACC_OUT_READ            0\n");
  // Without lspci.
  const auto output = CheckRdmaPcie({host, RealKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  ASSERT_EQ(output->findings.size(), 2U);
  EXPECT_EQ(ValueOf(*output, "outstanding_reads", "nic:mlx5_0"), "16");
  EXPECT_EQ(output->findings[0].expected(), "44");
  // 0: the firmware decides, which is not low.
  EXPECT_EQ(ValueOf(*output, "outstanding_reads", "nic:mlx5_1"), "0");
  EXPECT_EQ(output->findings[1].expected(), "");
  EXPECT_EQ(ParseMlxconfig("*       MAX_ACC_OUT_READ   0   44   44  \n").outstanding_reads, 44);
  EXPECT_EQ(ParseMlxconfig("        MAX_ACC_OUT_READ   N/A\n").outstanding_reads, std::nullopt);
}

std::string DmaBuf(const char* driver, const char* uname) {
  FakeHost host;
  AddPort(host, "mlx5_0", "4: ACTIVE", kNdr, "InfiniBand", "MT4129");
  host.AddFile("/proc/modules", "nvidia 56823808 0 - Live 0x0\n");
  host.AddFile("/proc/driver/nvidia/version", driver);
  host.AddCommand("uname -a", uname);
  const auto output = CheckPeermem({host, RealKnowledge()});
  if (!output.ok()) return output.status().ToString();
  return ValueOf(*output, "dmabuf_possible");
}

TEST(Peermem, DmaBufNeedsTheOpenKernelModule) {
  constexpr char kNew[] = "Linux n1 5.15.0-112-generic #122-Ubuntu SMP x86_64 GNU/Linux\n";
  constexpr char kOpen[] = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.90.07\n";
  EXPECT_EQ(DmaBuf("NVRM version: NVIDIA UNIX x86_64 Kernel Module  525.147.05\n", kNew), "false");
  EXPECT_EQ(DmaBuf(kOpen, kNew), "true");
  EXPECT_EQ(DmaBuf(kOpen, "Linux n1 4.18.0-553.el8.x86_64 #1 SMP x86_64 GNU/Linux\n"), "?");
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
