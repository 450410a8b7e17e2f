// Registrations of jobs over loopback: this process calls, the advisor is a child process on
// --server_cpu, with a model learned from a synthetic fleet. Calls are made at a fixed rate
// regardless of answers (so that a slow server shows), and as fast as possible.
#include <grpcpp/grpcpp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/base/locks.h"
#include "common/rpc/serve.h"
#include "common/store/store.h"
#include "services/advisor/advisor.h"
#include "services/advisor/advisor_service.h"
#include "tests/testing/advisor/made_up_fleet.h"

ABSL_FLAG(int, rate, 10000, "Registrations a second.");
ABSL_FLAG(int, seconds, 10, "How long, a round.");
ABSL_FLAG(int, rounds, 3, "How often.");
ABSL_FLAG(int, under_way, 64, "Registrations at a time when it goes as fast as it can.");
ABSL_FLAG(int, server_cpu, 0, "The core of the server; the caller has all others.");
ABSL_FLAG(int, runs, 20000, "Recorded runs that the server learns from first.");

namespace galen::bench {
namespace {

using testing::MadeUpFleet;

void Stay(int cpu, bool away) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); ++i) {
    if ((i == cpu) != away) CPU_SET(i, &set);
  }
  sched_setaffinity(0, sizeof(set), &set);
}

[[noreturn]] void Serve(int ready) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Stay(absl::GetFlag(FLAGS_server_cpu), false);
  ForgetLockOrders();
  const auto knowledge = advisor::AdvisorKnowledge::Load({GALEN_SOURCE_DIR "/knowledge"}).value();
  const auto store = store::OpenStore(":memory:").value();
  const SystemClock clock;
  advisor::Advisor served(*store, HotSwap<advisor::AdvisorKnowledge>(knowledge), clock, {});
  testing::FleetShape shape;
  shape.mismatches = 6;
  shape.mismatch_factor = 8;
  MadeUpFleet fleet(shape, 1);
  advisor::v1::ReportRunsRequest request;
  for (int i = 0; i < absl::GetFlag(FLAGS_runs); ++i) {
    const advisor::RunRecord run = fleet.Next();
    advisor::v1::Run& to = *request.add_runs();
    to.mutable_signature()->set_archetype(run.archetype);
    to.mutable_signature()->set_stack(run.stack);
    to.set_context(run.context);
    to.mutable_start_time()->set_seconds(absl::ToUnixSeconds(run.start));
    to.set_gpus(run.gpus);
    to.set_planned_hours(run.planned_hours);
    to.set_hours(run.hours);
    to.set_ending(static_cast<advisor::v1::Run::Ending>(static_cast<int>(run.ending) + 1));
    if (request.runs_size() < 1000) continue;
    served.ReportRuns(request).value();
    request.Clear();
  }
  if (!served.Follow().ok()) _exit(1);
  ThreadPool executor(2, 1024);
  advisor::AdvisorServiceImpl service(served, executor, nullptr);
  int port = 0;
  const auto server = rpc::StartServer({.address = "127.0.0.1:0"}, {&service}, port).value();
  if (write(ready, &port, sizeof(port)) != sizeof(port)) _exit(1);
  for (;;) pause();
}

double CpuSeconds(pid_t child) {
  clockid_t clock = 0;
  timespec time{};
  if (clock_getcpuclockid(child, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Call {
  grpc::ClientContext context;
  advisor::v1::RegisterJobResponse response;
  absl::Time due;
};

class Caller {
 public:
  explicit Caller(int port) {
    for (int i = 0; i < 4; ++i) {
      grpc::ChannelArguments arguments;
      arguments.SetInt("bench.channel", i);  // or they share a connection
      stubs_.push_back(advisor::v1::AdvisorService::NewStub(grpc::CreateCustomChannel(
          absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials(), arguments)));
    }
    for (int i = 0; i < 256; ++i) {
      advisor::v1::RegisterJobRequest request;
      request.set_parent(absl::StrCat("tenants/t", i % 16));
      request.mutable_signature()->set_archetype(MadeUpFleet::Archetype(i % 8));
      request.mutable_signature()->set_stack(MadeUpFleet::Stack(i % 32));
      request.mutable_hardware()->set_gpu(i % 2 == 0 ? "NVIDIA H100 80GB HBM3"
                                                     : "NVIDIA A100-SXM4-80GB");
      request.mutable_hardware()->set_driver("535.129.03");
      request.mutable_hardware()->set_gpus_per_node(8);
      request.add_needs("bf16");
      request.add_needs(i % 3 == 0 ? "fp8" : "all_reduce");
      (*request.mutable_versions())["nccl"].add_versions(i % 5 == 0 ? "2.19.3" : "2.21.5");
      (*request.mutable_versions())["cuda"].add_versions("12.4");
      requests_.push_back(std::move(request));
    }
  }

  // `rate` 0: as fast as possible, with this many calls under way.
  void Run(int rate, int under_way, double seconds, pid_t server) {
    std::vector<std::int64_t> micros(
        static_cast<std::size_t>((rate > 0 ? rate : 100'000) * seconds) + 1, -1);
    std::counting_semaphore<1 << 20> free(rate > 0 ? 1 << 18 : under_way);
    std::atomic<std::size_t> done = 0;
    std::atomic<int> failed = 0;
    const double cpu = CpuSeconds(server);
    const absl::Time start = absl::Now();
    std::size_t made = 0;
    for (; made < micros.size(); ++made) {
      absl::Time due = absl::Now();
      if (rate > 0) {
        due = start + absl::Seconds(static_cast<double>(made) / rate);
        // Asleep and not turning, for the answers are taken here, too; those that are due are sent
        // at once then, and each is timed from when it was due.
        if (const absl::Duration early = due - absl::Now(); early > absl::ZeroDuration()) {
          absl::SleepFor(early);
        }
      }
      if (absl::Now() - start > absl::Seconds(seconds)) break;
      free.acquire();
      auto* call = new Call;
      call->due = rate > 0 ? due : absl::Now();
      stubs_[made % stubs_.size()]->async()->RegisterJob(
          &call->context, &requests_[made % requests_.size()], &call->response,
          [&, call, made](const grpc::Status& status) {
            micros[made] = absl::ToInt64Microseconds(absl::Now() - call->due);
            if (!status.ok()) ++failed;
            delete call;
            free.release();
            ++done;
          });
    }
    while (done < made) absl::SleepFor(absl::Milliseconds(1));
    const double took = absl::ToDoubleSeconds(absl::Now() - start);
    const double used = CpuSeconds(server) - cpu;
    micros.resize(made);
    std::sort(micros.begin(), micros.end());
    const auto at = [&](double share) {
      return static_cast<double>(
                 micros[static_cast<std::size_t>(share * static_cast<double>(made - 1))]) /
             1000;
    };
    double load[1] = {0};
    if (getloadavg(load, 1) != 1) load[0] = -1;
    printf(
        "%-9s %6.0f a second, ms: median %.2f p90 %.2f p99 %.2f p99.9 %.2f most %.2f; failed %d; "
        "server %.0f %% of a core, %.1f us each; load %.1f\n",
        rate > 0 ? absl::StrCat("at ", rate).c_str() : "flat out", static_cast<double>(made) / took,
        at(0.5), at(0.9), at(0.99), at(0.999), at(1), failed.load(), 100 * used / took,
        1e6 * used / static_cast<double>(made), load[0]);
  }

 private:
  std::vector<std::unique_ptr<advisor::v1::AdvisorService::Stub>> stubs_;
  std::vector<advisor::v1::RegisterJobRequest> requests_;
};

int Main() {
  int pipes[2];
  if (pipe(pipes) != 0) return 1;
  const pid_t server = fork();
  if (server < 0) return 1;
  if (server == 0) Serve(pipes[1]);
  int port = 0;
  if (read(pipes[0], &port, sizeof(port)) != sizeof(port)) return 1;
  Stay(absl::GetFlag(FLAGS_server_cpu), true);
  Caller caller(port);
  caller.Run(1000, 0, 1, server);  // warm
  for (int round = 0; round < absl::GetFlag(FLAGS_rounds); ++round) {
    caller.Run(absl::GetFlag(FLAGS_rate), 0, absl::GetFlag(FLAGS_seconds), server);
    caller.Run(0, absl::GetFlag(FLAGS_under_way), absl::GetFlag(FLAGS_seconds), server);
  }
  kill(server, SIGKILL);
  return 0;
}

}  // namespace
}  // namespace galen::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return galen::bench::Main();
}
