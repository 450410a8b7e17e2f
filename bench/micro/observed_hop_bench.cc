// Measures the cost of counting and tracing a call between processes: the rate of calls over
// loopback with everything that servers and channels of the mesh have, divided by that of a bare
// gRPC call of the same style and size. Both sides alternate within one run; counter `ratio` is the
// median of the pairs, with its quartiles.
#include <benchmark/benchmark.h>
#include <grpcpp/grpcpp.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/observability/trace/trace.h"
#include "common/rpc/channel.h"
#include "common/rpc/observe.h"
#include "common/rpc/security.h"
#include "galen/node/v1/node.grpc.pb.h"

namespace galen::rpc {
namespace {

constexpr int kCalls = 3000;  // of one side of a pair: some tenths of a second

class Service final : public node::v1::NodeService::CallbackService {
 public:
  explicit Service(bool looks) : looks_(looks) {}
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context,
                                     const node::v1::DescribeRequest*,
                                     node::v1::DescribeResponse* response) override {
    if (looks_) {
      const trace::Scope scope(WorkOf(*context));
      benchmark::DoNotOptimize(trace::Current().context.valid());
    }
    response->set_host("node-1");
    response->set_knowledge_digest(std::string(64, 'd'));
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  const bool looks_;
};

// One side: a server, and a client that keeps this many calls under way.
class Side {
 public:
  Side(bool counted, bool traced) : counted_(counted), traced_(traced), service_(traced) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    if (counted) builder.experimental().SetInterceptorCreators(ServerObservers());
    server_ = builder.BuildAndStart();
    const std::string address = absl::StrCat("127.0.0.1:", port);
    // Each side has its own channel: channels to one address would share a connection.
    channel_ = counted ? Connect(address, *security_, {security::Role::kNode}).value()
                       : grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
    stub_ = node::v1::NodeService::NewStub(channel_);
  }
  ~Side() {
    stub_.reset();
    channel_.reset();
    server_->Shutdown();
  }

  // Calls a second, and calls a second of processor time.
  struct Rates {
    double calls = 0;
    double calls_by_cpu = 0;
  };
  Rates Run(int under_way) {
    const absl::Time begun = absl::Now();
    const absl::Duration spent = Processor();
    to_begin_ = kCalls;
    open_ = under_way;
    for (int i = 0; i < under_way; ++i) Next();
    std::unique_lock<std::mutex> lock(mu_);
    changed_.wait(lock, [this] { return open_ == 0; });
    return {kCalls / absl::ToDoubleSeconds(absl::Now() - begun),
            kCalls / absl::ToDoubleSeconds(Processor() - spent)};
  }

 private:
  struct Call {
    ClientCall observed;
    grpc::ClientContext context;
    node::v1::DescribeRequest request;
    node::v1::DescribeResponse response;
  };

  static absl::Duration Processor() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return absl::DurationFromTimespec(time);
  }

  void Next() {
    if (to_begin_.fetch_sub(1) <= 0) {
      const std::lock_guard<std::mutex> lock(mu_);
      --open_;
      changed_.notify_all();
      return;
    }
    auto call = std::make_shared<Call>();
    Call& fresh = *call;
    // A service adds these to each call: a deadline, and its trace and diagnosis.
    fresh.context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
    const auto make = [&] {
      stub_->async()->Describe(&fresh.context, &fresh.request, &fresh.response,
                               [this, call](const grpc::Status& status) {
                                 call->observed.End(status.error_code());
                                 Next();
                               });
    };
    const auto start = [&] {
      if (counted_) {
        fresh.observed.Begin(fresh.context, make);  // as common/clients does
      } else {
        make();
      }
    };
    if (traced_) {
      const trace::Scope scope({work_, "tenants/default/diagnoses/0123456789abcdef"});
      start();
    } else {
      start();
    }
  }

  const bool counted_;
  const bool traced_;
  const trace::Context work_ = trace::NewTrace();
  Service service_;
  std::unique_ptr<grpc::Server> server_;
  const std::unique_ptr<Security> security_ =
      Security::Open({.role = security::Role::kExecution}).value();
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<node::v1::NodeService::Stub> stub_;
  std::atomic<int> to_begin_ = 0;
  std::mutex mu_;
  std::condition_variable changed_;
  int open_ = 0;  // guarded by mu_, but for before the first call
};

void Compare(benchmark::State& run, bool traced) {
  Side bare(false, false);
  Side observed(true, traced);
  const auto under_way = static_cast<int>(run.range(0));
  bare.Run(under_way);
  observed.Run(under_way);
  std::vector<double> ratios;
  std::vector<double> cpu_ratios;
  std::vector<double> rates;
  for (auto _ : run) {
    const Side::Rates without = bare.Run(under_way);
    const Side::Rates with = observed.Run(under_way);
    ratios.push_back(with.calls / without.calls);
    cpu_ratios.push_back(with.calls_by_cpu / without.calls_by_cpu);
    rates.push_back(with.calls);
  }
  std::sort(ratios.begin(), ratios.end());
  std::sort(cpu_ratios.begin(), cpu_ratios.end());
  std::sort(rates.begin(), rates.end());
  const auto at = [](const std::vector<double>& values, double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  };
  run.counters["ratio"] = at(ratios, 0.5);
  run.counters["ratio_q1"] = at(ratios, 0.25);
  run.counters["ratio_q3"] = at(ratios, 0.75);
  run.counters["cpu_ratio"] = at(cpu_ratios, 0.5);
  run.counters["cpu_ratio_q1"] = at(cpu_ratios, 0.25);
  run.counters["cpu_ratio_q3"] = at(cpu_ratios, 0.75);
  run.counters["calls_per_s"] = at(rates, 0.5);
}
// Counted on both sides.
void BM_CountedHop(benchmark::State& run) { Compare(run, false); }
BENCHMARK(BM_CountedHop)->Arg(1)->Arg(32)->Iterations(16)->Unit(benchmark::kMillisecond);

// And traced: two more entries of metadata, which both sides read.
void BM_TracedHop(benchmark::State& run) { Compare(run, true); }
BENCHMARK(BM_TracedHop)->Arg(1)->Arg(32)->Iterations(16)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace galen::rpc
