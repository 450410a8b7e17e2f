#ifndef SERVICES_GATEWAY_HTTP_ANSWER_H_
#define SERVICES_GATEWAY_HTTP_ANSWER_H_

#include <cstddef>
#include <string>

#include "services/gateway/http/message.h"

namespace galen::gateway::http {

// The properties of a request that decide how its answer is written.
struct AnswerForm {
  bool head = false;        // the request was HEAD: no body
  bool http_1_0 = false;    // no chunks: a streamed body ends with the connection
  bool keep_alive = false;  // wanted by the client
  bool gzip = false;        // taken by the client
  bool tls = false;         // browsers are told to come by HTTPS alone (RFC 6797)
};

// A whole answer as bytes: compresses the body where that is worth it, and adds what frames it.
// Pure.
std::string WholeAnswer(Response response, const AnswerForm& form, std::size_t gzip_from_bytes);

// The head of a streamed answer, and a piece of its body; EndOfBody() is the last piece. Pure.
std::string StreamHead(const Response& head, const AnswerForm& form);
std::string BodyPiece(const std::string& piece, const AnswerForm& form);
std::string EndOfBody(const AnswerForm& form);

}  // namespace galen::gateway::http

#endif  // SERVICES_GATEWAY_HTTP_ANSWER_H_
