// Measures the cost of making events durable on SQLite, and the disk's own cost for the same bytes.
// Both sides alternate in slices, so that other disk activity affects both alike.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <latch>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/store/sqlite_event_log.h"

namespace galen::store {
namespace {

constexpr int kExcerptBytes = 400;
constexpr int kWarmUpEvents = 40'000;
constexpr off_t kFloorBytes = off_t{64} << 20;

v1::DiagnosisEvent StepDone() {
  v1::DiagnosisEvent event;
  v1::CheckResult& result = *event.mutable_check_completed()->mutable_result();
  result.set_id("gpu.ecc@node-1");
  result.set_check("gpu.ecc");
  result.set_node("node-1");
  result.set_status(v1::CheckResult::PASS);
  result.set_excerpt(std::string(kExcerptBytes, 'x'));
  return event;
}

// Diagnoses that each write one event after the other, side by side.
class Writers {
 public:
  Writers(const std::string& file, int count) : log_(SqliteEventLog::Open(file).value()) {
    for (int i = 0; i < count; ++i) {
      v1::DiagnosisEvent created;
      created.mutable_created()->set_name(absl::StrCat("tenants/t/diagnoses/d", i));
      log_->Create(created).value();
      writers_.push_back(
          {log_->AcquireLease(created.created().name(), "bench", absl::Now(), absl::Hours(1))
               .value(),
           1});
    }
  }
  // Events a second.
  double Run(int events_each) {
    const absl::Time start = absl::Now();
    std::latch all(static_cast<std::ptrdiff_t>(writers_.size()));
    for (Writer& writer : writers_) Append(writer, events_each, all);
    all.wait();
    return events_each * static_cast<double>(writers_.size()) /
           absl::ToDoubleSeconds(absl::Now() - start);
  }

 private:
  struct Writer {
    Lease lease;
    std::int64_t last = 0;
  };
  // As an orchestrator does: the next event once the last one is on the disk.
  void Append(Writer& writer, int left, std::latch& all) {
    if (left == 0) return all.count_down();
    log_->AppendLater(writer.lease, writer.last, absl::MakeConstSpan(&event_, 1),
                      [this, &writer, left, &all](absl::StatusOr<std::int64_t> last) {
                        writer.last = last.value();
                        Append(writer, left - 1, all);
                      });
  }
  const std::unique_ptr<SqliteEventLog> log_;
  std::vector<Writer> writers_;
  const v1::DiagnosisEvent event_ = StepDone();
};

// The disk's own floor: a file that was written before, pwrite of as many events as there are
// writers, one fdatasync.
class Floor {
 public:
  Floor(const std::string& file, int grouped)
      : file_(open(file.c_str(), O_CREAT | O_RDWR | O_TRUNC, 0600)),
        bytes_(StepDone().ByteSizeLong() * static_cast<std::size_t>(grouped), 'x') {
    const std::string block(1 << 20, '\0');
    for (off_t end = 0; end < kFloorBytes; end += static_cast<off_t>(block.size())) {
      if (pwrite(file_, block.data(), block.size(), end) < 0) abort();
    }
    if (fdatasync(file_) != 0) abort();
  }
  ~Floor() { close(file_); }
  double Run(int grouped, int rounds) {
    const absl::Time start = absl::Now();
    for (int i = 0; i < rounds; ++i) {
      if (pwrite(file_, bytes_.data(), bytes_.size(), end_) < 0 || fdatasync(file_) != 0) abort();
      end_ += static_cast<off_t>(bytes_.size());
      if (end_ + static_cast<off_t>(bytes_.size()) > kFloorBytes) end_ = 0;
    }
    return grouped * rounds / absl::ToDoubleSeconds(absl::Now() - start);
  }

 private:
  const int file_;
  const std::string bytes_;
  off_t end_ = 0;
};

// `per_second` and `floor`: events, medians; `ratio`: of the pairs, median, with its quartiles.
void BM_Append(benchmark::State& state) {
  const int writers = static_cast<int>(state.range(0));
  constexpr int kEach = 50;
  std::string directory = std::filesystem::temp_directory_path() / "galen-append-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return state.SkipWithError("mkdtemp");
  {
    Writers log(directory + "/galen.db", writers);
    Floor floor(directory + "/floor", writers);
    // Until the write-ahead log has its size, and is written from its beginning again.
    log.Run(kWarmUpEvents / writers);
    std::vector<double> rates;
    std::vector<double> floors;
    std::vector<double> ratios;
    for (auto _ : state) {
      rates.push_back(log.Run(kEach));
      floors.push_back(floor.Run(writers, kEach));
      ratios.push_back(rates.back() / floors.back());
    }
    const auto at = [](std::vector<double>& values, double share) {
      std::sort(values.begin(), values.end());
      return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
    };
    state.counters["per_second"] = at(rates, 0.5);
    state.counters["floor"] = at(floors, 0.5);
    state.counters["ratio"] = at(ratios, 0.5);
    state.counters["ratio_q1"] = at(ratios, 0.25);
    state.counters["ratio_q3"] = at(ratios, 0.75);
  }
  std::filesystem::remove_all(directory);
}
BENCHMARK(BM_Append)->ArgName("writers")->Arg(1)->Arg(8)->Arg(32)->Iterations(64)->UseRealTime();

}  // namespace
}  // namespace galen::store
