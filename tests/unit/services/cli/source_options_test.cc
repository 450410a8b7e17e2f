#include "services/cli/source_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/host/edit.h"
#include "common/knowledge/load.h"
#include "services/cli/gather.h"
#include "services/cli/report_text.h"
#include "tests/testing/llm/scripted_endpoint.h"
#include "tests/testing/scratch.h"
#include "tests/testing/status_matchers.h"

namespace galen::cli {
namespace source_options_test {

using galen::testing::IsOk;
using galen::testing::Recorded;
using galen::testing::Scratch;
using galen::testing::Scripted;
using galen::testing::ScriptedEndpoint;
using galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

using Code = absl::StatusCode;

constexpr char kStart[] = "2026-03-04T05:00:00Z";
constexpr char kEnd[] = "2026-03-04T06:00:00Z";

// Loki's answer: a traceback of one pod, in two streams by level.
Scripted Answer(const std::string& warnings = "") {
  const std::int64_t at = absl::ToUnixNanos(absl::FromUnixSeconds(1'772'600'700));
  const auto time = [at](int later) { return absl::StrCat("\"", at + later, "\""); };
  return {.body = absl::StrCat(
              R"({"status":"success",)", warnings,
              R"("data":{"resultType":"streams","result":[
      {"stream":{"pod":"train-0","node_name":"gpu-7","level":"error"},"values":[[)",
              time(3),
              R"(,"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"],[)",
              time(1), R"(,"Traceback (most recent call last):"]]},
      {"stream":{"pod":"train-0","node_name":"gpu-7","level":"info"},"values":[[)",
              time(2), R"(,"  File \"train.py\", line 12, in <module>"],[)", time(0),
              R"(,"step 12 loss 2.5"]]}]}})")};
}

class LogsFrom : public ::testing::Test {
 protected:
  absl::Status Add(const std::string& server) {
    options_.logs_from = {server};
    arguments_.start = kStart;
    arguments_.end = kEnd;
    return AddLogsFrom(options_, arguments_, {GALEN_SOURCE_DIR "/knowledge"}, nullptr, texts_,
                       notes_);
  }
  static std::string At(const ScriptedEndpoint& endpoint) {
    return absl::StrCat("loki+http://127.0.0.1:", endpoint.port(), "?query={job=\"train\"}");
  }

  absl::StatusOr<Gathered> Incident() {
    const auto knowledge =
        knowledge::Load({GALEN_SOURCE_DIR "/knowledge"}, knowledge::LoadOptions());
    const auto kinds = intake::Kinds::Compile((*knowledge)->base());
    if (!kinds.ok()) return kinds.status();
    return GatherIncident(arguments_, texts_, nullptr, **kinds, "laptop");
  }

  SourceOptions options_;
  DiagnoseArguments arguments_;
  std::vector<intake::Text> texts_;
  std::ostringstream notes_;
};

TEST_F(LogsFrom, AreReadAsAttachedLogsOfTheirMachine) {
  ScriptedEndpoint loki({Answer()});
  ASSERT_THAT(Add(At(loki)), IsOk());
  EXPECT_THAT(loki.requests()[0].target,
              AllOf(HasSubstr("start=1772600400000000000"), HasSubstr("end=1772604000000000001")));
  ASSERT_THAT(texts_, SizeIs(1));
  EXPECT_EQ(texts_[0].name, "train-0.log");
  EXPECT_EQ(texts_[0].content,
            "step 12 loss 2.5\nTraceback (most recent call last):\n  File \"train.py\", line 12, "
            "in <module>\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 "
            "GiB\n");
  EXPECT_THAT(notes_.str(), HasSubstr("1 log from 2026-03-04T05:00:00Z to 2026-03-04T06:00:00Z"));
  texts_.insert(texts_.begin(), intake::Text{.name = "description", .content = "job died"});
  const auto gathered = Incident();
  ASSERT_THAT(gathered, IsOk());
  EXPECT_EQ(gathered->incident.description(), "job died");
  ASSERT_THAT(gathered->incident.logs(), SizeIs(1));
  EXPECT_EQ(gathered->incident.logs(0).path(), "train-0.log");
  EXPECT_EQ(gathered->incident.logs(0).node(), "gpu-7");
  EXPECT_EQ(gathered->incident.logs(0).kind(), v1::LogSource::JOB);
  ASSERT_THAT(gathered->incident.artefacts(), SizeIs(1));
  EXPECT_THAT(gathered->incident.artefacts(0).title(), Not(HasSubstr("incomplete")));
}

TEST_F(LogsFrom, WhatIsMissingIsInTheReport) {
  ScriptedEndpoint loki({Answer(R"("warnings":["incomplete: one querier is away"],)")});
  ASSERT_THAT(Add(At(loki)), IsOk());
  EXPECT_THAT(notes_.str(), HasSubstr("one querier is away"));
  const auto gathered = Incident();
  ASSERT_THAT(gathered, IsOk());
  ASSERT_THAT(gathered->incident.artefacts(), SizeIs(1));
  EXPECT_THAT(gathered->incident.artefacts(0).title(), HasSubstr("one querier is away"));
}

TEST_F(LogsFrom, ASourceThatDoesNotAnswerIsAnError) {
  EXPECT_THAT(Add("loki+http://127.0.0.1:1?query={job=\"train\"}"),
              StatusIs(Code::kUnavailable, HasSubstr("Loki http://127.0.0.1:1")));
  EXPECT_THAT(Add("loki+http://127.0.0.1:1"), StatusIs(Code::kInvalidArgument, HasSubstr("query")));
  options_.logs_key_files = {"a", "b"};
  EXPECT_THAT(Add("loki+http://127.0.0.1:1?query={a=\"b\"}"),
              StatusIs(Code::kInvalidArgument, HasSubstr("--logs-key-file: 2 files for 1 source")));
}

TEST(WindowOfLogsTest, IsTheIncidents) {
  const absl::Time now = absl::FromUnixSeconds(1'772'700'000);
  const auto none = WindowOfLogs({}, nullptr, now);
  ASSERT_THAT(none, IsOk());
  EXPECT_EQ(none->start, now - absl::Hours(1));
  EXPECT_EQ(none->end, now);
  DiagnoseArguments arguments;
  arguments.end = kEnd;
  const auto end = WindowOfLogs(arguments, nullptr, now);
  ASSERT_THAT(end, IsOk());
  EXPECT_EQ(end->start, absl::FromUnixSeconds(1'772'600'400));
  arguments.start = "2026-03-05T05:00:00Z";
  EXPECT_THAT(WindowOfLogs(arguments, nullptr, now).status(),
              StatusIs(Code::kInvalidArgument, HasSubstr("is empty")));
  arguments.start = "yesterday";
  EXPECT_THAT(WindowOfLogs(arguments, nullptr, now).status(),
              StatusIs(Code::kInvalidArgument, HasSubstr("--start")));
}

TEST(SourceOptionsTest, SeveralSourcesOfNumbersHaveAFileEach) {
  CLI::App app;
  SourceOptions options;
  DeclarePrometheus(app, options);
  DeclareLogsFrom(app, options);
  app.parse(
      "--prometheus http://a --prometheus https://b --prometheus-key-file none "
      "--prometheus-key-file b.key");
  const auto sources = options.Prometheus();
  ASSERT_THAT(sources, IsOk());
  ASSERT_THAT(*sources, SizeIs(2));
  EXPECT_EQ((*sources)[0].key_file, "");
  EXPECT_EQ((*sources)[1].where, "https://b");
  EXPECT_EQ((*sources)[1].key_file, "b.key");
}

}  // namespace source_options_test
}  // namespace galen::cli
