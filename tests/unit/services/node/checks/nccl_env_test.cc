#include "services/node/checks/job/nccl_env.h"

#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/node/checks/rdma/hca_list.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/fixtures.h"

namespace galen::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Eight InfiniBand adapters, mlx5_0 and mlx5_2 to mlx5_8, and mlx5_1 on Ethernet.
NetworkDevices Machine() {
  NetworkDevices devices;
  devices.ports.emplace();
  for (int i = 0; i < 9; ++i) {
    RdmaPort port;
    port.hca = "mlx5_" + std::to_string(i);
    port.state = "ACTIVE";
    port.link_layer = i == 1 ? "Ethernet" : "InfiniBand";
    port.type = i == 1 ? "MT4125" : "MT4129";
    port.rate_gbps = i == 1 ? 100 : 400;
    devices.ports->push_back(port);
  }
  devices.interfaces = {{"lo", true, false, true},
                        {"eth0", false, false, true},
                        {"eth1", false, false, false},
                        {"docker0", false, true, true}};
  return devices;
}

using Environment = std::map<std::string, std::string>;

struct Case {
  std::string value;
  std::vector<std::string> absent;
  std::vector<std::string> non_fabric;
  bool malformed = false;
};

class HcaLists : public ::testing::TestWithParam<Case> {};

TEST_P(HcaLists, AreHeldAgainstTheMachine) {
  const NcclEnvFaults faults =
      JudgeNcclEnv(Environment{{"NCCL_IB_HCA", GetParam().value}}, Machine());
  ASSERT_TRUE(faults.absent.has_value() && faults.non_fabric.has_value());
  EXPECT_EQ(*faults.absent, GetParam().absent) << GetParam().value;
  EXPECT_EQ(*faults.non_fabric, GetParam().non_fabric) << GetParam().value;
  EXPECT_EQ(!faults.malformed.empty(), GetParam().malformed) << GetParam().value;
}

INSTANTIATE_TEST_SUITE_P(
    All, HcaLists,
    ::testing::Values(
        Case{"=mlx5_0,mlx5_2", {}, {}}, Case{"mlx5", {}, {}}, Case{"mlx5_0,mlx5_1", {}, {"mlx5_1"}},
        Case{"=mlx5_0:1,mlx5_1:1", {}, {"mlx5_1"}}, Case{"=mlx5_0,mlx5_12", {"mlx5_12"}, {}},
        Case{"mlx5_0:2", {"mlx5_0:2"}, {}}, Case{"^mlx5_1", {}, {}}, Case{"^=mlx5_1", {}, {}},
        Case{"^mlx5_77", {}, {}}, Case{"^=mlx5_1,^=mlx5_2", {}, {}, true},
        Case{"=mlx5_0,=mlx5_2", {}, {}, true}, Case{"mlx5_0,,mlx5_2", {}, {}},
        Case{"mlx5_0,mlx5_2,", {}, {}}, Case{"mlx5_0, mlx5_2", {}, {}, true},
        Case{" mlx5_0", {}, {}, true}, Case{"mlx5_0:1 ,mlx5_2:1", {}, {}}, Case{":1", {}, {}},
        Case{"mlx5_0:x", {}, {}, true}, Case{"=mlx5", {"mlx5"}, {}}, Case{"ib0", {"ib0"}, {}}));

TEST(NcclEnv, SaysWhichPortIsOfWhichKind) {
  const NcclEnvFaults faults =
      JudgeNcclEnv(Environment{{"NCCL_IB_HCA", "mlx5_0,mlx5_1"}}, Machine());
  EXPECT_EQ(faults.message,
            "NCCL_IB_HCA names mlx5_1, an Ethernet port; the compute fabric's 8 ports are "
            "InfiniBand");
}

TEST(NcclEnv, OnAFabricOfEthernetTheEthernetPortsAreRight) {
  NetworkDevices devices = Machine();
  for (RdmaPort& port : *devices.ports) port.link_layer = "Ethernet";
  const NcclEnvFaults faults =
      JudgeNcclEnv(Environment{{"NCCL_IB_HCA", "=mlx5_0,mlx5_2"}}, devices);
  EXPECT_THAT(*faults.non_fabric, IsEmpty());
}

TEST(NcclEnv, AMachineThatIsNotKnownProvesNothing) {
  const NcclEnvFaults faults =
      JudgeNcclEnv(Environment{{"NCCL_IB_HCA", "mlx5_9"}, {"NCCL_SOCKET_IFNAME", "eth0"}}, {});
  EXPECT_FALSE(faults.absent.has_value());
  EXPECT_FALSE(faults.unroutable.has_value());
}

TEST(NcclEnv, InterfacesThatReachNoPeerAreUnroutable) {
  const auto unroutable = [](const std::string& value) {
    return JudgeNcclEnv(Environment{{"NCCL_SOCKET_IFNAME", value}}, Machine()).unroutable;
  };
  EXPECT_EQ(unroutable("lo"), true);
  EXPECT_EQ(unroutable("docker0"), true);
  EXPECT_EQ(unroutable("eth1"), true);
  EXPECT_EQ(unroutable("bond0"), true);
  EXPECT_EQ(unroutable("eth"), false);
  EXPECT_EQ(unroutable("=eth0"), false);
  EXPECT_EQ(unroutable("^docker,lo"), false);
  EXPECT_EQ(unroutable(""), false);
}

TEST(NcclEnv, AnInterfaceThatOnlyTheJobMayHaveProvesNothing) {
  NetworkDevices devices = Machine();
  devices.job_may_have_own = true;
  const auto unroutable = [&](const std::string& value) {
    return JudgeNcclEnv(Environment{{"NCCL_SOCKET_IFNAME", value}}, devices).unroutable;
  };
  EXPECT_EQ(unroutable("net1"), std::nullopt);
  EXPECT_EQ(unroutable("lo"), true);
}

TEST(NcclEnv, ABlankBelongsToTheNameBehindIt) {
  EXPECT_EQ(
      JudgeNcclEnv(Environment{{"NCCL_IB_HCA", "mlx5_0, mlx5_2"}}, Machine()).message,
      "NCCL_IB_HCA=mlx5_0, mlx5_2 holds \" mlx5_2\": a mark ^ or = counts at the beginning of "
      "the whole list only, and a blank is taken as part of a name");
}

TEST(NcclEnv, AnInterfaceOfUcxThatOnlyTheJobMayHaveProvesNothing) {
  NetworkDevices devices = Machine();
  const auto absent = [&](const std::string& value) {
    return JudgeNcclEnv(Environment{{"UCX_NET_DEVICES", value}}, devices).absent;
  };
  EXPECT_THAT(*absent("net1"), ElementsAre("net1"));
  devices.job_may_have_own = true;
  EXPECT_EQ(absent("net1"), std::nullopt);
  EXPECT_EQ(absent("mlx5_0:1,net1"), std::nullopt);
  EXPECT_THAT(*absent("mlx5_0:1,eth0"), IsEmpty());
  // Only an RDMA device has a port.
  EXPECT_THAT(*absent("mlx5_9:1,net1"), ElementsAre("mlx5_9"));
}

TEST(NcclEnv, ATransportTurnedOffIsNamedWhereTheMachineHasIt) {
  EXPECT_THAT(JudgeNcclEnv({{"NCCL_IB_DISABLE", "1"}}, Machine()).disabling,
              ElementsAre("NCCL_IB_DISABLE=1"));
  NetworkDevices without;
  without.ports.emplace();
  EXPECT_THAT(JudgeNcclEnv({{"NCCL_IB_DISABLE", "1"}}, without).disabling, IsEmpty());
  EXPECT_THAT(JudgeNcclEnv({{"NCCL_IB_DISABLE", "0"}}, Machine()).disabling, IsEmpty());
}

TEST(NcclEnv, TheEnvironmentWinsOverTheFile) {
  testing::FakeHost host;
  host.AddFile("/etc/nccl.conf", "# site\nNCCL_IB_HCA=mlx5_9\nNCCL_DEBUG=INFO\n");
  host.SetJobEnvironment({{"NCCL_IB_HCA", "mlx5_0"}});
  const auto merged = NcclEnvironment(host);
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->at("NCCL_IB_HCA"), "mlx5_0");
  EXPECT_EQ(merged->at("NCCL_DEBUG"), "INFO");
}

TEST(NcclEnv, WithoutAnyKnownEnvironmentItIsSkipped) {
  testing::FakeHost host;
  EXPECT_EQ(CheckNcclEnv({host, NoKnowledge()}).status().code(), absl::StatusCode::kUnavailable);
}

TEST(NcclEnv, SettingsThatAllNodesMustShareAreComparedAndOthersAreNot) {
  testing::FakeHost host;
  host.SetJobEnvironment(
      {{"NCCL_PROTO", "Simple"}, {"NCCL_ALGO", "Ring"}, {"NCCL_SOCKET_IFNAME", "eth0"}});
  auto output = CheckNcclEnv({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "agreed_settings"), "NCCL_ALGO=Ring NCCL_PROTO=Simple");
  host.SetJobEnvironment({{"NCCL_SOCKET_IFNAME", "eth0"}});
  output = CheckNcclEnv({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "agreed_settings"), "none");
}

TEST(NcclEnv, AFileAloneIsNotAllThatTheJobIsGiven) {
  testing::FakeHost host;
  host.AddFile("/etc/nccl.conf", "NCCL_ALGO=Ring\n");
  const auto output = CheckNcclEnv({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "agreed_settings"), "?");
}

TEST(HcaList, HostileValuesAreOnlyMalformed) {
  EXPECT_THAT(ParseDeviceList("").entries, IsEmpty());
  EXPECT_THAT(ParseDeviceList("^=").entries, IsEmpty());
  EXPECT_EQ(ParseDeviceList(std::string(4096, ',')).entries.size(), 0U);
  EXPECT_FALSE(ParseIpAddr("{[").has_value());
  EXPECT_THAT(*ParseIpAddr("[1,null,{\"ifname\":3}]"), IsEmpty());
}

}  // namespace
}  // namespace galen::node
