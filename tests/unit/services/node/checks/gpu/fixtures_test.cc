#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "check_fixture.h"
#include "services/node/checks/gpu/amd_state.h"
#include "services/node/checks/gpu/gpu_state.h"
#include "services/node/checks/gpu/kernel_lines.h"
#include "services/node/checks/gpu/link_reports.h"
#include "services/node/checks/gpu/pci_devices.h"
#include "services/node/checks/gpu/topology_matrix.h"

// Outputs of real machines, read in place.
namespace galen::node {
namespace {

struct Fixture {
  std::string name;
  std::string content;
};

std::vector<Fixture> Fixtures(const std::string& tool) {
  const std::filesystem::path folder =
      std::filesystem::path(GALEN_SOURCE_DIR) / "../shared/fixtures" / tool;
  std::vector<Fixture> fixtures;
  if (!std::filesystem::exists(folder)) return fixtures;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::ostringstream content;
    content << file.rdbuf();
    fixtures.push_back({entry.path().filename().string(), content.str()});
  }
  std::sort(fixtures.begin(), fixtures.end(),
            [](const Fixture& a, const Fixture& b) { return a.name < b.name; });
  return fixtures;
}

#define GALEN_FIXTURES(name, tool)                  \
  const std::vector<Fixture> name = Fixtures(tool); \
  if (name.empty()) GTEST_SKIP() << "../shared/fixtures/" tool " is not here"

TEST(RealOutputs, EveryXmlOfNvidiaSmiIsRead) {
  GALEN_FIXTURES(fixtures, "nvidia-smi-xml");
  for (const Fixture& fixture : fixtures) {
    SCOPED_TRACE(fixture.name);
    const auto state = ParseGpuState(fixture.content);
    ASSERT_TRUE(state.ok()) << state.status();
    ASSERT_FALSE(state->gpus.empty());
    for (const Gpu& gpu : state->gpus) {
      EXPECT_FALSE(gpu.product.empty());
      EXPECT_FALSE(gpu.pci_address.empty());
      EXPECT_TRUE(gpu.thermal.core.has_value());
      EXPECT_TRUE(gpu.memory_total_mib.has_value());
    }
  }
}

TEST(RealOutputs, NoPrefixOfAnXmlIsTakenForTheWhole) {
  GALEN_FIXTURES(fixtures, "nvidia-smi-xml");
  for (const Fixture& fixture : fixtures) {
    SCOPED_TRACE(fixture.name);
    for (std::size_t part = 1; part < 8; ++part) {
      EXPECT_FALSE(
          ParseGpuState(fixture.content.substr(0, fixture.content.size() * part / 8)).ok());
    }
  }
}

TEST(RealOutputs, EveryJsonOfRocmSmiIsRead) {
  GALEN_FIXTURES(fixtures, "rocm-smi-json");
  for (const Fixture& fixture : fixtures) {
    SCOPED_TRACE(fixture.name);
    const auto state = ParseRocmSmi(fixture.content);
    ASSERT_TRUE(state.ok()) << state.status();
    for (const Gpu& gpu : state->gpus) {
      EXPECT_FALSE(gpu.product.empty());
      EXPECT_FALSE(gpu.pci_address.empty());
      EXPECT_FALSE(gpu.vbios.empty());
      EXPECT_TRUE(gpu.thermal.core.has_value());
      EXPECT_TRUE(gpu.memory_total_mib.has_value());
      EXPECT_TRUE(gpu.power.limit.has_value());
      EXPECT_TRUE(gpu.pcie.replays.has_value());
    }
  }
}

TEST(RealOutputs, EveryCheckThatIsNotOnlyOfNvidiaJudgesTheMachinesOfRocmSmi) {
  GALEN_FIXTURES(fixtures, "rocm-smi-json");
  for (const Fixture& fixture : fixtures) {
    testing::FakeHost host;
    host.AddAbsentCommand("nvidia-smi -q -x");
    host.AddCommand("rocm-smi --showallinfo --json", fixture.content);
    for (const char* check :
         {"gpu.inventory", "gpu.thermal", "gpu.power", "gpu.clocks", "gpu.pcie_link",
          "gpu.pcie_errors", "gpu.firmware", "gpu.processes"}) {
      const auto output = RunGpuCheck(check, host, KnownModels());
      EXPECT_TRUE(output.ok()) << fixture.name << " " << check << ": " << output.status();
    }
  }
}

TEST(RealOutputs, EveryLinkStatusIsRead) {
  GALEN_FIXTURES(fixtures, "nvidia-smi-nvlink");
  for (const Fixture& fixture : fixtures) {
    SCOPED_TRACE(fixture.name);
    const std::vector<GpuLinks> gpus = ParseLinkStatus(fixture.content);
    ASSERT_FALSE(gpus.empty());
    for (const GpuLinks& gpu : gpus) {
      EXPECT_FALSE(gpu.product.empty());
      EXPECT_NE(gpu.not_supported, !gpu.links.empty());
    }
  }
}

TEST(RealOutputs, EveryTopologyIsRead) {
  GALEN_FIXTURES(fixtures, "nvidia-smi-topo");
  for (const Fixture& fixture : fixtures) {
    SCOPED_TRACE(fixture.name);
    const auto matrix = ParseTopologyMatrix(fixture.content);
    ASSERT_TRUE(matrix.ok()) << matrix.status();
    EXPECT_FALSE(matrix->gpus.empty());
  }
}

TEST(RealOutputs, EveryListOfPciDevicesIsRead) {
  GALEN_FIXTURES(fixtures, "lspci");
  std::size_t gpus = 0;
  for (const Fixture& fixture : fixtures) {
    for (const PciDevice& device : ParseLspci(fixture.content)) {
      EXPECT_FALSE(device.address.empty()) << fixture.name;
      EXPECT_FALSE(device.dead) << fixture.name << " " << device.address;
      gpus += IsNvidiaGpu(device) ? 1 : 0;
    }
  }
  EXPECT_GT(gpus, 0u);
}

TEST(RealOutputs, EveryKernelLogIsRead) {
  GALEN_FIXTURES(fixtures, "dmesg");
  std::size_t corrected = 0;
  for (const Fixture& fixture : fixtures) {
    const KernelPciEvents events = ParseKernelPciEvents(fixture.content);
    corrected += events.aer_corrected.size();
    for (const auto& [address, count] : events.aer_corrected) EXPECT_GT(count, 0) << address;
  }
  EXPECT_GE(corrected, 0u);
}

}  // namespace
}  // namespace galen::node
