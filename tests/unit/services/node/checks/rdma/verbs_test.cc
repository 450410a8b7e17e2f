#include <dlfcn.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/node/checks/rdma/verbs/endpoint.h"
#include "services/node/checks/rdma/verbs/measure.h"
#include "services/node/checks/rdma/verbs/pair_message.h"
#include "services/node/checks/rdma/verbs/traffic.h"
#include "tests/unit/services/node/checks/rdma/fake_verbs.h"

namespace galen::node {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kToken[] = "0123456789abcdef0123456789abcdef";

class RdmaVerbs : public ::testing::Test {
 protected:
  RdmaVerbs() {
    handle_ = dlopen(GALEN_FAKE_VERBS_LIBRARY, RTLD_NOW);
    EXPECT_NE(handle_, nullptr) << dlerror();
    const auto library = VerbsLibrary::Load(GALEN_FAKE_VERBS_LIBRARY);
    EXPECT_TRUE(library.ok()) << library.status();
    if (library.ok()) library_ = *library;
    Script({});
  }
  ~RdmaVerbs() override {
    EXPECT_EQ(reinterpret_cast<int (*)()>(dlsym(handle_, "fake_verbs_open"))(), 0)
        << "something was left open";
    library_.reset();
    dlclose(handle_);
  }
  void Script(const FakeVerbsScript& script) {
    reinterpret_cast<void (*)(const FakeVerbsScript*)>(dlsym(handle_, "fake_verbs_set"))(&script);
  }
  absl::StatusOr<Measured> Loopback(const Cancellation& cancelled = Cancellation::Never()) {
    return MeasureLoopback(library_, {"fake0", 1, 0}, options_, {deadline_, cancelled});
  }

  void* handle_;
  std::shared_ptr<const VerbsLibrary> library_;
  MeasureOptions options_ = {
      .qps = 2, .message_bytes = 64 << 10, .duration = absl::Milliseconds(20)};
  absl::Time deadline_ = absl::Now() + absl::Seconds(30);
};

TEST_F(RdmaVerbs, LoopbackMeasuresAndFindsAllDataRight) {
  const auto measured = Loopback();
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(measured->failed, "");
  EXPECT_GT(measured->gbps_one, 0);
  EXPECT_GT(measured->gbps_many, 0);
  EXPECT_GT(measured->latency.samples, 0);
  EXPECT_EQ(measured->wrong_words, 0U);
}

TEST_F(RdmaVerbs, ABitThatFlipsOnTheWayIsFound) {
  Script({.corrupts = true});
  const auto measured = Loopback();
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(measured->failed, "");
  EXPECT_EQ(measured->wrong_words, 16U);  // the first word of each message in flight
}

TEST_F(RdmaVerbs, AWriteThatFailsSaysWithWhichError) {
  Script({.fails_after = 40});
  const auto measured = Loopback();
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_THAT(measured->failed, HasSubstr("transport retry counter exceeded (vendor error 129)"));
}

TEST_F(RdmaVerbs, WritesThatAreNeverAnsweredFail) {
  Script({.swallows = true});
  options_.grace = absl::Milliseconds(20);
  const auto measured = Loopback();
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_THAT(measured->failed, HasSubstr("not answered"));
  EXPECT_EQ(measured->unmeasured, "");
}

TEST_F(RdmaVerbs, WritesStillUnderWayAtTheEndOfTheTimeHaveNotFailed) {
  Script({.swallows = true});
  options_.duration = absl::Milliseconds(1);
  deadline_ = absl::Now() + absl::Milliseconds(50);
  const auto measured = Loopback();
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(measured->failed, "");
  EXPECT_THAT(measured->unmeasured, HasSubstr("time"));
  EXPECT_EQ(measured->wrong_words, 0U);
}

TEST_F(RdmaVerbs, APortIsNotOpenedWithLessTimeThanItsTestTakes) {
  Script({.port_down = true});
  options_.duration = absl::Seconds(20);
  const auto measured = Loopback();
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(measured->failed, "");
  EXPECT_EQ(measured->unmeasured, "no time was left to test it");
}

TEST_F(RdmaVerbs, ACancelledMeasurementLeavesNothingBehind) {
  Script({.swallows = true});
  Cancellation cancelled;
  std::thread canceller([&] { cancelled.Cancel(); });
  EXPECT_EQ(Loopback(cancelled).status().code(), absl::StatusCode::kCancelled);
  canceller.join();
}

TEST_F(RdmaVerbs, APortThatIsDownIsSaidToBe) {
  Script({.port_down = true});
  const auto measured = Loopback();
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_THAT(measured->failed, HasSubstr("fake0 port 1 is not active"));
  EXPECT_EQ(measured->unmeasured, "");
}

TEST_F(RdmaVerbs, AnAdapterWithoutConnectedQueuesIsNotMeasuredRatherThanFailed) {
  Script({.datagrams_only = true});
  const auto measured = Loopback();
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(measured->failed, "");
  EXPECT_THAT(measured->unmeasured, HasSubstr("fake0: queue pair"));
}

TEST_F(RdmaVerbs, LittleLockedMemoryMakesSmallerMessages) {
  Script({.most_locked = 1 << 20});
  const auto endpoint =
      Endpoint::Open(library_, {.device = "fake0", .slots = 16, .slot_bytes = 1 << 20});
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  // 32 KiB would use up the limit, and leave nothing for the queues.
  EXPECT_EQ((*endpoint)->slot_bytes(), 16U << 10);
}

TEST_F(RdmaVerbs, ALimitOfLockedMemoryLeavesRoomForBothEndsOfALoopback) {
  Script({.most_locked = 1 << 20});
  const auto measured = Loopback();
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(measured->failed, "");
  EXPECT_EQ(measured->unmeasured, "");
  EXPECT_LT(measured->message_bytes, options_.message_bytes);
  EXPECT_GE(measured->message_bytes, 4096U);
}

TEST_F(RdmaVerbs, NoLockedMemoryAtAllNamesTheLimit) {
  Script({.most_locked = 0});
  const auto measured = Loopback();
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(measured->failed, "");
  EXPECT_THAT(measured->unmeasured, HasSubstr("memlock"));
}

TEST_F(RdmaVerbs, ADeviceThatIsNotThereIsNotFound) {
  EXPECT_EQ(Endpoint::Open(library_, {.device = "mlx5_9"}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(RdmaVerbs, NumbersOutOfBoundsAreRefused) {
  EXPECT_EQ(Endpoint::Open(library_, {.device = "fake0", .qps = 1000}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(RdmaVerbsLibrary, AHostWithoutItSaysWhatToInstall) {
  const auto library = VerbsLibrary::Load("/nowhere/libibverbs.so.1");
  EXPECT_EQ(library.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(library.status().message()), HasSubstr("libibverbs1"));
}

// Two nodes in one process.
class RdmaPair : public RdmaVerbs {
 protected:
  struct Both {
    absl::StatusOr<std::vector<Measured>> server = absl::UnknownError("");
    absl::StatusOr<std::vector<Measured>> client = absl::UnknownError("");
  };
  Both Run(const std::string& server_token, const std::string& client_token, int ports = 1) {
    auto listener = Listener::Open(*ParseSocketAddress("127.0.0.1:0"));
    EXPECT_TRUE(listener.ok()) << listener.status();
    const std::vector<MeasuredPort> all(static_cast<std::size_t>(ports), {"fake0", 1, 0});
    Both both;
    std::thread server(
        [&] { both.server = ServePair(library_, all, server_token, *listener, {deadline_}); });
    both.client = MeasurePair(library_, all, options_, client_token, listener->address(), nullptr,
                              {deadline_});
    server.join();
    return both;
  }
};

TEST_F(RdmaPair, BothSidesHaveTheSameFigures) {
  const Both both = Run(kToken, kToken, 2);
  ASSERT_TRUE(both.server.ok()) << both.server.status();
  ASSERT_TRUE(both.client.ok()) << both.client.status();
  ASSERT_THAT(*both.server, SizeIs(2));
  ASSERT_THAT(*both.client, SizeIs(2));
  const Measured& one = both.client->front();
  EXPECT_EQ(one.failed, "");
  EXPECT_EQ(one.peer, "fake0");
  EXPECT_EQ(one.wrong_words, 0U);
  EXPECT_GT(one.gbps_many, 0);
  EXPECT_NEAR(both.server->front().gbps_many, one.gbps_many, one.gbps_many / 1000);
  EXPECT_EQ(one.message_bytes, options_.message_bytes);
  EXPECT_EQ(both.server->front().message_bytes, one.message_bytes);
}

TEST_F(RdmaPair, TheServerFindsWhatArrivedWrong) {
  Script({.corrupts = true});
  const Both both = Run(kToken, kToken);
  ASSERT_TRUE(both.server.ok() && both.client.ok());
  EXPECT_EQ(both.server->front().wrong_words, 16U);
  EXPECT_EQ(both.client->front().wrong_words, 16U);
}

TEST_F(RdmaPair, AFailureIsToldToBoth) {
  Script({.fails_after = 30});
  const Both both = Run(kToken, kToken);
  ASSERT_TRUE(both.server.ok() && both.client.ok());
  EXPECT_THAT(both.client->front().failed, HasSubstr("retry counter"));
  EXPECT_THAT(both.server->front().failed, HasSubstr("retry"));
}

TEST_F(RdmaPair, APortThatIsDownIsAFailureOfThePair) {
  Script({.port_down = true});
  const Both both = Run(kToken, kToken);
  ASSERT_TRUE(both.server.ok() && both.client.ok());
  EXPECT_THAT(both.client->front().failed, HasSubstr("not active"));
  EXPECT_THAT(both.server->front().failed, HasSubstr("the other node"));
}

TEST_F(RdmaPair, WhatMayNotLockMemoryHasNotFailed) {
  Script({.most_locked = 0});
  const Both both = Run(kToken, kToken);
  ASSERT_TRUE(both.server.ok() && both.client.ok());
  for (const Measured& measured : {both.client->front(), both.server->front()}) {
    EXPECT_EQ(measured.failed, "");
    EXPECT_THAT(measured.unmeasured, HasSubstr("memlock"));
    // Neither side could measure, so the peer is not the reason.
    EXPECT_FALSE(measured.unmeasured_by_peer);
  }
}

TEST_F(RdmaPair, WhatNoTimeWasLeftForHasNotFailed) {
  options_.duration = absl::Seconds(20);
  const Both both = Run(kToken, kToken, 2);
  ASSERT_TRUE(both.server.ok()) << both.server.status();
  ASSERT_TRUE(both.client.ok()) << both.client.status();
  for (const auto& all : {*both.client, *both.server}) {
    ASSERT_THAT(all, SizeIs(2));
    for (const Measured& measured : all) {
      EXPECT_EQ(measured.failed, "");
      EXPECT_THAT(measured.unmeasured, HasSubstr("time"));
    }
  }
}

TEST_F(RdmaPair, ANodeWhosePartnerMayNotLockMemoryIsToldWhy) {
  auto listener = Listener::Open(*ParseSocketAddress("127.0.0.1:0"));
  ASSERT_TRUE(listener.ok());
  absl::StatusOr<std::vector<Measured>> served = absl::UnknownError("");
  std::thread server([&] {
    served = ServePair(library_, {{"fake0", 1, 0}}, kToken, *listener, {deadline_});
  });
  {
    auto client = Connection::Open(listener->address(), {deadline_});
    ASSERT_TRUE(client.ok());
    EXPECT_TRUE(client->SendLine(std::string("hello version=1 token=") + kToken, {deadline_}).ok());
    EXPECT_TRUE(client->ReceiveLine(100, {deadline_}).ok());
    EXPECT_TRUE(
        client->SendLine("skip index=0 device=a unmeasured=1 reason=memlock", {deadline_}).ok());
    EXPECT_TRUE(client->SendLine("bye", {deadline_}).ok());
  }
  server.join();
  ASSERT_TRUE(served.ok()) << served.status();
  EXPECT_EQ(served->front().failed, "");
  EXPECT_EQ(served->front().unmeasured, "the other node: memlock");
  EXPECT_TRUE(served->front().unmeasured_by_peer);
}

TEST_F(RdmaPair, NobodyJoinsWithoutTheToken) {
  deadline_ = absl::Now() + absl::Milliseconds(300);
  const Both both = Run(kToken, "a-guess-of-sixteen-characters");
  EXPECT_EQ(both.server.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(both.client.status().code(), absl::StatusCode::kAborted);
}

TEST_F(RdmaPair, AStrangerDoesNotKeepTheClientOut) {
  auto listener = Listener::Open(*ParseSocketAddress("127.0.0.1:0"));
  ASSERT_TRUE(listener.ok());
  auto stranger = Connection::Open(listener->address(), {deadline_});
  ASSERT_TRUE(stranger.ok());
  ASSERT_TRUE(stranger->SendLine(std::string(5000, 'x'), {deadline_}).ok());
  const std::vector<MeasuredPort> ports = {{"fake0", 1, 0}};
  absl::StatusOr<std::vector<Measured>> served = absl::UnknownError("");
  std::thread server([&] { served = ServePair(library_, ports, kToken, *listener, {deadline_}); });
  const auto client =
      MeasurePair(library_, ports, options_, kToken, listener->address(), nullptr, {deadline_});
  server.join();
  EXPECT_TRUE(client.ok()) << client.status();
  EXPECT_TRUE(served.ok()) << served.status();
}

TEST_F(RdmaPair, AClientThatGoesAwayEndsTheServer) {
  auto listener = Listener::Open(*ParseSocketAddress("127.0.0.1:0"));
  ASSERT_TRUE(listener.ok());
  absl::StatusOr<std::vector<Measured>> served = absl::UnknownError("");
  std::thread server([&] {
    served = ServePair(library_, {{"fake0", 1, 0}}, kToken, *listener, {deadline_});
  });
  {
    auto client = Connection::Open(listener->address(), {deadline_});
    ASSERT_TRUE(client.ok());
    EXPECT_TRUE(client->SendLine(std::string("hello version=1 token=") + kToken, {deadline_}).ok());
    EXPECT_TRUE(client->ReceiveLine(100, {deadline_}).ok());
  }
  server.join();
  EXPECT_EQ(served.status().code(), absl::StatusCode::kAborted);
}

TEST(RdmaPattern, CountsTheWordsThatDiffer) {
  std::vector<std::uint8_t> memory(4096);
  FillPattern(7, absl::MakeSpan(memory));
  EXPECT_EQ(CountWrongWords(7, memory), 0U);
  EXPECT_EQ(CountWrongWords(8, memory), 512U);
  memory[9] ^= 0x10;
  EXPECT_EQ(CountWrongWords(7, memory), 1U);
}

TEST(RdmaPairMessage, AnEndpointComesBackAsItWas) {
  EndpointAddress address;
  address.lid = 3334;
  address.gid = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
  address.ethernet = true;
  address.mtu = 4096;
  address.psn = 0xfffffe;
  address.qpns = {17, 0xabcdef};
  address.target = 0x7f00deadbeef;
  address.rkey = 0xffffffff;
  const auto message = ParsePairMessage("ready " + EndpointWords(address));
  ASSERT_TRUE(message.ok()) << message.status();
  const auto back = ParseEndpoint(*message);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(EndpointWords(*back), EndpointWords(address));
}

TEST(RdmaPairMessage, WhatIsNotOfTheProtocolIsRefused) {
  for (const char* line : {"", " ", "hello  token=x", "hello token", "hello =x", "try a=\x01"}) {
    EXPECT_FALSE(ParsePairMessage(line).ok()) << line;
  }
  EXPECT_FALSE(ParsePairMessage(std::string(2000, 'a')).ok());
  const auto message = ParsePairMessage("ready lid=70000 gid=zz");
  ASSERT_TRUE(message.ok());
  EXPECT_FALSE(ParseEndpoint(*message).ok());
  EXPECT_FALSE(message->Number("lid2").ok());
}

}  // namespace
}  // namespace galen::node
