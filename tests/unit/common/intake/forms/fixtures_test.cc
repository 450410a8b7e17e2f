// Feeds the converters' results for real outputs to the parsers of the checks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "forms_testing.h"
#include "services/node/checks/gpu/amd_state.h"
#include "services/node/checks/gpu/driver_packages.h"
#include "services/node/checks/gpu/gpu_state.h"
#include "services/node/checks/gpu/pci_devices.h"
#include "services/node/checks/job/limits.h"
#include "services/node/checks/job/nccl_env.h"
#include "services/node/checks/job/versions.h"
#include "services/node/checks/net/links.h"
#include "services/node/checks/net/routes.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/system/file_systems.h"
#include "services/node/checks/system/listings.h"

namespace galen::intake::fixtures_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

const std::filesystem::path kShared = std::filesystem::path(GALEN_SOURCE_DIR) / "../shared";

#define GALEN_NEED_SHARED() \
  if (!std::filesystem::exists(kShared / "fixtures")) GTEST_SKIP() << "../shared is not here"

std::string Read(const std::string& path) {
  std::ifstream file(kShared / path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

std::string Report(const std::string& id) { return Read("eval/reports/" + id + "/report.md"); }

// Paths below the shared folder.
std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kShared / folder)) {
    files.push_back(folder + "/" + entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<node::Gpu> GpusOf(absl::string_view form, absl::string_view text,
                              absl::string_view command = "") {
  const auto state = node::ParseGpuState(TextOf(form, text, command));
  return state.ok() ? state->gpus : std::vector<node::Gpu>();
}

// --- NVIDIA GPUs

TEST(RealOutputs, EveryTextOfNvidiaSmiIsReadLikeItsXml) {
  GALEN_NEED_SHARED();
  for (const std::string& path : FilesIn("fixtures/nvidia-smi-q")) {
    if (absl::StrContains(path, "truncated")) continue;  // it ends within a GPU
    SCOPED_TRACE(path);
    const std::string text = Read(path);
    const auto state = node::ParseGpuState(TextOf("nvidia_smi_q", text));
    ASSERT_TRUE(state.ok()) << state.status();
    std::size_t headings = 0;
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      headings += absl::StartsWith(line, "GPU 0000") ? 1 : 0;
    }
    EXPECT_EQ(state->gpus.size(), headings);
    EXPECT_FALSE(state->driver_version.empty());
    for (const node::Gpu& gpu : state->gpus) {
      EXPECT_FALSE(gpu.product.empty());
      EXPECT_FALSE(gpu.uuid.empty());
      EXPECT_FALSE(gpu.vbios.empty());
      EXPECT_FALSE(gpu.pci_address.empty());
      EXPECT_FALSE(gpu.performance_state.empty());
      EXPECT_FALSE(gpu.recovery_action.empty());
      EXPECT_TRUE(gpu.thermal.core.has_value());
      EXPECT_TRUE(gpu.memory_total_mib.has_value());
      EXPECT_TRUE(gpu.power.draw.has_value());
      EXPECT_TRUE(gpu.power.limit.has_value());
      EXPECT_TRUE(gpu.clocks.sm.has_value());
      EXPECT_TRUE(gpu.clocks.sm_max.has_value());
      EXPECT_TRUE(gpu.throttle.sw_power_cap.has_value());
      EXPECT_TRUE(gpu.throttle.hw_slowdown.has_value());
      EXPECT_TRUE(gpu.pcie.width_max.has_value());
      EXPECT_TRUE(gpu.pcie.gen_current.has_value());
      EXPECT_TRUE(gpu.pcie.replays.has_value());
      EXPECT_TRUE(gpu.processes.has_value());
    }
  }
}

TEST(RealOutputs, ConvertedXmlHasOnlyTagsOfRealXml) {
  GALEN_NEED_SHARED();
  std::set<std::string> known;
  const auto add = [&](const std::string& xml, std::set<std::string>* paths) {
    for (const auto& [path, value] : XmlValues(xml)) {
      const bool of_gpu = absl::StartsWith(path, "gpu");
      paths->insert(of_gpu ? path.substr(std::min(path.find('/'), path.size())) : path);
    }
  };
  for (const std::string& path : FilesIn("fixtures/nvidia-smi-xml")) add(Read(path), &known);
  std::set<std::string> converted;
  for (const std::string& path : FilesIn("fixtures/nvidia-smi-q")) {
    add(TextOf("nvidia_smi_q", Read(path)), &converted);
  }
  for (const std::string& path : FilesIn("fixtures/nvidia-smi")) {
    add(TextOf("nvidia_smi_table", Read(path)), &converted);
  }
  // Other releases and GPUs have these; the fixtures of the XML do not cover them.
  const std::set<std::string> elsewhere = {
      "/edpp_multiplier", "/gpu_memory_power_readings/power_draw",
      "/fabric/health/partition_assigned", "/remapped_rows/remapped_row_corr_inactive",
      "/remapped_rows/remapped_row_unc_inactive"};
  std::vector<std::string> strange;
  for (const std::string& path : converted) {
    if (known.contains(path) || elsewhere.contains(path)) continue;
    if (absl::StartsWith(path, "/mig_devices/mig_device")) continue;
    // One fixture was edited to hold labels that no driver prints.
    if (absl::StrContains(path, "_invalid_")) continue;
    strange.push_back(path);
  }
  EXPECT_THAT(strange, IsEmpty());
}

TEST(RealOutputs, ThreeFormsOfOneMachineAgree) {
  GALEN_NEED_SHARED();
  const struct {
    const char* text;
    const char* table;
    const char* csv;
  } kMachines[] = {
      {"h200-590.48.01-under-load.txt", "h200-590.48.01-table-load.txt", "h200-590.48.01-load.csv"},
      {"h200-mig-590.48.01-under-load.txt", "h200-mig-590.48.01-table-load.txt",
       "h200-mig-590.48.01-load.csv"},
      {"h100-mig-590.48.01-under-load.txt", "h100-mig-590.48.01-table-load.txt",
       "h100-mig-590.48.01-load.csv"},
      {"l40s-595.80-under-load.txt", "l40s-595.80-table-load.txt", "l40s-595.80-load.csv"},
  };
  for (const auto& machine : kMachines) {
    SCOPED_TRACE(machine.text);
    const auto text =
        GpusOf("nvidia_smi_q", Read(absl::StrCat("fixtures/nvidia-smi-q/", machine.text)));
    const auto table =
        GpusOf("nvidia_smi_table", Read(absl::StrCat("fixtures/nvidia-smi/", machine.table)));
    const auto csv = GpusOf("nvidia_smi_csv",
                            Read(absl::StrCat("fixtures/nvidia-smi-query-gpu-csv/", machine.csv)));
    ASSERT_EQ(text.size(), 1u);
    ASSERT_EQ(table.size(), 1u);
    ASSERT_EQ(csv.size(), 1u);
    for (const node::Gpu* const gpu : {&table[0], &csv[0]}) {
      EXPECT_EQ(gpu->product, text[0].product);
      EXPECT_EQ(gpu->pci_address, text[0].pci_address);
      EXPECT_EQ(gpu->persistence, text[0].persistence);
      EXPECT_EQ(gpu->performance_state, text[0].performance_state);
      EXPECT_EQ(gpu->compute_mode, text[0].compute_mode);
      EXPECT_EQ(gpu->memory_total_mib, text[0].memory_total_mib);
      EXPECT_EQ(gpu->power.limit, text[0].power.limit);
      EXPECT_EQ(gpu->ecc.mode, text[0].ecc.mode);
      EXPECT_EQ(gpu->mig.current, text[0].mig.current);
    }
    EXPECT_EQ(table[0].mig.instances, text[0].mig.instances);
    ASSERT_TRUE(table[0].processes.has_value());
    EXPECT_EQ(table[0].processes->size(), text[0].processes->size());
    EXPECT_EQ(csv[0].uuid, text[0].uuid);
    EXPECT_EQ(csv[0].vbios, text[0].vbios);
    EXPECT_EQ(csv[0].inforom_image, text[0].inforom_image);
    EXPECT_EQ(csv[0].recovery_action, text[0].recovery_action);
    EXPECT_EQ(csv[0].ecc, text[0].ecc);
    EXPECT_EQ(csv[0].row_remap.pending, text[0].row_remap.pending);
    EXPECT_EQ(csv[0].row_remap.uncorrectable_rows, text[0].row_remap.uncorrectable_rows);
    // The text omits the histogram if MIG is on.
    if (text[0].row_remap.banks_without_spare.has_value()) {
      EXPECT_EQ(csv[0].row_remap, text[0].row_remap);
    }
    EXPECT_EQ(csv[0].clocks.sm_max, text[0].clocks.sm_max);
    EXPECT_EQ(csv[0].pcie.width_max, text[0].pcie.width_max);
    EXPECT_EQ(csv[0].pcie.gen_max, text[0].pcie.gen_max);
    EXPECT_EQ(csv[0].throttle.hw_thermal, text[0].throttle.hw_thermal);
    EXPECT_EQ(csv[0].fabric, text[0].fabric);
    // The table does not print these.
    EXPECT_EQ(table[0].uuid, "");
    EXPECT_EQ(table[0].pcie, node::GpuPcie());
    EXPECT_EQ(table[0].row_remap, node::GpuRowRemap());
    EXPECT_EQ(csv[0].processes, std::nullopt);
  }
}

TEST(RealOutputs, EveryTableOfNvidiaSmiIsRead) {
  GALEN_NEED_SHARED();
  for (const std::string& path : FilesIn("fixtures/nvidia-smi")) {
    SCOPED_TRACE(path);
    const std::vector<node::Gpu> gpus = GpusOf("nvidia_smi_table", Read(path));
    ASSERT_FALSE(gpus.empty());
    for (const node::Gpu& gpu : gpus) {
      EXPECT_FALSE(gpu.product.empty());
      EXPECT_FALSE(gpu.pci_address.empty());
      EXPECT_TRUE(gpu.thermal.core.has_value());
      EXPECT_TRUE(gpu.power.draw.has_value());
      EXPECT_TRUE(gpu.memory_used_mib.has_value());
    }
  }
  EXPECT_EQ(
      GpusOf("nvidia_smi_table", Read("fixtures/nvidia-smi/h100-8gpu-table-550.90.07.txt")).size(),
      8u);
}

TEST(RealOutputs, GpusOfReportsAreRead) {
  GALEN_NEED_SHARED();
  const auto two = GpusOf("nvidia_smi_table", Report("r019"));
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[1].pci_address, "0000:41:00.0");
  EXPECT_EQ(two[1].processes->size(), 1u);

  const auto exchanged = GpusOf("nvidia_smi_q", Read("eval/reports/r037/files/smi-q.txt"));
  ASSERT_EQ(exchanged.size(), 8u);
  EXPECT_EQ(exchanged[4].pci_address, "0000:87:00.0");
  EXPECT_EQ(exchanged[3].pci_address, "");

  const auto retired =
      GpusOf("nvidia_smi_q", Report("r041"), "nvidia-smi -i 2 -q -d ECC,PAGE_RETIREMENT");
  ASSERT_EQ(retired.size(), 4u);
  EXPECT_EQ(retired[2].retired_pages.count, 4);
  EXPECT_EQ(retired[2].retired_pages.pending, false);
  EXPECT_EQ(retired[2].ecc.lifetime.dram_uncorrectable, 1);
  EXPECT_EQ(retired[2].thermal.core, std::nullopt);

  const auto four = GpusOf("nvidia_smi_csv", Report("r030"));
  ASSERT_EQ(four.size(), 4u);
  EXPECT_EQ(four[3].thermal.core, 32);
  EXPECT_EQ(four[3].ecc.since_boot.dram_uncorrectable, 0);

  const auto idle = GpusOf("nvidia_smi_csv", Report("r043"));
  ASSERT_EQ(idle.size(), 4u);
  EXPECT_EQ(idle[0].pcie.gen_current, 1);
  EXPECT_EQ(idle[0].pcie.width_current, 16);

  EXPECT_EQ(GpusOf("nvidia_smi_csv", Report("r044")).size(), 2u);
  EXPECT_THAT(TextOf("nvidia_smi_table", Report("r014")),
              testing::HasSubstr("Unable to determine the device handle for GPU0000:61:00.0"));
  EXPECT_THAT(TextOf("nvidia_smi_table", Report("r034")),
              testing::StartsWith("NVIDIA-SMI has failed because"));
}

// --- AMD GPUs

TEST(RealOutputs, LinesOfRocmSmiAreRead) {
  GALEN_NEED_SHARED();
  const auto state = node::ParseRocmSmi(
      TextOf("rocm_smi", Read("fixtures/rocm-smi/mi300x-vf-showproductname.txt")));
  ASSERT_TRUE(state.ok()) << state.status();
  ASSERT_EQ(state->gpus.size(), 1u);
  EXPECT_EQ(state->gpus[0].product, "AMD Instinct MI300X OAM");
}

// --- the bus

TEST(RealOutputs, DevicesOfTheBusAreThoseOfTheText) {
  GALEN_NEED_SHARED();
  for (const char* name : {"a100-nvswitch-lspci-nn.txt", "azure-a10-lspci-nn.txt",
                           "gb200-lspci-nn.txt", "hgx-h100-8gpu-cx7-lspci-vvv.txt"}) {
    SCOPED_TRACE(name);
    const std::string text = Read(absl::StrCat("fixtures/lspci/", name));
    const auto before = node::ParseLspci(text);
    const auto after = node::ParseLspci(TextOf("lspci", text));
    ASSERT_EQ(after.size(), before.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
      EXPECT_EQ(after[i].address, before[i].address);
      EXPECT_EQ(after[i].driver, before[i].driver);
      EXPECT_EQ(after[i].link_width, before[i].link_width);
      EXPECT_EQ(after[i].link_gen_max, before[i].link_gen_max);
      EXPECT_EQ(after[i].secondary_bus, before[i].secondary_bus);
      EXPECT_EQ(after[i].express_kind, before[i].express_kind);
      if (before[i].vendor.empty()) continue;
      EXPECT_EQ(after[i].vendor, before[i].vendor);
      EXPECT_EQ(after[i].device_id, before[i].device_id);
    }
  }
  // The parser recognises a device by its numbers.
  const auto hgx =
      node::ParseLspci(TextOf("lspci", Read("fixtures/lspci/hgx-h100-8gpu-cx7-lspci-vvv.txt")));
  EXPECT_EQ(std::count_if(hgx.begin(), hgx.end(), node::IsNvidiaGpu), 8);
  EXPECT_EQ(std::count_if(hgx.begin(), hgx.end(), node::IsNvSwitch), 4);
}

TEST(RealOutputs, DevicesOfReportsAreRead) {
  GALEN_NEED_SHARED();
  const auto l40s = node::ParseLspci(TextOf("lspci", Report("r030")));
  ASSERT_EQ(l40s.size(), 4u);
  EXPECT_TRUE(node::IsNvidiaGpu(l40s[0]));
  EXPECT_EQ(l40s[0].device_id, "26b9");
  const auto switches = node::ParseLspci(TextOf("lspci", Report("r007")));
  EXPECT_EQ(std::count_if(switches.begin(), switches.end(), node::IsNvSwitch), 6);
  const auto bridge = node::ParseLspci(TextOf("lspci", Report("r014")));
  ASSERT_EQ(bridge.size(), 1u);
  EXPECT_EQ(bridge[0].secondary_bus, "61");
  const auto link = node::ParseLspci(
      TextOf("lspci", Report("r043"), "sudo lspci -s 41:00.0 -vv | grep -E 'LnkCap:|LnkSta:'"));
  ASSERT_EQ(link.size(), 1u);
  EXPECT_EQ(link[0].address, "0000:41:00.0");
  EXPECT_EQ(link[0].link_gen, 1);
  EXPECT_EQ(link[0].link_gen_max, 4);
  const auto none = node::ParseLspci(TextOf("lspci", Report("r034")));
  ASSERT_EQ(none.size(), 1u);
  EXPECT_EQ(none[0].driver, "");
}

// --- the machine

TEST(RealOutputs, FileSystemsOfAReportAreRead) {
  GALEN_NEED_SHARED();
  const auto systems = node::ParseDf(TextOf("df", Report("r002"), "df -h"));
  ASSERT_EQ(systems.size(), 6u);
  EXPECT_EQ(systems[2].target, "/dev/shm");
  EXPECT_EQ(systems[2].type, "tmpfs");
  EXPECT_EQ(systems[2].total, 65536);
  EXPECT_EQ(systems[3].target, "/data");
  EXPECT_EQ(systems[3].used_pct, 44);
  const auto runner = node::ParseDf(TextOf("df", Read("eval/reports/r022/files/runner.log")));
  ASSERT_THAT(runner, Not(IsEmpty()));
  EXPECT_EQ(runner[0].source, "overlay");
}

TEST(RealOutputs, DeviceNodesOfReportsAreRead) {
  GALEN_NEED_SHARED();
  const auto amd = node::ParseListing(TextOf("ls_dev", Report("r027"), "ls -l /dev/dri /dev/kfd"));
  ASSERT_EQ(amd.size(), 2u);
  EXPECT_EQ(amd[0].name, "kfd");
  EXPECT_EQ(amd[0].mode, "crw-------");
  EXPECT_EQ(amd[1].name, "dri");
  const auto nvidia = node::ParseListing(TextOf("ls_dev", Report("r033"), "ls -l /dev/nvidia*"));
  ASSERT_EQ(nvidia.size(), 5u);
  EXPECT_EQ(nvidia[3].name, "nvidia1");
}

TEST(RealOutputs, PackagesAndModulesOfReportsAreRead) {
  GALEN_NEED_SHARED();
  const auto pip = node::ParsePipList(TextOf("pip", Report("r001")));
  EXPECT_THAT(pip, Contains(Pair("torch", "2.6.0")));
  EXPECT_THAT(pip, Contains(Pair("flash-attn", "2.7.4.post1+cu12torch2.4cxx11abiTRUE")));
  EXPECT_THAT(TextOf("dpkg_l", Report("r030")),
              "nvidia-driver-570-server\t570.133.20-0ubuntu1\n"
              "nvidia-fabricmanager-570\t570.133.20-1\n");
  EXPECT_THAT(node::DriverPackagesOfDpkg(TextOf("apt_list", Report("r032"))),
              ElementsAre(Pair("nvidia-utils-550-server", "550.127.05")));
  EXPECT_THAT(TextOf("lsmod", Report("r021")), testing::HasSubstr("nvidia_uvm - - -\n"));
  EXPECT_TRUE(IsRefused("lsmod", Report("r031"), "lsmod | grep mlx4"));
}

// --- the network

TEST(RealOutputs, LinksOfIpAreRead) {
  GALEN_NEED_SHARED();
  const auto links =
      node::ParseIpLinkJson(TextOf("ip_link", Read("fixtures/ip-link/hotsos-ip-s-d-link.txt")));
  ASSERT_TRUE(links.ok()) << links.status();
  ASSERT_EQ(links->size(), 3u);
  EXPECT_EQ((*links)[1].name, "ens3");
  EXPECT_EQ((*links)[1].state, "UP");
  EXPECT_EQ((*links)[1].mtu, 8958);
  EXPECT_EQ((*links)[2].dropped, 13);
  const auto container = node::ParseIpAddr(TextOf("ip_addr", Report("r008"), "ip a"));
  ASSERT_TRUE(container.has_value());
  ASSERT_EQ(container->size(), 1u);
  EXPECT_TRUE((*container)[0].loopback);
  EXPECT_FALSE((*container)[0].has_address);
}

// --- forms of which the shared folder holds no output

TEST(Parsers, ReadWhatTheConvertersWrite) {
  const auto ports = node::ParseIbstat(TextOf("ibstatus",
                                              "Infiniband device 'mlx5_2' port 1 status:\n"
                                              "\tsm lid:\t\t 0x1a\n"
                                              "\tstate:\t\t 4: ACTIVE\n"
                                              "\tphys state:\t 5: LinkUp\n"
                                              "\trate:\t\t 400 Gb/sec (4X NDR)\n"
                                              "\tlink_layer:\t InfiniBand\n"));
  ASSERT_EQ(ports.size(), 1u);
  EXPECT_EQ(ports[0].hca, "mlx5_2");
  EXPECT_EQ(ports[0].state, "ACTIVE");
  EXPECT_EQ(ports[0].phys_state, "LinkUp");
  EXPECT_EQ(ports[0].rate_gbps, 400);
  EXPECT_EQ(ports[0].sm_lid, 26);

  const auto limits = node::ParseLimits(
      TextOf("ulimit", "max locked memory (kbytes, -l) 64\nmax user processes (-u) unlimited\n"));
  EXPECT_THAT(limits, Contains(Pair("Max locked memory", 65536)));
  EXPECT_THAT(limits, Contains(Key("Max processes")));
  EXPECT_THAT(limits, Not(Contains(Key("Max open files"))));

  const auto processes = node::ParseProcesses(
      TextOf("ps", "PID PPID USER STAT ELAPSED %CPU COMMAND\n7 1 ada D 01:00 50.0 python3 a.py\n"));
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].parent, 1);
  EXPECT_EQ(processes[0].age_s, 60);
  EXPECT_EQ(processes[0].cpu_pct, 50);
  EXPECT_EQ(processes[0].name, "python3");
  EXPECT_EQ(processes[0].args, "python3 a.py");

  const auto inodes = node::ParseDf(TextOf("df_inodes",
                                           "Filesystem Inodes IUsed IFree IUse% Mounted on\n"
                                           "/dev/sda2    1.2M  600K  600K   50% /\n"));
  ASSERT_EQ(inodes.size(), 1u);
  EXPECT_EQ(inodes[0].used_pct, 50);

  const auto routes = node::ParseIpRoutes(TextOf("ip_route",
                                                 "default via 192.0.2.1 dev eth0\n"
                                                 "198.51.100.0/24 dev eth1 scope link linkdown\n"));
  ASSERT_TRUE(routes.ok());
  const auto way = node::RouteTo(*routes, *node::ParseIpv4("198.51.100.9"));
  ASSERT_TRUE(way.has_value());
  EXPECT_TRUE(way->link_down);
  EXPECT_EQ(node::RouteTo(*routes, *node::ParseIpv4("203.0.113.1"))->gateway, "192.0.2.1");

  const auto interfaces = node::ParseIpAddr(
      TextOf("ifconfig", "eth0: flags=4163<UP,RUNNING>  mtu 1500\n        inet 192.0.2.7\n"));
  ASSERT_TRUE(interfaces.has_value());
  EXPECT_TRUE((*interfaces)[0].has_address);

  const auto amd = node::ParseRocmSmi(
      TextOf("rocm_smi",
             "GPU[1] : PCI Bus: 0000:C1:00.0\nGPU[1] : sclk clock level: 1: (1700Mhz)\n"
             "GPU[1] : pcie clock level: 1 (16.0GT/s, x16 619Mhz)\n"));
  ASSERT_TRUE(amd.ok());
  EXPECT_EQ(amd->gpus[0].index, 1);
  EXPECT_EQ(amd->gpus[0].pci_address, "0000:c1:00.0");
  EXPECT_EQ(amd->gpus[0].clocks.sm, 1700);
  EXPECT_EQ(amd->gpus[0].pcie.gen_current, 4);
  EXPECT_EQ(amd->gpus[0].thermal.core, std::nullopt);
}

}  // namespace
}  // namespace galen::intake::fixtures_test
