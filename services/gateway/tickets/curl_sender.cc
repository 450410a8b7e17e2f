#include "services/gateway/tickets/curl_sender.h"

#include <curl/curl.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/text.h"
#include "common/llm/retry.h"

namespace galen::gateway::tickets {
namespace {

constexpr std::size_t kMostBody = std::size_t{8} << 20;
constexpr std::size_t kMostHeaders = 64 << 10;

// What one request gathers.
struct Transfer {
  const std::atomic<bool>* stopping = nullptr;
  HttpAnswer answer;
  std::size_t header_bytes = 0;
  bool too_large = false;
};

std::size_t OnBody(const char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  if (transfer.answer.body.size() + size * count > kMostBody) {
    transfer.too_large = true;
    return 0;
  }
  transfer.answer.body.append(data, size * count);
  return size * count;
}

std::size_t OnHeader(const char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const absl::string_view line(data, size * count);
  transfer.header_bytes += line.size();
  if (transfer.header_bytes > kMostHeaders) {
    transfer.too_large = true;
    return 0;
  }
  const std::size_t colon = line.find(':');
  if (colon != absl::string_view::npos &&
      absl::EqualsIgnoreCase(line.substr(0, colon), "retry-after")) {
    transfer.answer.retry_after =
        llm::ParseRetryAfter(absl::StripAsciiWhitespace(line.substr(colon + 1)), absl::Now());
  }
  return line.size();
}

int OnProgress(void* self, curl_off_t /*total*/, curl_off_t /*now*/, curl_off_t /*up_total*/,
               curl_off_t /*up*/) {
  return static_cast<Transfer*>(self)->stopping->load() ? 1 : 0;
}

// Programs that others start must not inherit the connection.
int KeepFromChildren(void* /*self*/, curl_socket_t socket, curlsocktype /*purpose*/) {
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  return CURL_SOCKOPT_OK;
}

struct Easy {
  Easy() : handle(curl_easy_init()) {}
  ~Easy() {
    curl_slist_free_all(headers);
    curl_easy_cleanup(handle);
  }
  Easy(const Easy&) = delete;
  Easy& operator=(const Easy&) = delete;
  CURL* const handle;
  curl_slist* headers = nullptr;
};

void Prepare(const HttpCall& call, absl::Duration timeout, Easy& easy, Transfer& transfer,
             std::array<char, CURL_ERROR_SIZE>& error) {
  CURL* const curl = easy.handle;
  for (const auto& [name, value] : call.headers) {
    easy.headers = curl_slist_append(easy.headers, absl::StrCat(name, ": ", value).c_str());
  }
  // No "Expect: 100-continue": many a ticket system answers it late or never.
  easy.headers = curl_slist_append(easy.headers, "Expect:");
  curl_easy_setopt(curl, CURLOPT_URL, call.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call.method.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, easy.headers);
  if (call.method != "GET") {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call.body.data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.body.size()));
  }
  const auto milliseconds =
      std::max<std::int64_t>(absl::ToInt64Milliseconds(timeout), std::int64_t{1});
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(milliseconds));  // NOLINT
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));  // NOLINT
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error.data());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &OnBody);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &OnHeader);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &OnProgress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_SOCKOPTFUNCTION, &KeepFromChildren);
}

// Whether nothing of the request went out.
bool NeverSent(CURL* curl, CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return true;
    default: {
      curl_off_t began = 0;
      return curl_easy_getinfo(curl, CURLINFO_PRETRANSFER_TIME_T, &began) == CURLE_OK && began == 0;
    }
  }
}

}  // namespace

absl::StatusOr<HttpAnswer> CurlSender::Send(const HttpCall& call, absl::Duration timeout) {
  static const bool initialized = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  if (stopping_.load()) return absl::FailedPreconditionError("the gateway stops");
  Easy easy;
  if (!initialized || easy.handle == nullptr) {
    return absl::FailedPreconditionError("libcurl does not start");
  }
  Transfer transfer;
  transfer.stopping = &stopping_;
  std::array<char, CURL_ERROR_SIZE> error{};
  Prepare(call, timeout, easy, transfer, error);
  const CURLcode code = curl_easy_perform(easy.handle);
  if (code != CURLE_OK) {
    const std::string what =
        transfer.too_large
            ? "the answer is too large"
            : CleanText(error[0] == '\0' ? curl_easy_strerror(code) : error.data(), 200);
    if (NeverSent(easy.handle, code)) return absl::FailedPreconditionError(what);
    return absl::UnavailableError(what);
  }
  long status = 0;  // NOLINT(google-runtime-int): libcurl's type
  curl_easy_getinfo(easy.handle, CURLINFO_RESPONSE_CODE, &status);
  transfer.answer.status = static_cast<int>(status);
  return std::move(transfer.answer);
}

}  // namespace galen::gateway::tickets
