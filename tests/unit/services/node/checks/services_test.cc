#include "services/node/checks/system/services.h"

#include <string>

#include "gtest/gtest.h"
#include "services/node/checks/system/network.h"
#include "services/node/checks/system/platform.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;

constexpr char kShow[] =
    "systemctl show -p Id,LoadState,ActiveState,SubState,Result,ExecMainStatus "
    "nvidia-fabricmanager nvidia-persistenced nvidia-imex nvidia-mps opensm opensmd firewalld ufw "
    "chronyd systemd-timesyncd kubelet containerd docker slurmd";
constexpr char kJournal[] = "journalctl -u nvidia-fabricmanager -n 200 --no-pager -o short-iso";
constexpr char kSwitch[] =
    "0000:83:00.0 Bridge [0680]: NVIDIA Corporation Device [10de:22a3] (rev a1)\n";

std::string FabricManager(const std::string& active) {
  return "Id=nvidia-fabricmanager.service\nLoadState=loaded\nActiveState=" + active + "\n";
}

TEST(FabricManager, AStoppedServiceOnANodeWithSwitchesIsSeen) {
  FakeHost host;
  host.AddCommand(kShow, FabricManager("failed"));
  host.AddCommand("lspci -vvv -nn", kSwitch);
  host.AddCommand("dpkg-query -W", "nvidia-fabricmanager-570\t570.86.10-1\n");
  host.AddFile("/sys/module/nvidia/version", "570.124.06\n");
  const auto output = CheckFabricManager({host, NoKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "installed"), "true");
  EXPECT_EQ(ValueOf(*output, "active"), "false");
  EXPECT_EQ(ValueOf(*output, "version"), "570.86.10");
  EXPECT_EQ(ValueOf(*output, "version_equals_driver"), "false");
  EXPECT_EQ(ValueOf(*output, "journal_errors"), "?");
}

TEST(FabricManager, AStartLongAfterBootAndItsErrorsAreSeen) {
  FakeHost host;
  host.AddCommand(kShow, FabricManager("active"));
  host.AddCommand("lspci -vvv -nn", kSwitch);
  host.AddFile("/proc/stat", "cpu 1\nbtime 1714978800\n");  // 2024-05-06T07:00:00Z
  host.AddCommand(
      kJournal,
      "2024-05-06T07:01:00+0000 n systemd[1]: fm.service: Can't open PID file: error\n"
      "2024-05-06T09:00:00+0000 n nv-fabricmanager[9]: detected NVSwitch fatal error 1\n"
      "2024-05-06T09:00:00+0000 n systemd[1]: Started NVIDIA fabric manager service.\n");
  const auto output = CheckFabricManager({host, NoKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "restarted_after_boot"), "true");
  EXPECT_EQ(ValueOf(*output, "journal_errors"),
            "n nv-fabricmanager[9]: detected NVSwitch fatal error 1");
}

TEST(FabricManager, ANodeWithoutSwitchesNeedsNone) {
  FakeHost host;
  host.AddCommand(kShow,
                  "Id=nvidia-fabricmanager.service\nLoadState=not-found\nActiveState=inactive\n");
  host.AddCommand("lspci -vvv -nn", "0000:17:00.0 3D controller [0302]: NVIDIA [10de:20b5]\n");
  EXPECT_EQ(CheckFabricManager({host, NoKnowledge()}).status().code(), absl::StatusCode::kNotFound);
}

TEST(Packages, VersionsAreFoundInBothForms) {
  EXPECT_EQ(PackageVersion("nvidia-fabricmanager-570\t570.86.10-1\n", "nvidia-fabricmanager"),
            "570.86.10");
  EXPECT_EQ(PackageVersion("nvidia-fabric-manager-535.54.03-1.x86_64\n", "nvidia-fabric-manager"),
            "535.54.03");
  EXPECT_EQ(PackageVersion("nvidia-fabricmanager-dev 1.0\n", "nvidia-fabricmanager"), "");
}

TEST(Services, AnInstalledAgentThatDoesNotRunIsNamed) {
  FakeHost host;
  host.AddCommand(kShow,
                  "Id=kubelet.service\nLoadState=loaded\nActiveState=inactive\n\n"
                  "Id=slurmd.service\nLoadState=not-found\nActiveState=inactive\n\n"
                  "Id=nvidia-persistenced.service\nLoadState=loaded\nActiveState=failed\n");
  const auto output = CheckServices({host, NoKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "inactive_required"), "kubelet");
  EXPECT_EQ(ValueOf(*output, "failed"), "nvidia-persistenced");
}

TEST(TimeSync, GivesTheSizeOfTheOffset) {
  FakeHost host;
  host.AddCommand("chronyc -c tracking",
                  "0A010203,192.0.2.3,3,1714979289.0,-412.5,0.1,0.1,1,1,1,1,1,1,Normal\n");
  const auto output = CheckTimeSync({host, NoKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "offset_s"), "412.5");
  EXPECT_EQ(ValueOf(*output, "synchronized"), "true");
}

TEST(TimeSync, WithoutASourceThereIsNoOffset) {
  FakeHost host;
  host.AddCommand("chronyc -c tracking",
                  "00000000,,0,0.0,0.000000000,0,0,0,0,0,0,0,0,Not synchronised\n");
  const auto output = CheckTimeSync({host, NoKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "offset_s"), "?");
  EXPECT_EQ(ValueOf(*output, "synchronized"), "false");
}

TEST(KernelModules, AnInTreeDriverInUseIsNamedWithItsDevice) {
  FakeHost host;
  host.AddFile("/proc/modules", "nouveau 1 0 - Live 0x0\nnvidia_drm 1 0 - Live 0x0\n");
  host.AddCommand("lspci -vvv -nn",
                  "0000:17:00.0 3D controller [0302]: NVIDIA [10de:20b5] (rev a1)\n"
                  "\tKernel driver in use: nouveau\n");
  host.AddCommand("modinfo nvidia", "", 1, "modinfo: ERROR: Module nvidia not found.");
  const auto output = CheckKernelModules({host, NoKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "nvidia_loaded"), "false");
  EXPECT_EQ(ValueOf(*output, "nouveau_or_nova_loaded"), "true");
  EXPECT_EQ(ValueOf(*output, "module_for_running_kernel"), "false");
  EXPECT_EQ(ValueOf(*output, "secure_boot_rejected"), "?");
  EXPECT_EQ(ValueOf(*output, "driver_in_use", "pci:0000:17:00.0"), "nouveau");
}

TEST(KernelModules, NobodyMissesAModuleForACardThatIsNotThere) {
  FakeHost host;
  host.AddFile("/proc/modules", "ext4 1 0 - Live 0x0\n");
  host.AddCommand("lspci -vvv -nn", "00:00.0 Host bridge [0600]: Intel [8086:1237]\n");
  const auto output = CheckKernelModules({host, NoKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "nvidia_loaded"), "?");
}

TEST(Acs, OnlyBridgesAboveGpusAndAdaptersCount) {
  FakeHost host;
  host.AddCommand("lspci -vvv -nn",
                  "16:01.0 PCI bridge [0604]: Intel [8086:347a]\n"
                  "\tBus: primary=16, secondary=17, subordinate=18, sec-latency=0\n"
                  "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+\n"
                  "18:00.0 3D controller [0302]: NVIDIA [10de:20b5]\n"
                  "00:1c.0 PCI bridge [0604]: Intel [8086:a190]\n"
                  "\tBus: primary=00, secondary=01, subordinate=02, sec-latency=0\n"
                  "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+\n"
                  "01:00.0 Non-Volatile memory controller [0108]: Samsung [144d:a824]\n");
  const auto output = CheckAcs({host, NoKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "redirecting_bridges"), "1");
  EXPECT_EQ(ValueOf(*output, "acsctl", "pci:0000:16:01.0"),
            "ACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+");
}

TEST(Firewall, TheFirstRuleForAllTrafficDecidesBeforeThePolicy) {
  EXPECT_EQ(InputIsOpen("*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n"), true);
  EXPECT_EQ(InputIsOpen("*filter\n:INPUT DROP [0:0]\nCOMMIT\n"), false);
  EXPECT_EQ(
      InputIsOpen("*filter\n:INPUT DROP [0:0]\n-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT\n"),
      false);
  EXPECT_EQ(InputIsOpen("*filter\n:INPUT DROP [0:0]\n-A INPUT -p tcp -j ACCEPT\n"), true);
  EXPECT_EQ(InputIsOpen("*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -i lo -j ACCEPT\n"
                        "-A INPUT -j REJECT --reject-with icmp-host-prohibited\n"),
            false);
  EXPECT_EQ(InputIsOpen(""), std::nullopt);
}

}  // namespace
}  // namespace galen::node
