#include "services/summarization/summarizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "fakes.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/words.h"

namespace galen::summarization {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using galen::v1::Entity;
using galen::v1::LogSource;
using galen::v1::Signal;
using galen::v1::Summary;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SummarizerTest : public ::testing::Test {
 protected:
  LogSource& AddLog(const std::string& path, absl::string_view content = "") {
    LogSource& log = *request_.mutable_incident()->add_logs();
    log.set_path(path);
    log.set_content(std::string(content));
    return log;
  }

  absl::StatusOr<v1::SummarizeResponse> Run(absl::Time deadline = absl::InfiniteFuture()) {
    const Summarizer summarizer(*scanner_, reasoner_, clock_, options_);
    return summarizer.Summarize(request_, deadline);
  }

  // The summary, which must succeed.
  Summary Get(absl::Time deadline = absl::InfiniteFuture()) {
    const auto response = Run(deadline);
    EXPECT_THAT(response, IsOk());
    return response.ok() ? response->summary() : Summary();
  }

  void Describe(const std::string& text) { request_.mutable_incident()->set_description(text); }

  const std::unique_ptr<const log_scan::Scanner> scanner_ = SmallCatalogue();
  const FakeReasoner reasoner_{};
  const TickingClock clock_{};
  Summarizer::Options options_{
      .words = std::make_shared<const phrases::OutcomeWords>(testing::ShippedOutcomeWords())};
  v1::SummarizeRequest request_;
  const TestDirectory directory_{};
};

std::vector<std::string> SignalIds(const Summary& summary) {
  std::vector<std::string> ids;
  for (const Signal& signal : summary.signals()) ids.push_back(signal.id());
  return ids;
}

std::vector<std::string> Notes(const Summary& summary) {
  return {summary.notes().begin(), summary.notes().end()};
}

TEST_F(SummarizerTest, GivesASignalWithAllThatIsKnownOfIt) {
  Describe("it broke");
  request_.mutable_incident()->add_nodes("n1");
  LogSource& log = AddLog("train.log",
                          "start\n"
                          "[rank3]: 2024-05-01 12:00:00 Connection refused\n"
                          "[rank4]: 2024-05-01 12:00:05 Connection refused\n");
  log.set_kind(LogSource::JOB);
  log.set_node("n1");
  const Summary summary = Get();
  ASSERT_EQ(summary.signals_size(), 1);
  const Signal& signal = summary.signals(0);
  EXPECT_EQ(signal.id(), "signal/nccl.refused@train.log");
  EXPECT_EQ(signal.signal(), "nccl.refused");
  EXPECT_THAT(signal.labels(), ElementsAre("INTERCONNECT.SOCKET.REFUSED"));
  EXPECT_EQ(signal.strength(), galen::v1::STRONG);
  EXPECT_EQ(signal.role(), galen::v1::PRIMARY);
  EXPECT_EQ(signal.where(), galen::v1::JOB_LOG);
  EXPECT_EQ(signal.source(), "train.log");
  EXPECT_EQ(signal.node(), "n1");
  EXPECT_EQ(signal.rank(), 3);
  EXPECT_EQ(signal.first_line(), 2);
  EXPECT_EQ(signal.count(), 2);
  EXPECT_EQ(signal.first_time().seconds(), 1714564800);
  EXPECT_EQ(signal.last_time().seconds(), 1714564805);
  EXPECT_EQ(signal.excerpt(), "[rank3]: 2024-05-01 12:00:00 Connection refused");
  EXPECT_EQ(signal.meaning(), "nobody listens there");
  EXPECT_EQ(summary.lines_read(), 4);
  EXPECT_EQ(summary.bytes_read(), 110);
}

TEST_F(SummarizerTest, ReadsDescriptionAndFeedbackAsWords) {
  Describe("training is slow");
  request_.add_feedback("no idea");
  request_.add_feedback("now it says Connection refused on mlx5_1");
  const Summary summary = Get();
  EXPECT_THAT(SignalIds(summary),
              ElementsAre("signal/slow@description", "signal/nccl.refused@feedback/2"));
  EXPECT_EQ(summary.signals(1).where(), galen::v1::DESCRIPTION);
  ASSERT_EQ(summary.entities_size(), 1);
  EXPECT_EQ(summary.entities(0).value(), "mlx5_1");
  EXPECT_EQ(summary.entities(0).source(), "feedback/2");
}

TEST_F(SummarizerTest, LogsOfAnAnswerAreReadAndCitedByIt) {
  Describe("training is slow");
  v1::SuppliedEvidence& told = *request_.add_supplied();
  told.set_source("feedback/1");
  galen::v1::LogSource& log = *told.mutable_evidence()->add_logs();
  log.set_path("train.log");
  log.set_kind(galen::v1::LogSource::JOB);
  log.set_content("Connection refused\n");
  const Summary summary = Get();
  EXPECT_THAT(SignalIds(summary),
              ElementsAre("signal/slow@description", "signal/nccl.refused@feedback/1/train.log"));
  EXPECT_EQ(summary.signals(1).where(), galen::v1::JOB_LOG);
}

TEST_F(SummarizerTest, AnAnswerWhoseBundleIsGoneCostsANote) {
  Describe("training is slow");
  v1::SuppliedEvidence& told = *request_.add_supplied();
  told.set_source("feedback/1");
  told.mutable_evidence()->set_bundle("/nowhere/at/all");
  EXPECT_THAT(Get().notes(), Contains(HasSubstr("feedback/1")));
}

TEST_F(SummarizerTest, OrdersSignalsOfAllLogsByTime) {
  AddLog("late.log", "2024-05-01 12:00:09 Connection refused\n");
  AddLog("early.log", "2024-05-01 12:00:03 NVRM: Xid\n");
  AddLog("timeless.log", "Connection refused\n");
  EXPECT_THAT(SignalIds(Get()), ElementsAre("signal/xid@early.log", "signal/nccl.refused@late.log",
                                            "signal/nccl.refused@timeless.log"));
}

TEST_F(SummarizerTest, LogsOfOneNameKeepSignalsOfTheirOwn) {
  AddLog("train.log", "Connection refused\n");
  AddLog("train.log", "Connection refused\n");
  EXPECT_THAT(SignalIds(Get()),
              ElementsAre("signal/nccl.refused@train.log", "signal/nccl.refused@train.log#2"));
}

TEST_F(SummarizerTest, ALogCannotPassForTheDescription) {
  AddLog("description", "Connection refused\n");
  EXPECT_THAT(SignalIds(Get()), ElementsAre("signal/nccl.refused@description#2"));
}

TEST_F(SummarizerTest, TakesTheNodeFromTheLineWhenItIsAKnownOne) {
  request_.mutable_incident()->add_nodes("n7");
  AddLog("known.log", "n7:71:75 [0] NCCL WARN Connection refused\n");
  AddLog("stranger.log", "evil:71:75 [0] NCCL WARN Connection refused\n");
  const Summary summary = Get();
  ASSERT_EQ(summary.signals_size(), 2);
  EXPECT_EQ(summary.signals(0).node(), "n7");
  EXPECT_EQ(summary.signals(1).node(), "");
}

TEST_F(SummarizerTest, NamesEntitiesOfTheMatchedLines) {
  Describe("GPU 3 of n7 fails");
  request_.mutable_incident()->add_nodes("n7");
  AddLog("train.log", "mlx5_9 is fine\nConnect to 10.0.0.7<4711> Connection refused\n");
  const Summary summary = Get();
  std::vector<std::string> found;
  for (const Entity& entity : summary.entities()) {
    found.push_back(absl::StrCat(entity.value(), "@", entity.source(), ":", entity.line()));
  }
  EXPECT_THAT(found, ElementsAre("n7@description:1", "3@description:1", "10.0.0.7@train.log:2",
                                 "4711@train.log:2"));
}

TEST_F(SummarizerTest, PlacesTimesWithoutAYearByTheIncident) {
  AddLog("kern.log", "May  1 12:00:00 n kernel: NVRM: Xid\n");
  EXPECT_THAT(Notes(Get()), ElementsAre(AllOf(HasSubstr("kern.log: 1 matching line"),
                                              HasSubstr("without a year"))));
  request_.mutable_incident()->mutable_start_time()->set_seconds(1714521600);
  const Summary dated = Get();
  EXPECT_EQ(dated.signals(0).first_time().seconds(), 1714564800);
  EXPECT_THAT(Notes(dated), IsEmpty());
}

TEST_F(SummarizerTest, AsksTheReasonerForWordsWithoutShowingItTheLogs) {
  AddLog("train.log", "Connection refused\n");
  const Summary summary = Get();
  EXPECT_EQ(summary.text(), "1 signals, 0 bytes of logs");
  EXPECT_EQ(summary.failure_class(), "GPU");
}

TEST_F(SummarizerTest, PassesOnTheReasonersError) {
  Describe("x");
  const FakeReasoner broken(absl::UnavailableError("model is down"));
  const Summarizer summarizer(*scanner_, broken, clock_, {});
  EXPECT_THAT(summarizer.Summarize(request_, absl::InfiniteFuture()),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("model is down")));
}

TEST_F(SummarizerTest, RefusesAnIncidentWithNothingToRead) {
  Describe(" \n");
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kInvalidArgument,
                              "incident.description: empty; say in a sentence what went wrong, or "
                              "add a log"));
  AddLog("");
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("incident.logs[0]")));
}

TEST_F(SummarizerTest, RefusesADescriptionOrAListThatIsTooLong) {
  Describe(std::string((1 << 20) + 1, 'x'));
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1 MiB")));
  Describe("x");
  for (int i = 0; i < 1001; ++i) AddLog("a", "x");
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most 1000")));
}

TEST_F(SummarizerTest, ReadsTheLogsOfABundle) {
  directory_.Write("logs/train.log", "n7:71:75 [0] NCCL WARN Connection refused\n");
  directory_.Write("nodes/n7/commands.yaml", "[]");
  request_.mutable_incident()->set_bundle(directory_.path());
  AddLog("train.log");
  const Summary summary = Get();
  ASSERT_THAT(SignalIds(summary), ElementsAre("signal/nccl.refused@train.log"));
  EXPECT_EQ(summary.signals(0).node(), "n7");
}

TEST_F(SummarizerTest, NotesALogThatTheBundleLacks) {
  directory_.Write("logs/train.log", "Connection refused\n");
  std::filesystem::create_directories(directory_.path() + "/logs/odd.log");
  request_.mutable_incident()->set_bundle(directory_.path());
  AddLog("rank3.log");
  AddLog("odd.log");
  AddLog("train.log");
  const Summary summary = Get();
  EXPECT_THAT(
      Notes(summary),
      ElementsAre("logs/rank3.log: missing: listed in incident.yaml but not in the bundle",
                  AllOf(HasSubstr("logs/odd.log: not read: "), HasSubstr("not a regular file"))));
  EXPECT_EQ(summary.signals_size(), 1);
}

TEST_F(SummarizerTest, ALogThatSomebodyNamedMustBeThere) {
  AddLog(directory_.path() + "/none.log");
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("none.log")));
}

TEST_F(SummarizerTest, ABundleMustBeThere) {
  Describe("x");
  request_.mutable_incident()->set_bundle(directory_.path() + "/none");
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("incident.bundle")));
}

TEST_F(SummarizerTest, ReadsNothingOutsideOfItsRoots) {
  options_.roots = {directory_.path() + "/allowed"};
  AddLog(directory_.Write("secret.log", "Connection refused\n"));
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("--log_root")));
}

TEST_F(SummarizerTest, StopsReadingWhenHalfTheTimeIsUsedUp) {
  std::string content;
  while (content.size() < (16 << 20)) content += "step 1 loss 1.25 lr 0.0001 and so on and so on\n";
  AddLog(directory_.Write("big.log", "Connection refused\n" + content + "NVRM: Xid\n"));
  AddLog(directory_.Write("next.log", "Connection refused\n"));
  // The clock goes on by a second a look; the third look is past the half.
  const Summary summary = Get(clock_.Now() + absl::Seconds(6));
  EXPECT_THAT(SignalIds(summary), ElementsAre(HasSubstr("signal/nccl.refused@")));
  ASSERT_EQ(summary.notes_size(), 2);
  EXPECT_THAT(summary.notes(0), AllOf(HasSubstr("big.log: read the first 262144 bytes"),
                                      HasSubstr("half of the time")));
  EXPECT_THAT(summary.notes(1), HasSubstr("next.log: read the first 0 bytes"));
}

TEST_F(SummarizerTest, DoesNotStartWithoutTime) {
  Describe("x");
  EXPECT_THAT(Run(absl::InfinitePast()),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("no time")));
}

TEST_F(SummarizerTest, NotesWhatWasOddAboutALog) {
  using namespace std::string_literals;
  AddLog("binary.log", "a\0b\0Connection refused\n\x01\x02\x03\x04NVRM: Xid\n"s);
  AddLog("long.log", std::string(3 << 20, 'x') + "Connection refused");
  AddLog(directory_.Write("empty.log", ""));
  const Summary summary = Get();
  EXPECT_THAT(Notes(summary),
              ElementsAre("binary.log: 1 line holds binary data (NUL bytes), which was skipped",
                          HasSubstr("long.log: 1 line is longer than 1 MiB"),
                          HasSubstr("empty.log: empty")));
  EXPECT_THAT(SignalIds(summary), Contains("signal/nccl.refused@long.log"));
}

TEST_F(SummarizerTest, NotesAPackedLogThatIsDamaged) {
  Describe("slow");
  AddLog(directory_.Write("cut.gz", std::string("\x1f\x8b\x08\0\0\0\0\0\0\0\xff no deflate", 22)));
  const Summary summary = Get();
  EXPECT_THAT(Notes(summary), ElementsAre(AllOf(HasSubstr("cut.gz: "), HasSubstr("damaged"))));
  EXPECT_THAT(SignalIds(summary), ElementsAre("signal/slow@description"));
}

TEST_F(SummarizerTest, KeepsTheStrongestSignalsAndSaysSo) {
  options_.max_signals = 2;
  for (int i = 0; i < 20; ++i) AddLog(absl::StrCat("j", i), "Connection refused\n");
  AddLog("kern.log", "NVRM: Xid\n");
  const Summary summary = Get();
  EXPECT_THAT(SignalIds(summary), ElementsAre("signal/nccl.refused@j0", "signal/xid@kern.log"));
  EXPECT_THAT(Notes(summary), ElementsAre(HasSubstr("19 weaker or later ones are left out")));
}

TEST_F(SummarizerTest, GivesTheSameBytesForTheSameIncident) {
  Describe("GPU 3 slow, rank 5, 10.0.0.1:80");
  for (int i = 0; i < 5; ++i)
    AddLog("a.log", "NVRM: Xid (PCI:0000:b3:00): 48\nConnection refused\n");
  EXPECT_EQ(Get().SerializeAsString(), Get().SerializeAsString());
}

TEST_F(SummarizerTest, TheKernelLogThatABundleCapturedIsSearchedForWhatAKernelWrites) {
  directory_.Write("nodes/gpu07/commands.yaml",
                   "- {argv: [\"dmesg\"], exit: 0, stdout: c/1.txt}\n");
  directory_.Write("nodes/gpu07/c/1.txt",
                   "2026-05-06T07:00:00+00:00 NVRM: Xid (PCI:0000:3b:00): 79\n"
                   "2026-05-06T07:00:01+00:00 nfs: Connection refused\n");
  Describe("it stopped");
  request_.mutable_incident()->set_bundle(directory_.path());
  request_.mutable_incident()->mutable_start_time()->set_seconds(1778050800);  // 07:00 of that day
  Summary summary = Get();
  ASSERT_EQ(summary.signals_size(), 1);
  EXPECT_EQ(summary.signals(0).node(), "gpu07");
  EXPECT_EQ(summary.signals(0).source(), "dmesg of gpu07");
  // Two days later it is an old story.
  request_.mutable_incident()->mutable_start_time()->set_seconds(1778050800 + 2 * 86400);
  EXPECT_EQ(Get().signals_size(), 0);
}

TEST_F(SummarizerTest, MachinesAreLookedAtAsLongAsThereIsTime) {
  for (int i = 10; i < 40; ++i) {
    const std::string folder = absl::StrCat("nodes/gpu", i);
    directory_.Write(folder + "/commands.yaml",
                     "- {argv: [\"dmesg\"], exit: 0, stdout: c/1.txt}\n");
    directory_.Write(folder + "/c/1.txt", "NVRM: Xid (PCI:0000:3b:00): 79\n");
  }
  Describe("it stopped");
  request_.mutable_incident()->set_bundle(directory_.path());
  // The clock goes on by a second a look.
  const Summary summary = Get(clock_.Now() + absl::Seconds(20));
  EXPECT_LT(summary.signals_size(), 20);
  ASSERT_FALSE(summary.notes().empty());
  EXPECT_THAT(summary.notes(summary.notes_size() - 1),
              AllOf(HasSubstr("machines were not searched"), HasSubstr("half of the time")));
}

TEST_F(SummarizerTest, EventsThatABmcLoggedAreSearchedAndStatesAreNot) {
  directory_.Write("nodes/gpu07/commands.yaml",
                   "- {argv: [\"ipmitool\", \"sel\", \"elist\"], exit: 0, stdout: c/1.txt}\n"
                   "- {argv: [\"ibstat\"], exit: 0, stdout: c/1.txt}\n");
  directory_.Write("nodes/gpu07/c/1.txt",
                   "1 | 01/02/2026 | 10:00:00 | PSU 1 | AC lost | Asserted\n");
  Describe("it stopped");
  request_.mutable_incident()->set_bundle(directory_.path());
  const Summary summary = Get();
  ASSERT_EQ(summary.signals_size(), 1);
  EXPECT_EQ(summary.signals(0).source(), "ipmitool sel elist of gpu07");
}

TEST_F(SummarizerTest, ALineThatWasPastedIsNotCountedAgainFromTheCapture) {
  directory_.Write("nodes/gpu07/commands.yaml",
                   "- {argv: [\"dmesg\"], exit: 0, stdout: c/1.txt}\n");
  directory_.Write("nodes/gpu07/c/1.txt", "NVRM: Xid (PCI:0000:3b:00): 79\n");
  request_.mutable_incident()->set_bundle(directory_.path());
  AddLog("pasted.txt", "NVRM: Xid (PCI:0000:3b:00): 79\n");
  EXPECT_EQ(Get().signals_size(), 1);
}

TEST_F(SummarizerTest, OneMessageOfTwoMachinesIsToldOfBoth) {
  for (const char* node : {"gpu07", "gpu08"}) {
    const std::string folder = absl::StrCat("nodes/", node);
    directory_.Write(folder + "/commands.yaml",
                     "- {argv: [\"dmesg\"], exit: 0, stdout: c/1.txt}\n");
    directory_.Write(folder + "/c/1.txt", "NVRM: Xid (PCI:0000:3b:00): 79\n");
  }
  Describe("it stopped");
  request_.mutable_incident()->set_bundle(directory_.path());
  const Summary summary = Get();
  ASSERT_EQ(summary.signals_size(), 2);
  EXPECT_NE(summary.signals(0).node(), summary.signals(1).node());
}

TEST(SummarizerOfSurvivors, LeavesOutWhatTheProgramSurvived) {
  const triage::Signatures signatures = {{"done:training", "training finished$"},
                                         {"none:retried", "will be retried"},
                                         {"connected:all", "Init COMPLETE"},
                                         {"start:name_resolution", "Name not known"},
                                         {"disk_full", "No space left"}};
  log_scan::Patterns patterns;
  for (const auto& [id, text] : {std::pair("name", "Name not known"), std::pair("slow", "slow"),
                                 std::pair("disk", "No space left")}) {
    knowledge::v1::SignalPattern& pattern = *patterns.Add();
    pattern.set_id(id);
    pattern.set_pattern(text);
    pattern.add_where(galen::v1::JOB_LOG);
  }
  Survived::AddPatterns(signatures, patterns);
  const auto scanner = log_scan::Scanner::Create(patterns, "");
  ASSERT_THAT(scanner, IsOk());
  const FakeReasoner reasoner;
  const TickingClock clock;
  const Summarizer summarizer(**scanner, reasoner, clock,
                              {.survived = std::make_shared<const Survived>(signatures)});
  const auto read = [&](const std::vector<std::string>& logs) {
    v1::SummarizeRequest request;
    request.mutable_incident()->set_description("we see Name not known");
    for (const std::string& text : logs) {
      LogSource& log = *request.mutable_incident()->add_logs();
      log.set_kind(LogSource::JOB);
      log.set_path(absl::StrCat(request.incident().logs_size(), ".log"));
      log.set_content(text);
    }
    const auto response = summarizer.Summarize(request, absl::InfiniteFuture());
    return response.ok() ? SignalIds(response->summary())
                         : std::vector<std::string>{response.status().ToString()};
  };
  const std::string error = "Name not known\n";
  const std::string done = "training finished\n";
  // A slow job goes on.
  EXPECT_THAT(read({error + "slow link\n" + done}), ElementsAre("signal/slow@1.log"));
  EXPECT_THAT(read({error}), ElementsAre("signal/name@1.log", "signal/name@description"));
  EXPECT_THAT(read({done + error}), ElementsAre("signal/name@1.log", "signal/name@description"));
  EXPECT_THAT(read({error + done, error}),
              ElementsAre("signal/name@2.log", "signal/name@description"));
  EXPECT_THAT(read({error + "task 3: Exited with exit code 1\n" + done}),
              ElementsAre("signal/name@1.log", "signal/name@description"));
  // Processes that are connected found each other, but a full disk stays full.
  const std::string connected = "Init COMPLETE\n";
  EXPECT_THAT(read({error + connected}), IsEmpty());
  EXPECT_THAT(read({"No space left\n" + connected}),
              ElementsAre("signal/disk@1.log", "signal/name@description"));
  EXPECT_THAT(read({connected + error}),
              ElementsAre("signal/name@1.log", "signal/name@description"));
  EXPECT_THAT(read({error + "task 3: Exited with exit code 1\n" + connected}),
              ElementsAre("signal/name@1.log", "signal/name@description"));
}

}  // namespace
}  // namespace galen::summarization
