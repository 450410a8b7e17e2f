#include "services/node/checks/net/tcp/tcp.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"

namespace galen::node {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(100);  // how often a wait looks for its end
constexpr int kBacklog = 8;

absl::Status WaitFor(int socket, short events, const WaitLimits& limits) {
  while (true) {
    if (limits.cancelled.cancelled()) return absl::CancelledError("cancelled");
    const absl::Duration left = limits.deadline - SteadyNow();
    if (left <= absl::ZeroDuration()) return absl::DeadlineExceededError("no answer in time");
    pollfd one = {socket, events, 0};
    const auto wait = static_cast<int>(absl::ToInt64Milliseconds(std::min(left, kLook))) + 1;
    const int ready = poll(&one, 1, wait);
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return absl::ErrnoToStatus(errno, "poll");
  }
}

absl::StatusOr<int> NewSocket(int family, int kind) {
  const int fd = ::socket(family, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return absl::ErrnoToStatus(errno, "socket");
  return fd;
}

SocketAddress AddressOf(int socket, int (*ask)(int, sockaddr*, socklen_t*)) {
  SocketAddress address;
  address.length = sizeof(address.storage);
  if (ask(socket, reinterpret_cast<sockaddr*>(&address.storage), &address.length) != 0) {
    return SocketAddress();
  }
  return address;
}

SocketAddress Of(const in_addr& host, int port) {
  SocketAddress address;
  auto* const in = reinterpret_cast<sockaddr_in*>(&address.storage);
  in->sin_family = AF_INET;
  in->sin_addr = host;
  in->sin_port = htons(static_cast<std::uint16_t>(port));
  address.length = sizeof(sockaddr_in);
  return address;
}

}  // namespace

std::string SocketAddress::Host() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* host = nullptr;
  if (storage.ss_family == AF_INET) {
    host = &reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr;
  } else if (storage.ss_family == AF_INET6) {
    host = &reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr;
  }
  if (host == nullptr || inet_ntop(storage.ss_family, host, text.data(), text.size()) == nullptr) {
    return "";
  }
  return text.data();
}

int SocketAddress::port() const {
  if (storage.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
}

std::string SocketAddress::Text() const {
  return storage.ss_family == AF_INET6 ? absl::StrCat("[", Host(), "]:", port())
                                       : absl::StrCat(Host(), ":", port());
}

absl::StatusOr<SocketAddress> ParseSocketAddress(absl::string_view text) {
  const absl::Status wrong =
      absl::InvalidArgumentError("not an address: write 192.0.2.1:PORT or [2001:db8::1]:PORT");
  const std::size_t colon = text.rfind(':');
  int port = 0;
  if (colon == absl::string_view::npos || text.size() > 64 ||
      !absl::SimpleAtoi(text.substr(colon + 1), &port) || port < 0 || port > 65535) {
    return wrong;
  }
  std::string host(text.substr(0, colon));
  in_addr v4 = {};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return Of(v4, port);
  if (host.size() < 2 || host.front() != '[' || host.back() != ']') return wrong;
  host = host.substr(1, host.size() - 2);
  SocketAddress address;
  auto* const in = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET6, host.c_str(), &in->sin6_addr) != 1) return wrong;
  in->sin6_family = AF_INET6;
  in->sin6_port = htons(static_cast<std::uint16_t>(port));
  address.length = sizeof(sockaddr_in6);
  return address;
}

absl::StatusOr<Connection> Connection::Open(const SocketAddress& peer, const WaitLimits& limits) {
  GALEN_ASSIGN_OR_RETURN(const int fd, NewSocket(peer.storage.ss_family, SOCK_STREAM));
  Connection connection(fd);
  const auto failed = [&](int error) {
    return absl::UnavailableError(absl::StrCat(peer.Text(), ": ", std::strerror(error)));
  };
  if (connect(fd, reinterpret_cast<const sockaddr*>(&peer.storage), peer.length) != 0) {
    if (errno != EINPROGRESS) return failed(errno);
    if (absl::Status wait = WaitFor(fd, POLLOUT, limits); !wait.ok()) {
      return absl::Status(wait.code(), absl::StrCat(peer.Text(), ": ", wait.message()));
    }
    int error = 0;
    socklen_t length = sizeof(error);
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return failed(errno);
    if (error != 0) return failed(error);
  }
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  return connection;
}

Connection::~Connection() {
  if (socket_ >= 0) close(socket_);
}

Connection& Connection::operator=(Connection&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(read_, other.read_);
  return *this;
}

absl::Status Connection::SendLine(absl::string_view line, const WaitLimits& limits) {
  const std::string text = absl::StrCat(line, "\n");
  std::size_t sent = 0;
  while (sent < text.size()) {
    GALEN_RETURN_IF_ERROR(WaitFor(socket_, POLLOUT, limits));
    const ssize_t n = send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n >= 0) {
      sent += static_cast<std::size_t>(n);
    } else if (errno != EAGAIN && errno != EINTR) {
      return absl::UnavailableError(absl::StrCat("the other side went away: ", strerror(errno)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Connection::ReceiveLine(std::size_t most, const WaitLimits& limits) {
  while (true) {
    if (const std::size_t end = read_.find('\n'); end != std::string::npos) {
      if (end > most) return absl::OutOfRangeError("the other side's line is too long");
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    if (read_.size() > most) return absl::OutOfRangeError("the other side's line is too long");
    GALEN_RETURN_IF_ERROR(WaitFor(socket_, POLLIN, limits));
    std::array<char, 1024> piece;
    const ssize_t n = recv(socket_, piece.data(), piece.size(), 0);
    if (n > 0) {
      read_.append(piece.data(), static_cast<std::size_t>(n));
    } else if (n == 0) {
      return absl::UnavailableError("the other side went away");
    } else if (errno != EAGAIN && errno != EINTR) {
      return absl::UnavailableError(absl::StrCat("the other side went away: ", strerror(errno)));
    }
  }
}

SocketAddress Connection::Own() const { return AddressOf(socket_, getsockname); }
SocketAddress Connection::Peer() const { return AddressOf(socket_, getpeername); }

absl::StatusOr<Listener> Listener::Open(const SocketAddress& address) {
  GALEN_ASSIGN_OR_RETURN(const int fd, NewSocket(address.storage.ss_family, SOCK_STREAM));
  Listener listener(fd);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address.storage), address.length) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(address.Text(), ": cannot listen: ", std::strerror(errno)));
  }
  if (listen(fd, kBacklog) != 0) return absl::ErrnoToStatus(errno, "listen");
  return listener;
}

Listener::~Listener() {
  if (socket_ >= 0) close(socket_);
}

SocketAddress Listener::address() const { return AddressOf(socket_, getsockname); }

absl::StatusOr<Connection> Listener::Accept(const WaitLimits& limits) {
  while (true) {
    GALEN_RETURN_IF_ERROR(WaitFor(socket_, POLLIN, limits));
    const int fd = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) return Connection(fd);
    // One that went away again while it waited; anything else is ours.
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
      return absl::ErrnoToStatus(errno, "accept");
    }
  }
}

SocketAddress OwnAddress() {
  // Connecting a datagram socket only picks the route (RFC 5737 keeps 192.0.2.0/24 for examples).
  in_addr example = {};
  inet_pton(AF_INET, "192.0.2.1", &example);
  const SocketAddress far = Of(example, 9);
  if (const auto fd = NewSocket(AF_INET, SOCK_DGRAM); fd.ok()) {
    const Connection probe(*fd);
    if (connect(*fd, reinterpret_cast<const sockaddr*>(&far.storage), far.length) == 0) {
      const SocketAddress own = probe.Own();
      const auto* const in = reinterpret_cast<const sockaddr_in*>(&own.storage);
      if (in->sin_addr.s_addr != 0) return Of(in->sin_addr, 0);
    }
  }
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) == 0) {
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
      if ((one->ifa_flags & IFF_LOOPBACK) != 0 || (one->ifa_flags & IFF_UP) == 0) continue;
      return Of(reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, 0);
    }
  }
  in_addr loopback = {};
  loopback.s_addr = htonl(INADDR_LOOPBACK);
  return Of(loopback, 0);
}

bool SameSecret(absl::string_view a, absl::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    different = static_cast<unsigned char>(different | (a[i] ^ b[i]));
  }
  return different == 0;
}

}  // namespace galen::node
