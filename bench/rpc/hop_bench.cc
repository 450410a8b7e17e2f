// What a hop between two processes costs: one unary call with a small request and answer, callback
// style on both sides, over loopback TCP. Bare gRPC; bare gRPC with mutual TLS; and what every hop
// of the mesh has: a deadline and the policy, to that the tenant's claim, and to that the audit
// log. The argument is how many calls are under way at the same time.
#include <benchmark/benchmark.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/rpc/channel.h"
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

std::string Text(const std::string& path) { return security::ReadSmallFile(path).value(); }

// The certificates, and a child process with a server of each kind.
class World {
 public:
  static World& Get() {
    static World world;
    return world;
  }
  ~World() {
    kill(child_, SIGKILL);
    std::filesystem::remove_all(directory_);
  }

  std::shared_ptr<grpc::Channel> Channel(Kind kind) const {
    const std::string target = absl::StrCat("127.0.0.1:", ports_[kind]);
    if (kind >= kPolicy) return Connect(target, *client_, {Role::kOrchestrator}).value();
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
  // What both processes have spent, in seconds of a processor.
  double Cpu() const {
    rusage own{};
    getrusage(RUSAGE_SELF, &own);
    timespec other{};
    clockid_t clock = 0;
    Require(clock_getcpuclockid(child_, &clock) == 0 && clock_gettime(clock, &other) == 0, "clock");
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(own.ru_utime) + seconds(own.ru_stime) + static_cast<double>(other.tv_sec) +
           static_cast<double>(other.tv_nsec) * 1e-9;
  }
  std::string Claim(Kind kind) const {
    return kind >= kTenant ? client_->ClaimFor(kName, Role::kOrchestrator) : "";
  }

 private:
  World() {
    Require(mkdtemp(directory_.data()) != nullptr, "mkdtemp");
    const absl::Time now = absl::Now();
    const security::Validity valid{now - absl::Hours(1), now + absl::Hours(1)};
    const security::Issued authority = security::MakeAuthority("bench", valid).value();
    Put("ca", authority);
    for (const Role role : {Role::kOrchestrator, Role::kOperator}) {
      Put(std::string(security::NameOf(role)),
          security::Issue(authority, security::IdentityUri("bench", role), valid).value());
    }
    int pipes[2];
    Require(pipe(pipes) == 0, "pipe");
    child_ = fork();
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      Serve(pipes[1]);
    }
    Require(read(pipes[0], ports_, sizeof(ports_)) == sizeof(ports_), "the server did not start");
    client_ = Security::Open({.role = Role::kOperator, .directory = directory_}).value();
  }
  void Put(const std::string& name, const security::Issued& issued) const {
    const std::string path = absl::StrCat(directory_, "/", name);
    Require(security::ReplaceFile(path + ".pem", issued.certificate, 0600).ok(), "certificates");
    Require(security::ReplaceFile(path + ".key", issued.key, 0600).ok(), "certificates");
  }
  [[noreturn]] void Serve(int ready) const {
    SecurityOptions options{.role = Role::kOrchestrator, .directory = directory_};
    const auto plain = Security::Open(options).value();
    options.audit_log = directory_ + "/audit.jsonl";
    const auto audited = Security::Open(options).value();
    Service unguarded(nullptr);
    Service guarded(plain->guard());
    Service guarded_too(audited->guard());
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
      builder.RegisterService(&unguarded);
      servers.push_back(builder.BuildAndStart());
    }
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

  std::string directory_ = std::filesystem::temp_directory_path() / "galen-hop-XXXXXX";
  pid_t child_ = 0;
  int ports_[kKinds] = {};
  std::unique_ptr<Security> client_;
};

struct Call {
  std::optional<grpc::ClientContext> context{std::in_place};
  v1::GetDiagnosisRequest request;
  v1::Diagnosis response;
};

// Calls of one kind, `at_once` of them under way.
class Caller {
 public:
  Caller(Kind kind, int at_once)
      : kind_(kind),
        at_once_(at_once),
        channel_(World::Get().Channel(kind)),
        stub_(v1::DiagnosisService::NewStub(channel_)),
        free_(at_once) {}

  // Gives how long they took.
  absl::Duration Run(int calls) {
    const absl::Time start = absl::Now();
    for (int i = 0; i < calls; ++i) Begin();
    for (int i = 0; i < at_once_; ++i) free_.acquire();
    free_.release(at_once_);
    return absl::Now() - start;
  }
  bool failed() const { return failed_ > 0; }

 private:
  void Begin() {
    free_.acquire();
    auto made = std::make_shared<Call>();
    made->request.set_name(kName);
    if (kind_ >= kPolicy) {
      made->context->set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
    }
    const std::string claim = World::Get().Claim(kind_);
    if (!claim.empty()) made->context->AddMetadata(security::kClaimKey, claim);
    stub_->async()->GetDiagnosis(&*made->context, &made->request, &made->response,
                                 [made, this](const grpc::Status& status) {
                                   if (!status.ok()) ++failed_;
                                   // A thread of gRPC's must not be the last owner of a channel.
                                   made->context.reset();
                                   free_.release();
                                 });
  }

  const Kind kind_;
  const int at_once_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::DiagnosisService::Stub> stub_;
  std::counting_semaphore<1024> free_;
  std::atomic<int> failed_ = 0;
};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// All kinds in turn, a short while each, so that whatever else the machine does meets all alike.
// KIND: calls a second, median over the rounds; KIND_cpu_us: processor time of both sides a call;
// KIND_ratio: rate by that of the bare call of the same round, median.
void BM_Hops(benchmark::State& state) {
  constexpr int kCalls = 400;
  World& world = World::Get();
  std::vector<std::unique_ptr<Caller>> callers;
  for (int kind = 0; kind < kKinds; ++kind) {
    callers.push_back(
        std::make_unique<Caller>(static_cast<Kind>(kind), static_cast<int>(state.range(0))));
    callers.back()->Run(kCalls);
  }
  std::vector<double> rates[kKinds];
  std::vector<double> ratios[kKinds];
  std::vector<double> cpu[kKinds];
  int first = 0;
  for (auto _ : state) {
    double rate[kKinds] = {};
    for (int i = 0; i < kKinds; ++i) {
      const int kind = (first + i) % kKinds;
      const double before = world.Cpu();
      rate[kind] = kCalls / absl::ToDoubleSeconds(callers[kind]->Run(kCalls));
      cpu[kind].push_back((world.Cpu() - before) * 1e6 / kCalls);
    }
    ++first;
    for (int kind = 0; kind < kKinds; ++kind) {
      rates[kind].push_back(rate[kind]);
      ratios[kind].push_back(rate[kind] / rate[kBare]);
    }
  }
  for (int kind = 0; kind < kKinds; ++kind) {
    if (callers[kind]->failed()) state.SkipWithError("calls failed");
    state.counters[kNames[kind]] = Median(rates[kind]);
    state.counters[absl::StrCat(kNames[kind], "_cpu_us")] = Median(cpu[kind]);
    state.counters[absl::StrCat(kNames[kind], "_ratio")] = Median(ratios[kind]);
  }
}
BENCHMARK(BM_Hops)->Arg(1)->Arg(32)->Iterations(200)->UseRealTime();

}  // namespace
}  // namespace galen::rpc
