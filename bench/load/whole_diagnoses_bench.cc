// Whole diagnoses with instant checks in one process: from the request to the report, everything of
// the mesh but gRPC and the checks themselves. The argument is how many are under way at a time.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bench/load/drive.h"
#include "bench/load/recording.h"
#include "services/cli/local_mesh.h"

namespace galen::load {
namespace {

constexpr int kDiagnoses = 200;  // of an iteration

absl::StatusOr<Recording> Recorded(const std::string& example) {
  const auto knowledge = cli::LoadKnowledge({absl::StrCat(GALEN_SOURCE_DIR, "/knowledge")});
  if (!knowledge.ok()) return knowledge.status();
  return Recording::Make(absl::StrCat(GALEN_SOURCE_DIR, "/docs/examples/", example), *knowledge);
}

// On a store in memory, or in a file that has each event on the disk before it is acted on.
void BM_WholeDiagnoses(benchmark::State& state, const std::string& example, bool durable) {
  const absl::StatusOr<Recording> recording = Recorded(example);
  if (!recording.ok())
    return state.SkipWithError(std::string(recording.status().message()).c_str());
  RecordedNodes nodes(*recording);
  std::string scratch = std::filesystem::temp_directory_path() / "galen-load-XXXXXX";
  if (mkdtemp(scratch.data()) == nullptr) return state.SkipWithError("mkdtemp");
  cli::LocalMesh::Options options;
  options.knowledge = {absl::StrCat(GALEN_SOURCE_DIR, "/knowledge")};
  options.live_nodes = nodes.ByName();
  if (durable) options.store = absl::StrCat(scratch, "/galen.db");
  {
    const auto mesh = cli::LocalMesh::Start(options);
    if (!mesh.ok()) return state.SkipWithError(std::string(mesh.status().message()).c_str());
    double rate = 0;
    double p50 = 0;
    double p99 = 0;
    std::int64_t events = 0;
    for (auto _ : state) {
      const auto driven = Drive(**mesh, recording->incident(), "bench", kDiagnoses,
                                static_cast<int>(state.range(0)));
      if (!driven.ok()) {
        state.SkipWithError(std::string(driven.status().message()).c_str());
        break;
      }
      rate += driven->PerSecond();
      p50 += absl::ToDoubleMilliseconds(driven->Percentile(0.5));
      p99 += absl::ToDoubleMilliseconds(driven->Percentile(0.99));
      events += driven->events;
    }
    using benchmark::Counter;
    state.counters["per_second"] = Counter(rate, Counter::kAvgIterations);
    state.counters["p50_ms"] = Counter(p50, Counter::kAvgIterations);
    state.counters["p99_ms"] = Counter(p99, Counter::kAvgIterations);
    state.counters["events"] =
        Counter(static_cast<double>(events) / kDiagnoses, Counter::kAvgIterations);
  }
  std::error_code error;
  std::filesystem::remove_all(scratch, error);
}
BENCHMARK_CAPTURE(BM_WholeDiagnoses, memory, "cublas-ecc", false)
    ->Arg(1)
    ->Arg(32)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_WholeDiagnoses, durable, "cublas-ecc", true)
    ->Arg(1)
    ->Arg(32)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace galen::load
