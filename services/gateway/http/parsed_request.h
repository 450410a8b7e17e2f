#ifndef SERVICES_GATEWAY_HTTP_PARSED_REQUEST_H_
#define SERVICES_GATEWAY_HTTP_PARSED_REQUEST_H_

#include <boost/beast/http/message.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/gateway/http/answer.h"
#include "services/gateway/http/message.h"

// Requests that Beast parses, and its errors, as values of this library. Independent of sockets.
namespace galen::gateway::http {

struct ParsedHead {
  Request request;               // without its body and peer
  AnswerForm form;               // without `keep_alive` and `tls`
  bool awaits_continue = false;  // the client waits for "100 Continue"
};

// INVALID_ARGUMENT: a sentence why the request is refused with status 400.
absl::StatusOr<ParsedHead> ParseHead(const boost::beast::http::request_header<>& head);

// Whether reading failed because the connection ended or broke: nobody reads an answer then.
bool ConnectionEnded(const boost::system::error_code& error);

// The refusal of a request whose reading failed otherwise.
struct ReadRefusal {
  int status = 400;
  std::string why;
};
ReadRefusal RefusalOf(const boost::system::error_code& error, std::size_t most_head,
                      std::uint64_t most_body);

// The same for a body that is taken in pieces: the error that BodyPieces::Read() gives.
absl::Status PieceFault(const boost::system::error_code& error, std::uint64_t most_body);

}  // namespace galen::gateway::http

#endif  // SERVICES_GATEWAY_HTTP_PARSED_REQUEST_H_
