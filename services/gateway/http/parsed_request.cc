#include "services/gateway/http/parsed_request.h"

#include <boost/beast/http/error.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace galen::gateway::http {
namespace {

namespace beast = boost::beast;
using Fault = beast::http::error;
using Field = beast::http::field;

absl::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

absl::StatusOr<ParsedHead> ParseHead(const beast::http::request_header<>& head) {
  if (head.version() != 11 && head.version() != 10) {
    return absl::InvalidArgumentError("only HTTP/1.1 and HTTP/1.0 are spoken");
  }
  if (head.version() == 11 && head.count(Field::host) != 1) {
    return absl::InvalidArgumentError("the request must have one Host field");
  }
  // With any other coding the end of the body is unknown.
  if (head.count(Field::transfer_encoding) > 0 &&
      !absl::EqualsIgnoreCase(View(head[Field::transfer_encoding]), "chunked")) {
    return absl::InvalidArgumentError("the only Transfer-Encoding is chunked");
  }
  ParsedHead parsed;
  parsed.request.method = std::string(View(head.method_string()));
  parsed.request.target = std::string(View(head.target()));
  for (const auto& field : head) {
    parsed.request.headers.Add(View(field.name_string()), View(field.value()));
  }
  parsed.form.head = parsed.request.method == "HEAD";
  parsed.form.http_1_0 = head.version() == 10;
  parsed.form.gzip = AcceptsGzip(parsed.request.headers.Get("Accept-Encoding"));
  parsed.awaits_continue = absl::EqualsIgnoreCase(View(head[Field::expect]), "100-continue");
  return parsed;
}

bool ConnectionEnded(const boost::system::error_code& error) {
  return error.category() != make_error_code(Fault::end_of_stream).category() ||
         error == make_error_code(Fault::end_of_stream) ||
         error == make_error_code(Fault::partial_message);
}

ReadRefusal RefusalOf(const boost::system::error_code& error, std::size_t most_head,
                      std::uint64_t most_body) {
  const auto is = [&error](Fault fault) { return error == make_error_code(fault); };
  if (is(Fault::header_limit) || is(Fault::buffer_overflow)) {
    return {431, absl::StrCat("the head of a request has at most ", most_head, " bytes")};
  }
  if (is(Fault::body_limit)) {
    return {413, absl::StrCat("the body of a request has at most ", most_body, " bytes")};
  }
  return {400, absl::StrCat("not HTTP: ", error.message())};
}

absl::Status PieceFault(const boost::system::error_code& error, std::uint64_t most_body) {
  if (error == make_error_code(Fault::body_limit)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the body of this request has at most ", most_body, " bytes"));
  }
  return absl::InvalidArgumentError(absl::StrCat("not HTTP: ", error.message()));
}

}  // namespace galen::gateway::http
