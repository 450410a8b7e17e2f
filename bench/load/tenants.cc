// load_bench SERVER BUNDLE TENANT RATE SECONDS WORKERS [watch]: asks for RATE diagnoses of BUNDLE a
// second, without waiting for their results (an open loop); RATE 0: as fast as WORKERS can, each
// waiting for its own. With "watch" each is followed to its end. Prints JSON: the numbers created,
// refused and failed, and the seconds of each from its due time to its end.
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/prctl.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/base/steady.h"
#include "common/host/bundle.h"
#include "common/rpc/channel.h"
#include "common/rpc/security.h"
#include "galen/v1/diagnosis_service.grpc.pb.h"

namespace galen {
namespace {

struct Load {
  std::string tenant;
  double rate = 0;
  absl::Duration length;
  int workers = 1;
  bool watch = false;
};

class Asker {
 public:
  Asker(v1::DiagnosisService::Stub& stub, const v1::Incident& incident, const Load& load)
      : stub_(stub), incident_(incident), load_(load) {}

  void Work() {
    while (std::optional<absl::Time> due = NextDue()) {
      v1::CreateDiagnosisRequest request;
      request.set_parent(absl::StrCat("tenants/", load_.tenant));
      *request.mutable_diagnosis()->mutable_incident() = incident_;
      v1::Diagnosis made;
      grpc::ClientContext context;
      const grpc::Status status = stub_.CreateDiagnosis(&context, request, &made);
      if (!status.ok()) {
        ++(status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED ? refused_ : failed_);
        continue;
      }
      ++made_;
      if (load_.watch) Follow(made.name(), *due);
    }
  }

  std::string Json() const {
    const absl::Duration took = SteadyNow() - begun_;
    return absl::StrFormat(
        R"({"made": %d, "refused": %d, "failed": %d, "took": %.3f, "seconds": [%s]})", made_.load(),
        refused_.load(), failed_.load(), absl::ToDoubleSeconds(took),
        absl::StrJoin(seconds_, ", "));
  }

 private:
  std::optional<absl::Time> NextDue() {
    const absl::Time end = begun_ + load_.length;
    absl::Time due = SteadyNow();
    if (load_.rate > 0) due = begun_ + absl::Seconds(1) / load_.rate * next_++;
    if (due >= end) return std::nullopt;
    if (due > SteadyNow()) absl::SleepFor(due - SteadyNow());
    return due;
  }
  void Follow(const std::string& name, absl::Time due) {
    v1::WatchDiagnosisRequest request;
    request.set_name(name);
    grpc::ClientContext context;
    const auto reader = stub_.WatchDiagnosis(&context, request);
    v1::DiagnosisEvent event;
    bool over = false;
    while (!over && reader->Read(&event)) over = event.has_concluded();
    const absl::Duration took = SteadyNow() - due;
    context.TryCancel();
    reader->Finish();
    if (!over) {
      ++failed_;
      return;
    }
    const std::lock_guard<std::mutex> lock(mu_);
    seconds_.push_back(absl::ToDoubleSeconds(took));
  }

  v1::DiagnosisService::Stub& stub_;
  const v1::Incident& incident_;
  const Load load_;
  const absl::Time begun_ = SteadyNow();
  std::atomic<int> next_ = 0, made_ = 0, refused_ = 0, failed_ = 0;
  std::mutex mu_;
  std::vector<double> seconds_;
};

int Main(int argc, char** argv) {
  if (argc < 7) {
    std::fprintf(stderr, "load_bench SERVER BUNDLE TENANT RATE SECONDS WORKERS [watch]\n");
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto bundle = host::Bundle::Open(argv[2]);
  const auto security = rpc::Security::Open({});
  const auto channel = rpc::Connect(argv[1], **security, {security::Role::kOrchestrator});
  for (const absl::Status& status : {bundle.status(), security.status(), channel.status()}) {
    if (status.ok()) continue;
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 2;
  }
  const auto stub = v1::DiagnosisService::NewStub(*channel);
  const Load load{argv[3], std::atof(argv[4]), absl::Seconds(std::atof(argv[5])),
                  std::atoi(argv[6]), argc > 7};
  Asker asker(*stub, (*bundle)->incident(), load);
  std::vector<std::thread> workers;
  for (int i = 0; i < load.workers; ++i) workers.emplace_back([&asker] { asker.Work(); });
  for (std::thread& worker : workers) worker.join();
  std::printf("%s\n", asker.Json().c_str());
  return 0;
}

}  // namespace
}  // namespace galen

int main(int argc, char** argv) { return galen::Main(argc, argv); }
