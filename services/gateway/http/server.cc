#include "services/gateway/http/server.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "services/gateway/http/connection.h"
#include "services/gateway/http/connection_registry.h"
#include "services/gateway/http/tls.h"

namespace galen::gateway::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;

// Without a free file descriptor, a pause lets other connections release some.
constexpr std::chrono::milliseconds kAcceptPause{50};
constexpr std::chrono::seconds kTlsLooksEvery{1};

// "127.0.0.1:8080", "[::1]:8080": numbers, since a name may later mean other interfaces.
absl::StatusOr<tcp::endpoint> ParseEndpoint(absl::string_view address) {
  const absl::Status bad = absl::InvalidArgumentError(absl::StrCat(
      "\"", address, "\" is not IP:PORT, as in 127.0.0.1:8080, 0.0.0.0:8080 or [::]:8080"));
  const std::size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos) return bad;
  absl::string_view host = address.substr(0, colon);
  int port = 0;
  if (!absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 0 || port > 65535) return bad;
  if (absl::ConsumePrefix(&host, "[") && !absl::ConsumeSuffix(&host, "]")) return bad;
  error_code error;
  const asio::ip::address ip = asio::ip::make_address(std::string(host), error);
  if (error) return bad;
  return tcp::endpoint(ip, static_cast<unsigned short>(port));
}

}  // namespace

struct Server::Parts {
  Parts(const ServerOptions& options, Handler& handler)
      : registry(std::make_shared<ConnectionRegistry>(options, handler)),
        io(std::make_shared<asio::io_context>(options.threads)),
        work(asio::make_work_guard(*io)),
        strand(asio::make_strand(*io)),
        acceptor(strand),
        pause(strand),
        looks(strand) {}

  absl::Status Listen() {
    GALEN_ASSIGN_OR_RETURN(const tcp::endpoint endpoint, ParseEndpoint(registry->options.address));
    error_code error;
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      return absl::UnavailableError(
          absl::StrCat(registry->options.address, ": cannot be listened on: ", error.message()));
    }
    port = acceptor.local_endpoint(error).port();
    return absl::OkStatus();
  }

  // On the strand.
  void Accept() {
    acceptor.async_accept(
        asio::make_strand(*io), [this](const error_code& error, tcp::socket socket) {
          if (!acceptor.is_open()) return;
          if (error) {
            registry->MakeRoom();
            pause.expires_after(kAcceptPause);
            pause.async_wait([this](const error_code& stopped) {
              if (!stopped && acceptor.is_open()) Accept();
            });
            return;
          }
          // If all connections are being answered, none is dropped: the new one is closed.
          if (registry->MakeRoom()) {
            ServeConnection(io, std::move(socket), registry, tls == nullptr ? nullptr : tls->Now());
          }
          Accept();
        });
  }

  void LookAtCertificate() {
    looks.expires_after(kTlsLooksEvery);
    looks.async_wait([this](const error_code& stopped) {
      if (stopped || !acceptor.is_open()) return;
      tls->Look();
      LookAtCertificate();
    });
  }

  void StopAccepting() {
    asio::post(strand, [this] {
      error_code ignored;
      acceptor.close(ignored);
      pause.cancel();
      looks.cancel();
    });
  }

  const std::shared_ptr<ConnectionRegistry> registry;
  const std::shared_ptr<asio::io_context> io;
  asio::executor_work_guard<asio::io_context::executor_type> work;
  asio::strand<asio::io_context::executor_type> strand;
  tcp::acceptor acceptor;
  asio::steady_timer pause;
  asio::steady_timer looks;
  std::unique_ptr<Tls> tls;
  int port = 0;
  std::vector<std::thread> threads;
};

std::size_t ConnectionsWithin(std::size_t wanted, int files) {
  constexpr int kForAllElse = 256;
  const int left = std::max({files - kForAllElse, files / 2, 1});
  return std::min(wanted, static_cast<std::size_t>(left));
}

Server::Server(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(ServerOptions options, Handler& handler) {
  auto parts = std::make_shared<Parts>(options, handler);
  if (!options.tls.certificate.empty() || !options.tls.key.empty()) {
    GALEN_ASSIGN_OR_RETURN(parts->tls, Tls::Open(options.tls, options.tell));
  }
  GALEN_RETURN_IF_ERROR(parts->Listen());
  asio::post(parts->strand, [raw = parts.get()] {
    raw->Accept();
    if (raw->tls != nullptr) raw->LookAtCertificate();
  });
  for (int i = 0; i < options.threads; ++i) {
    parts->threads.emplace_back([io = parts->io] { io->run(); });
  }
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

Server::~Server() {
  Drain(absl::ZeroDuration());
  parts_->registry->CloseAll();
  // With every socket closed, nothing is left to wait for.
  parts_->work.reset();
  for (std::thread& thread : parts_->threads) thread.join();
}

int Server::port() const { return parts_->port; }

ServerCounts Server::counts() const {
  const ConnectionRegistry& registry = *parts_->registry;
  return {.connections = registry.connections.load(),
          .open = registry.open(),
          .evicted = registry.evicted.load(),
          .timed_out = registry.timed_out.load(),
          .refused = registry.refused.load()};
}

void Server::Drain(absl::Duration grace) {
  parts_->StopAccepting();
  parts_->registry->Drain();
  parts_->registry->WaitUntilNone(grace);
}

}  // namespace galen::gateway::http
