// Measures a hop between two processes: one unary call with a small request and answer, callback
// style on both sides, over loopback TCP. Variants: bare gRPC; bare gRPC with mutual TLS; and the
// hops of the mesh, with a deadline and the policy, then also the tenant's claim, then also the
// audit log. The argument is the number of calls in flight.
#include <benchmark/benchmark.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/locks.h"
#include "common/base/read_file.h"
#include "common/rpc/channel.h"
#include "common/rpc/observe.h"
#include "common/rpc/security.h"
#include "common/rpc/serve.h"
#include "common/rpc/tenant_guard.h"
#include "common/security/certificates/authority.h"
#include "common/security/claims/claim.h"
#include "common/security/identity.h"
#include "galen/v1/diagnosis_service.grpc.pb.h"

namespace galen::rpc {
namespace {

using security::Role;

constexpr char kName[] = "tenants/acme/diagnoses/d-0123456789";

enum Kind : int { kBare, kBareTls, kPolicy, kTenant, kAudited, kKinds };
constexpr const char* kNames[] = {"bare", "bare_tls", "policy", "policy_tenant", "all"};

class Service final : public v1::DiagnosisService::CallbackService {
 public:
  explicit Service(TenantGuard* guard) : guard_(guard) {}
  grpc::ServerUnaryReactor* GetDiagnosis(grpc::CallbackServerContext* context,
                                         const v1::GetDiagnosisRequest* request,
                                         v1::Diagnosis* response) override {
    auto* reactor = context->DefaultReactor();
    const absl::Status allowed = CheckTenant(guard_, *context, request->name());
    response->set_name(request->name());
    reactor->Finish(allowed.ok() ? grpc::Status::OK
                                 : grpc::Status(grpc::StatusCode::PERMISSION_DENIED, ""));
    return reactor;
  }

 private:
  TenantGuard* const guard_;
};

void Require(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "hop_bench: %s\n", what);
  abort();
}

std::string Text(const std::string& path) { return ReadSmallFile(path).value(); }

// The certificates, and four child processes: a bare server and client, and a server and client of
// the mesh, set up like its programs. This process itself does not use gRPC, which does not survive
// a fork.
class World {
 public:
  static World& Get() {
    static World world;
    return world;
  }
  ~World() {
    for (const pid_t child : children_) kill(child, SIGKILL);
    std::filesystem::remove_all(directory_);
  }

  struct Outcome {
    double seconds = 0;
    double cpu = 0;  // seconds of a processor, of both sides
    int failed = 0;
  };
  // Makes this many calls of a kind, `at_once` of them under way.
  Outcome Run(int kind, int at_once, int calls) const {
    const bool mesh = kind >= kPolicy;
    const double before = Cpu(mesh);
    const Order order{kind, at_once, calls};
    Outcome outcome;
    Require(write(orders_[mesh], &order, sizeof(order)) == sizeof(order), "pipe");
    Require(read(outcomes_[mesh], &outcome, sizeof(outcome)) == sizeof(outcome), "no answer");
    outcome.cpu = Cpu(mesh) - before;
    return outcome;
  }

 private:
  struct Order {
    int kind;
    int at_once;
    int calls;
  };

  World();
  void Put(const std::string& name, const security::Issued& issued) const {
    const std::string path = absl::StrCat(directory_, "/", name);
    Require(security::ReplaceFile(path + ".pem", issued.certificate, 0600).ok(), "certificates");
    Require(security::ReplaceFile(path + ".key", issued.key, 0600).ok(), "certificates");
  }
  template <typename Work>
  void Fork(Work work) {
    const pid_t child = fork();
    Require(child >= 0, "fork");
    if (child > 0) return children_.push_back(child);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    work();
    abort();
  }
  double Cpu(bool mesh) const {
    double seconds = 0;
    for (const std::size_t child : {std::size_t{0} + mesh, std::size_t{2} + mesh}) {
      clockid_t clock = 0;
      timespec time{};
      Require(
          clock_getcpuclockid(children_[child], &clock) == 0 && clock_gettime(clock, &time) == 0,
          "clock");
      seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
    }
    return seconds;
  }
  [[noreturn]] void ServeBare(int ready) const;
  [[noreturn]] void ServeMesh(int ready) const;
  [[noreturn]] void Call(bool mesh, int orders, int outcomes) const;
  std::shared_ptr<grpc::Channel> Dial(Kind kind, const Security* security) const;

  std::string directory_ = std::filesystem::temp_directory_path() / "galen-hop-XXXXXX";
  std::vector<pid_t> children_;  // servers, then clients; bare, then mesh
  int ports_[kKinds] = {};
  int orders_[2] = {};    // of bare, of mesh
  int outcomes_[2] = {};  // likewise
};

struct OneCall {
  std::optional<grpc::ClientContext> context{std::in_place};
  v1::GetDiagnosisRequest request;
  v1::Diagnosis response;
  ClientCall observed;
};

// Calls of one kind, `at_once` of them under way.
class Caller {
 public:
  Caller(Kind kind, int at_once, std::shared_ptr<grpc::Channel> channel, const Security* security)
      : kind_(kind),
        at_once_(at_once),
        channel_(std::move(channel)),
        security_(security),
        stub_(v1::DiagnosisService::NewStub(channel_)),
        free_(at_once) {}

  World::Outcome Run(int calls) {
    const absl::Time start = absl::Now();
    for (int i = 0; i < calls; ++i) Begin();
    for (int i = 0; i < at_once_; ++i) free_.acquire();
    free_.release(at_once_);
    return {absl::ToDoubleSeconds(absl::Now() - start), 0, failed_};
  }

 private:
  void Begin() {
    free_.acquire();
    auto made = std::make_shared<OneCall>();
    made->request.set_name(kName);
    if (kind_ >= kPolicy) {
      made->context->set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
    }
    if (kind_ >= kTenant) {
      made->context->AddMetadata(security::kClaimKey,
                                 security_->ClaimFor(kName, Role::kOrchestrator));
    }
    const auto start = [&] {
      stub_->async()->GetDiagnosis(&*made->context, &made->request, &made->response,
                                   [made, this](const grpc::Status& status) {
                                     if (!status.ok()) ++failed_;
                                     made->observed.End(status.error_code());
                                     // A thread of gRPC's must not be the last owner of a channel.
                                     made->context.reset();
                                     free_.release();
                                   });
    };
    if (kind_ >= kPolicy) {
      made->observed.Begin(*made->context, start);  // as common/clients does
    } else {
      start();
    }
  }

  const Kind kind_;
  const int at_once_;
  const std::shared_ptr<grpc::Channel> channel_;
  const Security* const security_;
  const std::unique_ptr<v1::DiagnosisService::Stub> stub_;
  std::counting_semaphore<1024> free_;
  std::atomic<int> failed_ = 0;
};

World::World() {
  Require(mkdtemp(directory_.data()) != nullptr, "mkdtemp");
  const absl::Time now = absl::Now();
  const security::Validity valid{now - absl::Hours(1), now + absl::Hours(1)};
  const security::Issued authority = security::MakeAuthority("bench", valid).value();
  Put("ca", authority);
  for (const Role role : {Role::kOrchestrator, Role::kOperator}) {
    Put(std::string(security::NameOf(role)),
        security::Issue(authority, security::IdentityUri("bench", role), valid).value());
  }
  for (const bool mesh : {false, true}) {
    int pipes[2];
    Require(pipe(pipes) == 0, "pipe");
    Fork([&] { mesh ? ServeMesh(pipes[1]) : ServeBare(pipes[1]); });
    int ports[kKinds] = {};
    Require(read(pipes[0], ports, sizeof(ports)) == sizeof(ports), "a server did not start");
    for (int kind = 0; kind < kKinds; ++kind) ports_[kind] += ports[kind];
  }
  for (const bool mesh : {false, true}) {
    int orders[2];
    int outcomes[2];
    Require(pipe(orders) == 0 && pipe(outcomes) == 0, "pipe");
    Fork([&] { Call(mesh, orders[0], outcomes[1]); });
    orders_[mesh] = orders[1];
    outcomes_[mesh] = outcomes[0];
  }
}

void World::ServeBare(int ready) const {
  Service service(nullptr);
  int ports[kKinds] = {};
  std::vector<std::unique_ptr<grpc::Server>> servers;
  for (const Kind kind : {kBare, kBareTls}) {
    grpc::ServerBuilder builder;
    std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
    if (kind == kBareTls) {
      grpc::SslServerCredentialsOptions tls(
          GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
      tls.pem_root_certs = Text(directory_ + "/ca.pem");
      tls.pem_key_cert_pairs = {
          {Text(directory_ + "/orchestrator.key"), Text(directory_ + "/orchestrator.pem")}};
      credentials = grpc::SslServerCredentials(tls);
    }
    builder.AddListeningPort("127.0.0.1:0", credentials, &ports[kind]);
    builder.RegisterService(&service);
    servers.push_back(builder.BuildAndStart());
  }
  Require(write(ready, ports, sizeof(ports)) == sizeof(ports), "pipe");
  for (;;) pause();
}

void World::ServeMesh(int ready) const {
  ForgetLockOrders();
  SecurityOptions options{.role = Role::kOrchestrator, .directory = directory_};
  const auto plain = Security::Open(options).value();
  options.audit_log = directory_ + "/audit.jsonl";
  const auto audited = Security::Open(options).value();
  Service unguarded(nullptr);
  Service guarded(plain->guard());
  Service guarded_too(audited->guard());
  int ports[kKinds] = {};
  std::vector<std::unique_ptr<grpc::Server>> servers;
  const auto start = [&](Kind kind, const Security& security, Service& service) {
    servers.push_back(
        StartServer({.address = "127.0.0.1:0", .security = &security}, {&service}, ports[kind])
            .value());
  };
  start(kPolicy, *plain, unguarded);
  start(kTenant, *plain, guarded);
  start(kAudited, *audited, guarded_too);
  Require(write(ready, ports, sizeof(ports)) == sizeof(ports), "pipe");
  for (;;) pause();
}

std::shared_ptr<grpc::Channel> World::Dial(Kind kind, const Security* security) const {
  const std::string target = absl::StrCat("127.0.0.1:", ports_[kind]);
  if (kind >= kPolicy) return Connect(target, *security, {Role::kOrchestrator}).value();
  grpc::ChannelArguments arguments;
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (kind == kBareTls) {
    credentials =
        grpc::SslCredentials({Text(directory_ + "/ca.pem"), Text(directory_ + "/operator.key"),
                              Text(directory_ + "/operator.pem")});
    arguments.SetSslTargetNameOverride("orchestrator.bench");
  }
  return grpc::CreateCustomChannel(target, credentials, arguments);
}

void World::Call(bool mesh, int orders, int outcomes) const {
  std::unique_ptr<Security> security;
  if (mesh) {
    ForgetLockOrders();
    security = Security::Open({.role = Role::kOperator, .directory = directory_}).value();
  }
  std::map<std::pair<int, int>, std::unique_ptr<Caller>> callers;
  for (Order order{}; read(orders, &order, sizeof(order)) == sizeof(order);) {
    std::unique_ptr<Caller>& caller = callers[{order.kind, order.at_once}];
    const Kind kind = static_cast<Kind>(order.kind);
    if (caller == nullptr) {
      caller =
          std::make_unique<Caller>(kind, order.at_once, Dial(kind, security.get()), security.get());
    }
    const Outcome outcome = caller->Run(order.calls);
    Require(write(outcomes, &outcome, sizeof(outcome)) == sizeof(outcome), "pipe");
  }
  _exit(0);
}

// As counters NAME_min, NAME and NAME_max: minimum, median, maximum.
void Report(benchmark::State& state, const std::string& name, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  state.counters[name + "_min"] = values.front();
  state.counters[name] = values[values.size() / 2];
  state.counters[name + "_max"] = values.back();
}

// All kinds in turn, a short time each, so that other load on the machine affects all of them
// alike. KIND: calls a second, of the rounds; KIND_cpu_us: processor time of both sides a call;
// KIND_to_bare and KIND_to_tls: rate by that of the bare call, without and with TLS, of the same
// round; KIND_cpu_to_tls: calls of a second of processor time likewise.
void BM_Hops(benchmark::State& state) {
  const int calls = state.range(0) == 1 ? 150 : 400;
  const int at_once = static_cast<int>(state.range(0));
  const World& world = World::Get();
  int failed = 0;
  for (int kind = 0; kind < kKinds; ++kind) failed += world.Run(kind, at_once, calls).failed;
  std::vector<double> rates[kKinds];
  std::vector<double> cpu[kKinds];
  int first = 0;
  for (auto _ : state) {
    for (int i = 0; i < kKinds; ++i) {
      const int kind = (first + i) % kKinds;
      const World::Outcome outcome = world.Run(kind, at_once, calls);
      rates[kind].push_back(calls / outcome.seconds);
      cpu[kind].push_back(outcome.cpu * 1e6 / calls);
      failed += outcome.failed;
    }
    ++first;
  }
  if (failed > 0) return state.SkipWithError("calls failed");
  for (int kind = 0; kind < kKinds; ++kind) {
    const std::string name = kNames[kind];
    Report(state, name, rates[kind]);
    Report(state, name + "_cpu_us", cpu[kind]);
    const auto ratios = [](const std::vector<double>& of, const std::vector<double>& by) {
      std::vector<double> found;
      for (std::size_t i = 0; i < of.size(); ++i) found.push_back(of[i] / by[i]);
      return found;
    };
    if (kind != kBare) Report(state, name + "_to_bare", ratios(rates[kind], rates[kBare]));
    if (kind <= kBareTls) continue;
    Report(state, name + "_to_tls", ratios(rates[kind], rates[kBareTls]));
    Report(state, name + "_cpu_to_tls", ratios(cpu[kBareTls], cpu[kind]));
  }
}
BENCHMARK(BM_Hops)->ArgName("under_way")->Arg(1)->Arg(32)->Iterations(101)->UseRealTime();

}  // namespace
}  // namespace galen::rpc
