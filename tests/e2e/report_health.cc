// Reports health events to galen-watch as many machines would, and prints the results as JSON.
//   report_health --watch=ADDRESS --orchestrator=ADDRESS --machines=1500 --burst=750
// has a share of the machines report a fatal Xid at once, each in its own call, and waits for the
// one diagnosis that names them all.
//   report_health --watch=ADDRESS --rate=20000 --seconds=300 --batch=50
// reports harmless events at a steady rate and measures each call from its start to its answer,
// which comes when the events are on the disk.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "galen/v1/diagnosis_service.grpc.pb.h"
#include "galen/watch/v1/watch.grpc.pb.h"
#include "nlohmann/json.hpp"

ABSL_FLAG(std::string, watch, "", "Address of galen-watch.");
ABSL_FLAG(std::string, orchestrator, "", "Address of galen-orchestrator.");
ABSL_FLAG(int, machines, 1500, "Machines there are.");
ABSL_FLAG(int, burst, 0, "Of which so many report a fatal Xid at once.");
ABSL_FLAG(int, first, 0, "Number of the first machine of the burst.");
ABSL_FLAG(double, rate, 0, "Harmless events a second.");
ABSL_FLAG(double, seconds, 10, "For so long.");
ABSL_FLAG(int, batch, 50, "In calls of so many.");
ABSL_FLAG(double, patience, 60, "Seconds to wait for a diagnosis.");

namespace galen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kChannels = 8;

std::vector<std::unique_ptr<watch::v1::WatchService::Stub>> Stubs() {
  std::vector<std::unique_ptr<watch::v1::WatchService::Stub>> stubs;
  for (int i = 0; i < kChannels; ++i) {
    grpc::ChannelArguments own;
    own.SetInt("report_health.channel", i);  // else all share one connection
    stubs.push_back(watch::v1::WatchService::NewStub(grpc::CreateCustomChannel(
        absl::GetFlag(FLAGS_watch), grpc::InsecureChannelCredentials(), own)));
  }
  return stubs;
}

watch::v1::HealthEvent Event(int machine, const std::string& code) {
  watch::v1::HealthEvent event;
  event.set_node(absl::StrCat("sim-", machine));
  event.set_check("system.kernel_log");
  event.set_source("report_health");
  v1::Finding& finding = *event.mutable_finding();
  finding.set_name("xid");
  finding.mutable_subject()->set_node(event.node());
  finding.mutable_event_value()->set_code(code);
  finding.mutable_event_value()->set_text(
      absl::StrCat("NVRM: Xid (PCI:0000:3b:00): ", code, ", pid='<unknown>', name=<unknown>"));
  return event;
}

double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

// Calls under way, with the times of those that ended well.
class Calls {
 public:
  void Begin(watch::v1::WatchService::Stub& stub, watch::v1::ReportHealthRequest request) {
    struct Call {
      grpc::ClientContext context;
      watch::v1::ReportHealthRequest request;
      watch::v1::ReportHealthResponse response;
      Clock::time_point begun;
    };
    auto call = std::make_shared<Call>();
    call->request = std::move(request);
    call->begun = Clock::now();
    call->context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
    ++open_;
    stub.async()->ReportHealth(&call->context, &call->request, &call->response,
                               [this, call](const grpc::Status& status) {
                                 const std::lock_guard<std::mutex> lock(mu_);
                                 if (status.ok()) {
                                   times_.push_back(Seconds(Clock::now() - call->begun));
                                 } else {
                                   ++failed_;
                                   last_error_ = status.error_message();
                                 }
                                 --open_;
                               });
  }
  int open() const { return open_; }
  nlohmann::json Wait() {
    while (open_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::lock_guard<std::mutex> lock(mu_);
    std::sort(times_.begin(), times_.end());
    const auto at = [this](double share) {
      return times_.empty()
                 ? 0.0
                 : times_[static_cast<std::size_t>(share * static_cast<double>(times_.size() - 1))];
    };
    nlohmann::json told = {{"calls", times_.size()}, {"failed", failed_}, {"p50_s", at(0.5)},
                           {"p90_s", at(0.9)},       {"p99_s", at(0.99)}, {"max_s", at(1)}};
    if (failed_ > 0) told["error"] = last_error_;
    return told;
  }

 private:
  std::atomic<int> open_ = 0;
  std::mutex mu_;
  std::vector<double> times_;
  int failed_ = 0;
  std::string last_error_;
};

// The machines of a burst, as far as diagnoses name them, and by how many diagnoses.
nlohmann::json WaitForDiagnosis(v1::DiagnosisService::Stub& diagnoses,
                                const std::set<std::string>& burst, Clock::time_point begun) {
  const double patience = absl::GetFlag(FLAGS_patience);
  std::set<std::string> named;
  int count = 0;
  double took = 0;
  while (named != burst && (took = Seconds(Clock::now() - begun)) < patience) {
    grpc::ClientContext context;
    v1::ListDiagnosesRequest request;
    request.set_parent("tenants/provider");
    request.set_page_size(20);
    v1::ListDiagnosesResponse response;
    if (!diagnoses.ListDiagnoses(&context, request, &response).ok()) continue;
    named.clear();
    count = 0;
    for (const v1::Diagnosis& diagnosis : response.diagnoses()) {
      bool is_of_burst = false;
      for (const std::string& node : diagnosis.incident().nodes()) {
        if (burst.count(node) == 0) continue;
        named.insert(node);
        is_of_burst = true;
      }
      count += is_of_burst ? 1 : 0;
    }
    took = Seconds(Clock::now() - begun);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return {{"diagnoses", count}, {"named", named.size()}, {"seconds", took}};
}

nlohmann::json Burst() {
  const auto stubs = Stubs();
  const auto diagnoses = v1::DiagnosisService::NewStub(
      grpc::CreateChannel(absl::GetFlag(FLAGS_orchestrator), grpc::InsecureChannelCredentials()));
  const int first = absl::GetFlag(FLAGS_first);
  std::set<std::string> burst;
  Calls calls;
  // All machines are known to talk before.
  for (int i = 0; i < absl::GetFlag(FLAGS_machines); ++i) {
    watch::v1::ReportHealthRequest request;
    *request.add_events() = Event(i, "13");
    calls.Begin(*stubs[static_cast<std::size_t>(i) % stubs.size()], std::move(request));
  }
  calls.Wait();
  Calls fatal;
  const Clock::time_point begun = Clock::now();
  for (int i = 0; i < absl::GetFlag(FLAGS_burst); ++i) {
    watch::v1::ReportHealthRequest request;
    *request.add_events() = Event(first + i, "79");
    burst.insert(request.events(0).node());
    fatal.Begin(*stubs[static_cast<std::size_t>(i) % stubs.size()], std::move(request));
  }
  nlohmann::json told = WaitForDiagnosis(*diagnoses, burst, begun);
  told["reports"] = fatal.Wait();
  return told;
}

nlohmann::json Steady() {
  const auto stubs = Stubs();
  const int batch = absl::GetFlag(FLAGS_batch);
  const double rate = absl::GetFlag(FLAGS_rate);
  const auto total =
      static_cast<std::int64_t>(rate * absl::GetFlag(FLAGS_seconds) / static_cast<double>(batch));
  Calls calls;
  int most_open = 0;
  const Clock::time_point begun = Clock::now();
  for (std::int64_t i = 0; i < total; ++i) {
    // Not held up by answers that are late.
    std::this_thread::sleep_until(
        begun + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                    static_cast<double>(i) * static_cast<double>(batch) / rate)));
    watch::v1::ReportHealthRequest request;
    for (int j = 0; j < batch; ++j) {
      *request.add_events() = Event(static_cast<int>((i * batch + j) % 1500), "13");
    }
    calls.Begin(*stubs[static_cast<std::size_t>(i) % stubs.size()], std::move(request));
    most_open = std::max(most_open, calls.open());
  }
  nlohmann::json told = calls.Wait();
  told["events_per_second"] = static_cast<double>(total * batch) / Seconds(Clock::now() - begun);
  told["most_open"] = most_open;
  return told;
}

}  // namespace
}  // namespace galen

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  const nlohmann::json told = absl::GetFlag(FLAGS_burst) > 0 ? galen::Burst() : galen::Steady();
  std::cout << told.dump() << std::endl;
  return 0;
}
