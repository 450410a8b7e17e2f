#include "common/observability/metrics/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/observability/log/log.h"

namespace galen::metrics {
namespace {

constexpr std::size_t kMostHead = 8 << 10;
constexpr std::size_t kMostConnections = 32;
constexpr absl::Duration kTimeLimit = absl::Seconds(5);

union SocketAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

absl::StatusOr<SocketAddress> ParseAddress(const std::string& address) {
  const auto wrong = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("metrics address \"", address, "\": ", what,
                                                   "; write PORT, ADDRESS:PORT or [ADDRESS]:PORT"));
  };
  const std::size_t colon = address.rfind(':');
  std::string host = colon == std::string::npos ? "" : address.substr(0, colon);
  int port = 0;
  if (!absl::SimpleAtoi(address.substr(colon == std::string::npos ? 0 : colon + 1), &port) ||
      port < 0 || port > 65535) {
    return wrong("has no port from 0 to 65535");
  }
  if (host.empty() || host == "localhost") host = "127.0.0.1";
  SocketAddress parsed;
  std::memset(&parsed, 0, sizeof(parsed));
  if (host.front() == '[' && host.back() == ']') {
    parsed.v6.sin6_family = AF_INET6;
    parsed.v6.sin6_port = htons(static_cast<std::uint16_t>(port));
    if (inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &parsed.v6.sin6_addr) != 1) {
      return wrong("is not an IPv6 address");
    }
    return parsed;
  }
  parsed.v4.sin_family = AF_INET;
  parsed.v4.sin_port = htons(static_cast<std::uint16_t>(port));
  if (inet_pton(AF_INET, host.c_str(), &parsed.v4.sin_addr) != 1) {
    return wrong("names no address of this machine by number");
  }
  return parsed;
}

socklen_t SizeOf(const SocketAddress& address) {
  return address.any.sa_family == AF_INET6 ? sizeof(address.v6) : sizeof(address.v4);
}

std::string Reply(absl::string_view status, absl::string_view type, absl::string_view body,
                  bool with_body, absl::string_view more = "") {
  return absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Type: ", type,
                      "; charset=utf-8\r\nContent-Length: ", body.size(), "\r\n", more,
                      "Connection: close\r\n\r\n", with_body ? body : "");
}

// The response to a request with this head.
std::string Answer(absl::string_view head, const Registry& registry) {
  const auto refuse = [](absl::string_view status, absl::string_view more = "") {
    return Reply(status, "text/plain", absl::StrCat(status, "\n"), true, more);
  };
  const std::vector<absl::string_view> words =
      absl::StrSplit(head.substr(0, head.find("\r\n")), ' ');
  if (words.size() != 3 || !absl::StartsWith(words[2], "HTTP/1.")) return refuse("400 Bad Request");
  if (words[0] != "GET" && words[0] != "HEAD") {
    return refuse("405 Method Not Allowed", "Allow: GET, HEAD\r\n");
  }
  if (words[1].substr(0, words[1].find('?')) != "/metrics") return refuse("404 Not Found");
  return Reply("200 OK", "text/plain; version=0.0.4", registry.Text(), words[0] == "GET");
}

// One client, from its first byte to the last of its answer. Its socket does not block.
class Connection {
 public:
  explicit Connection(int socket) : socket_(socket), ends_(absl::Now() + kTimeLimit) {}
  ~Connection() {
    if (socket_ >= 0) close(socket_);
  }
  Connection(Connection&& other) noexcept { *this = std::move(other); }
  Connection& operator=(Connection&& other) noexcept {
    std::swap(socket_, other.socket_);
    std::swap(ends_, other.ends_);
    std::swap(head_, other.head_);
    std::swap(answer_, other.answer_);
    std::swap(sent_, other.sent_);
    return *this;
  }

  int socket() const { return socket_; }
  absl::Time ends() const { return ends_; }
  short waits_for() const { return answer_.empty() ? POLLIN : POLLOUT; }

  // Does what can be done now. False when it is over.
  bool Go(const Registry& registry) {
    if (answer_.empty() && !Read(registry)) return false;
    while (sent_ < answer_.size()) {
      const ssize_t count =
          send(socket_, answer_.data() + sent_, answer_.size() - sent_, MSG_NOSIGNAL);
      if (count < 0) return errno == EAGAIN || errno == EINTR;
      sent_ += static_cast<std::size_t>(count);
    }
    return answer_.empty();
  }

 private:
  bool Read(const Registry& registry) {
    char bytes[2048];
    const ssize_t count = recv(socket_, bytes, sizeof(bytes), 0);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return false;
    head_.append(bytes, static_cast<std::size_t>(count));
    const std::size_t end = head_.find("\r\n\r\n");
    if (end <= kMostHead) {
      answer_ = Answer(absl::string_view(head_).substr(0, end), registry);
    } else if (head_.size() > kMostHead) {
      answer_ = Reply("431 Request Header Fields Too Large", "text/plain", "", true);
    }
    return true;
  }

  int socket_ = -1;
  absl::Time ends_;
  std::string head_;
  std::string answer_;  // empty while the head is read
  std::size_t sent_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const std::string& address,
                                                      const Registry& registry) {
  GALEN_ASSIGN_OR_RETURN(SocketAddress where, ParseAddress(address));
  const auto fail = [&](int listener) {
    const std::string why = std::strerror(errno);
    if (listener >= 0) close(listener);
    return absl::UnavailableError(absl::StrCat("metrics address ", address, ": ", why,
                                               "; choose another one, or end what holds it"));
  };
  const int listener = socket(where.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return fail(listener);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(listener, &where.any, SizeOf(where)) != 0 || listen(listener, SOMAXCONN) != 0) {
    return fail(listener);
  }
  socklen_t size = sizeof(where);
  if (getsockname(listener, &where.any, &size) != 0) return fail(listener);
  int stop[2];
  if (pipe2(stop, O_CLOEXEC) != 0) return fail(listener);
  const int port = ntohs(where.any.sa_family == AF_INET6 ? where.v6.sin6_port : where.v4.sin_port);
  return std::unique_ptr<Server>(new Server(registry, listener, port, stop[0], stop[1]));
}

Server::Server(const Registry& registry, int listener, int port, int stop_read, int stop_write)
    : registry_(registry),
      listener_(listener),
      port_(port),
      stop_read_(stop_read),
      stop_write_(stop_write),
      thread_([this] { Run(); }) {}

Server::~Server() {
  close(stop_write_);
  thread_.join();
  close(stop_read_);
  close(listener_);
}

void Server::Run() {
  std::vector<Connection> connections;
  for (;;) {
    std::vector<pollfd> waits = {
        {stop_read_, POLLIN, 0},
        {connections.size() < kMostConnections ? listener_ : -1, POLLIN, 0}};
    absl::Time next = absl::InfiniteFuture();
    for (const Connection& connection : connections) {
      waits.push_back({connection.socket(), connection.waits_for(), 0});
      next = std::min(next, connection.ends());
    }
    int wait = -1;
    if (next != absl::InfiniteFuture()) {
      wait = static_cast<int>(
          absl::ToInt64Milliseconds(std::max(next - absl::Now(), absl::ZeroDuration())) + 1);
    }
    if (poll(waits.data(), waits.size(), wait) < 0 && errno != EINTR) return;
    if (waits[0].revents != 0) return;
    const absl::Time now = absl::Now();
    std::vector<Connection> open;
    for (std::size_t i = 0; i < connections.size(); ++i) {
      const bool ready = waits[i + 2].revents != 0;
      if (connections[i].ends() <= now || (ready && !connections[i].Go(registry_))) continue;
      open.push_back(std::move(connections[i]));
    }
    connections = std::move(open);
    if (waits[1].revents == 0) continue;
    const int accepted = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (accepted >= 0) {
      connections.emplace_back(accepted);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      absl::SleepFor(absl::Milliseconds(100));  // the listener stays ready: not in circles
    }
  }
}

absl::StatusOr<std::unique_ptr<Server>> Serve(const std::string& address,
                                              const Registry& registry) {
  if (address.empty()) return std::unique_ptr<Server>();
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<Server> server, Server::Start(address, registry));
  log::Info(absl::StrCat("metrics on port ", server->port(), ", path /metrics"));
  return server;
}

}  // namespace galen::metrics
