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
