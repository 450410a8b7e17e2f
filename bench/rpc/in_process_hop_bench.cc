// Measures a hop inside one process: a call of one service by another as in `galen up`, by
// clients::CallLocally() with its metrics and its trace on a thread of a pool, and one over a bare
// gRPC in-process channel, callback style on both sides. As everywhere in Galen no thread waits:
// the answer of a call begins the next one. The argument is the number of calls in flight; both
// sides alternate.
#include <benchmark/benchmark.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/executor.h"
#include "common/clients/call.h"
#include "common/observability/trace/trace.h"
#include "galen/node/v1/node.grpc.pb.h"

namespace galen::rpc {
namespace {

using node::v1::DescribeRequest;
using node::v1::DescribeResponse;

constexpr int kCalls = 3000;  // of one side of a pair
constexpr int kThreads = 2;   // as many as gRPC's callbacks get on two cores

void Answer(DescribeResponse& response) {
  response.set_host("node-1");
  response.set_knowledge_digest(std::string(64, 'd'));
}

// Makes kCalls calls, this many at once, by `call(done)`; returns microseconds per call.
double Run(int under_way, const std::function<void(std::function<void()> done)>& call) {
  std::atomic<int> to_begin = kCalls;
  std::latch all(under_way);
  std::function<void()> next = [&] {
    if (to_begin.fetch_sub(1) <= 0) return all.count_down();
    call(next);
  };
  const absl::Time begun = absl::Now();
  for (int i = 0; i < under_way; ++i) next();
  all.wait();
  return absl::ToDoubleMicroseconds(absl::Now() - begun) / kCalls;
}

class Local {
 public:
  void Call(std::function<void()> done) {
    const trace::Scope scope({work_, "tenants/default/diagnoses/0123456789abcdef"});
    auto request = std::make_shared<const DescribeRequest>();
    clients::CallLocally<DescribeResponse>(
        pool_, "/galen.node.v1.NodeService/Describe",
        [request]() -> absl::StatusOr<DescribeResponse> {
          DescribeResponse response;
          Answer(response);
          return response;
        },
        [done = std::move(done)](const absl::StatusOr<DescribeResponse>& response) {
          if (!response.ok()) abort();
          done();
        });
  }

 private:
  const trace::Context work_ = trace::NewTrace();
  ThreadPool pool_{kThreads, 1024};
};

class Bare {
 public:
  Bare() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    stub_ = node::v1::NodeService::NewStub(server_->InProcessChannel({}));
  }
  ~Bare() {
    stub_.reset();
    server_->Shutdown();
  }
  void Call(std::function<void()> done) {
    struct Kept {
      grpc::ClientContext context;
      DescribeRequest request;
      DescribeResponse response;
    };
    auto kept = std::make_shared<Kept>();
    Kept& call = *kept;
    stub_->async()->Describe(&call.context, &call.request, &call.response,
                             [kept, done = std::move(done)](const grpc::Status& status) {
                               if (!status.ok()) abort();
                               done();
                             });
  }

 private:
  class Service final : public node::v1::NodeService::CallbackService {
   public:
    grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context, const DescribeRequest*,
                                       DescribeResponse* response) override {
      Answer(*response);
      grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
      reactor->Finish(grpc::Status::OK);
      return reactor;
    }
  };
  Service service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<node::v1::NodeService::Stub> stub_;
};

void Report(benchmark::State& state, const std::string& name, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  state.counters[name + "_min"] = values.front();
  state.counters[name] = values[values.size() / 2];
  state.counters[name + "_max"] = values.back();
}

// `local_us`, `channel_us`: a call; `ratio`: of the pairs, local by channel. Each with minimum,
// median and maximum.
void BM_InProcessHop(benchmark::State& state) {
  Local local;
  Bare bare;
  const auto under_way = static_cast<int>(state.range(0));
  const auto ours = [&local](std::function<void()> done) { local.Call(std::move(done)); };
  const auto theirs = [&bare](std::function<void()> done) { bare.Call(std::move(done)); };
  Run(under_way, ours);
  Run(under_way, theirs);
  std::vector<double> local_us;
  std::vector<double> channel_us;
  std::vector<double> ratios;
  for (auto _ : state) {
    local_us.push_back(Run(under_way, ours));
    channel_us.push_back(Run(under_way, theirs));
    ratios.push_back(local_us.back() / channel_us.back());
  }
  Report(state, "local_us", local_us);
  Report(state, "channel_us", channel_us);
  Report(state, "ratio", ratios);
}
BENCHMARK(BM_InProcessHop)->ArgName("under_way")->Arg(1)->Arg(32)->Iterations(101)->UseRealTime();

}  // namespace
}  // namespace galen::rpc
