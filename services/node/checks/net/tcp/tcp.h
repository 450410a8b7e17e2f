#ifndef SERVICES_NODE_CHECKS_NET_TCP_TCP_H_
#define SERVICES_NODE_CHECKS_NET_TCP_TCP_H_

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"

namespace galen::node {

// Until when something on the network is waited for, and what ends the wait before.
struct WaitLimits {
  absl::Time deadline;
  const Cancellation& cancelled = Cancellation::Never();
};

// An address and port as numbers; names are not looked up.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  // "192.0.2.1:80" or "[2001:db8::1]:80".
  std::string Text() const;
  // The address alone.
  std::string Host() const;
  int port() const;
};

// INVALID_ARGUMENT: not an IPv4 or IPv6 address with a port. Pure.
absl::StatusOr<SocketAddress> ParseSocketAddress(absl::string_view text);

// A connected socket that speaks in lines. Closes itself. Not thread-safe.
class Connection {
 public:
  // UNAVAILABLE: refused or unreachable, with the system's word; DEADLINE_EXCEEDED: no answer;
  // CANCELLED.
  static absl::StatusOr<Connection> Open(const SocketAddress& peer, const WaitLimits& limits);
  explicit Connection(int socket) : socket_(socket) {}
  ~Connection();
  Connection(Connection&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), read_(std::move(other.read_)) {}
  Connection& operator=(Connection&& other) noexcept;

  // UNAVAILABLE: the other side went away.
  absl::Status SendLine(absl::string_view line, const WaitLimits& limits);
  // A line of at most `most` bytes, without its end. OUT_OF_RANGE: it is longer.
  absl::StatusOr<std::string> ReceiveLine(std::size_t most, const WaitLimits& limits);

  int socket() const { return socket_; }
  SocketAddress Own() const;
  SocketAddress Peer() const;

 private:
  int socket_;
  std::string read_;
};

// A listening socket. Closes itself. Not thread-safe.
class Listener {
 public:
  // On `address`; port 0 for one that is free.
  static absl::StatusOr<Listener> Open(const SocketAddress& address);
  ~Listener();
  Listener(Listener&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  Listener& operator=(Listener&&) = delete;

  SocketAddress address() const;
  absl::StatusOr<Connection> Accept(const WaitLimits& limits);

 private:
  explicit Listener(int socket) : socket_(socket) {}
  int socket_;
};

// This machine's address on the way to others: that of its default route, else of the first
// interface that is up. Nothing is sent. Loopback when there is no other.
SocketAddress OwnAddress();

// True when both are the same, in a time that does not depend on where they differ.
bool SameSecret(absl::string_view a, absl::string_view b);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_NET_TCP_TCP_H_
