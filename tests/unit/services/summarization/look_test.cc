#include "services/summarization/look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "fakes.h"
#include "tests/testing/status_matchers.h"

namespace galen::summarization {
namespace {

using ::galen::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A bundle of one machine with a log, and a file that nobody may read.
class LookTest : public ::testing::Test {
 protected:
  LookTest() {
    secret_ = directory_.Write("secret.txt", "the key of another tenant\n");
    directory_.Write("b/logs/train.log", "step 1\nNCCL WARN timeout\nstep 2\n");
    directory_.Write("b/nodes/n1/commands.yaml",
                     "- {argv: [dmesg, --time-format, iso], exit: 0, stdout: c/1.txt}\n"
                     "- {argv: [cat, x], exit: 0, stdout: c/2.txt}\n");
    directory_.Write("b/nodes/n1/c/1.txt", "2025-05-01T10:00:00,000000+00:00 NVRM: Xid 79\n");
    directory_.Write("b/nodes/n1/rootfs/proc/meminfo", "MemTotal: 1 kB\n");
    const std::string rootfs = directory_.path() + "/b/nodes/n1/rootfs";
    std::filesystem::create_symlink(secret_, directory_.path() + "/b/nodes/n1/c/2.txt");
    std::filesystem::create_symlink(secret_, rootfs + "/proc/link");
    std::filesystem::create_directory_symlink(directory_.path(), rootfs + "/up");
    request_.mutable_incident()->set_bundle(directory_.path() + "/b");
    request_.mutable_incident()->set_description("It stopped.\nNCCL says timeout.");
    galen::v1::LogSource& log = *request_.mutable_incident()->add_logs();
    log.set_path("train.log");
    log.set_node("n1");
    galen::v1::CheckResult& result = *request_.mutable_evidence()->add_results();
    result.set_id("gpu.ecc@n1");
    result.set_check("gpu.ecc");
    result.set_node("n1");
    result.set_status(galen::v1::CheckResult::FAIL);
    result.set_message("a timeout of the memory");
  }

  galen::v1::ToolResult Shown() {
    const auto response = Look(request_, {}, clock_, absl::Now() + absl::Minutes(1));
    EXPECT_TRUE(response.ok()) << response.status();
    request_.clear_calls();
    return response.ok() && response->results_size() == 1 ? response->results(0)
                                                          : galen::v1::ToolResult();
  }
  galen::v1::ToolResult Read(const std::string& artefact, int line = 1) {
    auto& call = *request_.add_calls()->mutable_read_lines();
    call.set_artefact(artefact);
    call.set_line(line);
    return Shown();
  }
  galen::v1::ToolResult Search(const std::string& artefact, const std::string& pattern) {
    auto& call = *request_.add_calls()->mutable_search();
    call.set_artefact(artefact);
    call.set_pattern(pattern);
    return Shown();
  }

  const TestDirectory directory_;
  std::string secret_;
  v1::LookRequest request_;
  const SystemClock clock_;
};

TEST_F(LookTest, ListsWhatThereIsAndReadsItByThoseNames) {
  request_.add_calls()->mutable_list_artefacts();
  const std::string list = Shown().DebugString();
  for (const char* name : {"report", "train.log", "dmesg of n1"}) {
    EXPECT_THAT(list, HasSubstr(name));
  }
  const galen::v1::ToolResult log = Read("train.log", 2);
  ASSERT_EQ(log.lines_size(), 2);
  EXPECT_EQ(log.lines(0).quote(), "NCCL WARN timeout");
  EXPECT_EQ(log.lines(0).line(), 2);
  EXPECT_EQ(log.lines(0).node(), "n1");
  const galen::v1::ToolResult kernel = Read("n1: dmesg --time-format iso");
  ASSERT_EQ(kernel.lines_size(), 1);
  EXPECT_TRUE(kernel.lines(0).has_time());
  // A log of events has the name of its messages, and that of its command opens it too.
  EXPECT_EQ(kernel.lines(0).artefact(), "dmesg of n1");
  EXPECT_EQ(Read("dmesg of n1").lines_size(), 1);
  EXPECT_EQ(Read("n1: /proc/meminfo").lines(0).quote(), "MemTotal: 1 kB");
  EXPECT_EQ(Read("report", 2).lines(0).quote(), "NCCL says timeout.");
}

TEST_F(LookTest, OpensNothingByAnyOtherName) {
  for (const std::string& name :
       {secret_, std::string("../secret.txt"), std::string("../../secret.txt"),
        std::string("n1: cat x"), std::string("n1: /proc/link"), std::string("n1: /up/secret.txt"),
        std::string("n1: /../../../../secret.txt"), std::string("/etc/passwd"), std::string("@")}) {
    const galen::v1::ToolResult shown = Read(name);
    EXPECT_THAT(shown.lines(), IsEmpty()) << name;
  }
  EXPECT_THAT(Search("", "key of another").DebugString(), Not(HasSubstr("tenant")));
}

// Nothing is read by a list that names a file outside its machine; other lists are followed.
TEST_F(LookTest, ReadsNothingByAListThatLeavesItsMachine) {
  directory_.Write("b/nodes/n2/commands.yaml",
                   "- {argv: [dmesg], exit: 0, stdout: c/1.txt}\n"
                   "- {argv: [cat, x], exit: 0, stdout: ../../../secret.txt}\n");
  directory_.Write("b/nodes/n2/c/1.txt", "a line\n");
  EXPECT_THAT(Read("n2: dmesg").lines(), IsEmpty());
  EXPECT_THAT(Read("n2: cat x").lines(), IsEmpty());
  EXPECT_EQ(Read("n1: dmesg --time-format iso").lines_size(), 1);
  EXPECT_THAT(Search("", "key of another").DebugString(), Not(HasSubstr("tenant")));
}

TEST_F(LookTest, SearchesEverythingThatIsListedAndWhatChecksSaid) {
  const galen::v1::ToolResult found = Search("", "TIMEOUT");
  std::vector<std::string> artefacts;
  for (const auto& line : found.lines()) artefacts.push_back(line.artefact());
  EXPECT_THAT(artefacts, ::testing::ElementsAre("report", "train.log", "gpu.ecc@n1"));
  EXPECT_EQ(Search("train.log", "step [0-9]").lines_size(), 2);
  // Text that is not a pattern matches itself.
  EXPECT_EQ(Search("train.log", "step (").text(), "No line matches.");
  EXPECT_THAT(Search("train.log", "").text(), HasSubstr("empty"));
}

TEST_F(LookTest, SearchesWhatACheckSaidByItsName) {
  EXPECT_EQ(Search("gpu.ecc", "timeout").lines_size(), 1);
  EXPECT_EQ(Search("gpu", "timeout").lines_size(), 0);
}

TEST_F(LookTest, SearchesAllThatIsOfAMachineAndNamesArtefactsLikeThePattern) {
  const galen::v1::ToolResult found = Search("n1", "timeout");
  std::vector<std::string> artefacts;
  for (const auto& line : found.lines()) artefacts.push_back(line.artefact());
  EXPECT_THAT(artefacts, ::testing::ElementsAre("train.log", "gpu.ecc@n1"));
  EXPECT_THAT(Search("", "TRAIN.log").text(), HasSubstr("Artefacts of such a name: train.log."));
  EXPECT_THAT(Search("n2", "timeout").text(), HasSubstr("No artefact has that name"));
}

// Lines as the last one, or like three before them but for their numbers, say nothing new.
TEST_F(LookTest, LeavesLinesOutThatSayTheSame) {
  std::string text;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&text, "\n");
  for (int i = 0; i < 100; ++i) absl::StrAppend(&text, "step ", i, " done\n");
  absl::StrAppend(&text, "the end\n");
  directory_.Write("b/logs/train.log", text);
  const galen::v1::ToolResult shown = Read("train.log");
  std::vector<int> numbers;
  for (const auto& line : shown.lines()) numbers.push_back(static_cast<int>(line.line()));
  EXPECT_THAT(numbers, ::testing::ElementsAre(1, 101, 102, 103, 201));
}

TEST_F(LookTest, AnOverviewShowsShortLogsWholeAndNamesTheRest) {
  const galen::v1::ToolResult shown = Read("");
  EXPECT_THAT(shown.DebugString(), HasSubstr("quote: \"dmesg of n1\""));
  std::vector<std::string> lines;
  for (const auto& line : shown.lines()) {
    if (!line.artefact().empty()) lines.push_back(absl::StrCat(line.artefact(), " ", line.line()));
  }
  EXPECT_THAT(lines,
              ::testing::ElementsAre("train.log 1", "train.log 2", "train.log 3", "dmesg of n1 1"));
}

TEST_F(LookTest, AnOverviewOfALongLogShowsMessagesErrorsBesideThemAndTheEnd) {
  std::string text;
  for (int i = 1; i <= 500; ++i) {
    absl::StrAppend(&text,
                    i == 98    ? "ERROR: the peer is gone"
                    : i == 300 ? "ERROR: far from every message"
                               : absl::StrCat("line ", std::string(1 + i % 7, 'x'), i),
                    "\n");
  }
  directory_.Write("b/logs/train.log", text);
  galen::v1::Signal& signal = *request_.mutable_evidence()->mutable_summary()->add_signals();
  signal.set_source("train.log");
  signal.set_first_line(100);
  std::vector<int> numbers;
  const galen::v1::ToolResult shown = Read("");
  for (const auto& line : shown.lines()) {
    if (line.artefact() == "train.log") numbers.push_back(static_cast<int>(line.line()));
  }
  std::vector<int> wanted = {98, 100};
  for (int i = 486; i <= 500; ++i) wanted.push_back(i);
  EXPECT_EQ(numbers, wanted);
}

// Old lines come last, and only if there is room.
TEST_F(LookTest, AnOverviewPutsOldLinesLast) {
  request_.mutable_incident()->mutable_start_time()->set_seconds(
      absl::ToUnixSeconds(absl::FromCivil(absl::CivilDay(2025, 5, 9), absl::UTCTimeZone())));
  directory_.Write("b/nodes/n1/c/1.txt",
                   "2025-05-01T10:00:00,000000+00:00 NVRM: Xid 79\n"
                   "2025-05-09T10:00:00,000000+00:00 NVRM: Xid 48\n");
  const galen::v1::ToolResult shown = Read("");
  std::vector<int> numbers;
  for (const auto& line : shown.lines()) {
    if (line.artefact() == "dmesg of n1") numbers.push_back(static_cast<int>(line.line()));
  }
  EXPECT_THAT(numbers, ::testing::ElementsAre(2, 1));
  EXPECT_EQ(shown.lines(shown.lines_size() - 1).line(), 1);
}

TEST_F(LookTest, AnOverviewIsBounded) {
  for (int i = 0; i < 200; ++i) {
    galen::v1::LogSource& log = *request_.mutable_incident()->add_logs();
    log.set_path(absl::StrCat(std::string(300, 'n'), i));
    std::string text;
    for (int line = 0; line < 100; ++line)
      absl::StrAppend(&text, std::string(900, 'x'), line, "\n");
    log.set_content(text);
  }
  EXPECT_LT(Read("").ByteSizeLong(), 16'000u);
}

TEST_F(LookTest, IsBoundedWhateverAFileHolds) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) absl::StrAppend(&text, "timeout ", std::string(900, 'x'), "\n");
  directory_.Write("b/logs/train.log", text);
  EXPECT_LT(Read("train.log").ByteSizeLong(), 16'000u);
  const galen::v1::ToolResult found = Search("train.log", "timeout");
  EXPECT_LT(found.ByteSizeLong(), 16'000u);
  EXPECT_THAT(found.text(), HasSubstr("more lines match"));
  // A pattern that makes others try for ever takes the time of its text.
  EXPECT_THAT(Search("train.log", "(x+x+)+y").text(), HasSubstr("No line matches"));
}

// A long name has a short one beside it, which reads and searches as well.
TEST_F(LookTest, GivesALongNameAHandle) {
  directory_.Write("b/nodes/n1/commands.yaml",
                   "- {argv: [true], exit: 0, stdout: c/1.txt}\n"
                   "- {argv: [nvidia-smi, '--query-gpu=name,pci.bus_id'], stdout: c/3.txt}\n");
  directory_.Write("b/nodes/n1/c/3.txt", "name, pci.bus_id\nH100, 00:1B.0\n");
  const std::string name = "n1: nvidia-smi --query-gpu=name,pci.bus_id";
  request_.add_calls()->mutable_list_artefacts();
  EXPECT_THAT(Shown().DebugString(), HasSubstr("#m1.2 = " + name));
  const galen::v1::ToolResult read = Read("#m1.2", 2);
  ASSERT_EQ(read.lines_size(), 1);
  EXPECT_EQ(read.lines(0).artefact(), name);
  EXPECT_EQ(read.lines(0).handle(), "#m1.2");
  EXPECT_EQ(Search("#m1.2", "H100").lines_size(), 1);
  // Short names need none, and a name that looks like a handle takes precedence.
  EXPECT_EQ(Read("train.log").lines(0).handle(), "");
  galen::v1::LogSource& log = *request_.mutable_incident()->add_logs();
  log.set_path("#m1.2");
  log.set_content("another text\n");
  EXPECT_EQ(Read("#m1.2").lines(0).quote(), "another text");
  EXPECT_EQ(Read(name).lines(0).handle(), "");
}

TEST_F(LookTest, NamesALogWithoutTheFoldersOfThisMachine) {
  const std::string path = directory_.Write("elsewhere/other.log", "step 7\n");
  request_.mutable_incident()->add_logs()->set_path(path);
  EXPECT_EQ(Read("other.log").lines_size(), 1);
  EXPECT_THAT(Read(path).lines(), IsEmpty());
  request_.add_calls()->mutable_list_artefacts();
  EXPECT_THAT(Shown().DebugString(), Not(HasSubstr(directory_.path())));
}

class LongLineTest : public LookTest {
 protected:
  static constexpr char kToken[] = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
  LongLineTest() {
    line_ = absl::StrCat("10:00 rank 3 ", std::string(3000, 'x'), " NCCL timeout here ",
                         std::string(2000, 'y'), " token=", kToken, " ", std::string(800, 'z'),
                         " the very end");
    directory_.Write("b/logs/train.log", absl::StrCat("first\n", line_, "\nlast\n"));
  }
  galen::v1::ToolResult ReadFrom(int byte, int line = 2) {
    auto& call = *request_.add_calls()->mutable_read_lines();
    call.set_artefact("train.log");
    call.set_line(line);
    call.set_byte(byte);
    return Shown();
  }
  std::string line_;
};

TEST_F(LongLineTest, IsShortenedInTheMiddleAndSaysWhere) {
  const std::string shown = Read("train.log", 2).lines(0).quote();
  EXPECT_LE(shown.size(), 400u);
  EXPECT_THAT(shown, ::testing::StartsWith("10:00 rank 3 xxx"));
  EXPECT_THAT(shown, ::testing::EndsWith("zzz the very end"));
  EXPECT_THAT(shown,
              ::testing::ContainsRegex("x \\[bytes 2[0-9]+-[0-9]+ of [0-9]+ are left out\\] z"));
}

TEST_F(LongLineTest, IsShownAroundWhatIsSearchedFor) {
  const std::string shown = Search("train.log", "nccl timeout").lines(0).quote();
  EXPECT_LE(shown.size(), 400u);
  EXPECT_THAT(shown, HasSubstr("NCCL timeout here"));
  EXPECT_THAT(shown, ::testing::StartsWith("10:00 rank 3"));
  EXPECT_THAT(shown, ::testing::EndsWith("the very end"));
}

TEST_F(LongLineTest, IsShownAroundItsMessageInAnOverview) {
  galen::v1::Signal& signal = *request_.mutable_evidence()->mutable_summary()->add_signals();
  signal.set_source("train.log");
  signal.set_first_line(2);
  signal.set_excerpt(absl::StrCat("...xxx NCCL timeout here ", std::string(128 - 6, 'y')));
  const galen::v1::ToolResult shown = Read("");
  EXPECT_THAT(shown.DebugString(), HasSubstr("NCCL timeout"));
  EXPECT_THAT(shown.DebugString(), HasSubstr("are left out"));
}

TEST_F(LongLineTest, IsReadByItsBytes) {
  const galen::v1::ToolResult part = ReadFrom(3001);
  ASSERT_EQ(part.lines_size(), 1);
  EXPECT_EQ(part.lines(0).line(), 2);
  EXPECT_EQ(part.lines(0).quote().size(), 2000u);
  EXPECT_THAT(part.lines(0).quote(), HasSubstr("NCCL timeout here"));
  EXPECT_THAT(part.text(), HasSubstr("bytes 3001-5000 of the"));
  EXPECT_THAT(ReadFrom(1'000'000).text(), ::testing::ContainsRegex("Line 2 has 5[0-9]+ bytes"));
  EXPECT_EQ(ReadFrom(1, 9).text(), "It has 3 lines.");
}

// Half of a secret would not be recognised, so it is masked while it is whole.
TEST_F(LongLineTest, ShowsNoHalfOfASecret) {
  const int at = static_cast<int>(line_.find(kToken));
  for (const int byte : {at - 10, at + 1, at + 2, at + 11, at + 20}) {
    EXPECT_THAT(ReadFrom(byte).DebugString(), Not(HasSubstr("56789"))) << byte;
    EXPECT_THAT(ReadFrom(byte - 1990).DebugString(), Not(HasSubstr("ghp_a"))) << byte;
  }
  EXPECT_THAT(Search("train.log", "rstuvwxyz01").DebugString(), Not(HasSubstr("56789")));
}

TEST_F(LongLineTest, IsCutAtTheBoundsOfCharacters) {
  std::string text;
  for (int i = 0; i < 2000; ++i) absl::StrAppend(&text, "\xC3\xA4");
  directory_.Write("b/logs/train.log", absl::StrCat("\n", text, "\n"));
  for (const int byte : {1, 2, 3, 400, 401}) {
    EXPECT_THAT(ReadFrom(byte).lines(0).quote(), Not(HasSubstr("\xEF\xBF\xBD"))) << byte;
  }
  EXPECT_THAT(Read("train.log", 2).lines(0).quote(), Not(HasSubstr("\xEF\xBF\xBD")));
}

TEST_F(LookTest, RefusesCallsThatReadNoArtefact) {
  request_.add_calls()->mutable_run_checks()->add_checks("gpu.burn");
  EXPECT_THAT(Look(request_, {}, clock_, absl::Now() + absl::Minutes(1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not read artefacts")));
}

TEST_F(LookTest, ReadsNoBundleOutsideOfItsRoots) {
  request_.add_calls()->mutable_list_artefacts();
  EXPECT_THAT(
      Look(request_, {directory_.path() + "/other"}, clock_, absl::Now() + absl::Minutes(1)),
      StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("--log_root")));
}

}  // namespace
}  // namespace galen::summarization
