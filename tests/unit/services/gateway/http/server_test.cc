#include "services/gateway/http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/gateway/http/raw_client.h"

namespace galen::gateway::http {
namespace {

using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Answers "METHOD TARGET BODY-BYTES" at once; below /wait it keeps the exchange for the test.
class EchoHandler final : public Handler {
 public:
  void Handle(Request request, std::shared_ptr<Exchange> exchange) override {
    if (request.target == "/drop") return;
    if (request.target == "/wait") {
      exchange->OnHangUp([this] {
        const MutexLock lock(mu_);
        ++gone_;
        changed_.notify_all();
      });
      exchange->OnRoom([this] {
        const MutexLock lock(mu_);
        ++rooms_;
        changed_.notify_all();
      });
      const MutexLock lock(mu_);
      waiting_.push_back(std::move(exchange));
      changed_.notify_all();
      return;
    }
    Response response;
    response.headers.Add("Content-Type", "text/plain");
    response.body = absl::StrCat(request.method, " ", request.target, " ", request.body.size());
    if (request.target == "/large") response.body.assign(8 << 20, 'x');
    exchange->Respond(std::move(response));
  }
  Response Refuse(int status, const std::string& why) override {
    Response response;
    response.status = status;
    response.body = why;
    return response;
  }

  std::shared_ptr<Exchange> TakeWaiting() {
    const MutexLock lock(mu_);
    while (waiting_.empty()) mu_.Wait(changed_);
    auto exchange = std::move(waiting_.back());
    waiting_.pop_back();
    return exchange;
  }
  void AwaitGone() {
    const MutexLock lock(mu_);
    while (gone_ == 0) mu_.Wait(changed_);
  }
  void AwaitRoom(int times) {
    const MutexLock lock(mu_);
    while (rooms_ < times) mu_.Wait(changed_);
  }

 private:
  Mutex mu_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Exchange>> waiting_ ABSL_GUARDED_BY(mu_);
  int gone_ ABSL_GUARDED_BY(mu_) = 0;
  int rooms_ ABSL_GUARDED_BY(mu_) = 0;
};

class ServerTest : public ::testing::Test {
 protected:
  void Start(ServerOptions options = {}) {
    options.address = "127.0.0.1:0";
    auto server = Server::Start(options, handler_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  int port() const { return server_->port(); }
  template <typename Condition>
  void Await(Condition condition) {
    while (!condition()) std::this_thread::yield();
  }

  EchoHandler handler_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, AnswersOneRequestAfterAnotherOnOneConnection) {
  Start();
  RawClient client(port());
  for (int i = 0; i < 3; ++i) {
    client.Send(absl::StrCat("POST /", i, " HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"));
    EXPECT_THAT(client.ReadUntil(" 3"), EndsWith(absl::StrCat("POST /", i, " 3")));
  }
  EXPECT_EQ(server_->counts().connections, 1u);
}

TEST_F(ServerTest, AnswersInOrderWhatWasSentAtOnce) {
  Start();
  RawClient client(port());
  std::string all;
  for (int i = 0; i < 50; ++i) absl::StrAppend(&all, "GET /", i, " HTTP/1.1\r\nHost: x\r\n\r\n");
  absl::StrAppend(&all, "GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  client.Send(all);
  const std::string answers = client.ReadAll();
  std::size_t at = 0;
  for (int i = 0; i < 50; ++i) {
    at = answers.find(absl::StrCat("GET /", i, " 0"), at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  EXPECT_THAT(answers, EndsWith("GET /last 0"));
}

TEST_F(ServerTest, TakesAChunkedBody) {
  Start();
  RawClient client(port());
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n");
  client.Send("2\r\nfg\r\n0\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("POST / 7"), EndsWith("POST / 7"));
}

TEST_F(ServerTest, AsksForABodyThatWaitsToBeAskedFor) {
  Start();
  RawClient client(port());
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("ab");
  EXPECT_THAT(client.ReadUntil("POST / 2"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(ServerTest, ClosesAfterAnAnswerToHttp10) {
  Start();
  RawClient client(port());
  client.Send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_THAT(client.ReadAll(), AllOf(HasSubstr("Connection: close"), EndsWith("GET / 0")));
}

TEST_F(ServerTest, RefusesABodyThatIsTooLargeBeforeAnyOfItIsRead) {
  Start();
  RawClient client(port());
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10737418240\r\n\r\n");
  EXPECT_THAT(client.ReadAll(), StartsWith("HTTP/1.1 413 "));
}

TEST_F(ServerTest, RefusesAChunkedBodyThatGrowsTooLarge) {
  ServerOptions options;
  options.max_body_bytes = 100;
  Start(options);
  RawClient client(port());
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 3; ++i) {
    client.Send(absl::StrCat("32\r\n", std::string(50, 'x'), "\r\n"));
  }
  EXPECT_THAT(client.ReadAll(), StartsWith("HTTP/1.1 413 "));
}

TEST_F(ServerTest, RefusesAHeadThatIsTooLarge) {
  Start();
  RawClient client(port());
  client.Send(absl::StrCat("GET / HTTP/1.1\r\nHost: x\r\nX: ", std::string(20'000, 'x')));
  EXPECT_THAT(client.ReadAll(), StartsWith("HTTP/1.1 431 "));
}

TEST_F(ServerTest, RefusesWhatCanBeReadInTwoWays) {
  Start();
  for (const char* head : {
           "Host: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n",
           "Host: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n", "Host: x\r\nHost: y\r\n",
           "Host : x\r\n", "Host: x\r\nTransfer-Encoding: xchunked\r\n",
           "Host: x\r\nTransfer-Encoding: chunked, identity\r\n",
           "Content-Length: 0\r\n",  // no host
       }) {
    RawClient client(port());
    client.Send(absl::StrCat("POST / HTTP/1.1\r\n", head, "\r\nabc"));
    EXPECT_THAT(client.ReadAll(), StartsWith("HTTP/1.1 400 ")) << head;
  }
  RawClient client(port());
  client.Send("\x16\x03\x01 is no HTTP\r\n\r\n");
  EXPECT_THAT(client.ReadAll(), StartsWith("HTTP/1.1 400 "));
}

TEST_F(ServerTest, RefusesBodiesWhenAllTogetherAreTooMuch) {
  ServerOptions options;
  options.max_bodies_bytes = 1000;
  Start(options);
  std::optional<RawClient> holds;
  // If the first has been read, the second finds no room; otherwise the first one may find no room.
  for (std::uint64_t refused = 0;;) {
    if (!holds.has_value() || server_->counts().refused > refused) {
      refused = server_->counts().refused;
      holds.emplace(port());
      holds->Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n" +
                  std::string(899, 'x'));
    }
    RawClient more(port());
    more.Send("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 200\r\n\r\n" +
              std::string(200, 'x'));
    const std::string answer = more.ReadAll();
    if (absl::StartsWith(answer, "HTTP/1.1 503 ")) {
      if (server_->counts().refused == refused + 1) break;
    } else {
      ASSERT_THAT(answer, EndsWith("POST / 200"));
    }
  }
  holds->Send("x");
  EXPECT_THAT(holds->ReadUntil("POST / 900"), EndsWith("POST / 900"));
  RawClient after(port());
  after.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n" + std::string(900, 'x'));
  EXPECT_THAT(after.ReadUntil("POST / 900"), EndsWith("POST / 900"));
}

// Answers like the others; who asks with "Key: NAME" is known.
class Knowing final : public Handler {
 public:
  void Handle(Request request, std::shared_ptr<Exchange> exchange) override {
    Response response;
    response.body = absl::StrCat(request.method, " ", request.body.size());
    exchange->Respond(std::move(response));
  }
  HeadVerdict LookAtHead(const Request& head) override {
    if (head.headers.Get("Key") == "wrong") return {.refusal = Refuse(401, "who are you?")};
    return {.payer = std::string(head.headers.Get("Key")), .most_body = 5000};
  }
  Response Refuse(int status, const std::string& why) override {
    Response response;
    response.status = status;
    response.body = why;
    return response;
  }
};

TEST(Bodies, AreNotReadOfWhoIsRefusedAtTheHead) {
  Knowing handler;
  const auto server = Server::Start({.address = "127.0.0.1:0"}, handler).value();
  RawClient client(server->port());
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nKey: wrong\r\nContent-Length: 4000\r\n\r\n");
  EXPECT_THAT(client.ReadAll(), StartsWith("HTTP/1.1 401 "));
  RawClient large(server->port());
  large.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5001\r\n\r\n");
  EXPECT_THAT(large.ReadAll(), StartsWith("HTTP/1.1 413 "));
}

TEST(Bodies, OfStrangersLeaveRoomForThoseWhoAreKnown) {
  Knowing handler;
  const auto server = Server::Start({.address = "127.0.0.1:0",
                                     .max_bodies_bytes = 5000,  // as much as the shares below need
                                     .max_payer_bytes = 2000,
                                     .max_unknown_bytes = 1000},
                                    handler)
                          .value();
  const auto send = [&](RawClient& client, const std::string& key, int length, int bytes) {
    client.Send(absl::StrCat("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n",
                             key.empty() ? "" : absl::StrCat("Key: ", key, "\r\n"),
                             "Content-Length: ", length, "\r\n\r\n",
                             std::string(static_cast<std::size_t>(bytes), 'x')));
  };
  // As many strangers as one likes hold their small share, and no more.
  std::vector<std::unique_ptr<RawClient>> strangers;
  while (server->counts().refused < 3) {
    strangers.push_back(std::make_unique<RawClient>(server->port()));
    send(*strangers.back(), "", 900, 899);
    ASSERT_LT(strangers.size(), 1000u);
  }
  // One who is known uses up its own.
  std::optional<RawClient> holds;
  // If the first has been read, the second finds no room; otherwise the first one may find no room.
  std::uint64_t refused = 0;
  for (int tries = 0;; ++tries) {
    ASSERT_LT(tries, 1000);
    if (!holds.has_value() || server->counts().refused > refused) {
      refused = server->counts().refused;
      holds.emplace(server->port());
      send(*holds, "acme", 1900, 1899);
    }
    RawClient more(server->port());
    send(more, "acme", 1900, 1900);
    const std::string answer = more.ReadAll();
    if (!absl::StartsWith(answer, "HTTP/1.1 503 ")) {
      ASSERT_THAT(answer, EndsWith("POST 1900"));
    } else if (server->counts().refused == refused + 1) {
      break;
    }
  }
  // Another has its own.
  RawClient other(server->port());
  send(other, "globex", 1900, 1900);
  EXPECT_THAT(other.ReadAll(), EndsWith("POST 1900"));
}

TEST(Connections, AreFewerThanTheFilesThatTheProcessMayHave) {
  EXPECT_EQ(ConnectionsWithin(10'000, 65'536), 10'000u);
  EXPECT_EQ(ConnectionsWithin(10'000, 1'024), 768u);
  EXPECT_EQ(ConnectionsWithin(10'000, 200), 100u);
  EXPECT_EQ(ConnectionsWithin(5, 1'024), 5u);
}

TEST_F(ServerTest, ClosesAConnectionThatSendsItsHeadTooSlowly) {
  ServerOptions options;
  options.header_timeout = absl::Milliseconds(300);
  Start(options);
  RawClient slow(port());
  ASSERT_TRUE(slow.Send("GET / HTTP/1.1\r\nHost: x\r\n"));
  // A byte now and then does not stretch the time.
  std::thread drip([&slow] {
    while (slow.Send("X: y\r\n")) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  slow.ReadAll();
  EXPECT_TRUE(slow.closed());
  drip.join();
  EXPECT_EQ(server_->counts().timed_out, 1u);
}

TEST_F(ServerTest, ClosesAConnectionThatSendsItsBodyTooSlowly) {
  ServerOptions options;
  options.body_timeout = absl::Milliseconds(300);
  Start(options);
  RawClient slow(port());
  slow.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
  std::thread drip([&slow] {
    while (slow.Send("x")) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  slow.ReadAll();
  EXPECT_TRUE(slow.closed());
  drip.join();
}

TEST_F(ServerTest, SlowSendersGivePlaceToThoseWhoComeLater) {
  ServerOptions options;
  options.max_connections = 20;
  Start(options);
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 100; ++i) {
    slow.push_back(std::make_unique<RawClient>(port()));
    slow.back()->Send("GET / HTTP/1.1\r\nHost: x\r\nX:");
  }
  for (int i = 0; i < 20; ++i) {
    RawClient good(port());
    good.Send("GET /good HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(good.ReadUntil("GET /good 0"), EndsWith("GET /good 0"));
  }
  EXPECT_GE(server_->counts().evicted, 80u);
  EXPECT_LE(server_->counts().open, 21u);
}

TEST_F(ServerTest, WhoIsBeingAnsweredKeepsItsPlace) {
  ServerOptions options;
  options.max_connections = 1;
  Start(options);
  RawClient first(port());
  first.Send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::shared_ptr<Exchange> exchange = handler_.TakeWaiting();
  RawClient second(port());
  EXPECT_EQ(second.ReadAll(), "");
  exchange->Respond({});
  EXPECT_THAT(first.ReadUntil("\r\n\r\n"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(ServerTest, ClosesAConnectionThatTakesNothing) {
  ServerOptions options;
  options.write_timeout = absl::Milliseconds(300);
  Start(options);
  RawClient client(port(), /*receive_buffer=*/4096);
  client.Send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
  Await([this] { return server_->counts().timed_out == 1 && server_->counts().open == 0; });
}

TEST_F(ServerTest, SendsALargeAnswerWhole) {
  Start();
  RawClient client(port());
  client.Send("GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string answer = client.ReadAll();
  EXPECT_EQ(answer.size() - answer.find("\r\n\r\n") - 4, std::size_t{8} << 20);
}

TEST_F(ServerTest, TellsWhenTheClientHangsUp) {
  Start();
  RawClient client(port());
  client.Send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::shared_ptr<Exchange> exchange = handler_.TakeWaiting();
  client.Close();
  handler_.AwaitGone();
  EXPECT_FALSE(exchange->Write("x"));
  exchange->Respond({});  // to nobody
}

TEST_F(ServerTest, StreamsPieceByPieceAndThenTakesTheNextRequest) {
  Start();
  RawClient client(port());
  client.Send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::shared_ptr<Exchange> exchange = handler_.TakeWaiting();
  exchange->Begin({});
  EXPECT_TRUE(exchange->Write("one"));
  EXPECT_THAT(client.ReadUntil("one\r\n"), EndsWith("\r\n\r\n3\r\none\r\n"));
  EXPECT_TRUE(exchange->Write("two"));
  EXPECT_EQ(client.ReadUntil("two\r\n"), "3\r\ntwo\r\n");
  exchange->End();
  EXPECT_EQ(client.ReadUntil("0\r\n\r\n"), "0\r\n\r\n");
  EXPECT_FALSE(exchange->Write("three"));
  client.Send("GET /next HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("GET /next 0"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(ServerTest, WhatWaitsForASlowReaderIsBounded) {
  ServerOptions options;
  options.max_stream_bytes = 64 << 10;
  Start(options);
  RawClient client(port(), /*receive_buffer=*/4096);
  client.Send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::shared_ptr<Exchange> exchange = handler_.TakeWaiting();
  exchange->Begin({});
  const std::string piece(8 << 10, 'p');
  // The kernel takes some of it; then nothing more goes in.
  std::size_t written = 0;
  while (exchange->Write(piece)) {
    written += piece.size();
    ASSERT_LT(written, std::size_t{256} << 20) << "takes without end";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  exchange->End();
  const std::string read = client.ReadUntil("\r\n0\r\n\r\n");
  EXPECT_EQ(static_cast<std::size_t>(std::count(read.begin(), read.end(), 'p')), written);
}

TEST_F(ServerTest, TellsOfRoomWhenAllHasBeenSent) {
  Start();
  RawClient client(port());
  client.Send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::shared_ptr<Exchange> exchange = handler_.TakeWaiting();
  exchange->Begin({});
  handler_.AwaitRoom(1);
  exchange->Write("x");
  handler_.AwaitRoom(2);
}

TEST_F(ServerTest, AnswersForAHandlerThatDoesNot) {
  Start();
  RawClient client(port());
  client.Send("GET /drop HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("answered"), StartsWith("HTTP/1.1 500 "));
}

TEST_F(ServerTest, AStreamThatIsDroppedBreaksTheConnectionInsteadOfEnding) {
  Start();
  RawClient client(port());
  client.Send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  std::shared_ptr<Exchange> exchange = handler_.TakeWaiting();
  exchange->Begin({});
  client.ReadUntil("\r\n\r\n");
  exchange.reset();
  EXPECT_THAT(client.ReadAll(), Not(HasSubstr("0\r\n\r\n")));
  EXPECT_TRUE(client.closed());
}

TEST_F(ServerTest, DrainsByEndingWhatIsUnderWayAndTakingNothingNew) {
  Start();
  RawClient idle(port());
  idle.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  idle.ReadUntil("GET / 0");
  RawClient busy(port());
  busy.Send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::shared_ptr<Exchange> exchange = handler_.TakeWaiting();
  std::thread draining([this] { server_->Drain(absl::Seconds(60)); });
  EXPECT_EQ(idle.ReadAll(), "");
  while (RawClient(port()).connected()) std::this_thread::yield();
  exchange->Respond({});
  EXPECT_THAT(busy.ReadAll(), AllOf(StartsWith("HTTP/1.1 200 OK"), HasSubstr("Connection: close")));
  draining.join();
  EXPECT_EQ(server_->counts().open, 0u);
}

TEST_F(ServerTest, CanGoWhileRequestsAreUnderWay) {
  Start();
  RawClient client(port());
  client.Send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::shared_ptr<Exchange> exchange = handler_.TakeWaiting();
  server_.reset();
  EXPECT_EQ(client.ReadAll(), "");
  exchange->Respond({});  // to nobody
}

TEST_F(ServerTest, AnswersManyConnectionsAtATime) {
  Start();
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([this, i] {
      for (int j = 0; j < 50; ++j) {
        RawClient client(port());
        const std::string target = absl::StrCat("/", i, ".", j);
        client.Send(absl::StrCat("GET ", target, " HTTP/1.1\r\nHost: x\r\n\r\n"));
        EXPECT_THAT(client.ReadUntil(target + " 0"), EndsWith(target + " 0"));
      }
    });
  }
  for (std::thread& client : clients) client.join();
}

TEST(Server, RefusesAnAddressThatIsNone) {
  EchoHandler handler;
  for (const char* address : {"", "8080", "localhost:80", "127.0.0.1:65536", "[::1:80", "x:y"}) {
    EXPECT_THAT(Server::Start({.address = address}, handler),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(address)))
        << address;
  }
}

TEST_F(ServerTest, RefusesAnAddressThatIsTaken) {
  Start();
  EchoHandler other;
  EXPECT_THAT(Server::Start({.address = absl::StrCat("127.0.0.1:", port())}, other),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("listened")));
}

}  // namespace
}  // namespace galen::gateway::http
