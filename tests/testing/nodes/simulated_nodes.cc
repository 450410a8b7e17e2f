#include "tests/testing/nodes/simulated_nodes.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <semaphore>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/rpc/status.h"
#include "common/rpc/stream.h"
#include "galen/execution/v1/execution.grpc.pb.h"

namespace galen::testing {
namespace {

constexpr absl::string_view kPrefix = "sim-";
constexpr int kRegistrationsAtOnce = 256;

absl::Status Failed(const char* what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", strerror(errno)));
}

}  // namespace

std::string HostName(int host) { return absl::StrCat(kPrefix, host); }

v1::CheckResult ResultOf(absl::string_view check, absl::string_view node, int bytes) {
  v1::CheckResult result;
  result.set_id(absl::StrCat(check, "@", node));
  result.set_check(std::string(check));
  result.set_node(std::string(node));
  result.set_status(v1::CheckResult::PASS);
  result.set_message("nothing to complain of");
  result.set_excerpt(std::string(static_cast<std::size_t>(bytes), 'x'));
  return result;
}

class SimulatedNodes::Service final : public node::v1::NodeService::CallbackService {
 public:
  explicit Service(const Behaviour& behaviour)
      : behaviour_(behaviour), later_([this] { Loop(); }) {}
  ~Service() override {
    {
      const std::lock_guard<std::mutex> lock(mu_);
      stopping_ = true;
      wake_.notify_all();
    }
    later_.join();
  }

  grpc::ServerWriteReactor<v1::CheckResult>* RunChecks(
      grpc::CallbackServerContext*, const node::v1::RunChecksRequest* request) override {
    auto stream = rpc::ServerStream<v1::CheckResult>::Start(std::size_t{1} << 20);
    std::vector<std::string> slow;
    bool hangs = false;
    const auto answer = [&](const std::string& node) {
      int host = -1;
      absl::string_view number = node;
      const bool ours = absl::ConsumePrefix(&number, kPrefix) && absl::SimpleAtoi(number, &host) &&
                        host >= 0 && host < behaviour_.hosts;
      if (!ours) return;  // no answer: execution reports it
      if (host < behaviour_.slow) {
        slow.push_back(node);
      } else if (host < behaviour_.slow + behaviour_.hanging) {
        hangs = true;
      } else {
        const bool lies = host < behaviour_.slow + behaviour_.hanging + behaviour_.lying;
        for (const std::string& check : request->checks()) {
          stream->Push(ResultOf(check, lies ? HostName(host + 1) : node, behaviour_.bytes));
        }
      }
    };
    answer(request->node());
    for (const std::string& node : request->more_nodes()) answer(node);
    if (slow.empty() && !hangs) {
      stream->End(absl::OkStatus());
    } else if (!slow.empty()) {
      const std::lock_guard<std::mutex> lock(mu_);
      waiting_.emplace(
          SteadyNow() + behaviour_.slow_by,
          [stream, slow, hangs, bytes = behaviour_.bytes,
           checks = std::vector<std::string>(request->checks().begin(), request->checks().end())] {
            for (const std::string& node : slow) {
              for (const std::string& check : checks) stream->Push(ResultOf(check, node, bytes));
            }
            if (!hangs) stream->End(absl::OkStatus());
          });
      wake_.notify_all();
    }
    return stream.get();
  }

 private:
  void Loop() {
    std::unique_lock<std::mutex> lock(mu_);
    while (!stopping_) {
      if (waiting_.empty()) {
        wake_.wait(lock);
        continue;
      }
      const absl::Duration left = waiting_.begin()->first - SteadyNow();
      if (left > absl::ZeroDuration()) {
        wake_.wait_for(lock, absl::ToChronoMicroseconds(left));
        continue;
      }
      const std::function<void()> due = std::move(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
      lock.unlock();
      due();
      lock.lock();
    }
  }

  const Behaviour behaviour_;
  std::mutex mu_;
  std::condition_variable wake_;
  std::multimap<absl::Time, std::function<void()>> waiting_;
  bool stopping_ = false;
  std::thread later_;
};

SimulatedNodes::SimulatedNodes(const Behaviour& behaviour)
    : service_(std::make_unique<Service>(behaviour)) {}

absl::StatusOr<std::unique_ptr<SimulatedNodes>> SimulatedNodes::Start(const Behaviour& behaviour) {
  std::unique_ptr<SimulatedNodes> nodes(new SimulatedNodes(behaviour));
  grpc::ServerBuilder builder;
  builder.RegisterService(nodes->service_.get());
  nodes->server_ = builder.BuildAndStart();
  if (nodes->server_ == nullptr) return absl::UnavailableError("gRPC does not start");
  GALEN_RETURN_IF_ERROR(nodes->Listen());
  nodes->accepting_ = std::thread([raw = nodes.get()] { raw->Accept(); });
  return nodes;
}

SimulatedNodes::~SimulatedNodes() {
  if (accepting_.joinable()) {
    eventfd_write(stop_, 1);
    accepting_.join();
  }
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
  if (listener_ >= 0) close(listener_);
  if (stop_ >= 0) close(stop_);
}

// One socket for all loopback addresses: bound to no address, and to the interface lo.
absl::Status SimulatedNodes::Listen() {
  stop_ = eventfd(0, EFD_CLOEXEC);
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (stop_ < 0 || listener_ < 0) return Failed("socket");
  if (setsockopt(listener_, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3) != 0) {
    return Failed("binding to the loopback interface");
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof(address);
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_, raw, size) != 0 || listen(listener_, 4096) != 0 ||
      getsockname(listener_, raw, &size) != 0) {
    return Failed("listening");
  }
  port_ = ntohs(address.sin_port);
  return absl::OkStatus();
}

void SimulatedNodes::Accept() {
  while (true) {
    pollfd polled[2] = {{listener_, POLLIN, 0}, {stop_, POLLIN, 0}};
    if (poll(polled, 2, -1) < 0 && errno != EINTR) return;
    if (polled[1].revents != 0) return;
    if (polled[0].revents == 0) continue;
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (connection >= 0) grpc::AddInsecureChannelFromFd(server_.get(), connection);
  }
}

std::string SimulatedNodes::AddressOf(int host, bool own) const {
  const int number = own ? host : 0;
  return absl::StrCat("127.", own ? 1 : 0, ".", number / 250, ".", 1 + number % 250, ":", port_);
}

absl::Status RegisterAll(const SimulatedNodes& nodes, const std::string& target, int hosts,
                         bool own_addresses) {
  struct Call {
    grpc::ClientContext context;
    execution::v1::RegisterNodeRequest request;
    execution::v1::RegisterNodeResponse response;
  };
  const auto channel = grpc::CreateChannel(target, grpc::InsecureChannelCredentials());
  const auto stub = execution::v1::ExecutionService::NewStub(channel);
  std::counting_semaphore<kRegistrationsAtOnce> free(kRegistrationsAtOnce);
  Mutex mu;
  absl::Status status;
  for (int host = 0; host < hosts; ++host) {
    free.acquire();
    auto call = std::make_shared<Call>();
    call->context.set_wait_for_ready(true);
    call->request.set_node(HostName(host));
    call->request.set_address(nodes.AddressOf(host, own_addresses));
    call->request.mutable_ttl()->set_seconds(600);
    Call* raw = call.get();
    stub->async()->RegisterNode(
        &raw->context, &raw->request, &raw->response,
        [made = std::move(call), &mu, &status, &free](const grpc::Status& end) mutable {
          {
            MutexLock lock(mu);
            status.Update(rpc::FromGrpcStatus(end));
          }
          made.reset();  // before this thread could be the last that holds the channel
          free.release();
        });
  }
  for (int i = 0; i < kRegistrationsAtOnce; ++i) free.acquire();
  return status;
}

}  // namespace galen::testing
