// The speed of reading logs: the whole catalogue on the logs of training jobs.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/knowledge/load.h"
#include "common/log_analysis/scan/entities.h"
#include "common/log_analysis/scan/reader.h"
#include "common/log_analysis/scan/scanner.h"

namespace galen::log_scan {
namespace {

const Patterns& Catalogue() {
  static const auto* const patterns = [] {
    std::vector<knowledge::Problem> problems;
    auto base = knowledge::Parse(std::vector<std::string>{GALEN_SOURCE_DIR "/knowledge"}, problems);
    return new Patterns(base.ok() ? base->signals() : Patterns());
  }();
  return *patterns;
}

const Scanner& CatalogueScanner() {
  static const auto* const scanner = Scanner::Create(Catalogue(), "")->release();
  return *scanner;
}

// A MiB of a healthy job: every `period`-th line is an error.
std::string JobLog(int period) {
  std::string text;
  for (int i = 1; text.size() < (1 << 20); ++i) {
    if (period > 0 && i % period == 0) {
      absl::StrAppend(
          &text, "node-7:8123:8190 [3] misc/socket.cc:484 NCCL WARN ",
          "socketStartConnect: Connect to 10.0.1.7<46212> failed : Connection refused\n");
    } else if (i % 3 == 0) {
      absl::StrAppend(&text,
                      "node-7:8123:8190 [3] NCCL INFO Channel 05/0 : 3[3] -> 4[4] via P2P/CUMEM\n");
    } else {
      absl::StrAppend(
          &text, "[2025-05-01 12:00:00,441] [INFO] [rank 3] iteration ", i,
          "/ 500000 | loss 1.9532 | grad norm 0.412 | lr 3.000E-04 | tokens/s 9812.4\n");
    }
  }
  return text;
}

void BM_ScanLog(benchmark::State& state) {
  const std::string text = JobLog(static_cast<int>(state.range(0)));
  const Scanner& scanner = CatalogueScanner();
  for (auto _ : state) {
    LogScan scan(scanner, {});
    for (int i = 0; i < 16; ++i) scan.Feed(text);
    benchmark::DoNotOptimize(scan.Finish().lines);
  }
  state.SetBytesProcessed(state.iterations() * 16 * static_cast<std::int64_t>(text.size()));
  state.counters["patterns"] = static_cast<double>(Catalogue().size());
}
BENCHMARK(BM_ScanLog)->ArgName("error_every")->Arg(0)->Arg(1000)->Arg(10);

// The cost of a truncated log of 2 GiB, read from disk: all of it is a hole.
void BM_ReadSparseLog(benchmark::State& state) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "galen_sparse_XXXXXX").string();
  std::string name = path;
  const int fd = mkstemp(name.data());
  if (fd < 0 || ftruncate(fd, off_t{2} << 30) != 0) {
    state.SkipWithError("no room for a sparse file");
    return;
  }
  close(fd);
  for (auto _ : state) {
    LogScan scan(CatalogueScanner(), {});
    auto reader = LogReader::Open(name, {});
    for (;;) {
      auto chunk = (*reader)->Next();
      if (!chunk.ok() || chunk->empty()) break;
      scan.Feed(*chunk);
    }
    benchmark::DoNotOptimize(scan.Finish().lines);
  }
  state.SetBytesProcessed(state.iterations() * (std::int64_t{2} << 30));
  unlink(name.c_str());
}
BENCHMARK(BM_ReadSparseLog)->Unit(benchmark::kMillisecond);

// Data without any structure, newlines by chance.
void BM_ScanBinary(benchmark::State& state) {
  std::string bytes(1 << 20, '\0');
  std::uint64_t seed = 1;
  for (char& byte : bytes) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    byte = static_cast<char>(seed >> 56);
  }
  for (auto _ : state) {
    LogScan scan(CatalogueScanner(), {});
    for (int i = 0; i < 16; ++i) scan.Feed(bytes);
    benchmark::DoNotOptimize(scan.Finish().lines);
  }
  state.SetBytesProcessed(state.iterations() * 16 * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK(BM_ScanBinary);

// Start of a process: from nothing, and with the cache of an earlier one.
void BM_CreateScanner(benchmark::State& state) {
  const std::string cache =
      (std::filesystem::temp_directory_path() / "galen_signal_scan_bench").string();
  const std::string directory = state.range(0) != 0 ? cache : "";
  if (!directory.empty()) benchmark::DoNotOptimize(Scanner::Create(Catalogue(), directory).ok());
  for (auto _ : state) benchmark::DoNotOptimize(Scanner::Create(Catalogue(), directory).ok());
  std::filesystem::remove_all(cache);
}
BENCHMARK(BM_CreateScanner)->ArgName("cached")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void BM_FindEntities(benchmark::State& state) {
  const std::string text = JobLog(10);
  const std::vector<std::string> nodes = {"node-7"};
  for (auto _ : state) {
    EntityCollector collector(nodes);
    collector.Add(text, "description", 1);
    benchmark::DoNotOptimize(std::move(collector).Take().size());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(BM_FindEntities);

}  // namespace
}  // namespace galen::log_scan
