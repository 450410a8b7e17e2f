#include "tests/testing/redis/tcp_peer.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <list>
#include <utility>

namespace galen::testing {

TcpPeer::TcpPeer(std::function<void(int)> serve) : serve_(std::move(serve)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
  EXPECT_EQ(listen(listener_, 16), 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Accept(); });
}

TcpPeer::~TcpPeer() {
  stopping_ = true;
  shutdown(listener_, SHUT_RDWR);
  thread_.join();
  close(listener_);
}

void TcpPeer::Accept() {
  std::list<std::pair<int, std::thread>> served;
  while (!stopping_) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) break;
    served.emplace_back(client, std::thread([this, client] {
                          serve_(client);
                          shutdown(client, SHUT_RDWR);
                        }));
  }
  for (auto& [client, thread] : served) {
    shutdown(client, SHUT_RDWR);
    thread.join();
    close(client);
  }
}

bool WriteAll(int socket, const std::string& bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

void RelayTo(int port, int client, const std::function<bool(const std::string&)>& cut) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  std::string sent;
  if (connect(server, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    for (;;) {
      pollfd files[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
      if (poll(files, 2, -1) < 0) break;
      char buffer[65536];
      if (files[0].revents != 0) {
        const ssize_t n = recv(client, buffer, sizeof(buffer), 0);
        if (n <= 0) break;
        sent.append(buffer, static_cast<std::size_t>(n));
        if (!WriteAll(server, std::string(buffer, static_cast<std::size_t>(n)))) break;
      }
      if (files[1].revents != 0) {
        const ssize_t n = recv(server, buffer, sizeof(buffer), 0);
        if (n <= 0 || cut(sent)) break;
        sent.clear();
        if (!WriteAll(client, std::string(buffer, static_cast<std::size_t>(n)))) break;
      }
    }
  }
  close(server);
}

}  // namespace galen::testing
