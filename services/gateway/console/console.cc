#include "services/gateway/console/console.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/gateway/console/console_files.h"

namespace galen::gateway {
namespace {

// Only scripts of this server run, and no data is sent elsewhere; text never becomes markup, as far
// as the browser can prevent it.
constexpr absl::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

std::string TypeOf(absl::string_view name) {
  if (absl::EndsWith(name, ".html")) return "text/html; charset=utf-8";
  if (absl::EndsWith(name, ".js")) return "text/javascript; charset=utf-8";
  if (absl::EndsWith(name, ".css")) return "text/css; charset=utf-8";
  if (absl::EndsWith(name, ".svg")) return "image/svg+xml";
  return "text/plain; charset=utf-8";
}

http::Response Plain(int status, absl::string_view text) {
  http::Response response;
  response.status = status;
  response.headers.Add("Content-Type", "text/plain; charset=utf-8");
  response.body = absl::StrCat(text, "\n");
  return response;
}

}  // namespace

Console::Console() {
  for (const ConsoleFile& file : ConsoleFiles()) {
    files_.emplace(absl::StrCat("/console/", file.name),
                   http::Asset(TypeOf(file.name), std::string(file.bytes)));
  }
}

http::Response Console::Refuse(int status, const std::string& why) { return Plain(status, why); }

void Console::Handle(http::Request request, std::shared_ptr<http::Exchange> exchange) {
  absl::string_view path = absl::string_view(request.target).substr(0, request.target.find('?'));
  if (path == "/" || path == "/console" || path == "/console/") path = "/console/index.html";
  const auto file = files_.find(path);
  http::Response response;
  if (file == files_.end()) {
    response = Plain(404, "there is no such page");
  } else if (request.method != "GET" && request.method != "HEAD") {
    response = Plain(405, "pages are read with GET");
    response.headers.Add("Allow", "GET, HEAD");
  } else {
    response = file->second.AnswerTo(request);
  }
  response.headers.Add("Content-Security-Policy", kPolicy);
  response.headers.Set("X-Content-Type-Options", "nosniff");
  response.headers.Add("Referrer-Policy", "no-referrer");
  response.headers.Add("Cross-Origin-Opener-Policy", "same-origin");
  response.headers.Add("Cross-Origin-Resource-Policy", "same-origin");
  exchange->Respond(std::move(response));
}

}  // namespace galen::gateway
