// From a bundle on disk to its report, through the whole mesh of one process. The column CPU counts
// the time of all threads.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/host/bundle.h"
#include "services/cli/local_mesh.h"

namespace galen::cli {
namespace {

absl::StatusOr<std::unique_ptr<LocalMesh>> StartMesh() {
  LocalMesh::Options options;
  options.knowledge = {absl::StrCat(GALEN_SOURCE_DIR, "/knowledge")};
  return LocalMesh::Start(options);
}

// From the directory to the report; the number of events.
absl::StatusOr<std::int64_t> DiagnoseBundle(LocalMesh& mesh, const std::string& directory) {
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const host::Bundle> bundle,
                         host::Bundle::Open(directory));
  v1::CreateDiagnosisRequest request;
  request.set_parent("tenants/bench");
  *request.mutable_diagnosis()->mutable_incident() = bundle->incident();
  GALEN_ASSIGN_OR_RETURN(const v1::Diagnosis created, mesh.Create(request));
  std::int64_t events = 0;
  GALEN_RETURN_IF_ERROR(
      mesh.Watch(created.name(), 0, [&](const v1::DiagnosisEvent&) { ++events; }));
  return events;
}

void BM_BundleToReport(benchmark::State& state, const char* example) {
  const std::string directory = absl::StrCat(GALEN_SOURCE_DIR, "/docs/examples/", example);
  const absl::StatusOr<std::unique_ptr<LocalMesh>> mesh = StartMesh();
  if (!mesh.ok()) {
    state.SkipWithError(std::string(mesh.status().message()).c_str());
    return;
  }
  std::int64_t events = 0;
  for (auto _ : state) {
    const absl::StatusOr<std::int64_t> told = DiagnoseBundle(**mesh, directory);
    if (!told.ok()) {
      state.SkipWithError(std::string(told.status().message()).c_str());
      return;
    }
    events += *told;
  }
  state.counters["events"] =
      benchmark::Counter(static_cast<double>(events), benchmark::Counter::kAvgIterations);
}
BENCHMARK_CAPTURE(BM_BundleToReport, cublas_ecc, "cublas-ecc")
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_BundleToReport, healthy, "healthy")
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_BundleToReport, invalid_device_ordinal, "invalid-device-ordinal")
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_BundleToReport, nccl_connection_refused, "nccl-connection-refused")
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_BundleToReport, nccl_ib_unable_to_open, "nccl-ib-unable-to-open")
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

// Every bundle of ../shared/eval/dev, unpacked before: wall time of one, over them all.
void BM_DevBundles(benchmark::State& state) {
  namespace fs = std::filesystem;
  std::vector<std::shared_ptr<const host::Bundle>> bundles;
  std::error_code error;
  const fs::path folder = absl::StrCat(GALEN_SOURCE_DIR, "/../shared/eval/dev/bundles");
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    auto bundle = host::Bundle::Open(it->path().string());
    if (bundle.ok()) bundles.push_back(*std::move(bundle));
  }
  const absl::StatusOr<std::unique_ptr<LocalMesh>> mesh = StartMesh();
  if (bundles.empty() || !mesh.ok()) {
    state.SkipWithError("../shared/eval/dev/bundles is not here, or the mesh does not start");
    return;
  }
  std::vector<double> all;
  for (auto _ : state) {
    for (const std::shared_ptr<const host::Bundle>& bundle : bundles) {
      const absl::Time begin = absl::Now();
      if (!DiagnoseBundle(**mesh, bundle->root()).ok()) {
        state.SkipWithError("a diagnosis did not end");
        return;
      }
      all.push_back(absl::ToDoubleMilliseconds(absl::Now() - begin));
    }
  }
  std::sort(all.begin(), all.end());
  state.counters["bundles"] = static_cast<double>(bundles.size());
  state.counters["min_ms"] = all.front();
  state.counters["p50_ms"] = all[all.size() / 2];
  state.counters["p90_ms"] = all[all.size() * 9 / 10];
  state.counters["max_ms"] = all.back();
}
BENCHMARK(BM_DevBundles)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();

// The cost of a command before it can begin: knowledge, patterns, store.
void BM_StartMesh(benchmark::State& state) {
  LocalMesh::Options options;
  options.knowledge = {absl::StrCat(GALEN_SOURCE_DIR, "/knowledge")};
  for (auto _ : state) benchmark::DoNotOptimize(LocalMesh::Start(options).ok());
}
BENCHMARK(BM_StartMesh)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace galen::cli
