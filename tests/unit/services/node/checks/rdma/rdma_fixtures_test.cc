// Outputs of real tools, read in place from ../shared/fixtures.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/node/checks/rdma/link.h"
#include "services/node/checks/rdma/perftest.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/rdma/transceiver.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/real_knowledge.h"

namespace galen::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RdmaFixtures, EveryMlxlinkOfASoundPortHasNoFault) {
  GALEN_NEED_FIXTURES();
  for (const char* name : {"dr4", "eye", "fec-serdes"}) {
    const auto module =
        ParseMlxlink(Fixture("mlxlink/mft-4.34.1-400g-" + std::string(name) + ".json"));
    ASSERT_TRUE(module.ok()) << name << module.status();
    EXPECT_EQ(module->state, "Active") << name;
    EXPECT_EQ(module->effective_ber, 0.0) << name;
    EXPECT_EQ(module->raw_ber, 5e-10) << name;
    EXPECT_EQ(module->rx_power_low, false) << name;
    EXPECT_EQ(module->module_max_c, 80.0) << name;
    EXPECT_LT(module->module_c, module->module_max_c) << name;
    EXPECT_EQ(module->part, "OSFP-400G-DR4") << name;
    EXPECT_TRUE(module->faults_known) << name;
    EXPECT_THAT(module->faults, IsEmpty()) << name;
  }
}

TEST(RdmaFixtures, MlxlinkOfAFaultyModuleNamesItsFaults) {
  GALEN_NEED_FIXTURES();
  const auto module = ParseMlxlink(Fixture("mlxlink/faults-active.json"));
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(module->state, "Down");
  EXPECT_THAT(module->faults, ElementsAre("Tx Fault", "Tx LOS", "Rx LOS", "Tx CDR LOL",
                                          "Rx CDR LOL", "Module FW Fault", "DataPath FW Fault"));
}

TEST(RdmaFixtures, WhatMlxlinkDoesNotTellStaysUnknown) {
  GALEN_NEED_FIXTURES();
  const auto na = ParseMlxlink(Fixture("mlxlink/na-fields.json"));
  ASSERT_TRUE(na.ok()) << na.status();
  EXPECT_FALSE(na->effective_ber.has_value());
  EXPECT_FALSE(na->rx_power_low.has_value());
  const auto missing = ParseMlxlink(Fixture("mlxlink/missing-module-section.json"));
  ASSERT_TRUE(missing.ok()) << missing.status();
  EXPECT_FALSE(missing->faults_known);
  EXPECT_EQ(missing->part, "");
  const auto pcie = ParseMlxlink(Fixture("mlxlink/mft-4.34.1-pcie-eye.json"));
  ASSERT_TRUE(pcie.ok()) << pcie.status();
  EXPECT_FALSE(pcie->module_c.has_value());
}

TEST(RdmaFixtures, PerftestGivesItsBandwidth) {
  GALEN_NEED_FIXTURES();
  const auto loopback = ParsePerftest(Fixture("perftest/ib_write_bw-loopback-8M.log"));
  ASSERT_TRUE(loopback.ok()) << loopback.status();
  EXPECT_EQ(loopback->device, "ib0");
  EXPECT_EQ(loopback->mtu, 4096);
  EXPECT_NEAR(loopback->best().average_gbps, 24056.72 * 1048576 * 8 / 1e9, 0.01);
  const auto all = ParsePerftest(Fixture("perftest/ib_write_bw-loopback-all-sizes.log"));
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_NEAR(all->best().average_gbps, 23277.91 * 1048576 * 8 / 1e9, 1.0);
  EXPECT_EQ(all->best().bytes, 4 << 20);
  const auto gpu = ParsePerftest(Fixture("perftest/ib_write_bw-gpudirect-dmabuf-h200.txt"));
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  EXPECT_TRUE(gpu->gpu_memory);
  EXPECT_TRUE(gpu->ethernet);
  EXPECT_EQ(gpu->device, "mlx5_3");
  EXPECT_NEAR(gpu->best().average_gbps, 140.95, 0.001);
  // The smaller messages came to more.
  EXPECT_EQ(gpu->best().bytes, 128 << 10);
  EXPECT_NEAR(gpu->best(1 << 20).average_gbps, 140.40, 0.001);
}

TEST(RdmaFixtures, RdmaNetlinkGivesThePorts) {
  GALEN_NEED_FIXTURES();
  const auto ports = ParseRdmaLink(Fixture("rdma-tool/ionic-8nic-rdma-link.json"));
  ASSERT_TRUE(ports.ok()) << ports.status();
  ASSERT_FALSE(ports->empty());
  for (const RdmaPort& port : *ports) {
    EXPECT_EQ(port.state, "ACTIVE") << port.hca;
    EXPECT_EQ(port.phys_state, "LinkUp") << port.hca;
  }
}

// The verdict on the ports of each ibstat is the manifest's.
TEST(RdmaFixtures, IbstatPortsThatAreDownAreFound) {
  GALEN_NEED_FIXTURES();
  const auto down = [](const char* file) {
    int count = 0;
    const auto ports = ParseIbstat(Fixture("ibstat/" + std::string(file)));
    EXPECT_FALSE(ports.empty()) << file;
    for (const RdmaPort& port : ports) count += port.state == "DOWN";
    return count;
  };
  EXPECT_EQ(down("a100-all-active-v47.txt"), 0);
  EXPECT_EQ(down("h100-all-active-2.txt"), 0);
  EXPECT_EQ(down("h100-roce-all-active-0.txt"), 0);
  // The manifest names mlx5_2 and mlx5_7; mlx5_8 is down in that output as well.
  EXPECT_EQ(down("h100-ndr-2-frontend-ports-down-disabled.txt"), 3);
  EXPECT_EQ(down("h100-roce-2-compute-ports-down-disabled.txt"), 2);
  EXPECT_EQ(down("h100-roce-port-down-polling.txt"), 2);
}

TEST(RdmaFixtures, HostileTextIsRefused) {
  const std::string deep(100000, '[');
  const std::string junk("\0\xff\xfe{\"result\":{\"output\":[]}}", 27);
  for (const std::string& text : {std::string(), deep, junk, std::string(1 << 20, ':')}) {
    EXPECT_FALSE(ParseMlxlink(text).ok());
    EXPECT_FALSE(ParseEthtoolModule(text).ok());
    EXPECT_FALSE(ParsePerftest(text).ok());
    EXPECT_FALSE(ParseRdmaLink(text).ok());
  }
}

}  // namespace
}  // namespace galen::node
