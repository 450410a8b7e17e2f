#ifndef TESTS_TESTING_REDIS_TCP_PEER_H_
#define TESTS_TESTING_REDIS_TCP_PEER_H_

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace galen::testing {

// A listener on loopback that hands each connection to `serve`, on a thread of its own; the socket
// is closed when that returns, and shut down when the listener ends.
class TcpPeer {
 public:
  explicit TcpPeer(std::function<void(int socket)> serve);
  ~TcpPeer();
  TcpPeer(const TcpPeer&) = delete;
  TcpPeer& operator=(const TcpPeer&) = delete;
  int port() const { return port_; }

 private:
  void Accept();

  const std::function<void(int)> serve_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

// Forwards data to a server on loopback, and its answers back, until either side ends. Before an
// answer is forwarded, `cut` gets the data that the client sent since the last answer; true ends
// the connection instead: the server has executed it, and the client never learns.
void RelayTo(int port, int client, const std::function<bool(const std::string& sent)>& cut);

bool WriteAll(int socket, const std::string& bytes);

}  // namespace galen::testing

#endif  // TESTS_TESTING_REDIS_TCP_PEER_H_
