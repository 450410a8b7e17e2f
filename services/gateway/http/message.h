#ifndef SERVICES_GATEWAY_HTTP_MESSAGE_H_
#define SERVICES_GATEWAY_HTTP_MESSAGE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

// HTTP/1.1 as plain values, for handlers. Independent of sockets.
namespace galen::gateway::http {

// Header fields in order; names are compared without regard to case.
class Headers {
 public:
  void Add(absl::string_view name, absl::string_view value);
  // In place of all of that name.
  void Set(absl::string_view name, absl::string_view value);
  // The first of that name, "" if there is none. Valid until the next change.
  absl::string_view Get(absl::string_view name) const;
  bool Has(absl::string_view name) const;
  // How many there are of that name.
  std::size_t Count(absl::string_view name) const;
  const std::vector<std::pair<std::string, std::string>>& all() const { return all_; }

 private:
  std::vector<std::pair<std::string, std::string>> all_;
};

class BodyPieces;

struct Request {
  std::string method;  // as it came: "GET"
  std::string target;  // as it came: path and query, still encoded
  Headers headers;
  std::string body;
  std::string peer;  // address of the other end, without the port
  // Set in place of `body` if the handler takes it in pieces (handler.h).
  std::shared_ptr<BodyPieces> pieces;
};

struct Response {
  int status = 200;
  Headers headers;
  std::string body;
};

// "Not Found"; "Status" for a code without a name here.
absl::string_view ReasonPhrase(int status);

// Whether `accept_encoding` accepts gzip: by name, or by "*", with a weight above 0 (RFC 9110
// 12.5.3).
bool AcceptsGzip(absl::string_view accept_encoding);

// `plain` compressed; nothing if that would not make it smaller.
std::optional<std::string> Gzip(absl::string_view plain);

}  // namespace galen::gateway::http

#endif  // SERVICES_GATEWAY_HTTP_MESSAGE_H_
