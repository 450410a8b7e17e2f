#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "common/base/text.h"
#include "common/log_analysis/scan/entities.h"
#include "common/log_analysis/scan/reader.h"
#include "common/log_analysis/scan/scanner.h"
#include "tests/testing/status_matchers.h"

namespace galen::log_scan {
namespace {

using ::galen::testing::IsOk;

// Scans `path` and returns the matches, or fails the test.
ScanResult ScanFile(const Scanner& scanner, const std::string& path) {
  LogScan scan(scanner, {});
  const auto reader = LogReader::Open(path, {});
  EXPECT_THAT(reader, IsOk());
  if (!reader.ok()) return {};
  for (;;) {
    const auto chunk = (*reader)->Next();
    EXPECT_THAT(chunk, IsOk());
    if (!chunk.ok() || chunk->empty()) break;
    scan.Feed(*chunk);
  }
  return scan.Finish();
}

TEST(RealLogs, AreReadWithoutError) {
  const std::filesystem::path fixtures = std::string(GALEN_SOURCE_DIR) + "/../shared/fixtures";
  if (!std::filesystem::exists(fixtures)) GTEST_SKIP() << fixtures << " is not there";
  Patterns patterns;
  for (const char* expression : {"NCCL (INFO|WARN)", "Xid \\(PCI:[^)]+\\): [0-9]+", "[Ee]rror",
                                 "iteration +[0-9]+", "kernel: ", "\\[[^\\]]*\\] .*$"}) {
    knowledge::v1::SignalPattern& pattern = *patterns.Add();
    pattern.set_id(expression);
    pattern.set_pattern(expression);
  }
  const auto scanner = Scanner::Create(patterns, "");
  ASSERT_THAT(scanner, IsOk());
  int files = 0;
  int with_hits = 0;
  int with_times = 0;
  for (const char* kind : {"nccl-log", "training-log", "dmesg", "syslog"}) {
    for (const auto& entry : std::filesystem::directory_iterator(fixtures / kind)) {
      const ScanResult result = ScanFile(**scanner, entry.path().string());
      EXPECT_EQ(result.bytes, static_cast<std::int64_t>(entry.file_size())) << entry.path();
      EXPECT_GT(result.lines, 0) << entry.path();
      for (const Hit& hit : result.hits) {
        EXPECT_TRUE(IsUtf8(hit.excerpt)) << entry.path();
        EXPECT_LE(hit.count, result.lines) << entry.path();
        EXPECT_LE(hit.first_line, result.lines) << entry.path();
        EntityCollector collector({});
        collector.Add(hit.excerpt, "x", hit.first_line);
        std::move(collector).Take();
      }
      ++files;
      with_hits += result.hits.empty() ? 0 : 1;
      with_times += std::any_of(result.hits.begin(), result.hits.end(),
                                [](const Hit& hit) { return hit.first_time.has_value(); });
    }
  }
  EXPECT_GT(files, 50);
  EXPECT_GT(with_hits, files / 2);
  EXPECT_GT(with_times, 10);
}

}  // namespace
}  // namespace galen::log_scan
