#include "services/node/checks/gpu/pci_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::node {
namespace {

using ::testing::SizeIs;

TEST(Lspci, ReadsGpusSwitchesAndBridges) {
  const auto devices = ParseLspci(
      "20:01.1 PCI bridge [0604]: Vendor X Device [1022:1483] (prog-if 00 [Normal decode])\n"
      "\tBus: primary=20, secondary=21, subordinate=21, sec-latency=0\n"
      "21:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 SXM4] [10de:20b2] (rev a1)\n"
      "\tRegion 1: Memory at 200000000000 (64-bit, prefetchable) [size=128G]\n"
      "\tKernel driver in use: nvidia\n"
      "\n0000:31:00.0 Bridge [0680]: NVIDIA Corporation GA100 [A100 NVSwitch] [10de:1af1] (rev "
      "a1)\n");
  ASSERT_THAT(devices, SizeIs(3));
  EXPECT_EQ(devices[0].secondary_bus, "21");
  EXPECT_FALSE(IsNvidiaGpu(devices[0]));
  EXPECT_TRUE(IsNvidiaGpu(devices[1]));
  EXPECT_EQ(devices[1].address, "0000:21:00.0");
  EXPECT_EQ(devices[1].driver, "nvidia");
  EXPECT_FALSE(devices[1].region_unassigned);
  EXPECT_TRUE(IsNvSwitch(devices[2]));
}

TEST(Lspci, SeesDeadDevicesAndMissingRegions) {
  const auto devices = ParseLspci(
      "21:00.0 3D controller [0302]: NVIDIA Corporation GA100 [10de:20b2] (rev ff) (prog-if ff)\n"
      "\t!!! Unknown header type 7f\n"
      "22:00.0 3D controller [0302]: NVIDIA Corporation GA100 [10de:20b2] (rev a1)\n"
      "\tRegion 1: Memory at <unassigned> (64-bit, prefetchable)\n"
      "\tKernel driver in use: vfio-pci\n");
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_TRUE(devices[0].dead);
  EXPECT_FALSE(devices[1].dead);
  EXPECT_TRUE(devices[1].region_unassigned);
  EXPECT_TRUE(BelongsToGuest(devices[1]));
}

TEST(Lspci, FindsNothingInOtherText) {
  EXPECT_THAT(ParseLspci("lspci: command failed\nabc def\n"), SizeIs(0));
}

}  // namespace
}  // namespace galen::node
