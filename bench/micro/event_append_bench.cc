// What it costs to make an event durable: one transaction on the disk of the temporary directory.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/store/sqlite_event_log.h"

namespace galen::store {
namespace {

void BM_Append(benchmark::State& run) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / absl::StrCat("galen_event_append_", getpid());
  std::filesystem::create_directories(directory);
  {
    const auto log = SqliteEventLog::Open((directory / "galen.db").string()).value();
    v1::DiagnosisEvent created;
    created.mutable_created()->set_name("tenants/t/diagnoses/d");
    log->Create(created).value();
    const Lease lease =
        log->AcquireLease(created.created().name(), "bench", absl::Now(), absl::Hours(1)).value();

    v1::DiagnosisEvent event;
    v1::CheckResult& result = *event.mutable_check_completed()->mutable_result();
    result.set_id("gpu.ecc@node-1");
    result.set_check("gpu.ecc");
    result.set_node("node-1");
    result.set_status(v1::CheckResult::PASS);
    result.set_excerpt(std::string(1024, 'x'));
    const std::vector<v1::DiagnosisEvent> batch(run.range(0), event);
    std::int64_t last = 1;
    for (auto _ : run) last = log->Append(lease, last, batch).value();
    run.SetItemsProcessed(run.iterations() * run.range(0));
  }
  std::filesystem::remove_all(directory);
}
BENCHMARK(BM_Append)->ArgName("events")->Arg(1)->Arg(10)->Arg(100)->UseRealTime();

// What the disk asks for one durable event: the bytes of a log entry, appended, and fdatasync.
void BM_DiskFloor(benchmark::State& run) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / absl::StrCat("galen_disk_floor_", getpid());
  const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  if (file < 0) {
    run.SkipWithError("cannot write below the temporary directory");
    return;
  }
  const std::string bytes(1100, 'x');
  off_t end = 0;
  for (auto _ : run) {
    if (pwrite(file, bytes.data(), bytes.size(), end) < 0 || fdatasync(file) != 0) {
      run.SkipWithError("the disk refused");
      break;
    }
    end += static_cast<off_t>(bytes.size());
  }
  close(file);
  std::filesystem::remove(path);
}
BENCHMARK(BM_DiskFloor)->UseRealTime();

}  // namespace
}  // namespace galen::store
