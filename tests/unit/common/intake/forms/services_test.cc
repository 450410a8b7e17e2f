#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forms_testing.h"

namespace galen::intake::services_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kStatus[] =
    "× nvidia-fabricmanager.service - NVIDIA fabric manager service\n"
    "     Loaded: loaded (/usr/lib/systemd/system/nvidia-fabricmanager.service; enabled)\n"
    "     Active: failed (Result: exit-code) since Mon 2024-03-04 10:00:00 UTC; 2h ago\n"
    "    Process: 812 ExecStart=/usr/bin/nv-fabricmanager (code=exited, status=1/FAILURE)\n"
    "\n"
    "● slurmd.service - Slurm node daemon\n"
    "     Loaded: loaded (/lib/systemd/system/slurmd.service; enabled)\n"
    "     Active: active (running) since Mon 2024-03-04 09:00:00 UTC; 3h ago\n";

TEST(UnitStates, EachUnitIsShown) {
  EXPECT_EQ(TextOf("systemctl", kStatus),
            "\nId=nvidia-fabricmanager.service\nLoadState=loaded\nActiveState=failed\n"
            "Result=exit-code\n\nId=slurmd.service\nLoadState=loaded\nActiveState=active\n"
            "SubState=running\n");
  EXPECT_TRUE(IsPartial("systemctl", kStatus));
}

TEST(UnitStates, AUnitThatIsNotThereIsKnownNotToBe) {
  EXPECT_EQ(TextOf("systemctl", "Unit nvidia-imex.service could not be found.\n"),
            "\nId=nvidia-imex.service\nLoadState=not-found\nActiveState=inactive\n");
}

TEST(UnitStates, TablesAndRefusalsTellToo) {
  EXPECT_EQ(TextOf("systemctl",
                   "  UNIT                         LOAD   ACTIVE SUB    DESCRIPTION\n"
                   "● nvidia-fabricmanager.service loaded failed failed NVIDIA fabric manager\n"),
            "\nId=nvidia-fabricmanager.service\nLoadState=loaded\nActiveState=failed\n"
            "SubState=failed\n");
  EXPECT_EQ(TextOf("systemctl",
                   "Job for slurmd.service failed because the control process exited with error "
                   "code.\nSee \"systemctl status slurmd.service\" for details.\n"),
            "\nId=slurmd.service\nLoadState=loaded\nActiveState=failed\n");
}

TEST(UnitStates, TheNamesThatWereTypedBelongToTheWords) {
  EXPECT_EQ(TextOf("systemctl", "active\nfailed\n", "systemctl is-active slurmd munge"),
            "\nId=slurmd.service\nLoadState=loaded\nActiveState=active\n"
            "\nId=munge.service\nLoadState=loaded\nActiveState=failed\n");
  // The numbers of words and names differ, so the unit of a word is unknown.
  EXPECT_TRUE(IsRefused("systemctl", "active\n", "systemctl is-active slurmd munge"));
  EXPECT_TRUE(IsRefused("systemctl", "active\n"));
}

TEST(TimeStatus, TheStateOfTheClockIsTold) {
  EXPECT_EQ(TextOf("timedatectl",
                   "               Local time: Mon 2024-03-04 10:00:00 UTC\n"
                   "                Time zone: Etc/UTC (UTC, +0000)\n"
                   "System clock synchronized: no\n              NTP service: inactive\n"),
            "Timezone=Etc/UTC\nNTP=no\nNTPSynchronized=no\n");
  EXPECT_EQ(TextOf("timedatectl", "     NTP enabled: yes\nNTP synchronized: yes\n"),
            "NTP=yes\nNTPSynchronized=yes\n");
}

TEST(ClockTracking, TheOffsetIsInItsColumn) {
  EXPECT_EQ(TextOf("chronyc",
                   "Reference ID    : CB00710F (ntp.example.org)\nStratum         : 3\n"
                   "Ref time (UTC)  : Mon Mar 04 10:00:00 2024\n"
                   "System time     : 421.500000000 seconds slow of NTP time\n"
                   "Last offset     : -0.000003 seconds\nLeap status     : Not synchronised\n"),
            "CB00710F,ntp.example.org,3,0,-421.500000000,-0.000003,0,0,0,0,0,0,0,"
            "Not synchronised\n");
  EXPECT_TRUE(IsRefused("chronyc", "Reference ID    : CB00710F (a)\n"));
}

TEST(SelinuxMode, IsThatOfGetenforce) {
  EXPECT_EQ(TextOf("sestatus", "SELinux status:   enabled\nCurrent mode:     permissive\n"),
            "Permissive\n");
  EXPECT_EQ(TextOf("sestatus", "SELinux status:   disabled\n"), "Disabled\n");
}

TEST(UserGroups, AreToldByIdAndByGroups) {
  EXPECT_EQ(TextOf("id", "uid=1000(mk) gid=1000(mk) groups=1000(mk),44(video)\n"),
            "uid=1000(mk) gid=1000(mk) groups=1000(mk),44(video)\n");
  EXPECT_EQ(TextOf("id", "mk sudo video render\n", "groups"),
            "groups=(mk),(sudo),(video),(render)\n");
  EXPECT_EQ(TextOf("id", "mk : mk video\n", "groups mk"), "groups=(mk),(video)\n");
  // Words that no command explains are anybody's.
  EXPECT_TRUE(IsRefused("id", "mk sudo video render\n"));
}

TEST(KernelRelease, IsTheThirdWord) {
  EXPECT_EQ(TextOf("uname", "6.8.9-1-liquorix-amd64\n", "uname -r"),
            "Linux (none) 6.8.9-1-liquorix-amd64\n");
  EXPECT_EQ(TextOf("uname", "Linux gpu07 6.8.0 #1 SMP x86_64\n"),
            "Linux gpu07 6.8.0 #1 SMP x86_64\n");
}

TEST(IptablesRules, AreThoseOfSave) {
  const std::string saved = TextOf("iptables",
                                   "-P INPUT DROP\n-P FORWARD ACCEPT\n-N KUBE\n"
                                   "-A INPUT -i lo -j ACCEPT\n",
                                   "iptables -S");
  EXPECT_EQ(saved,
            "*filter\n:INPUT DROP [0:0]\n:FORWARD ACCEPT [0:0]\n:KUBE - [0:0]\n"
            "-A INPUT -i lo -j ACCEPT\nCOMMIT\n");
  EXPECT_FALSE(IsPartial("iptables", "-P INPUT DROP\n", "iptables -S"));
  EXPECT_TRUE(IsRefused("iptables", "Chain INPUT (policy ACCEPT)\ntarget prot opt source\n"));
}

TEST(BmcEvents, RecordsOfRacadmBecomeThoseOfIpmitool) {
  const auto converted = Convert(
      "bmc",
      "Record:      1\nDate/Time:   05/16/2019 10:26:35\nSource:      system\n"
      "Severity:    Critical\nDescription: A fatal error was detected on a component at bus 23 "
      "device 0 function 0.\n----\n"
      "SeqNumber       = 812\nMessage ID      = PSU0003\nCategory        = System\n"
      "Timestamp       = 2019-05-17 08:00:00\n"
      "Message         = The power input for power supply 1 is lost.\n",
      "racadm getsel");
  ASSERT_TRUE(converted.ok()) << converted.status();
  EXPECT_EQ(converted->text,
            "   1 | 05/16/2019 | 10:26:35 | system | A fatal error was detected on a component at "
            "bus 23 device 0 function 0. | Asserted\n"
            "   2 | 05/17/2019 | 08:00:00 | System | The power input for power supply 1 is lost. | "
            "Asserted\n");
  EXPECT_EQ(absl::StrJoin(converted->argv, " "), "ipmitool sel elist");
}

TEST(BmcEvents, TablesOfFreeIpmiAndEntriesOfRedfishToo) {
  EXPECT_EQ(TextOf("bmc",
                   "ID  | Date        | Time     | Name       | Type         | Event\n"
                   "12  | Jul-27-2023 | 10:00:01 | PS1 Status | Power Supply | Power Supply input "
                   "lost (AC/DC)\n"),
            "   1 | 07/27/2023 | 10:00:01 | Power Supply PS1 Status | Power Supply input lost "
            "(AC/DC) | Asserted\n");
  EXPECT_THAT(TextOf("bmc", R"({"Members":[{"Created":"2023-07-27T10:00:01Z","SensorType":"Fan",)"
                            R"("Message":"Fan 3 failed","EntryCode":"Deassert"}]})"),
              HasSubstr("07/27/2023 | 10:00:01 | Fan | Fan 3 failed | Deasserted"));
}

TEST(LinkTables, SectionsBecomeTheJson) {
  const std::string json = TextOf("mlxlink",
                                  "Operational Info\n----------------\n"
                                  "State                              : Active\n\n"
                                  "Module Info\n-----------\n"
                                  "Temperature [C]                    : 61 [-10..80]\n"
                                  "Rx LOS [per lane]                  : 0,1\n",
                                  "mlxlink -d mlx5_0 -m -c -e");
  EXPECT_EQ(json, R"({"result":{"output":{"Module Info":{"Rx LOS [per lane]":{"values":["0","1"]},)"
                  R"("Temperature [C]":"61 [-10..80]"},"Operational Info":{"State":"Active"}}}})"
                  "\n");
}

TEST(AmdSmiText, LevelsBecomeObjects) {
  const auto converted = Convert("amd_smi",
                                 "GPU: 0\n    POWER:\n        SOCKET_POWER: 140 W\n"
                                 "    ECC_BLOCKS:\n        UMC:\n            CORRECTABLE_COUNT: 3\n"
                                 "GPU: 1\n    POWER:\n        SOCKET_POWER: N/A\n",
                                 "amd-smi metric");
  ASSERT_TRUE(converted.ok()) << converted.status();
  EXPECT_EQ(converted->text,
            R"([{"ecc_blocks":{"umc":{"correctable_count":"3"}},"gpu":0,)"
            R"("power":{"socket_power":"140 W"}},{"gpu":1,"power":{"socket_power":"N/A"}}])"
            "\n");
  EXPECT_EQ(absl::StrJoin(converted->argv, " "), "amd-smi metric --json");
  EXPECT_FALSE(converted->partial);
}

TEST(KubePod, TheDescriptionTellsItsName) {
  const auto described = Convert("kube_pod",
                                 "Name:             trainer-0\nNamespace:        ml\n"
                                 "Node:             gpu-7/10.0.0.7\nStatus:           Failed\n",
                                 "");
  ASSERT_TRUE(described.ok()) << described.status();
  EXPECT_EQ(described->argument, "trainer-0");
  EXPECT_THAT(described->text, HasSubstr("Status:           Failed"));
}

TEST(KubePod, YamlAndJsonTellHowAPodEnded) {
  constexpr char kYaml[] =
      "apiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    name: other\n  name: trainer-0\n"
      "spec:\n  containers:\n  - name: main\n    resources:\n      limits:\n"
      "        memory: 64Gi\n  nodeName: gpu-7\nstatus:\n  containerStatuses:\n"
      "  - containerID: containerd://1\n    lastState:\n      terminated:\n        exitCode: 137\n"
      "        reason: OOMKilled\n    name: main\n  phase: Running\n";
  constexpr char kJson[] =
      "{\n  \"kind\": \"Pod\",\n  \"metadata\": {\n    \"name\": \"trainer-0\"\n  },\n"
      "  \"spec\": {\n    \"containers\": [\n      {\n        \"resources\": {\n"
      "          \"limits\": {\n            \"memory\": \"64Gi\"\n          }\n        }\n      }\n"
      "    ],\n    \"nodeName\": \"gpu-7\"\n  },\n  \"status\": {\n    \"containerStatuses\": [\n"
      "      {\n        \"lastState\": {\n          \"terminated\": {\n"
      "            \"exitCode\": 137,\n            \"reason\": \"OOMKilled\"\n          }\n"
      "        }\n      }\n    ],\n    \"phase\": \"Running\"\n  }\n}\n";
  const std::string described = TextOf("kube_pod", kYaml);
  EXPECT_EQ(described,
            "Name:             trainer-0\nNode:             gpu-7\nStatus:           Running\n"
            "Containers:\n  container:\n    Last State:     Terminated\n"
            "      Reason:       OOMKilled\n      Exit Code:    137\n"
            "    Limits:\n      memory:  64Gi\n");
  EXPECT_EQ(TextOf("kube_pod", kJson), described);
  EXPECT_TRUE(
      IsRefused("kube_pod", "kind: Deployment\nmetadata:\n  name: a\nstatus:\n  phase: x\n"));
}

TEST(NvidiaSmiApps, AProcessIsOnTheGpuThatTheRowNames) {
  const std::string xml = TextOf("nvidia_smi_apps",
                                 "pid, process_name, used_gpu_memory [MiB], gpu_bus_id\n"
                                 "42, python3, 100 MiB, 00000000:3B:00.0\n"
                                 "43, python3, 200 MiB, 00000000:3B:00.0\n");
  const auto values = XmlValues(xml);
  EXPECT_EQ(values.at("gpu0/processes/process_info/pid"), "42,43");
  EXPECT_EQ(values.at("gpu0/processes/process_info/used_memory"), "100 MiB,200 MiB");
  EXPECT_EQ(values.at("gpu0/pci/pci_bus_id"), "00000000:3B:00.0");
  // The GPU is unknown.
  EXPECT_TRUE(IsRefused("nvidia_smi_apps", "pid, process_name\n42, python3\n"));
}

TEST(Series, ReadingsOfATableKeepTheirTimes) {
  const auto converted = Convert("csv_time",
                                 "time;gpu0_temp_c;gpu1_temp_c;note\n"
                                 "2024-03-01T10:00:00Z;60;61;a\n2024-03-01T10:00:10Z;95;n/a;b\n",
                                 "");
  ASSERT_TRUE(converted.ok()) << converted.status();
  ASSERT_EQ(converted->samples.size(), 3u);
  EXPECT_EQ(converted->samples[2].metric, "DCGM_FI_DEV_GPU_TEMP");
  EXPECT_EQ(converted->samples[2].device, "0");
  EXPECT_EQ(converted->samples[2].value, 95);
  EXPECT_EQ(converted->samples[2].time - converted->samples[0].time, 10);
  // A single time is not a series, and elapsed seconds are not times of day.
  EXPECT_TRUE(IsRefused("csv_time", "time,temp\n2024-03-01T10:00:00Z,60\n"));
  EXPECT_TRUE(IsRefused("csv_time", "time,temp\n1,60\n2,70\n"));
  EXPECT_TRUE(IsRefused("csv_time", "time,colour\n2024-03-01T10:00:00Z,red\n"));
}

TEST(Series, ASampledTableOfNvidiaSmiIsOneGpuOverTime) {
  const auto converted =
      Convert("nvidia_smi_csv",
              "timestamp, temperature.gpu, clocks.current.sm [MHz], power.limit [W]\n"
              "2024/03/01 10:00:00.000, 60, 1980 MHz, 700.00 W\n"
              "2024/03/01 10:00:05.000, 88, 1200 MHz, 700.00 W\n",
              "");
  ASSERT_TRUE(converted.ok()) << converted.status();
  EXPECT_EQ(converted->samples.size(), 4u);
  EXPECT_THAT(converted->text, Not(HasSubstr("id=\"1\"")));
  const auto values = XmlValues(converted->text);
  EXPECT_EQ(values.count("gpu1/temperature/gpu_temp"), 0u);
  EXPECT_EQ(values.at("gpu0/temperature/gpu_temp"), "60");
}

TEST(Series, TheMonitorOfNvidiaSmiTellsWithTimesOnly) {
  const auto converted = Convert("nvidia_smi_dmon",
                                 "#Date       Time        gpu    pwr  gtemp     sm   pclk\n"
                                 "#YYYYMMDD   HH:MM:SS    Idx      W      C      %    MHz\n"
                                 " 20240301   10:00:00      3     37     19      -   1980\n"
                                 " 20240301   10:00:01      3     39     20    100   1980\n",
                                 "");
  ASSERT_TRUE(converted.ok()) << converted.status();
  EXPECT_EQ(converted->samples.size(), 7u);
  EXPECT_EQ(converted->samples[0].device, "3");
  EXPECT_TRUE(IsRefused("nvidia_smi_dmon", "# gpu    pwr  gtemp\n# Idx  W  C\n  0  630  53\n"));
}

}  // namespace
}  // namespace galen::intake::services_test
