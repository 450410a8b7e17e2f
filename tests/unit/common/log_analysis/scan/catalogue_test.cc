#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "common/knowledge/load.h"
#include "common/log_analysis/scan/scanner.h"
#include "tests/testing/status_matchers.h"

namespace galen::log_scan {
namespace {

using ::galen::testing::IsOk;

TEST(SignalCatalogue, CompilesAndIsTheSameFromTheCache) {
  const std::string directory = std::string(GALEN_SOURCE_DIR) + "/knowledge";
  std::vector<knowledge::Problem> problems;
  const auto base = knowledge::Parse(std::vector<std::string>{directory}, problems);
  if (!base.ok() || base->signals().empty()) GTEST_SKIP() << directory << " has no signals";

  const std::string cache = ::testing::TempDir() + "signal_catalogue";
  std::filesystem::remove_all(cache);
  const auto compiled = Scanner::Create(base->signals(), cache);
  ASSERT_THAT(compiled, IsOk());
  const auto cached = Scanner::Create(base->signals(), cache);
  ASSERT_THAT(cached, IsOk());
  EXPECT_TRUE((*cached)->from_cache());
  std::filesystem::remove_all(cache);

  std::vector<std::string> found[2];
  for (const auto& scanner : {&*compiled, &*cached}) {
    LogScan scan(**scanner, {});
    scan.Feed(
        "node-1:71:75 [0] NCCL WARN Call to connect returned Connection refused\n"
        "NVRM: Xid (PCI:0000:b3:00): 48, pid=1, name=python3, DBE (double bit error)\n");
    for (const Hit& hit : scan.Finish().hits) {
      found[scanner == &*cached].push_back(
          (*scanner)->patterns()[static_cast<int>(hit.pattern)].id());
    }
  }
  EXPECT_FALSE(found[0].empty());
  EXPECT_EQ(found[0], found[1]);
}

}  // namespace
}  // namespace galen::log_scan
