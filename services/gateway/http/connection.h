#ifndef SERVICES_GATEWAY_HTTP_CONNECTION_H_
#define SERVICES_GATEWAY_HTTP_CONNECTION_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <memory>

#include "services/gateway/http/connection_registry.h"

namespace galen::gateway::http {

// Serves one connection, which keeps itself alive until it ends. The socket's executor must be a
// strand of `io`. `tls` may be null.
void ServeConnection(std::shared_ptr<boost::asio::io_context> io,
                     boost::asio::ip::tcp::socket socket,
                     const std::shared_ptr<ConnectionRegistry>& registry,
                     std::shared_ptr<boost::asio::ssl::context> tls);

}  // namespace galen::gateway::http

#endif  // SERVICES_GATEWAY_HTTP_CONNECTION_H_
