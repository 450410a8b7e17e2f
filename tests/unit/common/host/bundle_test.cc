#include "common/host/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "scratch.h"
#include "tests/testing/status_matchers.h"

namespace galen::host {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Bundle, ReadsTheIncident) {
  Scratch scratch;
  WriteBundle(scratch);
  scratch.Write(
      "incident.yaml",
      "description: |\n  training is slow\n  since noon\n"
      "started_at: 2025-03-01T10:00:00Z\n"
      "ended_at: 2025-03-01T12:30:00.25+01:00\n"
      "nodes: [n1]\n"
      "logs:\n"
      "  - {path: train.log, node: n1, rank: 0, kind: job}\n"
      "  - {path: sub/kern.log, kind: system}\n"
      "workload: {name: llm, framework: pytorch, framework_version: 2.10, world_size: 16,\n"
      "           gpus_per_node: 8, attributes: {queue: a}, dataset: web}\n"
      "environment: {gpu: H100, driver: 550.90, rocm: none}\n");
  const auto bundle = Bundle::Open(scratch.path());
  ASSERT_THAT(bundle, IsOk());
  const v1::Incident& incident = (*bundle)->incident();
  EXPECT_EQ(incident.description(), "training is slow\nsince noon\n");
  EXPECT_EQ(incident.start_time().seconds(), 1740823200);
  EXPECT_EQ(incident.end_time().nanos(), 250'000'000);
  EXPECT_THAT(incident.nodes(), ElementsAre("n1"));
  ASSERT_EQ(incident.logs_size(), 2);
  EXPECT_TRUE(incident.logs(0).has_rank());
  EXPECT_EQ(incident.logs(0).rank(), 0);
  EXPECT_EQ(incident.logs(0).kind(), v1::LogSource::JOB);
  EXPECT_EQ(incident.logs(1).path(), "sub/kern.log");
  EXPECT_FALSE(incident.logs(1).has_rank());
  // A version is a text: 2.10 is not 2.1.
  EXPECT_EQ(incident.workload().framework_version(), "2.10");
  EXPECT_EQ(incident.workload().world_size(), 16);
  EXPECT_EQ(incident.workload().attributes().at("queue"), "a");
  EXPECT_EQ(incident.workload().attributes().at("dataset"), "web");
  EXPECT_EQ(incident.environment().attributes().at("rocm"), "none");
  EXPECT_EQ(incident.bundle(), (*bundle)->root());
  EXPECT_THAT((*bundle)->nodes(), ElementsAre("n1"));
  EXPECT_THAT((*bundle)->remarks(), IsEmpty());
}

TEST(Bundle, SaysWhichFieldsItDidNotRead) {
  Scratch scratch;
  WriteBundle(scratch);
  scratch.Write("incident.yaml", "description: slow\nlog: [train.log]\n");
  const auto bundle = Bundle::Open(scratch.path());
  ASSERT_THAT(bundle, IsOk());
  EXPECT_THAT((*bundle)->remarks(), ElementsAre(HasSubstr("incident.yaml:2: field \"log\"")));
}

TEST(Bundle, MissingPartsAreNamedWithARemedy) {
  Scratch scratch;
  EXPECT_THAT(Bundle::Open(scratch / "nowhere"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nowhere")));
  EXPECT_THAT(Bundle::Open(scratch.path()),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("bundle.yaml is missing"), HasSubstr("galen bundle new"))));
  scratch.Write("bundle.yaml", "format: galen.bundle/v1\nnodes: []\n");
  EXPECT_THAT(Bundle::Open(scratch.path()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("incident.yaml is missing")));
}

struct Bad {
  const char* file;
  const char* content;
  const char* says;
};

class BadBundle : public ::testing::TestWithParam<Bad> {};

TEST_P(BadBundle, IsRefusedWithFileAndLine) {
  Scratch scratch;
  WriteBundle(scratch);
  scratch.Write(GetParam().file, GetParam().content);
  EXPECT_THAT(Bundle::Open(scratch.path()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(GetParam().says)));
}

INSTANTIATE_TEST_SUITE_P(
    Each, BadBundle,
    ::testing::Values(
        Bad{"bundle.yaml", "format: galen.bundle/v2\n",
            "bundle.yaml:1: format: is not galen.bundle/v1"},
        Bad{"bundle.yaml", "\nnodes: [n1]\n", "format: is not galen.bundle/v1"},
        Bad{"bundle.yaml", "format: galen.bundle/v1\nnodes: [../etc]\n", "bundle.yaml:2: nodes: "},
        Bad{"bundle.yaml", "format: galen.bundle/v1\nnodes: [n1, n1]\n", "is there twice"},
        Bad{"incident.yaml", "description: [a]\n", "incident.yaml:1: description: is not a text"},
        Bad{"incident.yaml", "- a\n", "incident.yaml:1: the incident: is not a map"},
        Bad{"incident.yaml", "description: a\nstarted_at: noon\n",
            "incident.yaml:2: started_at: \"noon\" is not a time; write 2025-01-31T12:00:00Z"},
        Bad{"incident.yaml", "logs:\n  - {path: ../../etc/passwd}\n", "incident.yaml:2: logs: "},
        Bad{"incident.yaml", "logs:\n  - {path: /etc/passwd}\n", "incident.yaml:2: logs: "},
        Bad{"incident.yaml", "logs:\n  - {path: a.log, kind: dance}\n",
            "kind: \"dance\" is unknown"},
        Bad{"incident.yaml", "workload: {world_size: -1}\n", "world_size: is not 0 or a positive"},
        Bad{"nodes/n1/commands.yaml", "- {argv: [a]}\n- {argv: [b\n", "nodes/n1/commands.yaml:"},
        Bad{"nodes/n1/commands.yaml", "- {exit: 0}\n", "commands.yaml:1: the entry has no argv"},
        Bad{"nodes/n1/commands.yaml", "- {argv: []}\n", "argv: is empty"},
        Bad{"nodes/n1/commands.yaml", "- {argv: [a], stdout: ../../../../etc/passwd}\n",
            "commands.yaml:1: stdout: "},
        Bad{"nodes/n1/commands.yaml", "- {argv: [a], stdout: /etc/passwd}\n", "stdout: "},
        Bad{"nodes/n1/job/env.yaml", "A: 1\nB: [x]\n",
            "nodes/n1/job/env.yaml:2: environment.B: "}));

TEST(Bundle, LogsAreResolvedBelowLogsOnly) {
  Scratch scratch;
  Scratch outside;
  outside.Write("secret", "x");
  WriteBundle(scratch);
  scratch.Write("logs/train.log", "step 1\n");
  std::filesystem::create_symlink(outside / "secret", scratch / "logs/out.log");
  std::filesystem::create_symlink("train.log", scratch / "logs/in.log");
  const auto bundle = Bundle::Open(scratch.path());
  ASSERT_THAT(bundle, IsOk());
  const auto log = (*bundle)->LogPath("train.log");
  ASSERT_THAT(log, IsOk());
  EXPECT_EQ(*log, (*bundle)->root() + "/logs/train.log");
  EXPECT_THAT((*bundle)->LogPath("in.log"), IsOk());
  EXPECT_THAT((*bundle)->LogPath("out.log"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("leaves the bundle")));
  EXPECT_THAT((*bundle)->LogPath("../bundle.yaml"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"..\"")));
  EXPECT_THAT((*bundle)->LogPath("/etc/passwd"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("relative")));
  EXPECT_THAT((*bundle)->LogPath("gone.log"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("add the file or take it out")));
}

TEST(Bundle, ItsOwnFilesMayNotBeLinksThatLeaveIt) {
  for (const char* const name :
       {"bundle.yaml", "incident.yaml", "nodes/n1/commands.yaml", "nodes/n1/rootfs/.absent"}) {
    Scratch scratch;
    Scratch outside;
    WriteBundle(scratch);
    scratch.Write(name, "x");
    std::filesystem::remove(scratch / name);
    outside.Write("file", "format: galen.bundle/v1\n");
    std::filesystem::create_symlink(outside / "file", scratch / name);
    EXPECT_THAT(Bundle::Open(scratch.path()),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(name)));
  }
}

TEST(Bundle, AWholeNodeMayNotBeALinkThatLeavesIt) {
  Scratch scratch;
  Scratch outside;
  WriteBundle(scratch);
  std::filesystem::remove_all(scratch / "nodes/n1");
  std::filesystem::create_directory_symlink(outside.path(), scratch / "nodes/n1");
  EXPECT_THAT(Bundle::Open(scratch.path()),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("nodes/n1")));
}

TEST(Bundle, KnowsOnlyItsNodes) {
  Scratch scratch;
  WriteBundle(scratch);
  const auto bundle = Bundle::Open(scratch.path());
  ASSERT_THAT(bundle, IsOk());
  EXPECT_THAT((*bundle)->OpenNode("n2"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("which has n1")));
}

TEST(Bundle, ANodeThatIsListedWithoutADirectoryKnowsNothing) {
  Scratch scratch;
  WriteBundle(scratch);
  scratch.Write("bundle.yaml", "format: galen.bundle/v1\nnodes: [n1, n2]\n");
  const auto bundle = Bundle::Open(scratch.path());
  ASSERT_THAT(bundle, IsOk());
  EXPECT_THAT((*bundle)->remarks(), ElementsAre(HasSubstr("nothing was captured of n2")));
  const auto node = (*bundle)->OpenNode("n2");
  ASSERT_THAT(node, IsOk());
  EXPECT_THAT((*node)->ReadFile("/etc/hosts"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("n2 was not captured")));
}

TEST(Bundle, ABundleOfLogsAloneHasTheMachinesThatTheyName) {
  Scratch scratch;
  scratch.Write("bundle.yaml", "format: galen.bundle/v1\n");
  scratch.Write("incident.yaml", "description: x\nlogs:\n  - {path: a.log}\n");
  scratch.Write("logs/a.log", "RuntimeError\n");
  const auto bundle = Bundle::Open(scratch.path());
  ASSERT_THAT(bundle, IsOk());
  EXPECT_THAT((*bundle)->nodes(), ElementsAre("reported-machine"));
  EXPECT_THAT((*bundle)->remarks(), IsEmpty());
  const auto node = (*bundle)->OpenNode("reported-machine");
  ASSERT_THAT(node, IsOk());
  EXPECT_EQ((*node)->JobLogs()->size(), 1u);
  scratch.Write(
      "incident.yaml",
      "description: x\nlogs:\n  - {path: a.log, node: n2}\n  - {path: b.log, node: n1}\n");
  EXPECT_THAT((*Bundle::Open(scratch.path()))->nodes(), ElementsAre("n1", "n2"));
  // Without a log there is nothing that a check could read.
  scratch.Write("incident.yaml", "description: x\n");
  EXPECT_THAT((*Bundle::Open(scratch.path()))->nodes(), IsEmpty());
}

TEST(Bundle, FindsItsNodesByDirectoryWhenItDoesNotListThem) {
  Scratch scratch;
  WriteBundle(scratch);
  scratch.Write("bundle.yaml", "format: galen.bundle/v1\n");
  scratch.Write("nodes/a9/commands.yaml", "[]\n");
  const auto bundle = Bundle::Open(scratch.path());
  ASSERT_THAT(bundle, IsOk());
  EXPECT_THAT((*bundle)->nodes(), ElementsAre("a9", "n1"));
}

}  // namespace
}  // namespace galen::host
