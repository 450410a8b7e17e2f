#include "common/intake/recognise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/unit/common/intake/kinds_for_test.h"

namespace galen::intake {
namespace recognise_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Recognised Read(absl::string_view text, bool attached = false, const char* name = "issue.md") {
  const Text one = {.name = name, .content = std::string(text), .attached = attached};
  return Recognise(ShippedKinds(), {&one, 1});
}

std::vector<std::string> Shown(const Recognised& recognised) {
  std::vector<std::string> shown;
  for (const Artefact& artefact : recognised.artefacts) {
    shown.push_back(absl::StrCat(artefact.kind == nullptr ? "?" : artefact.kind->id, " ",
                                 artefact.first_line, "-", artefact.last_line,
                                 artefact.host.empty() ? "" : " of ", artefact.host));
  }
  return shown;
}

constexpr char kXid[] =
    "[ 1234.567890] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n";

TEST(Recognise, ALogAloneIsOneArtefactWithoutProse) {
  const Recognised recognised = Read(absl::StrCat(kXid, kXid, kXid), false, "standard input");
  EXPECT_THAT(Shown(recognised), ElementsAre("kernel.log 1-3"));
  EXPECT_THAT(recognised.prose, IsEmpty());
}

TEST(Recognise, AMessageQuotedInASentenceIsAProgramsAndTheSentenceAPersons) {
  const Recognised recognised = Read(
      "The pod dies with `Error 805: MPS client failed to connect to the daemon` since noon.\n");
  EXPECT_THAT(Shown(recognised), ElementsAre("? 1-1"));
  EXPECT_EQ(recognised.artefacts[0].content,
            "Error 805: MPS client failed to connect to the daemon\n");
  EXPECT_THAT(recognised.prose, HasSubstr("daemon` since noon."));
}

TEST(Recognise, AQuotedMessageMayHaveSeveralLines) {
  const Recognised recognised =
      Read("We see `Unable to find a match:\nkernel-headers-4.18 for this host` again.\n");
  EXPECT_THAT(Shown(recognised), ElementsAre("? 1-2"));
  EXPECT_THAT(recognised.prose, HasSubstr("for this host` again."));
}

TEST(Recognise, NamesAndCommandsInASentenceAreOfThePerson) {
  const char* const text = "Setting `NCCL_P2P_DISABLE=1` or `nvidia-smi -q -i 0 -d ECC` helps.\n";
  const Recognised recognised = Read(text);
  EXPECT_THAT(recognised.artefacts, IsEmpty());
  EXPECT_EQ(recognised.prose, text);
}

TEST(Recognise, ASentenceHasNoArtefact) {
  const Recognised recognised =
      Read("Training hangs since we moved to gpu07. nvidia-smi shows nothing.");
  EXPECT_THAT(recognised.artefacts, IsEmpty());
  EXPECT_THAT(recognised.prose, HasSubstr("hangs since"));
}

TEST(Recognise, PartsPromptsInAFence) {
  const Recognised recognised = Read(
      "It fails:\n```\n[root@gpu02 ~]# df -h\nFilesystem Size Used Avail Use% Mounted on\n"
      "/dev/sda1 1.8T 1.8T 0 100% /\n[root@gpu02 ~]# uname -r\n6.8.0-50-generic\n```\nAny idea?\n");
  ASSERT_THAT(recognised.artefacts, SizeIs(2));
  EXPECT_EQ(recognised.artefacts[0].host, "gpu02");
  EXPECT_EQ(recognised.artefacts[0].first_line, 3);
  EXPECT_EQ(recognised.artefacts[0].last_line, 5);
  EXPECT_EQ(recognised.artefacts[0].content_line, 4);
  EXPECT_EQ(recognised.artefacts[1].content, "6.8.0-50-generic\n");
  EXPECT_THAT(recognised.prose, Not(HasSubstr("Filesystem")));
  EXPECT_THAT(recognised.prose, HasSubstr("Any idea?"));
}

TEST(Recognise, FindsOutputsThatStandBareAmongWords) {
  const Recognised recognised = Read(
      "Since this morning the card is gone.\n"
      "gpu07 kernel log says\n"
      "[ 1234.567890] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"
      "and the reboot did not help us.\n");
  EXPECT_THAT(Shown(recognised), ElementsAre("kernel.log 3-3"));
  EXPECT_THAT(recognised.prose, HasSubstr("reboot did not help"));
}

TEST(Recognise, AfterAPromptAPersonMayGoOn) {
  const Recognised recognised = Read(
      "[root@gpu02 ~]# uname -r\n6.8.0-50-generic\n\nFirewalld is off and I restarted everything "
      "twice.\n");
  EXPECT_THAT(Shown(recognised), SizeIs(1));
  EXPECT_THAT(recognised.prose, HasSubstr("Firewalld is off"));
}

TEST(Recognise, AnOutputOfSeveralMachinesIsPartedByTheirHeadings) {
  const Recognised recognised = Read(
      "```\n[u@login ~]$ for h in alfa beta; do echo $h; ssh $h ibv_devinfo; done\nalfa\nhca_id: "
      "mlx5_0\n"
      "\tactive_mtu: 4096 (5)\nbeta\nhca_id: mlx5_0\n\tactive_mtu: 1024 (3)\n```\n");
  ASSERT_THAT(Shown(recognised), ElementsAre("ibv_devinfo 3-5 of alfa", "ibv_devinfo 6-8 of beta"));
  EXPECT_EQ(recognised.artefacts[1].content, "hca_id: mlx5_0\n\tactive_mtu: 1024 (3)\n");
  EXPECT_EQ(recognised.artefacts[1].content_line, 7);
}

TEST(Recognise, AnOutputOfAMachineThatAVariableNamesIsNotThePrompts) {
  const Recognised recognised =
      Read("```\n[u@login01 ~]$ ssh $NODE uname -r\n6.8.0-50-generic\n```\n");
  ASSERT_THAT(recognised.artefacts, SizeIs(1));
  EXPECT_EQ(recognised.artefacts[0].host, "");
}

TEST(Recognise, EqualOutputsOfSeveralMachinesAreCopiedWithinABound) {
  const auto read = [](int lines) {
    std::string text =
        "```\n[u@login ~]$ pdsh -w gpu[1-200] free | dshbak -c\n----\ngpu[1-200]\n----\n";
    for (int i = 0; i < lines; ++i) absl::StrAppend(&text, std::string(1000, 'x'), "\n");
    return Read(absl::StrCat(text, "```\n")).artefacts.size();
  };
  EXPECT_EQ(read(1), 200u);
  EXPECT_EQ(read(1000), 8u);
}

TEST(Recognise, AFilteredOutputIsAnExcerpt) {
  const Recognised recognised =
      Read("```\n$ dmesg | grep mlx4\n[   11.902517] mlx4_core: core driver\n```\n");
  ASSERT_THAT(recognised.artefacts, SizeIs(1));
  EXPECT_TRUE(recognised.artefacts[0].excerpt);
}

TEST(Recognise, ReadsQuotedAndForeignEncodings) {
  const std::string text = absl::StrCat("```\n", kXid, "```\n");
  const std::vector<std::string> plain = Shown(Read(text));
  EXPECT_THAT(plain, ElementsAre("kernel.log 2-2"));
  EXPECT_EQ(Shown(Read(absl::StrReplaceAll(text, {{"\n", "\r\n"}}))), plain);
  EXPECT_EQ(Shown(Read(absl::StrCat("\xEF\xBB\xBF", text))), plain);
  EXPECT_EQ(Shown(Read(absl::StrCat("> ", absl::StrReplaceAll(text, {{"\n", "\n> "}})))), plain);
  EXPECT_EQ(Shown(Read(absl::StrReplaceAll(text, {{"NVRM", "\x1b[31mNVRM\x1b[0m"}}))), plain);
}

TEST(Recognise, AQuotationNeedsNoBlank) {
  const Recognised quoted = Read(absl::StrCat(">", kXid, ">[ 1235.000001] nvme nvme0: I/O\n"));
  EXPECT_THAT(Shown(quoted), ElementsAre("kernel.log 1-2"));
  EXPECT_EQ(quoted.artefacts[0].content.substr(0, 6), "[ 1234");
  // This is the prompt of Python.
  const Recognised python = Read("```\n>>> import torch\n```\n");
  ASSERT_EQ(python.artefacts.size(), 1u);
  EXPECT_EQ(python.artefacts[0].content, ">>> import torch\n");
}

TEST(Recognise, TablesBelowBlankLinesAreOfTheirProgram) {
  constexpr char kNfs[] =
      "nas1:/export mounted on /data:\n\n           ops/s       rpc bklog\n"
      "         812.000        14.200\n\nread:              ops/s            kB/s\n"
      "                 10.000        5120.000\n";
  EXPECT_THAT(Shown(Read(absl::StrCat("root@gpu07:~# nfsiostat 5 1\n\n", kNfs))),
              ElementsAre("nfsiostat 1-9 of gpu07"));
  EXPECT_THAT(Shown(Read(kNfs)), ElementsAre("nfsiostat 1-7"));
  // Lines that a person indents below a sentence are code.
  EXPECT_THAT(Shown(Read("This is what the mount point shows on the bad one:\n\n"
                         "    nas1:/export mounted on /data:\n")),
              ElementsAre("nfsiostat 3-3"));
}

TEST(Recognise, AMessageThatATitleCutsIsThatOfTheLog) {
  constexpr char kLine[] =
      "RuntimeError: CUDA error: an illegal memory access was encountered at step 12";
  const Recognised recognised =
      Read(absl::StrCat("It dies with `RuntimeError: CUDA error: an illegal memory access...`\n\n"
                        "```\n",
                        kLine, "\n```\n"));
  ASSERT_EQ(recognised.artefacts.size(), 1u);
  EXPECT_FALSE(recognised.artefacts[0].quoted);
}

TEST(Recognise, ADescriptionOfAPodTellsItsMachine) {
  const Recognised recognised = Read(
      "Name:             trainer-0\nNamespace:        ml\nNode:             gpu-7/10.0.0.7\n"
      "Status:           Failed\nContainers:\n  main:\n    Image: x\nQoS Class: Burstable\n",
      true, "pod.txt");
  ASSERT_EQ(recognised.artefacts.size(), 1u);
  EXPECT_EQ(recognised.artefacts[0].kind->id, "kubectl.pod");
  EXPECT_EQ(recognised.artefacts[0].machine, "gpu-7");
}

TEST(Recognise, AnEmptyOrBinaryTextHoldsNothingKnown) {
  EXPECT_THAT(Read("").artefacts, IsEmpty());
  EXPECT_THAT(Read("\n\n \n").artefacts, IsEmpty());
  const Recognised binary = Read(std::string("\x7f"
                                             "ELF\x02\x01\x01\x00\x00\x03\x80\x81\x90",
                                             13),
                                 true, "a.out");
  ASSERT_THAT(binary.artefacts, SizeIs(1));
  EXPECT_EQ(binary.artefacts[0].kind, nullptr);
}

}  // namespace recognise_test
}  // namespace galen::intake
