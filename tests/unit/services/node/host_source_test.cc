#include "services/node/host_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/testing/leased_file.h"
#include "tests/testing/status_matchers.h"

namespace galen::node {
namespace {

using ::galen::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

// A bundle with one node, in a directory of its own.
class LocalHostsTest : public ::testing::Test {
 protected:
  LocalHostsTest() {
    std::string name = (std::filesystem::temp_directory_path() / "galen-hosts-XXXXXX").string();
    root_ = mkdtemp(name.data());
    std::filesystem::create_directories(root_ / "bundle/nodes/n7/rootfs/proc");
    Write("bundle/bundle.yaml", "format: galen.bundle/v1\nnodes: [n7]\n");
    Write("bundle/incident.yaml", "description: slow\n");
    Write("bundle/nodes/n7/commands.yaml", "[]\n");
    Write("bundle/nodes/n7/rootfs/proc/loadavg", "1 2 3\n");
  }
  ~LocalHostsTest() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) const {
    std::ofstream(root_ / path) << text;
  }
  std::string Bundle() const { return (root_ / "bundle").string(); }

  std::filesystem::path root_;
};

TEST_F(LocalHostsTest, OpensANodeOfABundleBelowItsRoots) {
  LocalHosts::Options options;
  options.bundle_roots = {root_.string()};
  const LocalHosts hosts(options);
  const auto host = hosts.Open(Bundle(), "n7", nullptr);
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_EQ((*host)->name(), "n7");
  EXPECT_FALSE((*host)->live());
  const auto content = (*host)->ReadFile("/proc/loadavg");
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_EQ(*content, "1 2 3\n");
  EXPECT_THAT(hosts.Open(Bundle(), "n8", nullptr), StatusIs(absl::StatusCode::kNotFound, _));
}

TEST_F(LocalHostsTest, ABundleIsReadAgainOnlyWhenItHasChanged) {
  const auto settle = [&](std::chrono::hours age) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
      std::filesystem::last_write_time(entry.path(),
                                       std::filesystem::file_time_type::clock::now() - age);
    }
    std::filesystem::last_write_time(root_ / "bundle",
                                     std::filesystem::file_time_type::clock::now() - age);
  };
  settle(std::chrono::hours(2));
  BundleCache cache;
  const auto first = cache.Open(Bundle());
  ASSERT_TRUE(first.ok()) << first.status();
  const auto again = cache.Open(Bundle());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*first, *again);
  Write("bundle/incident.yaml", "description: fast\n");
  const auto changed = cache.Open(Bundle());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ((*changed)->incident().description(), "fast");
  EXPECT_EQ((*first)->incident().description(), "slow");
  // It was written just now, and may be so again without a newer time.
  Write("bundle/incident.yaml", "description: best\n");
  const auto last = cache.Open(Bundle());
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ((*last)->incident().description(), "best");
}

TEST_F(LocalHostsTest, RefusesABundleElsewhere) {
  LocalHosts::Options elsewhere;
  elsewhere.bundle_roots = {(root_ / "bundle/nodes").string()};
  EXPECT_THAT(LocalHosts(elsewhere).Open(Bundle(), "n7", nullptr),
              StatusIs(absl::StatusCode::kPermissionDenied, _));
  LocalHosts::Options none;
  none.bundles_anywhere = false;
  EXPECT_THAT(LocalHosts(none).Open(Bundle(), "n7", nullptr),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("--bundle_root")));
}

TEST_F(LocalHostsTest, AnswersForThisMachineOnly) {
  LocalHosts::Options options;
  options.name = "gpu-07.cluster.local";
  const LocalHosts hosts(options);
  for (const char* name : {"", "localhost", "gpu-07", "GPU-07.cluster.local"}) {
    const auto host = hosts.Open("", name, nullptr);
    ASSERT_TRUE(host.ok()) << host.status();
    EXPECT_TRUE((*host)->live());
  }
  EXPECT_THAT(hosts.Open("", "gpu-08", nullptr),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("runs on gpu-07")));
}

TEST_F(LocalHostsTest, AReadThatIsStuckForOneCallIsNotBegunAgainForTheNext) {
  Write("state", "1\n");
  const testing::LeasedFile file((root_ / "state").string());
  if (!file.held()) GTEST_SKIP() << "no leases here";
  LocalHosts::Options options;
  options.read_time = absl::Milliseconds(50);
  options.max_stuck_reads = 1;
  const LocalHosts hosts(options);
  const auto read = [&](const std::string& path) {
    const auto host = hosts.Open("", "", nullptr);
    EXPECT_TRUE(host.ok()) << host.status();
    return (*host)->ReadFile(path);
  };
  const std::string path = (root_ / "state").string();
  EXPECT_THAT(read(path), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("within 50ms")));
  EXPECT_THAT(read(path),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("since an earlier read")));
  EXPECT_THAT(read("/proc/version"),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("1 earlier reads")));
}

TEST_F(LocalHostsTest, KnowsTheJobThatAPrologWroteDownForAsLongAsItRuns) {
  LocalHosts::Options options;
  options.job_pid_file = (root_ / "job.pid").string();
  const LocalHosts hosts(options);
  const auto job = [&hosts] {
    const auto host = hosts.Open("", "", nullptr);
    EXPECT_TRUE(host.ok()) << host.status();
    return (*host)->JobEnvironment();
  };
  EXPECT_THAT(job(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no process of the job")));
  Write("job.pid", std::to_string(getpid()) + "\n");
  EXPECT_TRUE(job().ok()) << job().status();
  Write("job.pid", "");
  EXPECT_THAT(job(), StatusIs(absl::StatusCode::kUnavailable, _));
  Write("job.pid", "n7\n");
  EXPECT_THAT(hosts.Open("", "", nullptr), StatusIs(absl::StatusCode::kInvalidArgument,
                                                    HasSubstr("holds no number of a process")));
}

}  // namespace
}  // namespace galen::node
