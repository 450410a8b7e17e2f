#include "services/cli/gather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "common/host/edit.h"
#include "common/knowledge/load.h"
#include "tests/testing/scratch.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/run_records/run_records_testing.h"

namespace galen::cli {
namespace gather_test {

using ::galen::testing::IsOk;
using ::galen::testing::Scratch;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kXid[] =
    "[ 1234.567890] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n";

class Gather : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<intake::Text>> Texts() { return GatherTexts(arguments_, in_); }

  absl::StatusOr<Gathered> Incident(const host::Bundle* bundle = nullptr) {
    static const auto* const kinds = [] {
      const auto knowledge =
          knowledge::Load({GALEN_SOURCE_DIR "/knowledge"}, knowledge::LoadOptions());
      return new std::shared_ptr<const intake::Kinds>(
          intake::Kinds::Compile((*knowledge)->base()).value());
    }();
    const auto texts = Texts();
    if (!texts.ok()) return texts.status();
    return GatherIncident(arguments_, *texts, bundle, **kinds, "laptop");
  }

  const Scratch scratch_;
  std::istringstream in_;
  DiagnoseArguments arguments_;
};

TEST_F(Gather, TakesSentencesFilesFoldersAndStandardInputInAnyOrder) {
  arguments_.words = {scratch_.Write("a.log", "one\n"), "job hangs", "-", scratch_ / "more"};
  scratch_.Write("more/2.txt", "two\n");
  scratch_.Write("more/.hidden", "no\n");
  in_.str("piped\n");
  const auto texts = Texts();
  ASSERT_THAT(texts, IsOk());
  ASSERT_THAT(*texts, SizeIs(4));
  EXPECT_EQ((*texts)[0].content, "one\n");
  EXPECT_EQ((*texts)[1].content, "job hangs");
  EXPECT_FALSE((*texts)[1].attached);
  EXPECT_EQ((*texts)[2].content, "piped\n");
  EXPECT_EQ((*texts)[3].content, "two\n");
}

TEST_F(Gather, NumbersThatATrainingProgramRecordedBecomeSeries) {
  scratch_.Write("mlruns/0/8f1c/metrics/train/loss", "1700000000123 2.5 0\n1700000010123 2.25 5\n");
  scratch_.Write("mlruns/0/8f1c/meta.yaml", "run_id: 8f1c\n");
  scratch_.Write("mlruns/0/8f1c/tags/mlflow.user", "somebody");
  arguments_.words = {scratch_ / "mlruns"};
  const auto texts = Texts();
  ASSERT_THAT(texts, IsOk());
  ASSERT_THAT(*texts, SizeIs(1)) << "only the metrics of a run are of interest";
  EXPECT_EQ((*texts)[0].name, "8f1c");
  EXPECT_THAT(
      (*texts)[0].content,
      HasSubstr("job_log_scalar{run_id=\"8f1c\",tag=\"train/loss\"} 2.25 1700000010.123\n"));
  EXPECT_THAT((*texts)[0].content,
              HasSubstr("job_log_scalar_step_seconds{run_id=\"8f1c\"} 2 1700000010.123\n"));
  const auto gathered = Incident();
  ASSERT_THAT(gathered, IsOk());
  ASSERT_THAT(gathered->incident.artefacts(), SizeIs(1));
  EXPECT_EQ(gathered->incident.artefacts(0).kind(), "training.scalars");
  EXPECT_FALSE(gathered->incident.artefacts(0).unread());
  ASSERT_THAT(gathered->incident.logs(), SizeIs(1));
  EXPECT_EQ(gathered->incident.logs(0).path(), "8f1c");
  EXPECT_EQ(gathered->incident.logs(0).kind(), v1::LogSource::TOOL);
}

TEST_F(Gather, AFileOfATrainingProgramWithoutNumbersStaysUnread) {
  arguments_.words = {
      scratch_.Write("events.out.tfevents.1", run_records::EventFileHead(1'700'000'000))};
  const auto gathered = Incident();
  ASSERT_THAT(gathered, IsOk());
  ASSERT_THAT(gathered->incident.artefacts(), SizeIs(1));
  EXPECT_TRUE(gathered->incident.artefacts(0).unread());
}

TEST_F(Gather, AMistypedNameIsNotASentence) {
  arguments_.words = {"mistyped.log", "job hangs"};
  EXPECT_THAT(Texts(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("mistyped.log")));
  arguments_.words = {"logs/train"};
  EXPECT_THAT(Texts(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("logs/train")));
  arguments_ = {};
  arguments_.logs = {"/nowhere/train.log"};
  EXPECT_THAT(Texts(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nowhere/train.log")));
}

TEST_F(Gather, StandardInputIsReadOnce) {
  arguments_.words = {"-", "-"};
  EXPECT_THAT(Texts(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("once")));
}

TEST_F(Gather, RefusesNothingAtAll) {
  EXPECT_THAT(Incident(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--bundle")));
}

TEST_F(Gather, ASentenceAloneIsOfThisMachine) {
  arguments_.words = {"the job hangs since this morning"};
  const auto gathered = Incident();
  ASSERT_THAT(gathered, IsOk());
  EXPECT_THAT(gathered->incident.bundle(), IsEmpty());
  EXPECT_EQ(gathered->incident.description(), "the job hangs since this morning");
  arguments_.words = {"the job dies with RuntimeError: CUDA error: out of memory"};
  const auto quoting = Incident();
  ASSERT_THAT(quoting, IsOk());
  EXPECT_THAT(quoting->incident.bundle(), IsEmpty());
  EXPECT_THAT(quoting->incident.logs(), SizeIs(1));
}

TEST_F(Gather, WordsThatWereWrittenElsewhereAreOfTheReportedMachine) {
  in_.str("the job hangs since this morning\n");
  arguments_.words = {"-"};
  const auto piped = Incident();
  ASSERT_THAT(piped, IsOk());
  EXPECT_FALSE(piped->incident.bundle().empty());
  const auto made = host::Bundle::Open(piped->incident.bundle());
  ASSERT_THAT(made, IsOk());
  EXPECT_THAT((*made)->nodes(), ElementsAre("reported-machine"));
  arguments_.words = {scratch_.Write("issue.md", "the job hangs since this morning\n")};
  EXPECT_FALSE(Incident()->incident.bundle().empty());
  arguments_.words = {"title\n\nthe job hangs\nsince this morning"};
  EXPECT_FALSE(Incident()->incident.bundle().empty());
}

TEST_F(Gather, ALogLeavesThisMachineOutUnlessItNamesItOrSomebodySaysSo) {
  arguments_.logs = {scratch_.Write("dmesg.txt", kXid)};
  EXPECT_FALSE(Incident()->incident.bundle().empty());
  arguments_.here = true;
  const auto here = Incident();
  EXPECT_TRUE(here->incident.bundle().empty());
  EXPECT_THAT(here->incident.logs(), SizeIs(1));
  arguments_ = {};
  arguments_.logs = {scratch_.Write(
      "own.txt", "Feb 01 10:00:00 laptop kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1\n")};
  EXPECT_TRUE(Incident()->incident.bundle().empty());
}

TEST_F(Gather, LogsJoinABundle) {
  ASSERT_THAT(host::NewBundle(scratch_ / "b", "from the bundle", {"n1"}, absl::UnixEpoch()),
              IsOk());
  const auto bundle = host::Bundle::Open(scratch_ / "b");
  ASSERT_THAT(bundle, IsOk());
  EXPECT_EQ(Incident(bundle->get())->incident.description(), "from the bundle");
  arguments_.words = {"said now"};
  EXPECT_EQ(Incident(bundle->get())->incident.description(), "said now");
  arguments_.logs = {scratch_.Write("dmesg.txt", kXid)};
  const auto gathered = Incident(bundle->get());
  ASSERT_THAT(gathered, IsOk());
  const auto joined = host::Bundle::Open(gathered->incident.bundle());
  ASSERT_THAT(joined, IsOk());
  EXPECT_THAT((*joined)->nodes(), ElementsAre("n1"));
  EXPECT_EQ(gathered->incident.logs(0).node(), "n1");
}

TEST_F(Gather, AServerGetsTheTextsThemselves) {
  arguments_.words = {"job hangs"};
  arguments_.logs = {scratch_.Write("train.log", "step 1\n")};
  const auto incident = IncidentForServer(arguments_, *Texts(), nullptr);
  ASSERT_THAT(incident, IsOk());
  EXPECT_EQ(incident->description(), "job hangs");
  EXPECT_EQ(incident->logs(0).path(), "train.log");
  EXPECT_EQ(incident->logs(0).content(), "step 1\n");
}

}  // namespace gather_test
}  // namespace galen::cli
