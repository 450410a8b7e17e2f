#include "services/summarization/log_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes.h"
#include "tests/testing/status_matchers.h"

namespace galen::summarization {
namespace {

using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> NamesOf(const std::vector<std::string>& paths) {
  galen::v1::Incident incident;
  for (const std::string& path : paths) incident.add_logs()->set_path(path);
  return LogNames(incident.logs());
}

// The folders of the machine that Galen runs on say nothing about the incident.
TEST(LogNames, HoldOnlyWhatTellsAbsolutePathsApart) {
  EXPECT_THAT(NamesOf({"/var/lib/galen/uploads/x/file/train.log", "sub/dmesg.txt", ""}),
              ElementsAre("train.log", "sub/dmesg.txt", "log"));
  EXPECT_THAT(NamesOf({"/srv/job/rank0/err.log", "/srv/job/rank1/err.log", "/srv/out.log"}),
              ElementsAre("rank0/err.log", "rank1/err.log", "out.log"));
  EXPECT_THAT(NamesOf({"/a/x/err.log", "/b/x/err.log", "err.log", "/err.log"}),
              ElementsAre("a/x/err.log", "b/x/err.log", "err.log", "err.log"));
  EXPECT_THAT(NamesOf({"/a/err.log", "/a/err.log", "/"}), ElementsAre("err.log", "err.log", "log"));
}

TEST(ResolveLog, TakesPathsOfTheBundle) {
  const TestDirectory directory;
  directory.Write("b/logs/train.log", "x");
  const std::string bundle = directory.path() + "/b";
  EXPECT_EQ(*ResolveLog("train.log", bundle, {}), bundle + "/logs/train.log");
  EXPECT_EQ(*ResolveLog("./a/../train.log", bundle, {}), bundle + "/logs/train.log");
  EXPECT_EQ(*ResolveLog("missing/rank3.log", bundle, {}), bundle + "/logs/missing/rank3.log");
}

TEST(ResolveLog, RefusesPathsThatLeaveTheBundle) {
  const TestDirectory directory;
  const std::string secret = directory.Write("secret.log", "x");
  directory.Write("b/logs/train.log", "x");
  directory.Write("b2/logs/train.log", "x");
  const std::string bundle = directory.path() + "/b";
  std::filesystem::create_symlink(secret, bundle + "/logs/link.log");
  std::filesystem::create_directory_symlink(directory.path(), bundle + "/logs/up");
  for (const char* path : {"../../secret.log", "link.log", "up/secret.log",
                           "../../b2/logs/train.log", "../../../../../../../../etc/passwd"}) {
    EXPECT_THAT(ResolveLog(path, bundle, {}),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("out of the bundle")))
        << path;
  }
}

TEST(ResolveLog, TakesAbsolutePathsBelowTheRootsOnly) {
  const TestDirectory directory;
  const std::string inside = directory.Write("logs/train.log", "x");
  const std::string outside = directory.Write("logs-of-others/train.log", "x");
  const std::vector<std::string> roots = {directory.path() + "/logs/"};
  std::filesystem::create_symlink(outside, directory.path() + "/logs/link.log");
  EXPECT_EQ(*ResolveLog(inside, "", roots), inside);
  EXPECT_EQ(*ResolveLog(outside, "", {}), outside);
  EXPECT_EQ(*ResolveLog(outside, "", {"/"}), outside);
  for (const std::string& path :
       {outside, directory.path() + "/logs/link.log", directory.path() + "/logs/../x.log"}) {
    EXPECT_THAT(ResolveLog(path, "", roots),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("--log_root")))
        << path;
  }
}

TEST(ResolveLog, SaysSoWhetherOrNotTheFileOutsideExists) {
  const TestDirectory directory;
  const std::string there = directory.Write("other/there.log", "x");
  const std::vector<std::string> roots = {directory.path() + "/logs"};
  EXPECT_EQ(ResolveLog(there, "", roots).status().code(),
            ResolveLog(directory.path() + "/other/not.log", "", roots).status().code());
}

TEST(ResolveLog, RefusesWhatIsNoPath) {
  EXPECT_THAT(ResolveLog("train.log", "", {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("absolute")));
  EXPECT_THAT(ResolveLog(std::string("/etc/x\0y", 8), "", {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a path")));
  EXPECT_THAT(ResolveLog("/" + std::string(10'000, 'x'), "", {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too long")));
}

TEST(ResolveBundle, MustBeADirectoryBelowTheRoots) {
  const TestDirectory directory;
  const std::string file = directory.Write("b/bundle.yaml", "x");
  const std::string bundle = directory.path() + "/b";
  EXPECT_EQ(*ResolveBundle(bundle, {}), bundle);
  EXPECT_EQ(*ResolveBundle(bundle + "/", {directory.path()}), bundle);
  EXPECT_THAT(ResolveBundle(bundle + "x", {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("not there")));
  EXPECT_THAT(ResolveBundle(file, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a directory")));
  EXPECT_THAT(ResolveBundle(bundle, {bundle + "/nodes"}),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("--log_root")));
}

TEST(NodesOfBundle, AreItsNodeDirectories) {
  const TestDirectory directory;
  directory.Write("nodes/n2/commands.yaml", "[]");
  directory.Write("nodes/n1/commands.yaml", "[]");
  EXPECT_THAT(NodesOfBundle(directory.path()), ElementsAre("n1", "n2"));
  EXPECT_THAT(NodesOfBundle(directory.path() + "/none"), ElementsAre());
}

TEST(CapturesOf, AreTheLogsOfEvents) {
  const TestDirectory directory;
  directory.Write("nodes/a/commands.yaml",
                  "- {argv: [\"ibstat\"], exit: 0, stdout: c/0.txt}\n"
                  "- {argv: [\"ipmitool\", \"sensor\"], exit: 0, stdout: c/4.txt}\n"
                  "- {argv: [\"ipmitool\", \"sel\", \"elist\"], exit: 0, stdout: c/1.txt}\n"
                  "- {argv: [\"dmesg\", \"--time-format\", \"iso\"], exit: 0, stdout: c/2.txt}\n"
                  "- {argv: [\"dmesg\", \"-T\"], exit: 0, stdout: c/3.txt}\n");
  directory.Write("nodes/a/job/commands.yaml",
                  "- {argv: [\"journalctl\"], exit: 0, stdout: c/1.txt}\n");
  directory.Write("nodes/b/commands.yaml", "- {argv: [\"dmesg\"], absent: true}\n");
  directory.Write("nodes/c/commands.yaml", "no list of commands\n");
  const auto captures = CapturesOf(directory.path(), "a");
  ASSERT_EQ(captures.size(), 3U);
  EXPECT_EQ(captures[0].name, "ipmitool sel elist");
  EXPECT_EQ(captures[0].log.path(), "../nodes/a/c/1.txt");
  EXPECT_EQ(captures[0].log.kind(), galen::v1::LogSource::TOOL);
  EXPECT_EQ(captures[1].name, "dmesg");
  EXPECT_EQ(captures[1].log.path(), "../nodes/a/c/2.txt");
  EXPECT_EQ(captures[1].log.node(), "a");
  EXPECT_EQ(captures[1].log.kind(), galen::v1::LogSource::SYSTEM);
  EXPECT_EQ(captures[2].name, "journalctl in the job");
  EXPECT_EQ(captures[2].log.path(), "../nodes/a/job/c/1.txt");
  for (const char* node : {"b", "c", "d"}) EXPECT_TRUE(CapturesOf(directory.path(), node).empty());
}

}  // namespace
}  // namespace galen::summarization
