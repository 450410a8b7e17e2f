#include "common/host/edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/host/bundle.h"
#include "common/yaml/yaml.h"
#include "scratch.h"
#include "tests/testing/status_matchers.h"

namespace galen::host {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using Argv = std::vector<std::string>;
const absl::Time kNow = absl::FromUnixSeconds(1'740'000'000);

TEST(Edit, WhatIsAddedIsReadBack) {
  Scratch scratch;
  const std::string directory = scratch / "case/bundle";
  scratch.Write("meminfo", "MemTotal: 1 kB\n");
  scratch.Write("train.log", "step 1\n");
  ASSERT_THAT(NewBundle(directory, "training: \"slow\"\nsince noon", {"n2", "n1"}, kNow), IsOk());
  ASSERT_THAT(AddCommand(directory, "n1", View::kHost, {"uname", "-a"},
                         {.out = std::string("Linux\xff\0", 7),
                          .err = "e",
                          .exit_code = 3,
                          .duration = absl::Milliseconds(12)}),
              IsOk());
  ASSERT_THAT(AddCommand(directory, "n1", View::kJob, {"nvcc", "--version"}, {.out = "12.4\n"}),
              IsOk());
  ASSERT_THAT(AddAbsentCommand(directory, "n1", View::kHost, {"ibstat"}), IsOk());
  ASSERT_THAT(AddFile(directory, "n3", View::kHost, "/proc/meminfo", scratch / "meminfo"), IsOk());
  ASSERT_THAT(AddAbsentFile(directory, "n3", View::kHost, "/sys/class/infiniband"), IsOk());
  ASSERT_THAT(AddAbsentFile(directory, "n3", View::kHost, "/dev/kfd"), IsOk());
  ASSERT_THAT(AddLog(directory, scratch / "train.log", {.node = "n1", .rank = 0}), IsOk());
  ASSERT_THAT(AddEnvironment(directory, "n1", {{"NCCL_IB_HCA", "mlx5_0:1,mlx5_1"}}), IsOk());
  ASSERT_THAT(AddEnvironment(directory, "n1", {{"EMPTY", ""}}), IsOk());

  const auto bundle = Bundle::Open(directory);
  ASSERT_THAT(bundle, IsOk());
  EXPECT_THAT((*bundle)->nodes(), ElementsAre("n1", "n2", "n3"));
  const v1::Incident& incident = (*bundle)->incident();
  EXPECT_EQ(incident.description(), "training: \"slow\"\nsince noon");
  ASSERT_EQ(incident.logs_size(), 1);
  EXPECT_EQ(incident.logs(0).path(), "train.log");
  EXPECT_EQ(incident.logs(0).node(), "n1");
  EXPECT_TRUE(incident.logs(0).has_rank());
  EXPECT_EQ(incident.logs(0).kind(), v1::LogSource::JOB);
  EXPECT_THAT((*bundle)->LogPath("train.log"), IsOk());

  const auto n1 = (*bundle)->OpenNode("n1");
  ASSERT_THAT(n1, IsOk());
  const auto uname = (*n1)->Run(Argv{"uname", "-a"});
  ASSERT_THAT(uname, IsOk());
  EXPECT_EQ(uname->out, std::string("Linux\xff\0", 7));
  EXPECT_EQ(uname->err, "e");
  EXPECT_EQ(uname->exit_code, 3);
  EXPECT_EQ(uname->duration, absl::Milliseconds(12));
  EXPECT_THAT((*n1)->Run(Argv{"nvcc", "--version"}, View::kJob), IsOk());
  EXPECT_THAT((*n1)->Run(Argv{"ibstat"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("ibstat")));
  const auto variables = (*n1)->JobEnvironment();
  ASSERT_THAT(variables, IsOk());
  EXPECT_THAT(*variables, ElementsAre(Pair("EMPTY", ""), Pair("NCCL_IB_HCA", "mlx5_0:1,mlx5_1")));

  const auto n3 = (*bundle)->OpenNode("n3");
  ASSERT_THAT(n3, IsOk());
  EXPECT_THAT((*n3)->ReadFile("/proc/meminfo"), IsOk());
  for (const char* const absent : {"/sys/class/infiniband", "/dev/kfd"}) {
    EXPECT_THAT((*n3)->ReadFile(absent), StatusIs(absl::StatusCode::kNotFound, HasSubstr(absent)));
  }
}

TEST(Edit, AnIncidentIsReadBackWhole) {
  Scratch scratch;
  ASSERT_THAT(NewBundle(scratch / "b", "", {"n1"}, kNow), IsOk());
  v1::Incident incident;
  incident.set_description("it: broke\n\ttwice");
  incident.mutable_start_time()->set_seconds(1'740'000'000);
  incident.mutable_end_time()->set_seconds(1'740'003'600);
  incident.mutable_end_time()->set_nanos(500'000'000);
  incident.add_nodes("n1");
  incident.mutable_workload()->set_framework_version("2.10");
  incident.mutable_workload()->set_world_size(8);
  (*incident.mutable_workload()->mutable_attributes())["a b"] = "c: d";
  incident.mutable_environment()->set_gpu("4x H100");
  v1::LogSource& log = *incident.add_logs();
  log.set_path("sub/x.log");
  log.set_kind(v1::LogSource::SCHEDULER);
  ASSERT_THAT(SetIncident(scratch / "b", incident), IsOk());
  const auto bundle = Bundle::Open(scratch / "b");
  ASSERT_THAT(bundle, IsOk());
  incident.set_bundle((*bundle)->root());
  EXPECT_EQ((*bundle)->incident().DebugString(), incident.DebugString());
}

TEST(Edit, VariablesWithStrangeNamesAreAllKept) {
  const std::string endless(100'000, 'A');
  EXPECT_EQ(FormatEnvironment({{"\xfe", "1"}, {"\xff", "2"}}),
            "\"\xef\xbf\xbd\": \"1\"\n\"(2) \xef\xbf\xbd\": \"2\"\n");
  const auto document = ParseYaml(FormatEnvironment({{endless, "1"}, {"RANK", "0"}}), "env.yaml");
  ASSERT_THAT(document, IsOk());
  EXPECT_EQ(document->fields.size(), 2);
  EXPECT_NE(document->Find(endless), nullptr);
}

TEST(Edit, ASecondCallReplacesTheFirst) {
  Scratch scratch;
  const std::string directory = scratch / "b";
  scratch.Write("train.log", "one\n");
  ASSERT_THAT(NewBundle(directory, "slow", {}, kNow), IsOk());
  ASSERT_THAT(AddAbsentCommand(directory, "n1", View::kHost, {"lspci"}), IsOk());
  ASSERT_THAT(AddCommand(directory, "n1", View::kHost, {"lspci"}, {.out = "a"}), IsOk());
  ASSERT_THAT(AddCommand(directory, "n1", View::kHost, {"lscpu"}, {.out = "c"}), IsOk());
  ASSERT_THAT(AddCommand(directory, "n1", View::kHost, {"lspci"}, {.out = "b"}), IsOk());
  ASSERT_THAT(AddLog(directory, scratch / "train.log", {}), IsOk());
  scratch.Write("train.log", "two\n");
  ASSERT_THAT(AddLog(directory, scratch / "train.log", {.rank = 2}), IsOk());
  const auto bundle = Bundle::Open(directory);
  ASSERT_THAT(bundle, IsOk());
  const auto node = (*bundle)->OpenNode("n1");
  ASSERT_THAT(node, IsOk());
  const auto lspci = (*node)->Run(Argv{"lspci"});
  const auto lscpu = (*node)->Run(Argv{"lscpu"});
  ASSERT_THAT(lspci, IsOk());
  ASSERT_THAT(lscpu, IsOk());
  EXPECT_EQ(lspci->out, "b");
  EXPECT_EQ(lscpu->out, "c");
  ASSERT_EQ((*bundle)->incident().logs_size(), 1);
  EXPECT_EQ((*bundle)->incident().logs(0).rank(), 2);
  EXPECT_EQ(scratch.Read("b/logs/train.log"), "two\n");
}

TEST(Edit, RefusesWhatItCannotKeep) {
  Scratch scratch;
  const std::string directory = scratch / "b";
  scratch.Write("full/file", "x");
  scratch.Write("train.log", "x");
  EXPECT_THAT(NewBundle(scratch / "full", "slow", {}, kNow),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("choose a new directory")));
  EXPECT_THAT(NewBundle(directory, "slow", {"../n1"}, kNow),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not a valid host name")));
  EXPECT_THAT(AddCommand(scratch / "full", "n1", View::kHost, {"a"}, {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("galen bundle new")));
  ASSERT_THAT(NewBundle(directory, "slow", {}, kNow), IsOk());
  EXPECT_THAT(AddCommand(directory, "..", View::kHost, {"a"}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not a valid host name")));
  EXPECT_THAT(AddCommand(directory, "n1", View::kHost, {}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("command is empty")));
  EXPECT_THAT(AddFile(directory, "n1", View::kHost, "/../../../x", scratch / "train.log"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"..\"")));
  EXPECT_THAT(AddFile(directory, "n1", View::kHost, "x", scratch / "train.log"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("absolute")));
  EXPECT_THAT(AddFile(directory, "n1", View::kHost, "/x", scratch / "gone"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("gone")));
  EXPECT_THAT(AddLog(directory, scratch / "gone.log", {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("gone.log")));
  ASSERT_THAT(AddLog(directory, scratch / "train.log", {.node = "n1"}), IsOk());
  EXPECT_THAT(AddLog(directory, scratch / "train.log", {.node = "n2"}),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("give this one another name")));
  scratch.Write("b/nodes/n1/commands.yaml", "- {argv: [a\n");
  EXPECT_THAT(AddCommand(directory, "n1", View::kHost, {"a"}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nodes/n1/commands.yaml:")));
}

TEST(Edit, WritesThroughNoLinkThatLeavesTheBundle) {
  Scratch scratch;
  Scratch outside;
  const std::string directory = scratch / "b";
  scratch.Write("file", "x");
  outside.Write("kept", "kept");
  ASSERT_THAT(NewBundle(directory, "slow", {"n1"}, kNow), IsOk());
  std::filesystem::create_directories(scratch / "b/nodes/n1/rootfs/etc");
  std::filesystem::create_directory_symlink(outside.path(), scratch / "b/nodes/n1/rootfs/opt");
  std::filesystem::create_symlink(outside / "kept", scratch / "b/nodes/n1/rootfs/etc/hosts");
  EXPECT_THAT(AddFile(directory, "n1", View::kHost, "/opt/x", scratch / "file"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("leaves the bundle")));
  EXPECT_FALSE(std::filesystem::exists(outside / "x"));
  // The file itself takes the place of the link.
  EXPECT_THAT(AddFile(directory, "n1", View::kHost, "/etc/hosts", scratch / "file"), IsOk());
  EXPECT_EQ(outside.Read("kept"), "kept");
  EXPECT_EQ(scratch.Read("b/nodes/n1/rootfs/etc/hosts"), "x");
}

}  // namespace
}  // namespace galen::host
