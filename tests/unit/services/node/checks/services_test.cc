#include "services/node/checks/system/services.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "services/node/checks/system/iommu.h"
#include "services/node/checks/system/platform.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/fixtures.h"

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
  const auto output = CheckFabricManager({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "installed"), "true");
  EXPECT_EQ(ValueOf(*output, "active"), "false");
  EXPECT_EQ(ValueOf(*output, "version"), "570.86.10");
  EXPECT_EQ(ValueOf(*output, "version_equals_driver"), "false");
  EXPECT_EQ(ValueOf(*output, "journal_errors"), "?");
}

TEST(FabricManager, ItsJournalTellsWhereNobodyAskedSystemd) {
  const auto active = [](const std::string& journal) {
    FakeHost host;
    host.AddCommand("lspci -vvv -nn", kSwitch);
    host.AddCommand(kJournal, journal);
    const auto output = CheckFabricManager({host, RepositoryKnowledge()});
    EXPECT_TRUE(output.ok()) << output.status();
    return output.ok() ? ValueOf(*output, "active") : "";
  };
  const std::string started =
      "2024-05-06T09:00:00+0000 n systemd[1]: Starting NVIDIA fabric manager service...\n"
      "2024-05-06T09:00:02+0000 n systemd[1]: Started NVIDIA fabric manager service.\n";
  EXPECT_EQ(active(started), "true");
  EXPECT_EQ(active(started +
                   "2024-05-06T10:00:00+0000 n systemd[1]: nvidia-fabricmanager.service: Failed "
                   "with result 'exit-code'.\n"),
            "false");
  EXPECT_EQ(active("2024-05-06T09:00:01+0000 n nv-fabricmanager[9]: connected\n"), "?");
  FakeHost nothing;
  nothing.AddCommand("lspci -vvv -nn", kSwitch);
  EXPECT_FALSE(CheckFabricManager({nothing, RepositoryKnowledge()}).ok());
}

TEST(FabricManager, AStartLongAfterBootAndItsErrorsAreSeen) {
  FakeHost host;
  host.AddCommand(kShow, FabricManager("active"));
  host.AddCommand("lspci -vvv -nn", kSwitch);
  host.AddFile("/proc/stat", "cpu 1\nbtime 1714978800\n");  // 2024-05-06T07:00:00Z
  host.AddCommand(
      kJournal,
      "2024-05-06T07:01:00+0000 n systemd[1]: fm.service: Can't open PID file: error\n"
      "2024-05-06T09:00:00+0000 n systemd[1]: Starting NVIDIA fabric manager service...\n"
      "2024-05-06T09:00:01+0000 n nv-fabricmanager[9]: detected NVSwitch fatal error 1\n"
      "2024-05-06T09:00:02+0000 n systemd[1]: Started NVIDIA fabric manager service.\n");
  const auto output = CheckFabricManager({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "restarted_after_boot"), "true");
  EXPECT_EQ(ValueOf(*output, "journal_errors"),
            "n nv-fabricmanager[9]: detected NVSwitch fatal error 1");
}

TEST(FabricManager, WhatAnEarlierRunComplainedOfIsNoError) {
  FakeHost host;
  host.AddCommand(kShow, FabricManager("active"));
  host.AddCommand("lspci -vvv -nn", kSwitch);
  std::string journal =
      "2024-05-06T09:00:00+0000 n systemd[1]: Started NVIDIA fabric manager service.\n"
      "2024-05-06T09:01:00+0000 n nv-fabricmanager[9]: detected NVSwitch fatal error 1\n"
      "2024-05-06T09:02:00+0000 n systemd[1]: Starting NVIDIA fabric manager service...\n"
      "2024-05-06T09:02:02+0000 n systemd[1]: Started NVIDIA fabric manager service.\n";
  host.AddCommand(kJournal, journal);
  EXPECT_EQ(ValueOf(*CheckFabricManager({host, RepositoryKnowledge()}), "journal_errors"), "none");
  journal += "2024-05-06T09:03:00+0000 n nv-fabricmanager[11]: detected NVSwitch fatal error 2\n";
  host.AddCommand(kJournal, journal);
  EXPECT_EQ(ValueOf(*CheckFabricManager({host, RepositoryKnowledge()}), "journal_errors"),
            "n nv-fabricmanager[11]: detected NVSwitch fatal error 2");
}

TEST(FabricManager, AStartThatFailedAndTheNextOneThatDidAreTold) {
  FakeHost host;
  host.AddCommand(kShow, FabricManager("failed"));
  host.AddCommand("lspci -vvv -nn", kSwitch);
  const std::string attempt =
      "2024-05-06T09:02:00+0000 n systemd[1]: Starting NVIDIA fabric manager service...\n"
      "2024-05-06T09:02:01+0000 n nv-fabricmanager[9]: version 1 don't match with 2\n"
      "2024-05-06T09:02:02+0000 n systemd[1]: Failed to start NVIDIA fabric manager service.\n";
  host.AddCommand(kJournal, attempt + attempt);
  EXPECT_EQ(ValueOf(*CheckFabricManager({host, RepositoryKnowledge()}), "journal_errors"),
            "n nv-fabricmanager[9]: version 1 don't match with 2; "
            "n systemd[1]: Failed to start NVIDIA fabric manager service.");
}

TEST(FabricManager, AJournalThatShowsNothingIsNotOneWithoutErrors) {
  for (const char* journal :
       {"-- No entries --\n", "-- Logs begin at Mon 2024-05-06 07:00:00 UTC. --\n", "\n"}) {
    FakeHost host;
    host.AddCommand(kShow, FabricManager("active"));
    host.AddCommand("lspci -vvv -nn", kSwitch);
    host.AddCommand(kJournal, journal);
    const auto output = CheckFabricManager({host, RepositoryKnowledge()});
    EXPECT_EQ(ValueOf(*output, "journal_errors"), "?") << journal;
    EXPECT_EQ(ValueOf(*output, "restarted_after_boot"), "?") << journal;
  }
}

TEST(FabricManager, APackageThatWasRemovedIsNotTheOneThatRuns) {
  FakeHost host;
  host.AddCommand(kShow, FabricManager("active"));
  host.AddCommand("lspci -vvv -nn", kSwitch);
  host.AddCommand(
      "dpkg-query -W",
      "nvidia-fabricmanager-535\t535.161.08-1\nnvidia-fabricmanager-550\t550.90.07-1\n");
  host.AddFile("/sys/module/nvidia/version", "550.90.07\n");
  const auto output = CheckFabricManager({host, RepositoryKnowledge()});
  EXPECT_EQ(ValueOf(*output, "version"), "550.90.07");
  EXPECT_EQ(ValueOf(*output, "version_equals_driver"), "true");
}

TEST(FabricManager, SwitchesThatAreNoPciDevicesNeedOneToo) {
  FakeHost host;
  host.AddCommand(kShow,
                  "Id=nvidia-fabricmanager.service\nLoadState=not-found\nActiveState=inactive\n");
  host.AddCommand(
      "lspci -vvv -nn",
      "0000:17:00.0 3D controller [0302]: NVIDIA Corporation GB100 [B200] [10de:2901]\n");
  host.AddCommand("lscpu", "Architecture: x86_64\nModel name: Xeon\n");
  auto output = CheckFabricManager({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "installed"), "false");
  EXPECT_EQ(ValueOf(*output, "active"), "false");
  // In a virtual machine they may be its host's to set up.
  host.AddCommand("lscpu", "Architecture: x86_64\nHypervisor vendor: KVM\n");
  output = CheckFabricManager({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "installed"), "?");
  EXPECT_EQ(ValueOf(*output, "active"), "?");
}

constexpr char kChannels[] = "Character devices:\n234 nvidia-caps-imex-channels\n";
constexpr char kListChannels[] = "ls -l /dev/nvidia-caps-imex-channels";

std::string Imex(const std::string& load, const std::string& active) {
  return "Id=nvidia-imex.service\nLoadState=" + load + "\nActiveState=" + active + "\n";
}

// As nvidia-smi -q -x shows the fabric of one GPU.
std::string Fabric(const std::string& state, const std::string& cluster) {
  return "<?xml version=\"1.0\" ?>\n<nvidia_smi_log><driver_version>580.65.06</driver_version>"
         "<attached_gpus>1</attached_gpus><gpu id=\"00000000:1B:00.0\"><fabric><state>" +
         state + "</state><cliqueId>1</cliqueId><clusterUuid>" + cluster +
         "</clusterUuid></fabric></gpu></nvidia_smi_log>\n";
}

constexpr char kNoCluster[] = "00000000-0000-0000-0000-000000000000";
constexpr char kCluster[] = "5d1bb2ac-4ea2-4b1e-9b2f-8e3c1c7c6f10";

TEST(Imex, ADomainIsUpWhenItSaysSoWhateverItsNodesSay) {
  FakeHost host;
  host.AddCommand(kShow, Imex("loaded", "active"));
  host.AddFile("/proc/devices", kChannels);
  host.AddCommand(kListChannels, "crw-rw-rw- 1 root root 234, 0 Jan 1 00:00 channel0\n");
  const auto answer = [](const std::string& domain) {
    return R"({"nodes": {"0": {"status": "READY", "host": "10.0.0.1", "connections": {"1":
              {"host": "10.0.0.2", "status": "CONNECTED"}}}}, "timestamp": "5/6/2024 07:08:09",
              "status": ")" +
           domain + "\"}";
  };
  host.AddCommand("nvidia-imex-ctl -N -j", answer("UP"));
  auto output = CheckImex({host, NoKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "domain_state"), "UP");
  EXPECT_EQ(ValueOf(*output, "channel_present"), "true");
  EXPECT_EQ(ValueOf(*output, "service_active"), "true");
  host.AddCommand("nvidia-imex-ctl -N -j", answer("DEGRADED"));
  EXPECT_EQ(ValueOf(*CheckImex({host, NoKnowledge()}), "domain_state"), "DEGRADED");
  host.AddCommand("nvidia-imex-ctl -N -j", "Connection to IMEX failed: status: \"DOWN\"\n");
  EXPECT_EQ(ValueOf(*CheckImex({host, NoKnowledge()}), "domain_state"), "?");
}

TEST(Imex, ANodeWhoseGpusShareNothingWithOthersMissesNoChannel) {
  for (const std::string& smi : {Fabric("Completed", kNoCluster), Fabric("N/A", "N/A")}) {
    for (const char* active : {"inactive", "failed"}) {
      FakeHost host;
      host.AddCommand(kShow, Imex("loaded", active));
      host.AddFile("/proc/devices", kChannels);
      host.AddCommand(kListChannels, "", 2, "ls: cannot access: No such file or directory");
      host.AddCommand("nvidia-smi -q -x", smi);
      const auto output = CheckImex({host, NoKnowledge()});
      ASSERT_TRUE(output.ok()) << output.status();
      EXPECT_EQ(ValueOf(*output, "channel_present"), "?") << active;
      EXPECT_EQ(ValueOf(*output, "service_active"), "?") << active;
      EXPECT_FALSE(UsesImex(host)) << active;
    }
  }
}

// This check does not decide whether the service is needed.
TEST(ImexChannel, IsThereOrNot) {
  FakeHost without;
  without.AddCommand(kListChannels, "", 2, "ls: cannot access: No such file or directory");
  FakeHost with;
  with.AddCommand(kListChannels, "crw-rw-rw- 1 root root 234, 0 Jan 1 00:00 channel0\n");
  FakeHost unread;
  for (const auto& [host, present] : std::vector<std::pair<const FakeHost*, std::string>>{
           {&without, "false"}, {&with, "true"}, {&unread, "?"}}) {
    const auto output = CheckImexChannel({*host, NoKnowledge()});
    ASSERT_TRUE(output.ok()) << output.status();
    EXPECT_EQ(ValueOf(*output, "present"), present);
  }
}

TEST(Imex, AFabricOverSeveralMachinesNeedsChannelAndService) {
  FakeHost host;
  host.AddCommand(kShow, Imex("not-found", "inactive"));
  host.AddFile("/proc/devices", kChannels);
  host.AddCommand(kListChannels, "", 2, "ls: cannot access: No such file or directory");
  host.AddCommand("nvidia-smi -q -x", Fabric("Completed", kCluster));
  const auto output = CheckImex({host, NoKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "channel_present"), "false");
  EXPECT_EQ(ValueOf(*output, "service_active"), "false");
}

TEST(Imex, AServiceThatFailedIsToldWhereNoGpuSaysThatNobodyNeedsIt) {
  FakeHost host;
  host.AddCommand(kShow, Imex("loaded", "failed"));
  host.AddFile("/proc/devices", kChannels);
  host.AddCommand(kListChannels, "crw-rw-rw- 1 root root 234, 0 Jan 1 00:00 channel0\n");
  const auto output = CheckImex({host, NoKnowledge()});
  EXPECT_EQ(ValueOf(*output, "channel_present"), "true");
  EXPECT_EQ(ValueOf(*output, "service_active"), "false");
}

TEST(FabricManager, ANodeWithoutSwitchesNeedsNone) {
  FakeHost host;
  host.AddCommand(kShow,
                  "Id=nvidia-fabricmanager.service\nLoadState=not-found\nActiveState=inactive\n");
  host.AddCommand("lspci -vvv -nn", "0000:17:00.0 3D controller [0302]: NVIDIA [10de:20b5]\n");
  EXPECT_EQ(CheckFabricManager({host, RepositoryKnowledge()}).status().code(),
            absl::StatusCode::kNotFound);
}

// Its service ends with an error there, although nothing is wrong with the machine.
TEST(FabricManager, AMachineWhoseGpusComeWithoutSwitchesNeedsNone) {
  const auto check = [](const std::string& product) {
    FakeHost host;
    host.AddCommand(kShow, FabricManager("failed"));
    host.AddCommand(kJournal,
                    "2025-06-11T07:41:55+0000 n nv-fabricmanager[2213]: failed with error: Nothing "
                    "to do\n");
    host.AddCommand("dpkg-query -W", "nvidia-fabricmanager-570\t570.133.20-1\n");
    host.AddCommand("nvidia-smi -q -x",
                    "<nvidia_smi_log><gpu id=\"00000000:17:00.0\"><product_name>" + product +
                        "</product_name></gpu></nvidia_smi_log>");
    auto output = CheckFabricManager({host, RepositoryKnowledge()});
    EXPECT_TRUE(output.ok()) << output.status();
    return output;
  };
  for (const char* product : {"NVIDIA L40S", "NVIDIA A100 80GB PCIe", "NVIDIA H100 NVL",
                              "NVIDIA GeForce RTX 4090", "Tesla V100-SXM2-16GB"}) {
    const auto output = check(product);
    ASSERT_TRUE(output.ok());
    EXPECT_EQ(ValueOf(*output, "nvswitch"), "none") << product;
    EXPECT_EQ(ValueOf(*output, "journal_errors"), "?") << product;
    EXPECT_EQ(ValueOf(*output, "active"), "?") << product;
  }
  for (const char* product : {"NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "NVIDIA B200"}) {
    const auto output = check(product);
    ASSERT_TRUE(output.ok());
    EXPECT_EQ(ValueOf(*output, "nvswitch"), "?") << product;
  }
}

TEST(Packages, VersionsAreFoundInBothForms) {
  EXPECT_EQ(PackageVersion("nvidia-fabricmanager-570\t570.86.10-1\n", "nvidia-fabricmanager"),
            "570.86.10");
  EXPECT_EQ(PackageVersion("nvidia-fabric-manager-535.54.03-1.x86_64\n", "nvidia-fabric-manager"),
            "535.54.03");
  EXPECT_EQ(PackageVersion("nvidia-fabricmanager-dev 1.0\n", "nvidia-fabricmanager"), "");
  EXPECT_EQ(PackageVersion("nvidia-fabricmanager-535\t535.161.08-1\n", "nvidia-fabricmanager",
                           "550.90.07"),
            "535.161.08");
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

constexpr char kAusearch[] = "ausearch -m avc -ts recent";
constexpr char kQuiet[] = "2024-05-06T07:08:09,5+00:00 Linux version 5.15\n";

TEST(Security, DenialsAreReadFromTheAuditLogToo) {
  FakeHost host;
  host.AddCommand("getenforce", "Enforcing\n");
  host.AddCommand("dmesg --time-format iso", kQuiet);
  host.AddCommand(
      kAusearch,
      "----\ntime->Mon May  6 07:08:09 2024\n"
      "type=AVC msg=audit(1714979289.123:456): avc:  denied  { read write } for  pid=7 "
      "comm=\"python3\" name=\"nvidia0\" dev=\"devtmpfs\" ino=9 tclass=chr_file permissive=0\n"
      "----\ntype=AVC msg=audit(1714979289.124:457): avc:  denied  { ioctl } for  pid=7 "
      "comm=\"python3\" path=\"/dev/nvidiactl\" dev=\"devtmpfs\" tclass=chr_file permissive=0\n"
      "----\ntype=AVC msg=audit(1714979289.125:458): avc:  denied  { read } for  pid=8 "
      "comm=\"x\" name=\"nvidia1\" dev=\"devtmpfs\" tclass=chr_file permissive=1\n");
  const auto output = CheckSecurity({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "nvidia_denials"), "2");
}

TEST(Security, SilenceIsNoAnswerWhereAnAuditDaemonMayHaveTheRecords) {
  FakeHost host;
  host.AddCommand("getenforce", "Enforcing\n");
  host.AddCommand("dmesg --time-format iso", kQuiet);
  EXPECT_EQ(ValueOf(*CheckSecurity({host, RepositoryKnowledge()}), "nvidia_denials"), "?");
  host.AddCommand(kAusearch, "", 1, "<no matches>\n");
  EXPECT_EQ(ValueOf(*CheckSecurity({host, RepositoryKnowledge()}), "nvidia_denials"), "?");
  // Without the daemon's tools there is no daemon, and the kernel log has them all.
  FakeHost without = host;
  without.AddAbsentCommand(kAusearch);
  EXPECT_EQ(ValueOf(*CheckSecurity({without, RepositoryKnowledge()}), "nvidia_denials"), "0");
  for (const char* mode : {"Permissive\n", "Disabled\n"}) {
    host.AddCommand("getenforce", mode);
    EXPECT_EQ(ValueOf(*CheckSecurity({host, RepositoryKnowledge()}), "nvidia_denials"), "0");
  }
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

constexpr char kBootLog[] = "dmesg --time-format iso";

TEST(Iommu, WhatEveryKernelPrintsShowsNone) {
  FakeHost host;
  host.AddFile("/proc/cmdline", "BOOT_IMAGE=/vmlinuz quiet\n");
  host.AddCommand(kBootLog,
                  "2024-05-06T07:00:00,000000+00:00 iommu: Default domain type: Translated\n");
  auto output = CheckIommu({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "enabled"), "?");
  EXPECT_EQ(ValueOf(*output, "passthrough"), "?");
  // If the machine has an IOMMU, its mode is reported.
  host.AddFile("/sys/class/iommu/dmar0/uevent", "");
  output = CheckIommu({host, RepositoryKnowledge()});
  EXPECT_EQ(ValueOf(*output, "enabled"), "true");
  EXPECT_EQ(ValueOf(*output, "passthrough"), "false");
}

TEST(Iommu, LinesOfTheKernelShowOneToo) {
  for (const char* line : {"DMAR: IOMMU enabled", "AMD-Vi: Interrupt remapping enabled",
                           "pci 0000:00:00.0: Adding to iommu group 0",
                           "iommu: Adding device 0000:00:00.0 to group 0"}) {
    FakeHost host;
    host.AddFile("/proc/cmdline", "quiet\n");
    host.AddCommand(
        kBootLog,
        std::string("[    0.1] iommu: Default domain type: Translated\n[    0.2] ") + line + "\n");
    EXPECT_EQ(ValueOf(*CheckIommu({host, RepositoryKnowledge()}), "passthrough"), "false") << line;
  }
}

TEST(Iommu, RealMachinesWithoutOneAreNotSaidToTranslate) {
  GALEN_NEED_FIXTURES();
  for (const char* log : {"dmesg/h100-full-boot-mlx5-insufficient-pcie-power.log",
                          "dmesg/hotsos-vm-boot-healthy.log"}) {
    FakeHost host;
    host.AddFile("/proc/cmdline", "quiet\n").AddCommand(kBootLog, ReadFixture(log));
    const auto output = CheckIommu({host, RepositoryKnowledge()});
    ASSERT_TRUE(output.ok()) << output.status();
    EXPECT_EQ(ValueOf(*output, "passthrough"), "?") << log;
  }
}

constexpr char kGuest[] = "Architecture: x86_64\nHypervisor vendor: KVM\n";

TEST(Virtualization, ARealBootWithoutSpaceForWindowsAndRomsHasSpaceForItsGpus) {
  GALEN_NEED_FIXTURES();
  FakeHost host;
  host.AddCommand("lscpu", kGuest);
  host.AddCommand(kBootLog, ReadFixture("dmesg/h100-full-boot-mlx5-insufficient-pcie-power.log"));
  const auto output = CheckVirtualization({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "guest_no_mmio_space"), "false");
}

TEST(Virtualization, OnlyRegionsOfGpusCount) {
  FakeHost host;
  host.AddCommand("lscpu", kGuest);
  host.AddCommand("lspci -vvv -nn", "06:00.0 3D controller [0302]: NVIDIA [10de:2330] (rev a1)\n");
  const auto space = [&](const std::string& line) {
    host.AddCommand(kBootLog, "[    0.5] pci 0000:" + line + "\n");
    return ValueOf(*CheckVirtualization({host, RepositoryKnowledge()}), "guest_no_mmio_space");
  };
  EXPECT_EQ(space("06:00.0: BAR 2: no space for [mem size 0x2000000000 64bit pref]"), "true");
  EXPECT_EQ(space("06:00.0: BAR 2 [mem size 0x2000000000 64bit pref]: can't assign; no space"),
            "true");
  EXPECT_EQ(space("06:00.0: BAR 2: failed to assign [mem size 0x2000000000 64bit pref]"), "true");
  EXPECT_EQ(space("06:00.0: BAR 6: no space for [mem size 0x00100000 pref]"), "false");
  EXPECT_EQ(space("06:00.0: BAR 5: no space for [io  size 0x0080]"), "false");
  EXPECT_EQ(space("00:02.0: BAR 13: no space for [io  size 0x1000]"), "false");
  EXPECT_EQ(space("00:02.0: BAR 14: no space for [mem size 0x00100000]"), "false");
  EXPECT_EQ(space("03:00.0: BAR 0: no space for [mem size 0x00100000]"), "false");
}

}  // namespace
}  // namespace galen::node
