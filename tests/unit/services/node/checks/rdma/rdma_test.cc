#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/node/checks/rdma/counters.h"
#include "services/node/checks/rdma/link.h"
#include "services/node/checks/rdma/pcie_tuning.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/rdma/settings.h"
#include "services/node/checks/rdma/subnet_manager.h"
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
  const auto output = CheckRdmaDevices({host, NoKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "device_count_expected"), "1");

  // An adapter beside it is missing all the same.
  FakeHost other;
  AddPort(other, "mlx5_bond_0", "4: ACTIVE", kNdr, "Ethernet", "MT4125");
  other.AddCommand("lspci -vvv -nn",
                   two + "4b:00.0 Infiniband controller [0207]: Mellanox MT2910 [15b3:1021]\n");
  const auto found = CheckRdmaDevices({other, NoKnowledge()});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(ValueOf(*found, "device_count"), "1");
  EXPECT_EQ(ValueOf(*found, "device_count_expected"), "2");
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
  const auto output = CheckGid({host, RealKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "rocev2_ipv4_index", "nic:mlx5_0/port:1"), "3");
  EXPECT_EQ(ValueOf(*output, "configured_index_valid", "nic:mlx5_0/port:1"), "false");
}

// The default index of a RoCE port whose GID 0 is link-local and 3 of RoCE v2, and what the job
// says.
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

std::string SubnetManagerOf(const FakeHost& host, const char* finding) {
  const auto output = CheckSubnetManager({host, RealKnowledge()});
  if (!output.ok()) return output.status().ToString();
  return ValueOf(*output, finding);
}

constexpr char kOpenSm[] =
    "Jun 13 08:15:25 481231 [7F3A6A7C0740] 0x03 -> OpenSM 3.3.24\n"
    "Jun 19 07:35:16 100000 [7F3A61700640] 0x01 -> log_rcv_cb_error: ERR 3111: Received MAD\n"
    "Jun 19 07:35:17 100000 [7F3A61700640] 0x01 -> log_rcv_cb_error: ERR 3111: Received MAD\n"
    "Jun 19 07:35:18 100000 [7F3A61700640] 0x01 -> sl2vl_rcv_process: ERR 2C05: failed\n";

TEST(SubnetManager, AnUpstreamBuildDoesNotServeNdr) {
  FakeHost ndr;
  AddPort(ndr, "mlx5_0", "4: ACTIVE", kNdr, "InfiniBand", "MT4129");
  ndr.AddLog("opensm.log", kOpenSm, ndr.name());
  EXPECT_EQ(SubnetManagerOf(ndr, "vendor"), "unsupported");
  EXPECT_EQ(SubnetManagerOf(ndr, "log_errors"), "ERR 3111 2 times, ERR 2C05 1 times");

  FakeHost hdr;
  AddPort(hdr, "mlx5_0", "4: ACTIVE", "200 Gb/sec (4X HDR)", "InfiniBand", "MT4123");
  hdr.AddLog("opensm.log", kOpenSm, hdr.name());
  EXPECT_EQ(SubnetManagerOf(hdr, "vendor"), "upstream 3.3.24");

  // The manager may stand at a slower port of the same fabric.
  FakeHost head;
  AddPort(head, "mlx5_0", "4: ACTIVE", "200 Gb/sec (4X HDR)", "InfiniBand", "MT4123");
  head.AddLog("opensm.log",
              std::string(kOpenSm) +
                  "Jun 19 07:37:04 100917 [7F3A62700640] 0x01 -> osm: device 0xd2f2 (MQM9700)\n",
              head.name());
  EXPECT_EQ(SubnetManagerOf(head, "vendor"), "unsupported");
}

TEST(SubnetManager, ThatOfTheVendorAndOneElsewhereAreNoFault) {
  FakeHost vendor;
  AddPort(vendor, "mlx5_0", "4: ACTIVE", kNdr, "InfiniBand", "MT4129");
  vendor.AddLog("opensm.log",
                "Jun 13 08:15:25 481231 [7F3A6A7C0740] 0x03 -> OpenSM 5.17.0.MLNX20230515\n",
                vendor.name());
  EXPECT_EQ(SubnetManagerOf(vendor, "vendor"), "vendor 5.17.0.MLNX20230515");
  EXPECT_EQ(SubnetManagerOf(vendor, "log_errors"), "none");

  FakeHost other;
  AddPort(other, "mlx5_0", "4: ACTIVE", kNdr, "InfiniBand", "MT4129");
  other.AddLog("opensm.log", kOpenSm, "head01");
  other.AddCommand("rpm -qa", "opensm-3.3.24-2.el9.x86_64\n");
  EXPECT_EQ(SubnetManagerOf(other, "vendor"), "?");
  EXPECT_EQ(SubnetManagerOf(other, "log_errors"), "?");
  EXPECT_EQ(OpenSmPackage("opensm\t5.19.0.MLNX20240611.8c4cb2d-0.1\n"),
            "5.19.0.MLNX20240611.8c4cb2d");
  EXPECT_EQ(OpenSmPackage("opensm-libs-3.3.24-2.el9\nopensm-3.3.24-2.el9.x86_64\n"), "3.3.24");
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
