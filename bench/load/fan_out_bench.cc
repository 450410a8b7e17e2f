// Measures a cheap check on 10,000 nodes through galen-execution, and bare gRPC for the same number
// of messages: one server stream of messages of the same size, and one bare call per node. Nodes
// are simulated; all servers are separate processes on this machine, and the kinds alternate.
#include <benchmark/benchmark.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "galen/execution/v1/execution.grpc.pb.h"
#include "galen/node/v1/node.grpc.pb.h"
#include "tests/testing/nodes/simulated_nodes.h"

namespace galen::load {
namespace {

using testing::Behaviour;
using testing::HostName;
using testing::RegisterAll;
using testing::ResultOf;
using testing::SimulatedNodes;

constexpr char kCheck[] = "system.services";
constexpr int kHosts = 10000;
constexpr int kBytes = 100;
constexpr int kCallsAtOnce = 1024;

void Require(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "fan_out_bench: %s\n", what);
  abort();
}

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  Require(fd >= 0 && bind(fd, raw, size) == 0 && getsockname(fd, raw, &size) == 0, "a free port");
  close(fd);
  return ntohs(address.sin_port);
}

// Streams as many results as the request's node says, the barest way.
class BareService final : public node::v1::NodeService::CallbackService {
 public:
  grpc::ServerWriteReactor<v1::CheckResult>* RunChecks(
      grpc::CallbackServerContext*, const node::v1::RunChecksRequest* request) override {
    class Writer final : public grpc::ServerWriteReactor<v1::CheckResult> {
     public:
      Writer(const v1::CheckResult& result, int count) : result_(result), left_(count) { Next(); }
      void OnWriteDone(bool) override { Next(); }
      void OnDone() override { delete this; }

     private:
      void Next() {
        if (left_-- > 0) {
          StartWrite(&result_);
        } else {
          Finish(grpc::Status::OK);
        }
      }
      const v1::CheckResult& result_;
      int left_;
    };
    int count = 0;
    Require(absl::SimpleAtoi(request->node(), &count), "a count");
    return new Writer(result_, count);
  }

 private:
  const v1::CheckResult result_ = ResultOf(kCheck, HostName(kHosts - 1), kBytes);
};

// Processes that end with this one.
class Children {
 public:
  ~Children() {
    for (const pid_t pid : pids_) kill(pid, SIGKILL);
    for (const pid_t pid : pids_) waitpid(pid, nullptr, 0);
  }
  // `work` writes the number of its port to the pipe, and never returns.
  int Start(const std::function<void(int pipe)>& work, pid_t& pid) {
    int pipes[2];
    Require(pipe(pipes) == 0, "pipe");
    pid = Spawn([&] { work(pipes[1]); });
    int port = 0;
    Require(read(pipes[0], &port, sizeof(port)) == sizeof(port), "a server did not start");
    close(pipes[0]);
    close(pipes[1]);
    return port;
  }
  pid_t Spawn(const std::function<void()>& work) {
    const pid_t pid = fork();
    Require(pid >= 0, "fork");
    if (pid > 0) {
      pids_.push_back(pid);
      return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    work();
    abort();
  }

 private:
  std::vector<pid_t> pids_;
};

void Tell(int pipe, int port) { Require(write(pipe, &port, sizeof(port)) == sizeof(port), "pipe"); }

struct Mesh {
  int execution = 0;  // ports
  int nodes = 0;
  pid_t execution_process = 0;
  pid_t nodes_process = 0;
};

// Processor time of this process and the others, in seconds.
double CpuOf(const std::vector<pid_t>& processes, bool own_too = true) {
  timespec own{};
  if (own_too) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
  double seconds = static_cast<double>(own.tv_sec) + static_cast<double>(own.tv_nsec) * 1e-9;
  for (const pid_t pid : processes) {
    clockid_t clock = 0;
    timespec time{};
    Require(clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &time) == 0, "a clock");
    seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }
  return seconds;
}

// Made before this process uses gRPC, which does not outlive a fork.
class World {
 public:
  static World& Get() {
    static World world;
    return world;
  }
  int bare = 0;
  pid_t bare_process = 0;
  Mesh shared;  // all hosts at one address
  Mesh own;     // each at its own

 private:
  World() {
    rlimit files{};
    Require(getrlimit(RLIMIT_NOFILE, &files) == 0, "limits");
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    bare = children_.Start(
        [](int pipe) {
          BareService service;
          grpc::ServerBuilder builder;
          int port = 0;
          builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
          builder.RegisterService(&service);
          const auto server = builder.BuildAndStart();
          Tell(pipe, port);
          for (;;) pause();
        },
        bare_process);
    shared = StartMesh(/*own_addresses=*/false);
    own = StartMesh(/*own_addresses=*/true);
  }
  Mesh StartMesh(bool own_addresses) {
    Mesh mesh;
    mesh.execution = FreePort();
    const std::string target = absl::StrCat("127.0.0.1:", mesh.execution);
    mesh.execution_process = children_.Spawn([&target] {
      const std::string program = GALEN_BIN_DIR "/galen-execution";
      const std::string listen = "--listen=" + target;
      const std::string knowledge = "--knowledge=" GALEN_SOURCE_DIR "/knowledge";
      const std::string channels = absl::StrCat("--max_channels=", kHosts + 100);
      execl(program.c_str(), program.c_str(), listen.c_str(), knowledge.c_str(), channels.c_str(),
            nullptr);
    });
    mesh.nodes = children_.Start(
        [&](int pipe) {
          Behaviour behaviour;
          behaviour.hosts = kHosts;
          behaviour.bytes = kBytes;
          const auto nodes = SimulatedNodes::Start(behaviour);
          Require(nodes.ok(), "simulated nodes");
          Require(RegisterAll(**nodes, target, kHosts, own_addresses).ok(), "registration");
          Tell(pipe, (*nodes)->port());
          for (;;) pause();
        },
        mesh.nodes_process);
    return mesh;
  }
  Children children_;
};

std::shared_ptr<grpc::Channel> Dial(int port) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(64 << 20);
  return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port),
                                   grpc::InsecureChannelCredentials(), arguments);
}

// Reads a stream to its end and counts what passed.
class Reader final : public grpc::ClientReadReactor<v1::CheckResult> {
 public:
  explicit Reader(std::function<void(int passed)> done) : done_(std::move(done)) {}
  void Start() {
    StartRead(&result_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (result_.status() == v1::CheckResult::PASS) ++passed_;
    StartRead(&result_);
  }
  void OnDone(const grpc::Status& status) override {
    if (!status.ok()) fprintf(stderr, "fan_out_bench: %s\n", status.error_message().c_str());
    context.reset();
    const auto done = std::move(done_);
    const int passed = passed_;
    delete this;
    done(passed);
  }
  std::unique_ptr<grpc::ClientContext> context = std::make_unique<grpc::ClientContext>();

 private:
  v1::CheckResult result_;
  int passed_ = 0;
  std::function<void(int)> done_;
};

// Results a second; 0 when some are missing.
double RateOf(absl::Time start, int passed) {
  return passed == kHosts ? kHosts / absl::ToDoubleSeconds(absl::Now() - start) : 0;
}

double BareStream(node::v1::NodeService::Stub& stub) {
  node::v1::RunChecksRequest request;
  request.set_node(absl::StrCat(kHosts));
  std::promise<int> passed;
  const absl::Time start = absl::Now();
  auto* reader = new Reader([&passed](int count) { passed.set_value(count); });
  stub.async()->RunChecks(reader->context.get(), &request, reader);
  reader->Start();
  return RateOf(start, passed.get_future().get());
}

double BareCalls(node::v1::NodeService::Stub& stub) {
  std::counting_semaphore<kCallsAtOnce> free(kCallsAtOnce);
  std::atomic<int> passed = 0;
  const absl::Time start = absl::Now();
  for (int host = 0; host < kHosts; ++host) {
    free.acquire();
    auto request = std::make_shared<node::v1::RunChecksRequest>();
    request->set_node(HostName(host));
    request->add_checks(kCheck);
    auto* reader = new Reader([&passed, &free, request](int count) {
      passed += count;
      free.release();
    });
    stub.async()->RunChecks(reader->context.get(), request.get(), reader);
    reader->Start();
  }
  for (int i = 0; i < kCallsAtOnce; ++i) free.acquire();
  return RateOf(start, passed);
}

double Galen(execution::v1::ExecutionService::Stub& stub,
             const execution::v1::RunChecksRequest& request) {
  std::promise<int> passed;
  const absl::Time start = absl::Now();
  auto* reader = new Reader([&passed](int count) { passed.set_value(count); });
  stub.async()->RunChecks(reader->context.get(), &request, reader);
  reader->Start();
  return RateOf(start, passed.get_future().get());
}

// A call for all nodes, once execution knows them.
execution::v1::RunChecksRequest AllNodes(execution::v1::ExecutionService::Stub& stub) {
  execution::v1::ResolveNodesResponse known;
  for (int attempt = 0; attempt < 300 && known.nodes_size() < kHosts; ++attempt) {
    if (attempt > 0) absl::SleepFor(absl::Milliseconds(100));
    grpc::ClientContext context;
    known.Clear();
    Require(stub.ResolveNodes(&context, {}, &known).ok(), "execution does not answer");
  }
  Require(known.nodes_size() == kHosts, "execution does not know all nodes");
  execution::v1::RunChecksRequest request;
  request.add_checks(kCheck);
  *request.mutable_nodes() = known.nodes();
  return request;
}

void Report(benchmark::State& state, const std::string& name, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  state.counters[name + "_min"] = values.front();
  state.counters[name] = values[values.size() / 2];
  state.counters[name + "_max"] = values.back();
}

// Argument: whether each host has an address, and so a connection, of its own. bare_stream,
// bare_calls, galen: results a second, each the median with minimum and maximum; _cpu_us: processor
// time of all processes that take part, a result, and
// execution's part of it; to_stream, to_calls: Galen's rate by theirs of
// the same round.
void BM_FanOut(benchmark::State& state) {
  World& world = World::Get();
  const Mesh& mesh = state.range(0) != 0 ? world.own : world.shared;
  const auto bare = node::v1::NodeService::NewStub(Dial(world.bare));
  const auto nodes = node::v1::NodeService::NewStub(Dial(mesh.nodes));
  const auto execution = execution::v1::ExecutionService::NewStub(Dial(mesh.execution));
  const execution::v1::RunChecksRequest request = AllNodes(*execution);
  // Connections are made once.
  if (Galen(*execution, request) == 0) return state.SkipWithError("results are missing");
  BareStream(*bare);
  BareCalls(*nodes);
  const std::vector<pid_t> processes[3] = {
      {world.bare_process}, {mesh.nodes_process}, {mesh.nodes_process, mesh.execution_process}};
  std::vector<double> rates[3];
  std::vector<double> cpu[3];
  std::vector<double> execution_cpu;
  std::vector<double> to_stream;
  std::vector<double> to_calls;
  int first = 0;
  for (auto _ : state) {
    double rate[3] = {};
    for (int i = 0; i < 3; ++i) {
      const int kind = (first + i) % 3;
      const double before = CpuOf(processes[kind]);
      const double execution_before = CpuOf({mesh.execution_process}, false);
      rate[kind] = kind == 0   ? BareStream(*bare)
                   : kind == 1 ? BareCalls(*nodes)
                               : Galen(*execution, request);
      if (rate[kind] == 0) return state.SkipWithError("results are missing");
      rates[kind].push_back(rate[kind]);
      cpu[kind].push_back((CpuOf(processes[kind]) - before) * 1e6 / kHosts);
      if (kind == 2) {
        execution_cpu.push_back((CpuOf({mesh.execution_process}, false) - execution_before) * 1e6 /
                                kHosts);
      }
    }
    ++first;
    to_stream.push_back(rate[2] / rate[0]);
    to_calls.push_back(rate[2] / rate[1]);
  }
  Report(state, "bare_stream", rates[0]);
  Report(state, "bare_calls", rates[1]);
  Report(state, "galen", rates[2]);
  Report(state, "bare_stream_cpu_us", cpu[0]);
  Report(state, "bare_calls_cpu_us", cpu[1]);
  Report(state, "galen_cpu_us", cpu[2]);
  Report(state, "execution_cpu_us", execution_cpu);
  Report(state, "to_stream", to_stream);
  Report(state, "to_calls", to_calls);
}
BENCHMARK(BM_FanOut)->ArgName("own_addresses")->Arg(0)->Arg(1)->Iterations(15)->UseRealTime();

}  // namespace
}  // namespace galen::load
