#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/host/bundle.h"
#include "tests/integration/dialogue/world.h"

namespace galen {
namespace {

namespace fs = std::filesystem;
using v1::Change;
using v1::Diagnosis;
using v1::Hypothesis;

constexpr char kDiskFull[] = "SYSTEM_SOFTWARE.STORAGE.DISK_OR_QUOTA_FULL";
constexpr char kNvlink[] = "INTERCONNECT_NETWORKING.NVLINK.LINK_FAULT";

std::string Content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The output of `df -PT` on a machine whose root is this full.
std::string Df(const std::string& used) {
  return absl::StrCat(
      "Filesystem     Type  1024-blocks     Used Available Capacity Mounted on\n"
      "/dev/nvme0n1p2 ext4    205314024 ",
      used == "100%" ? "205310000      4024" : "82000000 123314024", "      ", used, " /\n",
      "tmpfs          tmpfs     4000000        0   4000000       0% /run\n");
}

class AnswersTest : public DialogueTest {
 protected:
  static v1::Incident Incident(const std::string& description, const std::string& node) {
    v1::Incident incident;
    incident.set_description(description);
    if (!node.empty()) incident.add_nodes(node);
    return incident;
  }
  void SetDisk(double used, const std::string& message) {
    machines_->Set("vm", "system.disk",
                   {absl::StrCat("name: 'used_pct' unit: '%' subject { device: 'mount:/' } "
                                 "double_value: ",
                                 used),
                    "name: 'inodes_used_pct' unit: '%' subject { device: 'mount:/' } "
                    "double_value: 3",
                    "name: 'read_only' subject { device: 'mount:/' } bool_value: false"},
                   message);
  }
};

// The first of the two cases of the findings: a check that passed in round one ruled out a fault
// that the customer saw happen after it.
TEST_F(AnswersTest, ADiskThatFillsBetweenTwoRoundsIsFound) {
  Start({"vm"});
  SetDisk(40, "40 % of / is used");
  const Diagnosis first = Diagnose(Incident("The trainer on vm stops every now and then", "vm"));
  EXPECT_EQ(first.state(), Diagnosis::AWAITING_FEEDBACK);
  SetDisk(100, "/ is 100 % full");
  const Diagnosis second = AnswerWith(
      "Now it says: OSError: [Errno 28] No space left on device. Please check the disk again.");
  EXPECT_EQ(second.state(), Diagnosis::SUCCEEDED);
  EXPECT_EQ(second.report().primary_cause().label(), kDiskFull);
  EXPECT_TRUE(Says(second, Change::VERDICT, "is confirmed"));
  EXPECT_TRUE(Says(second, Change::RESULT, "now fails: / is 100 % full; before: 40 % of /"));
}

// The second one: what decides was pasted, and was read as words.
TEST_F(AnswersTest, StateOfNvlinkThatTheCustomerPastesConvicts) {
  const std::string bundle = root_ + "/captured";
  fs::copy(GALEN_SOURCE_DIR "/docs/examples/nccl-connection-refused", bundle,
           fs::copy_options::recursive);
  std::string nvlink;
  for (const char* node : {"trn-a17", "trn-a22"}) {
    const std::string file = absl::StrCat(bundle, "/nodes/", node, "/commands.yaml");
    std::string kept;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
      const bool decides = absl::StrContains(line, "\"nvidia-smi\"") ||
                           absl::StrContains(line, "\"dmesg\"") ||
                           absl::StrContains(line, "fabricmanager");
      if (!decides) absl::StrAppend(&kept, line, "\n");
    }
    in.close();
    std::ofstream(file) << kept;
  }
  nvlink =
      Content(GALEN_SOURCE_DIR "/docs/examples/nccl-connection-refused/nodes/trn-a22/c/003.txt");
  Start({});
  const auto opened = host::Bundle::Open(bundle);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const Diagnosis first = Diagnose((*opened)->incident());
  EXPECT_EQ(first.state(), Diagnosis::AWAITING_FEEDBACK);
  EXPECT_THAT(first.report().questions(), ::testing::Not(::testing::IsEmpty()));
  const Diagnosis second = AnswerWith(
      absl::StrCat("We ran what you asked for:\n\n[root@trn-a22 ~]# nvidia-smi nvlink -s\n", nvlink,
                   "\nand the kernel says:\n\n[root@trn-a22 ~]# dmesg -T | grep -i xid\n"
                   "[Wed Mar 11 08:36:52 2026] NVRM: Xid (PCI:0000:16:00): 74, pid='<unknown>', "
                   "name=<unknown>, NVLink: fatal error detected on link 0(0x10000, 0x0, 0x0)\n"
                   "\nDoes that help?"));
  EXPECT_EQ(second.report().primary_cause().label(), kNvlink);
  EXPECT_EQ(second.report().primary_cause().devices(0).node(), "trn-a22");
  ASSERT_EQ(second.dialogue_size(), 1);
  EXPECT_EQ(second.dialogue(0).artefacts(0).kind(), "nvidia_smi.nvlink_status");
  EXPECT_THAT(second.dialogue(0).text(), ::testing::Not(::testing::HasSubstr("inactive")));
  bool told = false;
  for (const v1::CheckResult& result : second.check_results()) {
    if (result.check() == "gpu.nvlink_status") told = result.told() == "feedback/1";
  }
  EXPECT_TRUE(told);
}

// The check needs the captured and the later evidence: neither decides alone.
TEST_F(AnswersTest, WhatWasCapturedAndWhatIsGivenLaterAreReadTogether) {
  const std::string bundle = root_ + "/captured";
  fs::copy(GALEN_SOURCE_DIR "/docs/examples/nccl-connection-refused", bundle,
           fs::copy_options::recursive);
  const std::string file = bundle + "/nodes/trn-a22/rootfs/proc/modules";
  const std::string modules = Content(file);
  fs::remove(file);
  for (const char* node : {"trn-a17", "trn-a22"}) {
    const std::string list = absl::StrCat(bundle, "/nodes/", node, "/commands.yaml");
    std::string kept;
    std::ifstream in(list);
    for (std::string line; std::getline(in, line);) {
      const bool proves =
          absl::StrContains(line, "nvidia-smi") || absl::StrContains(line, "\"dmesg\"");
      if (!proves) absl::StrAppend(&kept, line, "\n");
    }
    in.close();
    std::ofstream(list) << kept;
  }
  Start({});
  const auto opened = host::Bundle::Open(bundle);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const auto peermem = [](const Diagnosis& diagnosis) {
    for (const v1::CheckResult& result : diagnosis.check_results()) {
      if (result.id() == "rdma.peermem@trn-a22") return result;
    }
    return v1::CheckResult();
  };
  v1::Incident incident = (*opened)->incident();
  incident.clear_logs();  // so that nothing is proven
  EXPECT_EQ(peermem(Diagnose(incident)).status(), v1::CheckResult::SKIPPED);
  const Diagnosis second =
      AnswerWith(absl::StrCat("[root@trn-a22 ~]# cat /proc/modules\n", modules));
  EXPECT_EQ(peermem(second).told(), "feedback/1");
  EXPECT_EQ(Content(file), "") << "what was captured stays as it was";
}

TEST_F(AnswersTest, WordsAgainstAMachineThatIsFineConvictNobody) {
  Start({"vm"});
  SetDisk(40, "40 % of / is used");
  Diagnose(Incident("The trainer on vm stops every now and then", "vm"));
  const Diagnosis second = AnswerWith("I think it says: No space left on device");
  EXPECT_EQ(Labels(second), "");
  EXPECT_EQ(machines_->runs()["system.disk@vm"], 2);
}

TEST_F(AnswersTest, AConfirmedCauseIsJudgedAnewOnceTheMachineChanged) {
  Start({"vm"});
  SetDisk(100, "/ is 100 % full");
  const Diagnosis first =
      Diagnose(Incident("Saving fails on vm with: No space left on device", "vm"));
  EXPECT_EQ(first.report().primary_cause().label(), kDiskFull);
  SetDisk(40, "40 % of / is used");
  v1::SubmitFeedbackRequest again;
  again.set_look_again(true);
  again.set_by("ada");
  const Diagnosis second = Answer(again);
  EXPECT_EQ(Labels(second), "");
  EXPECT_TRUE(Says(second, Change::VERDICT, "it was confirmed"));
  EXPECT_EQ(second.dialogue(0).by(), "ada");
}

TEST_F(AnswersTest, WhatIsGivenLaterCountsMoreThanWhatWasCaptured) {
  Start({});
  v1::Incident incident = Incident("Saving fails with: No space left on device", "");
  incident.set_bundle(Bundle("n1", {{"df -PT", Df("40%")}}));
  const Diagnosis first = Diagnose(incident);
  EXPECT_EQ(first.state(), Diagnosis::AWAITING_FEEDBACK);
  const Diagnosis second =
      AnswerWith(absl::StrCat("It stopped again.\n\n[root@n1 ~]# df -PT\n", Df("100%")));
  EXPECT_EQ(second.report().primary_cause().label(), kDiskFull);
  EXPECT_TRUE(Says(second, Change::CONTRADICTION, "used_pct"));
}

// After any paste, the machine itself can be examined, and is.
TEST_F(AnswersTest, AnOutputThatTheMachineContradictsProvesAndRefutesNothing) {
  Start({"vm"});
  SetDisk(40, "40 % of / is used");
  Diagnose(Incident("The trainer on vm stops every now and then", "vm"));
  const Diagnosis second = AnswerWith(absl::StrCat("[root@vm ~]# df -PT\n", Df("100%")));
  EXPECT_EQ(Labels(second), "");
  EXPECT_NE(StatusOf(second, kDiskFull), Hypothesis::REJECTED);
  EXPECT_TRUE(Says(second, Change::CONTRADICTION, "the machine itself now says"));
}

TEST_F(AnswersTest, AMachineThatDoesNotAnswerAnyMoreAcquitsNobody) {
  Start({"vm"});
  SetDisk(40, "40 % of / is used");
  Diagnose(Incident("Saving fails on vm with: No space left on device", "vm"));
  machines_->Forget("vm", "system.disk");
  const Diagnosis second = AnswerWith("it goes on");
  EXPECT_NE(StatusOf(second, kDiskFull), Hypothesis::REJECTED);
}

// Xid 79 alone proves nothing against messages about a rank that left: the bus decides.
TEST_F(AnswersTest, AKernelLogAndAListOfDevicesThatArePastedConvict) {
  Start({});
  v1::Incident incident = Incident("Rank 3 is gone, all others wait for it", "");
  incident.set_bundle(Bundle("n1", {{"df -PT", Df("40%")}}));
  EXPECT_EQ(Diagnose(incident).state(), Diagnosis::AWAITING_FEEDBACK);
  const Diagnosis second = AnswerWith(
      "[root@n1 ~]# dmesg -T | tail\n"
      "[Wed Mar 11 10:40:02 2026] NVRM: Xid (PCI:0000:8a:00): 79, pid='<unknown>', name=<unknown>, "
      "GPU has fallen off the bus.\n"
      "[Wed Mar 11 10:40:02 2026] NVRM: GPU 0000:8a:00.0: GPU has fallen off the bus.\n\n"
      "[root@n1 ~]# lspci -nn | grep -i nvidia\n"
      "19:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev "
      "a1)\n"
      "8a:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev "
      "ff)\n");
  EXPECT_EQ(second.state(), Diagnosis::SUCCEEDED);
  EXPECT_EQ(second.report().primary_cause().label(), "GPU.PCIE.DEVICE_LOST");
}

TEST_F(AnswersTest, ALogThatComesAsAFileIsEvidence) {
  Start({});
  v1::Incident incident = Incident("The job ends after a few minutes", "");
  incident.set_bundle(Bundle("n1", {{"df -PT", Df("40%")}}));
  EXPECT_EQ(Diagnose(incident).state(), Diagnosis::AWAITING_FEEDBACK);
  v1::SubmitFeedbackRequest request;
  v1::LogSource& log = *request.mutable_evidence()->add_logs();
  log.set_path("dmesg.txt");
  log.set_content(
      "[ 8123.114210] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=job_7,"
      "mems_allowed=0-1,oom_memcg=/slurm/uid_1000/job_7,task=python3,pid=4711,uid=1000\n"
      "[ 8123.114310] Memory cgroup out of memory: Killed process 4711 (python3) "
      "total-vm:98123456kB, anon-rss:67108864kB, file-rss:0kB\n");
  const Diagnosis second = Answer(request);
  EXPECT_EQ(second.report().primary_cause().label(),
            "SYSTEM_SOFTWARE.RESOURCE_LIMITS.CGROUP_OOM_KILL");
  EXPECT_EQ(second.dialogue(0).artefacts_size(), 1);
}

TEST_F(AnswersTest, AnAnswerThatSaysNothingIsToldSo) {
  Start({"vm"});
  SetDisk(40, "40 % of / is used");
  Diagnose(Incident("The trainer on vm stops every now and then", "vm"));
  const Diagnosis second = AnswerWith("thanks, we will see");
  EXPECT_EQ(second.state(), Diagnosis::AWAITING_FEEDBACK);
  EXPECT_EQ(second.report().changes(0).kind(), Change::NOTHING);
}

TEST_F(AnswersTest, AnAnswerThatIsSentTwiceCountsOnce) {
  Start({"vm"});
  SetDisk(40, "40 % of / is used");
  Diagnose(Incident("The trainer on vm stops every now and then", "vm"));
  v1::SubmitFeedbackRequest request;
  request.set_text("it happened again");
  request.set_request_id("a1");
  Answer(request);
  EXPECT_EQ(Answer(request).dialogue_size(), 1);
}

// A test that a person ran by hand counts like one that Galen ran.
TEST_F(AnswersTest, AResultOfATestByHandIsEvidence) {
  Start({});
  v1::Incident incident = Incident("All-reduce over two nodes is slow", "");
  incident.set_bundle(Bundle("n1", {{"df -PT", Df("40%")}}));
  Diagnose(incident);
  const Diagnosis second = AnswerWith(
      "[root@n1 ~]# dcgmi diag -r 2 -j\n"
      "{\"DCGM Diagnostic\": {\"test_categories\": [{\"category\": \"Hardware\", \"tests\": "
      "[{\"name\": \"Memory\", \"results\": [{\"gpu_id\": \"3\", \"status\": \"Fail\", "
      "\"warnings\": [{\"warning\": \"Detected 2 uncorrectable ECC errors\"}]}]}]}]}}\n");
  bool ran = false;
  for (const v1::CheckResult& result : second.check_results()) {
    if (result.check() == "gpu.dcgm_diag") ran = result.told() == "feedback/1";
  }
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace galen
