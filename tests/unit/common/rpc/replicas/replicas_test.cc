#include "common/rpc/replicas/replicas.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/mutex.h"
#include "common/clients/grpc_clients.h"
#include "common/rpc/replicas/blocking_call.h"
#include "common/rpc/security.h"
#include "common/rpc/serve.h"
#include "common/rpc/status.h"
#include "galen/execution/v1/execution.grpc.pb.h"
#include "tests/testing/status_matchers.h"

namespace galen::rpc {
namespace {

using ::testing::_;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::StatusIs;

class CountingService final : public execution::v1::ExecutionService::CallbackService {
 public:
  grpc::ServerUnaryReactor* ResolveNodes(grpc::CallbackServerContext* context,
                                         const execution::v1::ResolveNodesRequest* request,
                                         execution::v1::ResolveNodesResponse* response) override {
    ++calls;
    response->add_nodes(request->bundle());
    auto* reactor = context->DefaultReactor();
    reactor->Finish(ToGrpcStatus(answer));
    return reactor;
  }
  std::atomic<int> calls = 0;
  absl::Status answer;
};

// A server that can be ended and started again where it was.
class Server {
 public:
  Server() { Start(); }
  void Start() {
    server_ =
        StartServer({.address = absl::StrCat("127.0.0.1:", port_)}, {&service}, port_).value();
  }
  void Stop() { server_.reset(); }
  void Drain() { server_->GetHealthCheckService()->Shutdown(); }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  int calls() const { return service.calls; }

  CountingService service;

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

class ReplicasTest : public ::testing::Test {
 protected:
  void Connect(const std::string& target) {
    auto replicas =
        Replicas::Connect(target, *security_, {security::Role::kExecution},
                          {.check_every = absl::Milliseconds(20), .check_limit = absl::Seconds(5)});
    ASSERT_THAT(replicas, IsOk());
    client_ = clients::MakeGrpcExecutionClient(*std::move(replicas));
  }
  absl::StatusOr<std::string> Call() {
    execution::v1::ResolveNodesRequest request;
    request.set_bundle("b");
    std::promise<absl::StatusOr<execution::v1::ResolveNodesResponse>> done;
    client_->ResolveNodes(request, absl::Now() + absl::Seconds(30),
                          [&](absl::StatusOr<execution::v1::ResolveNodesResponse> response) {
                            done.set_value(std::move(response));
                          });
    auto response = done.get_future().get();
    if (!response.ok()) return response.status();
    return response->nodes(0);
  }
  std::vector<absl::StatusOr<std::string>> Calls(int count) {
    std::vector<absl::StatusOr<std::string>> answers;
    for (int i = 0; i < count; ++i) answers.push_back(Call());
    return answers;
  }
  // Calls until `server` has had as many more.
  void CallUntilServed(const Server& server, int more) {
    for (const int before = server.calls(); server.calls() < before + more;) {
      ASSERT_THAT(Call(), IsOk());
    }
  }

  const std::unique_ptr<Security> security_ = Security::Open({}).value();
  Server one_, other_;
  std::unique_ptr<clients::ExecutionClient> client_;
};

TEST_F(ReplicasTest, CallsGoToEachInItsTurn) {
  Connect(absl::StrCat(one_.address(), ",", other_.address()));
  EXPECT_THAT(Calls(20), Each(IsOk()));
  EXPECT_EQ(one_.calls(), 10);
  EXPECT_EQ(other_.calls(), 10);
}

TEST_F(ReplicasTest, OneThatDiesCostsNoCallAndGetsCallsAgainWhenItIsBack) {
  Connect(absl::StrCat(one_.address(), ",", other_.address()));
  EXPECT_THAT(Calls(4), Each(IsOk()));
  one_.Stop();
  const int before = one_.calls();
  EXPECT_THAT(Calls(50), Each(IsOk()));
  EXPECT_EQ(one_.calls(), before);
  one_.Start();
  CallUntilServed(one_, 3);
}

// Checked so seldom that only calls see that one is gone.
class BlockingCallTest : public ::testing::Test {
 protected:
  BlockingCallTest()
      : replicas_(
            Replicas::Connect(absl::StrCat(one_.address(), ",", other_.address()), *security_,
                              {security::Role::kExecution},
                              {.check_every = absl::Hours(1), .check_limit = absl::Seconds(5)})
                .value()) {}
  // The errors of two calls, which go to one and to the other.
  std::vector<absl::Status> TwoCalls(bool again) {
    std::vector<absl::Status> errors;
    for (int i = 0; i < 2; ++i) {
      execution::v1::ResolveNodesRequest request;
      request.set_bundle("b");
      execution::v1::ResolveNodesResponse response;
      const grpc::Status status = BlockingCall<execution::v1::ExecutionService>(
          *replicas_, &execution::v1::ExecutionService::Stub::ResolveNodes, request, response,
          again, [&](grpc::ClientContext& /*context*/) { ++attempts_; });
      if (!status.ok()) {
        errors.push_back(StatusOf(status));
      } else {
        EXPECT_EQ(response.nodes_size(), 1);
      }
    }
    return errors;
  }

  const std::unique_ptr<Security> security_ = Security::Open({}).value();
  Server one_, other_;
  const std::unique_ptr<Replicas> replicas_;
  int attempts_ = 0;
};

TEST_F(BlockingCallTest, WhatReachedNoneIsMadeOnceMoreAtAnother) {
  one_.Stop();
  EXPECT_THAT(TwoCalls(/*again=*/true), IsEmpty());
  EXPECT_EQ(attempts_, 3);
}

TEST_F(BlockingCallTest, WhatMayNotBeDoneTwiceIsMadeOnce) {
  one_.Stop();
  EXPECT_THAT(TwoCalls(/*again=*/false), ElementsAre(StatusIs(absl::StatusCode::kUnavailable, _)));
  EXPECT_EQ(attempts_, 2);
}

TEST_F(BlockingCallTest, WhereNoneIsThereItEndsWithTheSecond) {
  one_.Stop();
  other_.Stop();
  EXPECT_THAT(TwoCalls(/*again=*/true), Each(StatusIs(absl::StatusCode::kUnavailable, _)));
  EXPECT_EQ(attempts_, 4);
}

TEST_F(BlockingCallTest, WhatAServiceSaysItselfIsNotAskedTwice) {
  one_.service.answer = other_.service.answer = absl::UnavailableError("no reader answers");
  EXPECT_THAT(TwoCalls(/*again=*/true),
              Each(StatusIs(absl::StatusCode::kUnavailable, "no reader answers")));
  EXPECT_EQ(attempts_, 2);
}

TEST_F(ReplicasTest, OneThatDrainsGetsNoNewCalls) {
  Connect(absl::StrCat(one_.address(), ",", other_.address()));
  EXPECT_THAT(Calls(4), Each(IsOk()));
  one_.Drain();
  // Until it is seen: of two calls in a row each gets one.
  for (int before = -1; before != one_.calls();) {
    before = one_.calls();
    ASSERT_THAT(Calls(2), Each(IsOk()));
  }
  const int before = one_.calls();
  EXPECT_THAT(Calls(50), Each(IsOk()));
  EXPECT_EQ(one_.calls(), before);
}

TEST_F(ReplicasTest, OneThatIsNotThereYetGetsCallsOnceItIs) {
  one_.Stop();
  Connect(absl::StrCat(one_.address(), ",", other_.address()));
  EXPECT_THAT(Calls(10), Each(IsOk()));
  EXPECT_EQ(other_.calls(), 10);
  one_.Start();
  CallUntilServed(one_, 3);
}

TEST_F(ReplicasTest, WhatAServiceSaysItselfIsAnAnswerAndNotAskedTwice) {
  Connect(absl::StrCat(one_.address(), ",", other_.address()));
  one_.service.answer = absl::UnavailableError("no reader answers");
  other_.service.answer = absl::UnavailableError("no reader answers");
  EXPECT_THAT(Calls(10), Each(StatusIs(absl::StatusCode::kUnavailable, "no reader answers")));
  EXPECT_EQ(one_.calls(), 5);
  EXPECT_EQ(other_.calls(), 5);
}

TEST_F(ReplicasTest, WhereNoneIsThereTheCallFailsAndTheNextOneFindsThoseThatCame) {
  one_.Stop();
  other_.Stop();
  Connect(absl::StrCat(one_.address(), ",", other_.address()));
  EXPECT_THAT(Calls(4), Each(StatusIs(absl::StatusCode::kUnavailable, _)));
  other_.Start();
  while (!Call().ok()) {
  }
  EXPECT_THAT(other_.calls(), Ge(1));
}

TEST_F(ReplicasTest, ANameIsAsGoodAsItsAddresses) {
  Connect(absl::StrCat("localhost", one_.address().substr(9)));
  EXPECT_THAT(Calls(10), Each(IsOk()));
  EXPECT_EQ(one_.calls(), 10);
}

TEST_F(ReplicasTest, WithoutCertificatesAllMustBeLoopback) {
  EXPECT_THAT(Replicas::Connect("127.0.0.1:1,10.0.0.7:1", *security_, {security::Role::kExecution}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("10.0.0.7:1")));
}

// gRPC 1.51's round_robin died of it.
TEST_F(ReplicasTest, OneThatTalksGarbageEndsNobody) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 16), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  std::thread babbler([listener] {
    const std::string garbage = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\ngarbage";
    for (int peer = accept(listener, nullptr, nullptr); peer >= 0;
         peer = accept(listener, nullptr, nullptr)) {
      send(peer, garbage.data(), garbage.size(), MSG_NOSIGNAL);
      close(peer);
    }
  });
  Connect(absl::StrCat("127.0.0.1:", ntohs(address.sin_port), ",", one_.address()));
  EXPECT_THAT(Calls(100), Each(IsOk()));
  EXPECT_EQ(one_.calls(), 100);
  client_.reset();
  shutdown(listener, SHUT_RDWR);
  babbler.join();
  close(listener);
}

TEST_F(ReplicasTest, ManyCallsAtOnceWhileOneComesAndGoesAllHaveAnAnswer) {
  Connect(absl::StrCat(one_.address(), ",", other_.address()));
  std::atomic<bool> over = false;
  Mutex mu;
  std::vector<absl::Status> failures;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      while (!over) {
        const absl::Status status = Call().status();
        if (status.ok()) continue;
        MutexLock lock(mu);
        failures.push_back(status);
      }
    });
  }
  for (int i = 0; i < 3; ++i) {
    one_.Stop();
    one_.Start();
    const int before = one_.calls();
    while (one_.calls() < before + 10) std::this_thread::yield();
  }
  over = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_THAT(failures, IsEmpty());
}

}  // namespace
}  // namespace galen::rpc
