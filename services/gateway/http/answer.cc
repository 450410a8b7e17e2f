#include "services/gateway/http/answer.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace galen::gateway::http {
namespace {

// A value cannot begin another field: characters that would become spaces.
void AppendField(absl::string_view name, absl::string_view value, std::string& head) {
  absl::StrAppend(&head, name, ": ");
  for (const char c : value) {
    head.push_back(absl::ascii_iscntrl(static_cast<unsigned char>(c)) && c != '\t' ? ' ' : c);
  }
  head.append("\r\n");
}

std::string HeadOf(const Response& response, const AnswerForm& form) {
  std::string head =
      absl::StrCat("HTTP/1.1 ", response.status, " ", ReasonPhrase(response.status), "\r\n");
  for (const auto& [name, value] : response.headers.all()) AppendField(name, value, head);
  if (form.tls) AppendField("Strict-Transport-Security", "max-age=31536000", head);
  if (!form.keep_alive) {
    AppendField("Connection", "close", head);
  } else if (form.http_1_0) {
    AppendField("Connection", "keep-alive", head);
  }
  return head;
}

bool IsText(absl::string_view type) {
  return absl::StartsWithIgnoreCase(type, "text/") || absl::StrContains(type, "json") ||
         absl::StrContains(type, "javascript") || absl::StrContains(type, "xml");
}

}  // namespace

std::string WholeAnswer(Response response, const AnswerForm& form, std::size_t gzip_from_bytes) {
  if (IsText(response.headers.Get("Content-Type")) && !response.headers.Has("Content-Encoding") &&
      response.body.size() >= gzip_from_bytes) {
    response.headers.Add("Vary", "Accept-Encoding");
    if (form.gzip) {
      if (std::optional<std::string> packed = Gzip(response.body)) {
        response.body = *std::move(packed);
        response.headers.Add("Content-Encoding", "gzip");
      }
    }
  }
  std::string bytes = HeadOf(response, form);
  // 204 and 304 have no body, and 204 no length either.
  const bool bodiless = response.status == 204 || response.status == 304;
  if (!bodiless) AppendField("Content-Length", absl::StrCat(response.body.size()), bytes);
  bytes.append("\r\n");
  if (!bodiless && !form.head) bytes.append(response.body);
  return bytes;
}

std::string StreamHead(const Response& head, const AnswerForm& form) {
  std::string bytes = HeadOf(head, form);
  if (!form.http_1_0) AppendField("Transfer-Encoding", "chunked", bytes);
  bytes.append("\r\n");
  return bytes;
}

std::string BodyPiece(const std::string& piece, const AnswerForm& form) {
  if (form.head || piece.empty()) return "";
  if (form.http_1_0) return piece;
  return absl::StrCat(absl::Hex(piece.size()), "\r\n", piece, "\r\n");
}

std::string EndOfBody(const AnswerForm& form) {
  return form.head || form.http_1_0 ? "" : "0\r\n\r\n";
}

}  // namespace galen::gateway::http
