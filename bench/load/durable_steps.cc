// durable_steps DIRECTORY: flows of twelve steps on an SQLite file in that directory, each step on
// the disk before the next begins; and the disk's own floor for comparison. Reads lines of standard
// input, "flows N AT_ONCE" or "floor N AT_ONCE", and answers each with the seconds that it took.
// durable.py in this directory compares them.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <latch>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/executor.h"
#include "common/store/sqlite_event_log.h"

namespace galen::load {
namespace {

constexpr int kSteps = 12;
constexpr int kResultBytes = 400;
constexpr off_t kFloorBytes = off_t{64} << 20;

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "durable_steps: %s\n", what);
  abort();
}

v1::DiagnosisEvent StepDone() {
  v1::DiagnosisEvent event;
  v1::CheckResult& result = *event.mutable_check_completed()->mutable_result();
  result.set_id("gpu.ecc@node-1");
  result.set_check("gpu.ecc");
  result.set_node("node-1");
  result.set_status(v1::CheckResult::PASS);
  result.set_excerpt(std::string(kResultBytes, 'x'));
  return event;
}

// The store operations of an orchestrator for a diagnosis, and nothing else: create it, take the
// lease, append step after step, mark it finished, and release the lease.
class Flows {
 public:
  explicit Flows(const std::string& file) : log_(store::SqliteEventLog::Open(file).value()) {}

  void Run(int count, int at_once) {
    left_ = count;
    std::latch all(at_once);
    for (int i = 0; i < at_once; ++i) Next(all);
    all.wait();
  }

 private:
  struct Flow {
    store::Lease lease;
    std::int64_t last = 1;
  };

  void Later(absl::AnyInvocable<void() &&> task) {
    Require(pool_.TrySchedule(std::move(task)), "too many flows at once");
  }
  void Next(std::latch& all) {
    if (left_.fetch_sub(1) <= 0) return all.count_down();
    Later([this, &all] {
      v1::DiagnosisEvent created;
      created.mutable_created()->set_name(absl::StrCat("tenants/t/diagnoses/d", made_++));
      log_->Create(created).value();
      auto flow = std::make_shared<Flow>();
      flow->lease =
          log_->AcquireLease(created.created().name(), "bench", absl::Now(), absl::Hours(1))
              .value();
      Step(flow, kSteps, all);
    });
  }
  void Step(const std::shared_ptr<Flow>& flow, int left, std::latch& all) {
    if (left == 0) {
      return Later([this, flow, &all] {
        Require(log_->SetOver(flow->lease.diagnosis, flow->last).ok(), "a flow did not end");
        Require(log_->ReleaseLease(flow->lease).ok(), "a lease was lost");
        Next(all);
      });
    }
    log_->AppendLater(flow->lease, flow->last, absl::MakeConstSpan(&step_, 1),
                      [this, flow, left, &all](absl::StatusOr<std::int64_t> last) {
                        flow->last = last.value();
                        Step(flow, left - 1, all);
                      });
  }

  const v1::DiagnosisEvent step_ = StepDone();
  std::atomic<int> left_ = 0;
  std::atomic<int> made_ = 0;
  const std::unique_ptr<store::SqliteEventLog> log_;
  // Last: tasks use the members above.
  ThreadPool pool_{16, 1024};
};

// Writes of `at_once` steps each into a file that was written before, and one fdatasync each.
class Floor {
 public:
  explicit Floor(const std::string& file)
      : file_(open(file.c_str(), O_CREAT | O_RDWR | O_TRUNC, 0600)) {
    const std::string block(1 << 20, '\0');
    for (off_t end = 0; end < kFloorBytes; end += static_cast<off_t>(block.size())) {
      Require(pwrite(file_, block.data(), block.size(), end) > 0, "the floor's file");
    }
    Require(fdatasync(file_) == 0, "the floor's file");
  }
  ~Floor() { close(file_); }
  void Run(int steps, int at_once) {
    const std::string bytes(StepDone().ByteSizeLong() * static_cast<std::size_t>(at_once), 'x');
    for (int i = 0; i < steps; i += at_once) {
      Require(pwrite(file_, bytes.data(), bytes.size(), end_) > 0 && fdatasync(file_) == 0,
              "the floor's file");
      end_ += static_cast<off_t>(bytes.size());
      if (end_ + static_cast<off_t>(bytes.size()) > kFloorBytes) end_ = 0;
    }
  }

 private:
  const int file_;
  off_t end_ = 0;
};

int Main(const std::string& directory) {
  Flows flows(directory + "/galen.db");
  Floor floor(directory + "/floor");
  std::string what;
  int count = 0;
  int at_once = 0;
  while (std::cin >> what >> count >> at_once) {
    Require(count > 0 && at_once > 0 && (what == "flows" || what == "floor"), "what is asked for");
    const absl::Time start = absl::Now();
    if (what == "flows") {
      flows.Run(count, at_once);
    } else {
      floor.Run(count * kSteps, at_once);
    }
    std::cout << absl::ToDoubleSeconds(absl::Now() - start) << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace galen::load

int main(int argc, char** argv) {
  if (argc == 2) return galen::load::Main(argv[1]);
  std::cerr << "durable_steps: give a directory" << std::endl;
  return 2;
}
