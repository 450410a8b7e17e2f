#ifndef SERVICES_GATEWAY_HTTP_SERVER_H_
#define SERVICES_GATEWAY_HTTP_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/gateway/http/handler.h"

namespace galen::gateway::http {

// Paths of a server's certificate and key, both PEM; read again when they change. Empty: no TLS.
struct TlsFiles {
  std::string certificate;  // with the chain
  std::string key;
};

struct ServerOptions {
  // "127.0.0.1:8080", "[::]:8443"; a port of 0 chooses a free one.
  std::string address;
  TlsFiles tls;
  int threads = 2;
  // Connections at the same time. At the limit, a new one replaces the one that has been sending
  // its request (or nothing) the longest, so that slow senders harm each other alone.
  std::size_t max_connections = 10'000;
  std::size_t max_header_bytes = 16 << 10;
  std::size_t max_body_bytes = 4 << 20;
  // Limits of the bodies of requests, from their first byte to the handler; beyond them 503. In
  // this order: all bodies together, those of one payer (HeadVerdict), those of unknown payers.
  std::size_t max_bodies_bytes = 256 << 20;
  std::size_t max_payer_bytes = 64 << 20;
  std::size_t max_unknown_bytes = 32 << 20;
  // The most that may wait for a slow client in a streamed answer.
  std::size_t max_stream_bytes = 1 << 20;
  // From the first byte of a request to the end of its head, and on to the end of its body; with
  // TLS also the handshake. These are total times: slow bytes do not extend them.
  absl::Duration header_timeout = absl::Seconds(10);
  absl::Duration body_timeout = absl::Seconds(60);
  // The same for a body whose payer is unknown.
  absl::Duration unknown_body_timeout = absl::Seconds(15);
  // Between two requests, and before the first.
  absl::Duration idle_timeout = absl::Seconds(75);
  // For the client's side to take each 64 KiB of an answer, or less.
  absl::Duration write_timeout = absl::Seconds(30);
  // Answers smaller than this are not compressed.
  std::size_t gzip_from_bytes = 1 << 10;
  // Gets a sentence about each certificate that is loaded or refused.
  std::function<void(const std::string& news)> tell;
};

// Counted since the start.
struct ServerCounts {
  std::uint64_t connections = 0;  // accepted
  std::uint64_t open = 0;         // now
  std::uint64_t evicted = 0;      // gave place to newer ones
  std::uint64_t timed_out = 0;    // too slow to send or to take
  std::uint64_t refused = 0;      // requests that no handler saw
};

// The number of connections, out of the wanted ones, that fit if the process may have `files` open:
// some files are reserved for the store, the mesh, uploads, certificates. Pure.
std::size_t ConnectionsWithin(std::size_t wanted, int files);

// An HTTP/1.1 server. One instance serves all connections with a few threads.
class Server {
 public:
  // Listens and serves. INVALID_ARGUMENT: the address, or invalid TLS files; UNAVAILABLE: the
  // address cannot be listened on. `handler` must outlive the server.
  static absl::StatusOr<std::unique_ptr<Server>> Start(ServerOptions options, Handler& handler);
  // Closes every connection at once.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;
  ServerCounts counts() const;

  // Accepts no further connection, closes those that wait for a request, lets the others end their
  // answer, and returns when none is left or `grace` is over. Streamed answers end when the handler
  // ends them.
  void Drain(absl::Duration grace);

 private:
  struct Parts;
  explicit Server(std::shared_ptr<Parts> parts);
  const std::shared_ptr<Parts> parts_;
};

}  // namespace galen::gateway::http

#endif  // SERVICES_GATEWAY_HTTP_SERVER_H_
