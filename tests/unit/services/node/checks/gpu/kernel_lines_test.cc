#include "services/node/checks/gpu/kernel_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(KernelLines, CountsAerReportsByDeviceAndSeverity) {
  const KernelPciEvents events = ParseKernelPciEvents(
      "2025-03-01T10:00:00,000000+00:00 pcieport 0000:20:01.1: AER: Corrected error received\n"
      "2025-03-01T10:00:00,000000+00:00 pcieport 0000:20:01.1: PCIe Bus Error: severity=Corrected, "
      "type=Physical Layer, (Receiver ID)\n"
      "2025-03-01T10:00:01,000000+00:00 pcieport 0000:20:01.1: PCIe Bus Error: severity=Corrected, "
      "type=Data Link Layer\n"
      "2025-03-01T10:00:02,000000+00:00 nvidia 0000:21:00.0: PCIe Bus Error: "
      "severity=Uncorrected (Fatal), type=Transaction Layer\n"
      // As newer kernels put both.
      "2026-03-01T10:00:01,000000+00:00 pcieport 0000:20:01.1: PCIe Bus Error: "
      "severity=Correctable, type=Physical Layer, (Receiver ID)\n"
      "2026-03-01T10:00:02,000000+00:00 nvidia 0000:22:00.0: PCIe Bus Error: "
      "severity=Uncorrectable (Non-Fatal), type=Transaction Layer\n");
  EXPECT_THAT(events.aer_corrected, ElementsAre(Pair("0000:20:01.1", 3)));
  EXPECT_THAT(events.aer_uncorrected,
              ElementsAre(Pair("0000:21:00.0", 1), Pair("0000:22:00.0", 1)));
}

TEST(KernelLines, ARegionThatWasPlacedInTheEndIsNoFault) {
  const KernelPciEvents events = ParseKernelPciEvents(
      "pci 0000:41:00.0: BAR 1: no space for [mem size 0x400000000 64bit pref]\n"
      "pci 0000:41:00.0: BAR 1: failed to assign [mem size 0x400000000 64bit pref]\n"
      "pci 0000:41:00.0: BAR 1: assigned [mem 0x4000000000-0x43ffffffff 64bit pref]\n"
      "pci 0000:42:00.0: BAR 1 [mem size 0x400000000 64bit pref]: can't assign; no space\n");
  EXPECT_THAT(events.no_space, ElementsAre("0000:42:00.0"));
}

TEST(KernelLines, OnlyMemoryOfTheDeviceItselfIsMissed) {
  const KernelPciEvents events = ParseKernelPciEvents(
      "pci 0000:41:00.0: BAR 6: no space for [mem size 0x00080000 pref]\n"
      "pci 0000:41:00.0: BAR 6: failed to assign [mem size 0x00080000 pref]\n"
      "pci 0000:42:00.0: BAR 5: no space for [io  size 0x0080]\n"
      "pci 0000:42:00.0: BAR 5 [io  size 0x0080]: can't assign; no space\n"
      "pci 0000:43:00.0: BAR 7: no space for [mem size 0x01000000 64bit pref]\n"
      "pci 0000:43:00.0: VF BAR 0 [mem size 0x01000000 64bit]: can't assign; no space\n"
      "pci 0000:44:00.0: BAR 5: failed to assign [mem size 0x01000000]\n");
  EXPECT_THAT(events.no_space, ElementsAre("0000:44:00.0"));
}

TEST(KernelLines, KeepsTheLastRecoveryActionOfAGpu) {
  const KernelPciEvents events = ParseKernelPciEvents(
      "NVRM: Xid (PCI:0000:9c:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU "
      "Reset Required)\n"
      "NVRM: Xid (PCI:0000:9c:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) "
      "to 0x2 (Node Reboot Required)\n");
  EXPECT_THAT(events.recovery_action, ElementsAre(Pair("0000:9c:00.0", "Node Reboot Required")));
}

TEST(KernelLines, SaysNothingOfAnEmptyLog) {
  const KernelPciEvents events = ParseKernelPciEvents("");
  EXPECT_THAT(events.aer_corrected, IsEmpty());
  EXPECT_THAT(events.lines, IsEmpty());
}

}  // namespace
}  // namespace galen::node
