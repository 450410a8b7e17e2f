// Certificates, keys and authorities are exchanged while calls go on, and no call fails.
#include <gmock/gmock.h>
#include <grpc/grpc_security_constants.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "common/rpc/channel.h"
#include "common/rpc/serve.h"
#include "galen/node/v1/node.grpc.pb.h"
#include "tests/integration/security/caller.h"
#include "tests/testing/security/certificates.h"
#include "tests/testing/status_matchers.h"

namespace galen::testing {
namespace {

using security::Role;

constexpr char kCertificate[] = GRPC_X509_PEM_CERT_PROPERTY_NAME;

std::string CertificateOf(const grpc::AuthContext& context) {
  const auto found = context.FindPropertyValues(kCertificate);
  return found.empty() ? "" : std::string(found[0].data(), found[0].size());
}

// A node that remembers who called.
class Node final : public node::v1::NodeService::CallbackService {
 public:
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context,
                                     const node::v1::DescribeRequest*,
                                     node::v1::DescribeResponse*) override {
    {
      MutexLock lock(mu_);
      seen_.insert(CertificateOf(*context->auth_context()));
    }
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  bool HasSeen(const std::string& certificate) {
    MutexLock lock(mu_);
    return seen_.count(certificate) > 0;
  }

 private:
  Mutex mu_;
  std::set<std::string> seen_ ABSL_GUARDED_BY(mu_);
};

struct Answer {
  grpc::Status status;
  std::string server;  // its certificate
};

Answer Describe(const std::shared_ptr<grpc::Channel>& channel) {
  const auto stub = node::v1::NodeService::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  node::v1::DescribeResponse response;
  Answer answer;
  answer.status = stub->Describe(&context, node::v1::DescribeRequest(), &response);
  if (answer.status.ok()) answer.server = CertificateOf(*context.auth_context());
  return answer;
}

class RotationTest : public ::testing::Test {
 protected:
  RotationTest() : client_(Open(Role::kExecution)), server_security_(Open(Role::kNode)) {
    auto started = rpc::StartServer({.address = "127.0.0.1:0", .security = server_security_.get()},
                                    {&node_}, port_);
    EXPECT_THAT(started, IsOk());
    server_ = *std::move(started);
  }
  ~RotationTest() override { server_->Shutdown(); }

  std::unique_ptr<rpc::Security> Open(Role role) const {
    rpc::SecurityOptions options;
    options.role = role;
    options.directory = directory_.path();
    options.poll = absl::Milliseconds(20);
    // Connections are ended all the time, so that new certificates are used.
    options.max_connection_age = absl::Milliseconds(300);
    options.tell = [](const std::string&) {};
    return rpc::Security::Open(options).value();
  }
  std::string target() const { return absl::StrCat("127.0.0.1:", port_); }
  // On a connection of its own.
  std::shared_ptr<grpc::Channel> NewChannel(const std::string& target) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetSslTargetNameOverride(client_->ServerNameOf({Role::kNode}));
    return grpc::CreateCustomChannel(target, client_->ForChannel(target, {Role::kNode}).value(),
                                     arguments);
  }

  // Gives both sides new certificates of `authority` and waits until both are shown.
  void Renew(const security::Issued& authority) {
    const security::Issued client = IssueFor(authority, Role::kExecution);
    const security::Issued server = IssueFor(authority, Role::kNode);
    directory_.Put("execution", client);
    directory_.Put("node", server);
    bool served = false;
    while (!served || !node_.HasSeen(client.certificate)) {
      const Answer answer = Describe(NewChannel(target()));
      ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
      served = answer.server == server.certificate;
    }
  }

  security::Issued authority_ = NewAuthority("first");
  const CertificateDirectory directory_{authority_};
  const std::unique_ptr<rpc::Security> client_;
  const std::unique_ptr<rpc::Security> server_security_;
  Node node_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// Calls until it is destroyed: over one channel, as programs do, and over ever new connections.
class Load {
 public:
  Load(std::shared_ptr<grpc::Channel> lasting,
       std::function<std::shared_ptr<grpc::Channel>()> fresh) {
    for (int i = 0; i < 2; ++i) {
      threads_.emplace_back([this, lasting] {
        while (!stopping_) Count(Describe(lasting));
      });
    }
    threads_.emplace_back([this, fresh = std::move(fresh)] {
      while (!stopping_) Count(Describe(fresh()));
    });
  }
  ~Load() { Stop(); }
  void Stop() {
    stopping_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  int calls() const { return calls_; }
  // The failures, one line for each kind.
  std::string failures() {
    MutexLock lock(mu_);
    std::string all;
    for (const std::string& failure : failures_) absl::StrAppend(&all, failure, "\n");
    return all;
  }

 private:
  void Count(const Answer& answer) {
    ++calls_;
    if (answer.status.ok()) return;
    MutexLock lock(mu_);
    failures_.insert(answer.status.error_message());
  }
  std::atomic<bool> stopping_ = false;
  std::atomic<int> calls_ = 0;
  Mutex mu_;
  std::set<std::string> failures_ ABSL_GUARDED_BY(mu_);
  std::vector<std::thread> threads_;
};

TEST_F(RotationTest, NoCallFailsWhileCertificatesAndTheAuthorityAreReplaced) {
  Load load(rpc::Connect(target(), *client_, {Role::kNode}).value(),
            [this] { return NewChannel(target()); });
  for (int i = 0; i < 3; ++i) Renew(authority_);

  // The overlap: first both sides trust the next authority in addition to the old one.
  const security::Issued next = NewAuthority("next");
  directory_.Write("ca.pem", next.certificate + authority_.certificate);
  const auto accepted = [&](const std::string& roots, const security::Issued& own) {
    return Describe(StrangersChannel(target(), roots, own)).status.ok();
  };
  while (!accepted(authority_.certificate, IssueFor(next, Role::kExecution))) {
  }
  {
    // A server that has already changed shows whether the client trusts it.
    const CertificateDirectory moved(next);
    moved.Write("ca.pem", next.certificate + authority_.certificate);
    const auto probe_security =
        rpc::Security::Open({.role = Role::kNode, .directory = moved.path()});
    ASSERT_THAT(probe_security, IsOk());
    int port = 0;
    const auto probe = rpc::StartServer(
        {.address = "127.0.0.1:0", .security = probe_security->get()}, {&node_}, port);
    ASSERT_THAT(probe, IsOk());
    while (!Describe(NewChannel(absl::StrCat("127.0.0.1:", port))).status.ok()) {
    }
    (*probe)->Shutdown();
  }
  // Then they show certificates of it, and then the old one is trusted no more.
  for (int i = 0; i < 2; ++i) Renew(next);
  directory_.Write("ca.pem", next.certificate);
  while (accepted(next.certificate, IssueFor(authority_, Role::kExecution))) {
  }
  for (int i = 0; i < 2; ++i) Renew(next);
  load.Stop();
  EXPECT_EQ(load.failures(), "");
  EXPECT_GT(load.calls(), 100);
}

TEST_F(RotationTest, WhatIsUnsoundIsNotTakenUp) {
  Load load(rpc::Connect(target(), *client_, {Role::kNode}).value(),
            [this] { return NewChannel(target()); });
  Mutex mu;
  std::condition_variable changed;
  std::vector<std::string> news;
  rpc::SecurityOptions options;
  options.role = Role::kNode;
  options.directory = directory_.path();
  options.poll = absl::Milliseconds(20);
  options.tell = [&](const std::string& told) {
    MutexLock lock(mu);
    news.push_back(told);
    changed.notify_all();
  };
  const auto told = rpc::Security::Open(options);
  ASSERT_THAT(told, IsOk());
  const auto wait_for = [&](const std::string& what) {
    MutexLock lock(mu);
    while (news.empty() || news.back().find(what) == std::string::npos) mu.Wait(changed);
  };
  directory_.Put("node", IssueFor(authority_, Role::kNode, Expired()));
  wait_for("expired");
  directory_.Put("node", IssueFor(authority_, Role::kGateway));
  wait_for("is of role gateway");
  directory_.Put("node", IssueFor(NewAuthority("other"), Role::kNode));
  wait_for("is not good by");
  directory_.Write("node.key", "");
  wait_for("holds no private key");
  directory_.Put("node", IssueFor(authority_, Role::kNode, GoodNow(), "elsewhere.local"));
  wait_for("another trust domain");
  std::filesystem::remove(directory_.path() + "/node.pem");
  wait_for("node.pem");
  directory_.Put("node", IssueFor(authority_, Role::kNode));
  wait_for("loaded");
  load.Stop();
  EXPECT_EQ(load.failures(), "");
}

}  // namespace
}  // namespace galen::testing
