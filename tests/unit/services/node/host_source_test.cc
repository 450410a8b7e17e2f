#include "services/node/host_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

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
  const auto host = hosts.Open(Bundle(), "n7");
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_EQ((*host)->name(), "n7");
  EXPECT_FALSE((*host)->live());
  const auto content = (*host)->ReadFile("/proc/loadavg");
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_EQ(*content, "1 2 3\n");
  EXPECT_THAT(hosts.Open(Bundle(), "n8"), StatusIs(absl::StatusCode::kNotFound, _));
}

TEST_F(LocalHostsTest, RefusesABundleElsewhere) {
  LocalHosts::Options elsewhere;
  elsewhere.bundle_roots = {(root_ / "bundle/nodes").string()};
  EXPECT_THAT(LocalHosts(elsewhere).Open(Bundle(), "n7"),
              StatusIs(absl::StatusCode::kPermissionDenied, _));
  LocalHosts::Options none;
  none.bundles_anywhere = false;
  EXPECT_THAT(LocalHosts(none).Open(Bundle(), "n7"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("--bundle_root")));
}

TEST_F(LocalHostsTest, AnswersForThisMachineOnly) {
  LocalHosts::Options options;
  options.name = "gpu-07.cluster.local";
  const LocalHosts hosts(options);
  for (const char* name : {"", "localhost", "gpu-07", "GPU-07.cluster.local"}) {
    const auto host = hosts.Open("", name);
    ASSERT_TRUE(host.ok()) << host.status();
    EXPECT_TRUE((*host)->live());
  }
  EXPECT_THAT(hosts.Open("", "gpu-08"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("runs on gpu-07")));
}

}  // namespace
}  // namespace galen::node
