#include "common/intake/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/host/bundle.h"
#include "common/host/edit.h"
#include "tests/testing/scratch.h"
#include "tests/unit/common/intake/kinds_for_test.h"

namespace galen::intake {
namespace evidence_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AddEvidenceTest : public ::testing::Test {
 protected:
  v1::Incident Add(std::vector<Text> texts) {
    const std::string directory = scratch_.path() + "/bundle";
    EXPECT_TRUE(host::NewBundle(directory, "", {}, absl::UnixEpoch()).ok());
    const auto incident =
        AddEvidence(directory, Recognise(ShippedKinds(), texts), texts, v1::Incident());
    EXPECT_TRUE(incident.ok()) << incident.status();
    bundle_ = host::Bundle::Open(directory).value();
    return *incident;
  }

  std::string Output(const std::string& node, std::vector<std::string> argv) {
    const auto host = bundle_->OpenNode(node);
    if (!host.ok()) return std::string(host.status().message());
    const auto result = (*host)->Run(argv);
    return result.ok() ? result->out : std::string(result.status().message());
  }

  const testing::Scratch scratch_;
  std::shared_ptr<const host::Bundle> bundle_;
};

TEST_F(AddEvidenceTest, AKernelLogBecomesThatOfTheMachineThatItNames) {
  const v1::Incident incident =
      Add({{.name = "dmesg.txt",
            .content = "Feb 01 10:00:00 gpu07 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1\n",
            .attached = true}});
  EXPECT_THAT(bundle_->nodes(), ElementsAre("gpu07"));
  EXPECT_THAT(Output("gpu07", {"dmesg", "--time-format", "iso"}), HasSubstr("Xid"));
  ASSERT_EQ(incident.logs_size(), 1);
  EXPECT_EQ(incident.logs(0).kind(), v1::LogSource::SYSTEM);
  EXPECT_EQ(incident.logs(0).node(), "gpu07");
}

TEST_F(AddEvidenceTest, WhatNamesNoMachineIsOfTheReportedOne) {
  Add({{.name = "dmesg.txt",
        .content = "[ 12.345678] NVRM: Xid (PCI:0000:3b:00): 79, pid=1\n",
        .attached = true}});
  EXPECT_THAT(bundle_->nodes(), ElementsAre(kReportedMachine));
}

TEST_F(AddEvidenceTest, WhatNamesNoMachineIsOfTheOnlyOneThatIsNamed) {
  Add({{.name = "dmesg.txt",
        .content = "[ 12.345678] NVRM: Xid (PCI:0000:3b:00): 79, pid=1\n",
        .attached = true},
       {.name = "issue.md", .content = "```\nroot@gpu07:~# uname -r\n6.8.0\n```\n"}});
  EXPECT_THAT(bundle_->nodes(), ElementsAre("gpu07"));
}

TEST_F(AddEvidenceTest, AContainerIsNoMachine) {
  Add({{.name = "issue.md",
        .content = "```\nroot@a7f3c9e0b214:~# df -h\nFilesystem Size Used Avail Use% Mounted on\n"
                   "shm 64M 64M 0 100% /dev/shm\n```\n"}});
  EXPECT_THAT(bundle_->nodes(), ElementsAre(kReportedMachine));
  const auto host = bundle_->OpenNode(kReportedMachine);
  ASSERT_TRUE(host.ok());
  const std::vector<std::string> df = {"df", "-PT"};
  EXPECT_THAT((*host)->Run(df, host::View::kJob).value().out, HasSubstr("/dev/shm"));
}

TEST_F(AddEvidenceTest, LinesKeepTheirNumbers) {
  const v1::Incident incident =
      Add({{.name = "issue.md",
            .content = "It dies like this, see below:\n\n```\nTraceback (most recent call last):\n"
                       "  File \"t.py\", line 1, in <module>\nRuntimeError: x\n```\n"}});
  ASSERT_EQ(incident.logs_size(), 1);
  EXPECT_EQ(incident.logs(0).path(), "issue.md");
  EXPECT_EQ(incident.description(), "It dies like this, see below:");
  const auto path = bundle_->LogPath("issue.md");
  ASSERT_TRUE(path.ok());
  EXPECT_EQ(scratch_.Read("bundle/logs/issue.md").substr(0, 12), "\n\n\nTraceback");
}

TEST_F(AddEvidenceTest, APodIsOfTheNodeThatRunsIt) {
  Add({{.name = "pod.txt",
        .content = "Name:             trainer-0\nNode:             gpu-7/10.0.0.7\n"
                   "Status:           Failed\nContainers:\n  main:\n    Image: x\n",
        .attached = true}});
  EXPECT_THAT(bundle_->nodes(), ElementsAre("gpu-7"));
  EXPECT_THAT(Output("gpu-7", {"kubectl", "describe", "pod", "trainer-0"}), HasSubstr("Failed"));
}

TEST_F(AddEvidenceTest, TheMachineThatAsksAClusterIsNotTheOneThatItAsksAbout) {
  Add({{.name = "issue.md",
        .content = "```\n[root@login ~]# scontrol show node gpu-7\n"
                   "NodeName=gpu-7 Arch=x86_64 CoresPerSocket=32\n   State=DOWN\n```\n"}});
  EXPECT_THAT(bundle_->nodes(), ElementsAre("gpu-7"));
}

TEST_F(AddEvidenceTest, AStatusOfAServiceIsALogAndAState) {
  const v1::Incident incident =
      Add({{.name = "issue.md",
            .content = "```\n[root@gpu07 ~]# systemctl status nvidia-fabricmanager\n"
                       "x nvidia-fabricmanager.service - NVIDIA fabric manager service\n"
                       "     Loaded: loaded (/usr/lib/x.service; enabled)\n"
                       "     Active: failed (Result: exit-code) since Mon\n```\n"}});
  ASSERT_EQ(incident.logs_size(), 1);
  EXPECT_EQ(incident.logs(0).kind(), v1::LogSource::SYSTEM);
  EXPECT_THAT(Output("gpu07", {"systemctl", "show", "-p",
                               "Id,LoadState,ActiveState,SubState,Result,ExecMainStatus",
                               "nvidia-fabricmanager", "nvidia-persistenced", "nvidia-imex",
                               "nvidia-mps", "opensm", "opensmd", "firewalld", "ufw", "chronyd",
                               "systemd-timesyncd", "kubelet", "containerd", "docker", "slurmd"}),
              HasSubstr("ActiveState=failed"));
}

TEST_F(AddEvidenceTest, ATableOverTimeBecomesNumbersOverTime) {
  Add({{.name = "gpu.csv",
        .content = "timestamp, index, temperature.gpu\n2024/03/01 10:00:00.000, 3, 60\n"
                   "2024/03/01 10:00:05.000, 3, 95\n",
        .attached = true}});
  EXPECT_EQ(scratch_.Read("bundle/telemetry/pasted.om"),
            "DCGM_FI_DEV_GPU_TEMP{Hostname=\"reported-machine\",gpu=\"3\"} 60 1709287200.000\n"
            "DCGM_FI_DEV_GPU_TEMP{Hostname=\"reported-machine\",gpu=\"3\"} 95 1709287205.000\n"
            "# EOF\n");
}

TEST_F(AddEvidenceTest, NothingIsDroppedWithoutAWord) {
  const v1::Incident incident = Add(
      {{.name = "strange.bin", .content = std::string("\x00\x01\x02\x03", 4), .attached = true}});
  ASSERT_EQ(incident.artefacts_size(), 1);
  EXPECT_TRUE(incident.artefacts(0).unread());
  EXPECT_THAT(incident.artefacts(0).kind(), IsEmpty());
}

}  // namespace evidence_test
}  // namespace galen::intake
