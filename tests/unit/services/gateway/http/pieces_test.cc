// Bodies that a handler takes piece by piece.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "services/gateway/http/cors.h"
#include "services/gateway/http/router.h"
#include "services/gateway/http/server.h"
#include "tests/unit/services/gateway/http/raw_client.h"

namespace galen::gateway::http {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::uint64_t kMost = 1 << 20;

// Below /pieces it takes bodies of at most 1 MiB in pieces, and answers with their length; at
// /pieces/refused it answers without reading, and at /pieces/slow it reads on command.
class Taker final : public Handler {
 public:
  std::optional<BodyRules> TakesPieces(const Request& head) override {
    if (head.target.rfind("/pieces", 0) != 0) return std::nullopt;
    return BodyRules{.max_bytes = kMost, .timeout = absl::Seconds(20)};
  }
  void Handle(Request request, std::shared_ptr<Exchange> exchange) override {
    if (request.pieces == nullptr) return Say(*exchange, 200, absl::StrCat(request.body.size()));
    if (request.target == "/pieces/refused") return Say(*exchange, 403, "unread");
    auto taking = std::make_shared<Taking>();
    taking->pieces = request.pieces;
    taking->exchange = std::move(exchange);
    if (request.target != "/pieces/slow") return Next(taking);
    const MutexLock lock(mu_);
    waiting_ = std::move(taking);
    changed_.notify_all();
  }
  Response Refuse(int status, const std::string& why) override {
    Response response;
    response.status = status;
    response.body = why;
    return response;
  }
  void GoOn() {
    std::shared_ptr<Taking> taking;
    {
      const MutexLock lock(mu_);
      while (waiting_ == nullptr) mu_.Wait(changed_);
      taking = std::move(waiting_);
    }
    Next(taking);
  }
  std::string AwaitFailure() {
    const MutexLock lock(mu_);
    while (failure_.empty()) mu_.Wait(changed_);
    return failure_;
  }

 private:
  struct Taking {
    std::shared_ptr<BodyPieces> pieces;
    std::shared_ptr<Exchange> exchange;
    std::string body;
    std::size_t largest = 0;
  };
  static void Say(Exchange& exchange, int status, std::string text) {
    Response response;
    response.status = status;
    response.headers.Add("Content-Type", "text/plain");
    response.body = std::move(text);
    exchange.Respond(std::move(response));
  }
  void Next(const std::shared_ptr<Taking>& taking) {
    taking->pieces->Read([this, taking](absl::StatusOr<std::string> piece) {
      if (!piece.ok()) {
        const MutexLock lock(mu_);
        failure_ = piece.status().ToString();
        changed_.notify_all();
        return Say(*taking->exchange, 413, std::string(piece.status().message()));
      }
      if (piece->empty()) {
        return Say(*taking->exchange, 200,
                   absl::StrCat(taking->body.size(), " bytes, pieces of at most 64 KiB: ",
                                taking->largest <= (64 << 10) ? "yes" : "no"));
      }
      taking->largest = std::max(taking->largest, piece->size());
      taking->body += *piece;
      Next(taking);
    });
  }

  Mutex mu_;
  std::condition_variable changed_;
  std::shared_ptr<Taking> waiting_ ABSL_GUARDED_BY(mu_);
  std::string failure_ ABSL_GUARDED_BY(mu_);
};

class Pieces : public ::testing::Test {
 protected:
  Pieces() {
    ServerOptions options;
    options.address = "127.0.0.1:0";
    options.max_body_bytes = 100;
    auto started = Server::Start(options, *cors_);
    EXPECT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }
  static std::string Head(const std::string& target, const std::string& fields) {
    return absl::StrCat("POST ", target, " HTTP/1.1\r\nHost: x\r\n", fields, "\r\n");
  }
  Taker handler_;
  // Every layer before the handlers of the gateway must pass the question on, too.
  Router front_{handler_};
  const std::unique_ptr<Cors> cors_ = Cors::Make({"*"}, front_).value();
  std::unique_ptr<Server> server_;
};

TEST_F(Pieces, ALongBodyComesWholeInPieces) {
  RawClient client(server_->port());
  client.Send(Head("/pieces", absl::StrCat("Content-Length: ", kMost, "\r\n")));
  client.Send(std::string(kMost, 'x'));
  const std::string answer = client.ReadAll();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, HasSubstr("Connection: close"));
  EXPECT_THAT(answer, EndsWith("1048576 bytes, pieces of at most 64 KiB: yes"));
}

TEST_F(Pieces, AChunkedBodyComesWithoutItsFraming) {
  RawClient client(server_->port());
  client.Send(Head("/pieces", "Transfer-Encoding: chunked\r\n"));
  for (int i = 0; i < 1000; ++i) client.Send("5\r\nhello\r\n");
  client.Send("0\r\n\r\n");
  EXPECT_THAT(client.ReadAll(), HasSubstr("5000 bytes"));
}

TEST_F(Pieces, MoreThanTheRulesAllowIsRefusedBeforeItIsSent) {
  RawClient client(server_->port());
  client.Send(Head("/pieces", "Content-Length: 10737418240\r\n"));
  EXPECT_THAT(client.ReadAll(), StartsWith("HTTP/1.1 413 "));
}

TEST_F(Pieces, AChunkedBodyEndsWhereItIsTooLong) {
  RawClient client(server_->port());
  client.Send(Head("/pieces", "Transfer-Encoding: chunked\r\n"));
  for (int i = 0; i < 17; ++i) {
    client.Send(absl::StrCat("10000\r\n", std::string(0x10000, 'x'), "\r\n"));
  }
  EXPECT_THAT(handler_.AwaitFailure(), HasSubstr("at most 1048576 bytes"));
  EXPECT_THAT(client.ReadAll(), StartsWith("HTTP/1.1 413 "));
}

TEST_F(Pieces, OtherBodiesKeepTheServersLimit) {
  RawClient client(server_->port());
  client.Send(Head("/other", "Content-Length: 101\r\n"));
  EXPECT_THAT(client.ReadAll(), StartsWith("HTTP/1.1 413 "));
}

TEST_F(Pieces, WhoWaitsForContinueIsRefusedWithoutHavingSentAnything) {
  RawClient client(server_->port());
  client.Send(Head("/pieces/refused", "Content-Length: 1000\r\nExpect: 100-continue\r\n"));
  const std::string answer = client.ReadAll();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(answer, Not(HasSubstr("100 Continue")));
}

TEST_F(Pieces, WhoWaitsForContinueIsToldWhenTheBodyIsWanted) {
  RawClient client(server_->port());
  client.Send(Head("/pieces", "Content-Length: 1000\r\nExpect: 100-continue\r\n"));
  EXPECT_THAT(client.ReadUntil("\r\n\r\n"), StartsWith("HTTP/1.1 100 Continue"));
  client.Send(std::string(1000, 'x'));
  EXPECT_THAT(client.ReadAll(), HasSubstr("1000 bytes"));
}

TEST_F(Pieces, NothingIsReadBeforeItIsAskedFor) {
  RawClient client(server_->port());
  client.Send(Head("/pieces/slow", "Content-Length: 10\r\n"));
  client.Send("0123456789");
  handler_.GoOn();
  EXPECT_THAT(client.ReadAll(), HasSubstr("10 bytes"));
}

TEST_F(Pieces, AClientThatHangsUpIsTold) {
  RawClient client(server_->port());
  client.Send(Head("/pieces", "Content-Length: 1000\r\n"));
  client.Send("only this");
  client.Close();
  EXPECT_THAT(handler_.AwaitFailure(), StartsWith("CANCELLED"));
}

}  // namespace
}  // namespace galen::gateway::http
