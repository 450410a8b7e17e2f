#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "check_fixture.h"
#include "gpu_xml.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;
using ::testing::HasSubstr;

constexpr char kWideLink[] =
    "<pci><pci_gpu_link_info><pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>5"
    "</current_link_gen></pcie_gen><link_widths><max_link_width>16x</max_link_width>"
    "<current_link_width>16x</current_link_width></link_widths></pci_gpu_link_info></pci>";

std::string Port(absl::string_view address, absl::string_view secondary,
                 absl::string_view subordinate, absl::string_view capable, absl::string_view now) {
  return absl::StrCat(address,
                      " PCI bridge [0604]: X [1000:c030]\n\tBus: primary=00, secondary=", secondary,
                      ", subordinate=", subordinate, ", sec-latency=0\n\t\tLnkCap:\tPort #0, ",
                      "Speed 32GT/s, Width ", capable,
                      ", ASPM not supported\n\t\tLnkSta:\tSpeed 32GT/s, ", "Width ", now, "\n");
}

std::string GpuBlock(absl::string_view address, absl::string_view now) {
  return absl::StrCat(address,
                      " 3D controller [0302]: NVIDIA [10de:2330]\n\t\tLnkCap:\tPort #0, Speed "
                      "32GT/s, Width x16\n\t\tLnkSta:\tSpeed 32GT/s, Width ",
                      now, "\n\tKernel driver in use: nvidia\n");
}

FakeHost HostWith(absl::string_view lspci) {
  FakeHost host;
  host.AddCommand("nvidia-smi -q -x", SmiXml({GpuXml("1B", kWideLink)}));
  host.AddCommand("lspci -vvv -nn", lspci);
  return host;
}

TEST(PcieLink, ANarrowLinkAboveTheSwitchIsFoundAlthoughTheGpusOwnIsWide) {
  // Root port 00:01.0, upstream port 19:00.0 and downstream port 1a:00.0 of a switch, GPU 1b:00.0.
  const FakeHost host =
      HostWith(Port("00:01.0", "19", "1b", "x16", "x8") + Port("19:00.0", "1a", "1b", "x16", "x8") +
               Port("1a:00.0", "1b", "1b", "x16", "x16") + GpuBlock("1b:00.0", "x16"));
  const auto output = RunGpuCheck("gpu.pcie_link", host);
  EXPECT_EQ(ValueOf(output, "upstream_downgraded", "gpu:0"), "true");
  EXPECT_EQ(ValueOf(output, "downgraded", "gpu:0"), "true");
  EXPECT_THAT(MessageOf(output),
              HasSubstr("the link from 0000:00:01.0 to 0000:19:00.0 is x8 of x16"));
}

// A GPU of 8 lanes in a switch whose other links have 16: each link is as wide as it can be.
std::string NarrowGpuBehindASwitch(absl::string_view upstream, absl::string_view downstream) {
  return Port("00:01.0", "19", "1b", "x16", "x16") +
         absl::StrCat(Port("19:00.0", "1a", "1b", "x16", "x16"), upstream) +
         absl::StrCat(Port("1a:00.0", "1b", "1b", "x16", "x8"), downstream) +
         "1b:00.0 3D controller [0302]: NVIDIA [10de:2330]\n\t\tLnkCap:\tPort #0, Speed 32GT/s, "
         "Width x8\n\t\tLnkSta:\tSpeed 32GT/s, Width x8\n";
}

TEST(PcieLink, BetweenTheTwoSidesOfASwitchThereIsNoLink) {
  for (const FakeHost& host :
       {HostWith(NarrowGpuBehindASwitch(
            "\tCapabilities: [68] Express (v2) Upstream Port, MSI 00\n",
            "\tCapabilities: [68] Express (v2) Downstream Port (Slot+), MSI 00\n")),
        HostWith(NarrowGpuBehindASwitch("", ""))}) {
    const auto output = RunGpuCheck("gpu.pcie_link", host);
    EXPECT_EQ(ValueOf(output, "upstream_downgraded", "gpu:0"), "false");
    EXPECT_EQ(ValueOf(output, "downgraded", "gpu:0"), "false");
  }
}

TEST(PcieLink, AChainOfFullWidthIsFine) {
  const FakeHost host =
      HostWith(Port("00:01.0", "1b", "1b", "x16", "x16") + GpuBlock("1b:00.0", "x16"));
  const auto output = RunGpuCheck("gpu.pcie_link", host);
  EXPECT_EQ(ValueOf(output, "upstream_downgraded", "gpu:0"), "false");
  EXPECT_EQ(ValueOf(output, "downgraded", "gpu:0"), "false");
}

TEST(PcieLink, APortThatCanDoNoMoreIsNoFault) {
  const FakeHost host =
      HostWith(Port("00:01.0", "19", "1b", "x8", "x8") + Port("19:00.0", "1a", "1b", "x16", "x8") +
               Port("1a:00.0", "1b", "1b", "x16", "x16") + GpuBlock("1b:00.0", "x16"));
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.pcie_link", host), "upstream_downgraded", "gpu:0"), "false");
}

TEST(PcieLink, WithoutRootSysfsTellsTheWidthOfThePorts) {
  FakeHost host = HostWith(
      "00:01.0 PCI bridge [0604]: X [1000:c030]\n\tBus: primary=00, secondary=19, subordinate=1b\n"
      "\tCapabilities: <access denied>\n"
      "19:00.0 PCI bridge [0604]: X [1000:c030]\n\tBus: primary=19, secondary=1b, subordinate=1b\n"
      "1b:00.0 3D controller [0302]: NVIDIA [10de:2330]\n");
  for (const char* port : {"0000:00:01.0", "0000:19:00.0"}) {
    host.AddFile(absl::StrCat("/sys/bus/pci/devices/", port, "/current_link_width"), "4\n");
    host.AddFile(absl::StrCat("/sys/bus/pci/devices/", port, "/max_link_width"), "16\n");
  }
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.pcie_link", host), "upstream_downgraded", "gpu:0"), "true");
}

TEST(PcieLink, WithoutAChainNothingIsSaidOfIt) {
  FakeHost host;
  host.AddCommand("nvidia-smi -q -x", SmiXml({GpuXml("1B", kWideLink)}));
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.pcie_link", host), "upstream_downgraded", "gpu:0"), "unknown");
  // A bus that is behind itself ends the search.
  const FakeHost loop = HostWith(
      "1b:00.0 PCI bridge [0604]: X [1000:c030]\n\tBus: primary=00, "
      "secondary=1b, subordinate=1b\n");
  EXPECT_TRUE(RunGpuCheck("gpu.pcie_link", loop).ok());
}

}  // namespace
}  // namespace galen::node
