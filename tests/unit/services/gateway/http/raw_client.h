#ifndef TESTS_UNIT_SERVICES_GATEWAY_HTTP_RAW_CLIENT_H_
#define TESTS_UNIT_SERVICES_GATEWAY_HTTP_RAW_CLIENT_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace galen::gateway::http {

// A client that sends exactly the given bytes, one by one if needed.
class RawClient {
 public:
  explicit RawClient(int port, int receive_buffer = 0) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0) {
      setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~RawClient() { Close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  bool Send(absl::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // Reads until `end` is in what came since the last call, or the server closes, or nothing comes
  // for 20 s; gives all of it.
  std::string ReadUntil(absl::string_view end) {
    std::string read;
    while (!absl::StrContains(read, end)) {
      char bytes[4096];
      pollfd waiting{fd_, POLLIN, 0};
      if (poll(&waiting, 1, 20'000) <= 0) return read + "<nothing more came>";
      const ssize_t got = recv(fd_, bytes, sizeof(bytes), 0);
      if (got <= 0) {
        closed_ = true;
        return read;
      }
      read.append(bytes, static_cast<std::size_t>(got));
    }
    return read;
  }
  // All that comes until the server closes.
  std::string ReadAll() { return ReadUntil(absl::string_view("\0never\0", 7)); }
  bool closed() const { return closed_; }

 private:
  int fd_;
  bool connected_ = false;
  bool closed_ = false;
};

}  // namespace galen::gateway::http

#endif  // TESTS_UNIT_SERVICES_GATEWAY_HTTP_RAW_CLIENT_H_
