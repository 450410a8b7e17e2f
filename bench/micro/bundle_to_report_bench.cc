// From a bundle on disk to its report, through the whole mesh of one process. The column CPU counts
// the time of all threads.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/host/bundle.h"
#include "services/cli/local_mesh.h"

namespace galen::cli {
namespace {

void BM_BundleToReport(benchmark::State& state, const char* example) {
  const std::string directory = absl::StrCat(GALEN_SOURCE_DIR, "/docs/examples/", example);
  LocalMesh::Options options;
  options.knowledge = {absl::StrCat(GALEN_SOURCE_DIR, "/knowledge")};
  absl::StatusOr<std::unique_ptr<LocalMesh>> mesh = LocalMesh::Start(options);
  if (!mesh.ok()) {
    state.SkipWithError(std::string(mesh.status().message()).c_str());
    return;
  }
  std::int64_t events = 0;
  for (auto _ : state) {
    const auto bundle = host::Bundle::Open(directory);
    if (!bundle.ok()) {
      state.SkipWithError(std::string(bundle.status().message()).c_str());
      return;
    }
    v1::CreateDiagnosisRequest request;
    request.set_parent("tenants/bench");
    *request.mutable_diagnosis()->mutable_incident() = (*bundle)->incident();
    const auto created = (*mesh)->Create(request);
    if (!created.ok() ||
        !(*mesh)->Watch(created->name(), 0, [&](const v1::DiagnosisEvent&) { ++events; }).ok()) {
      state.SkipWithError("the diagnosis did not end");
      return;
    }
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

// What a command pays before it can begin: knowledge, patterns, store.
void BM_StartMesh(benchmark::State& state) {
  LocalMesh::Options options;
  options.knowledge = {absl::StrCat(GALEN_SOURCE_DIR, "/knowledge")};
  for (auto _ : state) benchmark::DoNotOptimize(LocalMesh::Start(options).ok());
}
BENCHMARK(BM_StartMesh)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace galen::cli
