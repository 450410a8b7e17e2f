// A link to servers that do not speak Redis: the data from the network is hostile.
#include "common/store/redis/link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/testing/redis/redis_server.h"
#include "tests/testing/redis/tcp_peer.h"
#include "tests/testing/status_matchers.h"

namespace galen::store::redis {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::galen::testing::TcpPeer;
using ::galen::testing::WriteAll;
using ::testing::AllOf;
using ::testing::HasSubstr;

Link::Options Small() {
  Link::Options options;
  options.limits = {.bytes = 1 << 20, .elements = 1000};
  return options;
}

// Answers the greeting, and the first command with `bytes`, then waits for the end.
std::function<void(int)> Answering(const std::string& bytes) {
  return [bytes](int socket) {
    char buffer[4096];
    if (recv(socket, buffer, sizeof(buffer), 0) <= 0 || !WriteAll(socket, "+PONG\r\n")) return;
    if (recv(socket, buffer, sizeof(buffer), 0) <= 0 || !WriteAll(socket, bytes)) return;
    while (recv(socket, buffer, sizeof(buffer), 0) > 0) {
    }
  };
}

absl::StatusOr<Reply> AskPeer(const std::string& answer, Link::Options options = Small()) {
  TcpPeer peer(Answering(answer));
  Link link({"127.0.0.1", peer.port()}, std::move(options));
  return link.Ask({{"GET", "x"}});
}

TEST(LinkTest, ReadsEveryKindOfReply) {
  const std::string whole = absl::StrCat("*6\r\n+ok\r\n:7\r\n$3\r\n", std::string("a\0b", 3),
                                         "\r\n$-1\r\n-ERR no\r\n*1\r\n$0\r\n\r\n");
  const absl::StatusOr<Reply> read = AskPeer(whole);
  ASSERT_THAT(read, IsOk());
  ASSERT_EQ(read->elements.size(), 6u);
  EXPECT_EQ(read->elements[1].integer, 7);
  EXPECT_EQ(read->elements[2].text, std::string("a\0b", 3));
  EXPECT_TRUE(read->elements[3].IsNil());
  EXPECT_TRUE(read->elements[4].IsError());
  EXPECT_TRUE(read->elements[5].HasTexts(1));
}

TEST(LinkTest, RefusesAReplyOfTooManyPartsBeforeItMakesRoomForThem) {
  EXPECT_THAT(AskPeer("*2000000000\r\n"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("parts: refused")));
  EXPECT_THAT(AskPeer(absl::StrCat("*600\r\n*600\r\n")),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("parts: refused")));
}

TEST(LinkTest, RefusesATextThatGrowsBeyondTheLimit) {
  EXPECT_THAT(AskPeer(absl::StrCat("$1000000000\r\n", std::string(2 << 20, 'x'))),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("refused")));
  std::string many = "*900\r\n";
  for (int i = 0; i < 900; ++i) absl::StrAppend(&many, "$2000\r\n", std::string(2000, 'x'), "\r\n");
  EXPECT_THAT(AskPeer(many), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("refused")));
}

TEST(LinkTest, RefusesALineWithoutAnEnd) {
  EXPECT_THAT(AskPeer("+" + std::string(2 << 20, 'x')),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("refused")));
}

TEST(LinkTest, WhatIsNoReplyBreaksTheConnectionAndNothingElse) {
  for (const char* bytes :
       {"HTTP/1.1 400 Bad Request\r\n\r\n", "*-7\r\n", "$99999999999999999999\r\n", ":x\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"}) {
    EXPECT_THAT(AskPeer(bytes), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("127.0.0.1")))
        << bytes;
  }
}

TEST(LinkTest, RepliesThatNobodyAskedForHarmNothing) {
  for (const char* bytes : {"+OK\r\n+OK\r\n:5\r\n", "+OK\r\n-ERR x\r\n", "+OK\r\n*1\r\n+x\r\n"}) {
    EXPECT_THAT(AskPeer(bytes), IsOk()) << bytes;
  }
}

TEST(LinkTest, AServerThatSaysNothingIsGivenUp) {
  Link::Options options = Small();
  options.answer = absl::Milliseconds(50);
  TcpPeer peer([](int socket) {
    char buffer[4096];
    while (recv(socket, buffer, sizeof(buffer), 0) > 0) {
    }
  });
  Link link({"127.0.0.1", peer.port()}, options);
  EXPECT_THAT(link.Ask({{"GET", "x"}}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no answer within 50ms")));
}

TEST(LinkTest, AServerThatIsNotThereIsNamed) {
  const int port = testing::FreePort();
  Link link({"127.0.0.1", port}, Small());
  EXPECT_THAT(link.Ask({{"GET", "x"}}),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(absl::StrCat(port)), HasSubstr("refused"))));
  Link nowhere({"no-such-host.invalid", 6379}, Small());
  EXPECT_THAT(nowhere.Ask({{"GET", "x"}}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no-such-host.invalid")));
}

TEST(LinkTest, ConnectsAnewAfterTheServerHungUp) {
  std::atomic<int> connections{0};
  TcpPeer peer([&](int socket) {
    if (++connections < 3) return;
    Answering("+back\r\n")(socket);
  });
  Link link({"127.0.0.1", peer.port()}, Small());
  ASSERT_TRUE(testing::Eventually([&] { return link.Ask({{"GET", "x"}}).ok(); }));
  EXPECT_EQ(connections, 3);
}

TEST(LinkTest, AnswersWhatIsUnderWayWhenItEnds) {
  TcpPeer peer([](int socket) {
    char buffer[4096];
    while (recv(socket, buffer, sizeof(buffer), 0) > 0) {
    }
  });
  std::atomic<int> answers{0};
  {
    Link link({"127.0.0.1", peer.port()}, Small());
    for (int i = 0; i < 10; ++i) {
      link.Send({{"GET", "x"}}, [&](absl::StatusOr<Reply> reply) {
        EXPECT_THAT(reply, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("127.0.0.1")));
        ++answers;
      });
    }
  }
  EXPECT_EQ(answers, 10);
}

TEST(LinkTest, ManyThreadsShareOneConnectionAndEachGetsItsOwnAnswer) {
  testing::RedisServer server({});
  Link link(server.address(), Small());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string word = absl::StrCat(t, ":", i);
        const absl::StatusOr<Reply> reply = link.Ask({{"ECHO", word}});
        ASSERT_THAT(reply, IsOk());
        ASSERT_EQ(reply->text, word);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server.Info("connected_clients"), "2");  // this one, and the test's own
}

}  // namespace
}  // namespace galen::store::redis
