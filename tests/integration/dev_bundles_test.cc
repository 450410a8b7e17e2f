// Runs every check on every node of every bundle of the development set: no check may be an ERROR.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/host/bundle.h"
#include "common/knowledge/load.h"
#include "services/node/executor.h"
#include "services/node/registry.h"
#include "tests/testing/status_matchers.h"

namespace galen::node {
namespace {

namespace fs = std::filesystem;
using ::galen::testing::IsOk;
using galen::v1::CheckResult;

// A part of the bundles each, so that they can be read at the same time.
constexpr int kParts = 4;
class DevBundles : public ::testing::TestWithParam<int> {};

TEST_P(DevBundles, NoCheckIsAnError) {
  const std::string directory = std::string(GALEN_SOURCE_DIR) + "/../shared/eval/dev/bundles";
  if (!fs::exists(directory)) GTEST_SKIP() << directory << " is not here";
  std::vector<std::string> paths;
  for (const auto& file : fs::directory_iterator(directory)) paths.push_back(file.path().string());
  std::sort(paths.begin(), paths.end());
  ASSERT_GE(paths.size(), 110u);

  // Thousands of small files: in memory where that can be.
  if (fs::exists("/dev/shm")) setenv("TMPDIR", "/dev/shm", 0);
  const std::vector<std::string> directories = {std::string(GALEN_SOURCE_DIR) + "/knowledge"};
  const auto knowledge = knowledge::Load(directories, {}).value();
  const LocalHosts hosts({});
  const NodeExecutor executor(hosts, knowledge, AllChecks(), {.max_parallel = 1});
  const v1::DescribeResponse description = executor.Describe();
  std::map<std::string, int> counts;
  int nodes = 0;
  for (std::size_t i = static_cast<std::size_t>(GetParam()); i < paths.size(); i += kParts) {
    const auto bundle = host::Bundle::Open(paths[i]);
    ASSERT_THAT(bundle, IsOk()) << paths[i];
    v1::RunChecksRequest request;
    request.set_bundle((*bundle)->root());
    for (const std::string& check : description.checks()) request.add_checks(check);
    request.set_allow_intrusive(true);  // There is no machine to load.
    *request.mutable_start_time() = (*bundle)->incident().start_time();
    *request.mutable_end_time() = (*bundle)->incident().end_time();
    for (const std::string& node : (*bundle)->nodes()) {
      ++nodes;
      request.set_node(node);
      int results = 0;
      const absl::Status status = executor.RunChecks(
          request, absl::Now() + absl::Minutes(5), [&](const CheckResult& result) {
            ++results;
            ++counts[CheckResult::Status_Name(result.status())];
            EXPECT_NE(result.status(), CheckResult::ERROR)
                << paths[i] << ": " << result.id() << ": " << result.message();
          });
      EXPECT_THAT(status, IsOk()) << paths[i] << ": " << node;
      EXPECT_EQ(results, request.checks_size());
    }
  }
  std::cout << nodes << " nodes:";
  for (const auto& [status, count] : counts) std::cout << ' ' << count << ' ' << status;
  std::cout << '\n';
}

INSTANTIATE_TEST_SUITE_P(Parts, DevBundles, ::testing::Range(0, kParts));

}  // namespace
}  // namespace galen::node
