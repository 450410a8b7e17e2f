#include "services/node/checks/rdma/subnet_manager.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/real_knowledge.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;

constexpr char kNdrRate[] = "400 Gb/sec (4X NDR)";

// A port of InfiniBand that knows a subnet manager.
void AddFabricPort(FakeHost& host, const std::string& hca, const std::string& state,
                   const std::string& rate) {
  const std::string root = "/sys/class/infiniband/" + hca;
  host.AddFile(root + "/ports/1/state", state + "\n");
  host.AddFile(root + "/ports/1/rate", rate + "\n");
  host.AddFile(root + "/ports/1/link_layer", "InfiniBand\n");
  host.AddFile(root + "/ports/1/sm_lid", "0x1b\n");
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
  AddFabricPort(ndr, "mlx5_0", "4: ACTIVE", kNdrRate);
  ndr.AddLog("opensm.log", kOpenSm, ndr.name());
  EXPECT_EQ(SubnetManagerOf(ndr, "vendor"), "unsupported");
  EXPECT_EQ(SubnetManagerOf(ndr, "log_errors"), "ERR 3111 2 times, ERR 2C05 1 times");

  FakeHost hdr;
  AddFabricPort(hdr, "mlx5_0", "4: ACTIVE", "200 Gb/sec (4X HDR)");
  hdr.AddLog("opensm.log", kOpenSm, hdr.name());
  EXPECT_EQ(SubnetManagerOf(hdr, "vendor"), "upstream 3.3.24");

  // The manager may run on a slower port of the same fabric.
  FakeHost head;
  AddFabricPort(head, "mlx5_0", "4: ACTIVE", "200 Gb/sec (4X HDR)");
  head.AddLog("opensm.log",
              std::string(kOpenSm) +
                  "Jun 19 07:37:04 100917 [7F3A62700640] 0x01 -> osm: device 0xd2f2 (MQM9700)\n",
              head.name());
  EXPECT_EQ(SubnetManagerOf(head, "vendor"), "unsupported");
}

TEST(SubnetManager, ThatOfTheVendorAndOneElsewhereAreNoFault) {
  FakeHost vendor;
  AddFabricPort(vendor, "mlx5_0", "4: ACTIVE", kNdrRate);
  vendor.AddLog("opensm.log",
                "Jun 13 08:15:25 481231 [7F3A6A7C0740] 0x03 -> OpenSM 5.17.0.MLNX20230515\n",
                vendor.name());
  EXPECT_EQ(SubnetManagerOf(vendor, "vendor"), "vendor 5.17.0.MLNX20230515");
  EXPECT_EQ(SubnetManagerOf(vendor, "log_errors"), "none");

  FakeHost other;
  AddFabricPort(other, "mlx5_0", "4: ACTIVE", kNdrRate);
  other.AddLog("opensm.log", kOpenSm, "head01");
  other.AddCommand("rpm -qa", "opensm-3.3.24-2.el9.x86_64\n");
  EXPECT_EQ(SubnetManagerOf(other, "vendor"), "?");
  EXPECT_EQ(SubnetManagerOf(other, "log_errors"), "?");
  EXPECT_EQ(OpenSmPackage("opensm\t5.19.0.MLNX20240611.8c4cb2d-0.1\n"),
            "5.19.0.MLNX20240611.8c4cb2d");
  EXPECT_EQ(OpenSmPackage("opensm-libs-3.3.24-2.el9\nopensm-3.3.24-2.el9.x86_64\n"), "3.3.24");
}

// Whether a manager exists, for a port with this state and manager address, and this output of
// sminfo.
std::string Manager(const char* state, const char* sm_lid, const char* out, const char* err,
                    int exit_code) {
  FakeHost host;
  AddFabricPort(host, "mlx5_0", state, kNdrRate);
  host.AddFile("/sys/class/infiniband/mlx5_0/ports/1/sm_lid", sm_lid);
  if (exit_code >= 0) host.AddCommand("sminfo", out, exit_code, err);
  return SubnetManagerOf(host, "reachable");
}

constexpr char kAnswer[] =
    "sminfo: sm lid 27 sm guid 0xa088c20300ab0001, activity count 5211 priority 15 state 3 "
    "SMINFO_MASTER\n";
constexpr char kNoAnswer[] =
    "ibwarn: [11192] _do_madrpc: recv failed: Connection timed out\n"
    "ibwarn: [11192] mad_rpc: _do_madrpc failed; dport (Lid 27)\n";
constexpr char kNotOpened[] =
    "ibwarn: [55188] mad_rpc_open_port: can't open UMAD port ((null):0)\n"
    "sminfo: iberror: failed: Failed to open '(null)' port '0'\n";

TEST(SubnetManager, IsAskedThoughThePortsRememberIt) {
  EXPECT_EQ(Manager("4: ACTIVE", "0x1b\n", kAnswer, "", 0), "true");
  EXPECT_EQ(Manager("4: ACTIVE", "0x1b\n", "sminfo: iberror: failed: query\n", kNoAnswer, 255),
            "false");
  EXPECT_EQ(Manager("2: INIT", "0x1b\n", "sminfo: iberror: failed: query\n", kNoAnswer, 255),
            "false");
  // Not captured: a port keeps the address of a manager that is gone.
  EXPECT_EQ(Manager("4: ACTIVE", "0x1b\n", "", "", -1), "?");
}

TEST(SubnetManager, ThatCouldNotBeAskedIsNotGone) {
  EXPECT_EQ(Manager("4: ACTIVE", "0x1b\n", "", kNotOpened, 255), "?");
  EXPECT_EQ(Manager("4: ACTIVE", "0x1b\n", "sminfo: iberror: failed: query\n",
                    "ibwarn: [7] _do_madrpc: send failed; Invalid argument\n"
                    "ibwarn: [7] mad_rpc: _do_madrpc failed; dport (Lid 27)\n",
                    255),
            "?");
  EXPECT_EQ(Manager("1: DOWN", "0x0\n", "", kNotOpened, 255), "?");
  EXPECT_EQ(Manager("1: DOWN", "0x1b\n", "", "", -1), "?");
}

TEST(SubnetManager, ALinkThatNobodyConfiguresMissesIt) {
  EXPECT_EQ(Manager("2: INIT", "0x0\n", "", "", -1), "false");
  EXPECT_EQ(Manager("2: INIT", "0x0\n", "", kNotOpened, 255), "false");
  // The manager's answer takes precedence over a port that it has not reached yet.
  EXPECT_EQ(Manager("2: INIT", "0x0\n", kAnswer, "", 0), "true");
}

TEST(SubnetManager, OneThatAnotherPortRemembersMayBeThere) {
  FakeHost host;
  AddFabricPort(host, "mlx5_0", "2: INIT", kNdrRate);
  host.AddFile("/sys/class/infiniband/mlx5_0/ports/1/sm_lid", "0x0\n");
  AddFabricPort(host, "mlx5_1", "4: ACTIVE", kNdrRate);
  EXPECT_EQ(SubnetManagerOf(host, "reachable"), "?");
}

}  // namespace
}  // namespace galen::node
