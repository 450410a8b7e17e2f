#include "common/observability/metrics/server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace galen::metrics {
namespace {

using galen::testing::StatusIs;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr Description kOne = {"one_total", MetricType::Counter, "One", "", ""};

class One final : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override {
    return {FamilyWith(kOne, {{{}, 1}})};
  }
};

int ConnectTo(int port) {
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return client;
}

std::string ReadAll(int client) {
  std::string all;
  char bytes[4096];
  for (ssize_t count = 0; (count = recv(client, bytes, sizeof(bytes), 0)) > 0;) {
    all.append(bytes, static_cast<std::size_t>(count));
  }
  close(client);
  return all;
}

std::string Ask(int port, const std::string& request) {
  const int client = ConnectTo(port);
  send(client, request.data(), request.size(), MSG_NOSIGNAL);
  return ReadAll(client);
}

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    registry_.Add(std::make_shared<const One>());
    auto started = Server::Start("127.0.0.1:0", registry_);
    EXPECT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }
  int port() const { return server_->port(); }

  Registry registry_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, GivesTheNumbers) {
  const std::string reply = Ask(port(), "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(reply, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(reply, EndsWith("\r\n\r\n" + registry_.Text()));
}

TEST_F(ServerTest, GivesTheHeadAloneWhereThatIsWanted) {
  const std::string reply = Ask(port(), "HEAD /metrics?a=b HTTP/1.0\r\n\r\n");
  EXPECT_THAT(reply, HasSubstr(absl::StrCat("Content-Length: ", registry_.Text().size())));
  EXPECT_THAT(reply, EndsWith("\r\n\r\n"));
}

TEST_F(ServerTest, RefusesAllElse) {
  EXPECT_THAT(Ask(port(), "GET /etc/passwd HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask(port(), "GET /metrics/../metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask(port(), "POST /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Ask(port(), "\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask(port(), std::string("\x16\x03\x01\0\0 \r\n\r\n", 10)),
              StartsWith("HTTP/1.1 400 "));
}

TEST_F(ServerTest, ReadsNoHeadWithoutAnEnd) {
  const int client = ConnectTo(port());
  const std::string line(1024, 'a');
  for (int i = 0; i < 9; ++i) send(client, line.data(), line.size(), MSG_NOSIGNAL);
  // The rest of the request may meet a closed connection, and the answer with it.
  EXPECT_THAT(ReadAll(client), Not(HasSubstr("200 OK")));
  EXPECT_THAT(Ask(port(), "GET /metrics HTTP/1.1\r\n\r\n"), HasSubstr("one_total 1"));
}

TEST_F(ServerTest, WaitsForNobodyWhoIsSlow) {
  std::vector<int> slow;
  for (int i = 0; i < 20; ++i) {
    slow.push_back(ConnectTo(port()));
    send(slow.back(), "GET /met", 8, MSG_NOSIGNAL);
  }
  EXPECT_THAT(Ask(port(), "GET /metrics HTTP/1.1\r\n\r\n"), HasSubstr("one_total 1"));
  server_.reset();  // ends with all of them open
  for (const int client : slow) EXPECT_EQ(ReadAll(client), "");
}

TEST_F(ServerTest, ServesManyAtTheSameTime) {
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([this] {
      for (int n = 0; n < 20; ++n) {
        EXPECT_THAT(Ask(port(), "GET /metrics HTTP/1.1\r\n\r\n"), HasSubstr("one_total 1"));
      }
    });
  }
  for (std::thread& client : clients) client.join();
}

TEST_F(ServerTest, ListensOnNoAddressThatIsTakenOrNone) {
  EXPECT_THAT(Server::Start(absl::StrCat(port()), registry_),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("choose another")));
  for (const char* wrong : {"", "x", "127.0.0.1", "127.0.0.1:65536", "host.example:80", "[::1:80",
                            "127.0.0.1:-1", "[zz]:80"}) {
    EXPECT_THAT(Server::Start(wrong, registry_),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(wrong)))
        << wrong;
  }
}

TEST_F(ServerTest, APortAloneIsOfTheLoopbackInterface) {
  for (const char* address : {"0", ":0", "localhost:0"}) {
    const auto server = Server::Start(address, registry_);
    ASSERT_TRUE(server.ok()) << server.status();
    EXPECT_THAT(Ask((*server)->port(), "GET /metrics HTTP/1.1\r\n\r\n"), HasSubstr("one_total 1"));
  }
}

TEST(Serve, WithoutAnAddressServesNothing) {
  const Registry registry;
  EXPECT_EQ(*Serve("", registry), nullptr);
}

}  // namespace
}  // namespace galen::metrics
