// Reads every bundle of the development set, whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/host/bundle.h"
#include "common/host/commands.h"
#include "scratch.h"
#include "tests/testing/status_matchers.h"

namespace galen::host {
namespace eval_bundles_test {

namespace fs = std::filesystem;
using ::galen::testing::IsOk;
using ::testing::IsEmpty;
using ::testing::Not;

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Runs every command that the list names and reads every file of the view.
void ReadEverything(const Host& node, const std::string& directory, View view) {
  const auto commands =
      ParseCommands(ReadText(directory + "/commands.yaml"), directory + "/commands.yaml");
  ASSERT_THAT(commands, IsOk());
  for (const CapturedCommand& command : *commands) {
    const auto result = node.Run(command.argv, view);
    if (command.absent) {
      EXPECT_EQ(result.status().code(), absl::StatusCode::kNotFound);
    } else {
      EXPECT_THAT(result, IsOk());
    }
  }
  const std::string rootfs = directory + "/rootfs";
  if (!fs::exists(rootfs)) return;
  for (const auto& file : fs::recursive_directory_iterator(rootfs)) {
    if (!file.is_regular_file() || file.path().filename() == ".absent") continue;
    EXPECT_THAT(node.ReadFile(file.path().string().substr(rootfs.size()), view), IsOk());
  }
}

// A part of the bundles each, so that they can be read at the same time.
constexpr int kParts = 4;
class EvalBundles : public ::testing::TestWithParam<int> {};

TEST_P(EvalBundles, EachIsReadWhole) {
  const std::string directory = std::string(GALEN_SOURCE_DIR) + "/../shared/eval/dev/bundles";
  if (!fs::exists(directory)) GTEST_SKIP() << directory << " is not here";
  std::vector<std::string> paths;
  for (const auto& file : fs::directory_iterator(directory)) paths.push_back(file.path().string());
  std::sort(paths.begin(), paths.end());
  EXPECT_GE(paths.size(), 110u);
  for (std::size_t i = static_cast<std::size_t>(GetParam()); i < paths.size(); i += kParts) {
    SCOPED_TRACE(paths[i]);
    const auto bundle = Bundle::Open(paths[i]);
    ASSERT_THAT(bundle, IsOk());
    EXPECT_THAT((*bundle)->remarks(), IsEmpty());
    EXPECT_THAT((*bundle)->incident().description(), Not(IsEmpty()));
    for (const v1::LogSource& log : (*bundle)->incident().logs()) {
      EXPECT_THAT((*bundle)->LogPath(log.path()), IsOk());
    }
    for (const std::string& name : (*bundle)->nodes()) {
      const auto node = (*bundle)->OpenNode(name);
      ASSERT_THAT(node, IsOk());
      const std::string place = (*bundle)->root() + "/nodes/" + name;
      ReadEverything(**node, place, View::kHost);
      if (fs::exists(place + "/job/commands.yaml")) {
        ReadEverything(**node, place + "/job", View::kJob);
      }
      if (fs::exists(place + "/job/env.yaml")) {
        EXPECT_THAT((*node)->JobEnvironment(), IsOk());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, EvalBundles, ::testing::Range(0, kParts));

}  // namespace eval_bundles_test
}  // namespace galen::host
