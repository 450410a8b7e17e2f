#include "common/http/curl_transport.h"

#include <curl/curl.h>
#include <fcntl.h>

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/steady.h"
#include "common/base/text.h"
#include "common/llm/retry.h"

namespace galen::http {
namespace {

constexpr std::size_t kMostHeaderBytes = 64 << 10;
constexpr std::size_t kMostErrorBytes = 64 << 10;
constexpr std::size_t kMostDetail = 200;
constexpr std::size_t kMostIdle = 8;
// A cancellation has no way to wake a poll; it is looked at this often.
constexpr absl::Duration kTick = absl::Milliseconds(50);

// Programs that checks start must not inherit the connection.
int KeepFromChildren(void* /*self*/, curl_socket_t socket, curlsocktype /*purpose*/) {
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  return CURL_SOCKOPT_OK;
}

absl::Status StatusOf(CURLcode code, absl::string_view detail, const Options& options) {
  const std::string what =
      CleanText(detail.empty() ? curl_easy_strerror(code) : detail, kMostDetail);
  const std::string server = absl::StrCat(options.what, " ", options.server, ": ");
  switch (code) {
    case CURLE_SSL_CACERT_BADFILE:
      return absl::PermissionDeniedError(
          absl::StrCat(options.ca_file, ": no certificates of an authority: ", what));
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
      return absl::PermissionDeniedError(
          absl::StrCat(server, "its certificate is not trusted: ", what, "; look at ",
                       options.ca_file.empty() ? "the system's authorities" : options.ca_file));
    case CURLE_SSL_CERTPROBLEM:
      return absl::PermissionDeniedError(absl::StrCat(
          options.certificate_file, ": no certificate of ours, or its key is another one: ", what));
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return absl::DataLossError(absl::StrCat(server, "speaks no HTTP: ", what));
    default:
      return absl::UnavailableError(absl::StrCat(server, what));
  }
}

// One request on its way.
struct Transfer {
  explicit Transfer(const Request& asked) : request(asked), easy(curl_easy_init()) {}
  ~Transfer() {
    curl_slist_free_all(headers);
    curl_easy_cleanup(easy);
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  static std::size_t OnHeader(const char* data, std::size_t size, std::size_t count, void* self) {
    return static_cast<Transfer*>(self)->Header({data, size * count}) ? size * count : 0;
  }
  static std::size_t OnBody(const char* data, std::size_t size, std::size_t count, void* self) {
    return static_cast<Transfer*>(self)->Body({data, size * count}) ? size * count : 0;
  }

  bool Header(absl::string_view line) {
    header_bytes += line.size();
    if (header_bytes > kMostHeaderBytes) {
      status = absl::DataLossError("the headers of the answer are too large");
      return false;
    }
    if (absl::StartsWith(line, "HTTP/")) {
      const std::size_t space = line.find(' ');
      int code = 0;
      if (space != absl::string_view::npos && absl::SimpleAtoi(line.substr(space + 1, 3), &code)) {
        reply = {code, {}, {}};
      }
      return true;
    }
    const std::size_t colon = line.find(':');
    if (colon != absl::string_view::npos &&
        absl::EqualsIgnoreCase(line.substr(0, colon), "retry-after")) {
      reply.retry_after =
          llm::ParseRetryAfter(absl::StripAsciiWhitespace(line.substr(colon + 1)), absl::Now());
    }
    return true;
  }

  bool Body(absl::string_view bytes) {
    if (reply.code < 200 || reply.code >= 300) {
      const std::size_t room = kMostErrorBytes - reply.body.size();
      reply.body.append(bytes.data(), std::min(room, bytes.size()));
      enough = bytes.size() > room;
      return !enough;
    }
    if (request.on_bytes) {
      status = request.on_bytes(bytes);
      return status.ok();
    }
    if (bytes.size() > request.most_bytes - reply.body.size()) {
      status = absl::DataLossError(absl::StrCat("the answer is longer than ", request.most_bytes,
                                                " bytes; ask for less at a time"));
      return false;
    }
    reply.body.append(bytes.data(), bytes.size());
    return true;
  }

  const Request& request;
  CURL* const easy;
  curl_slist* headers = nullptr;
  std::array<char, CURL_ERROR_SIZE> error{};
  Reply reply;
  absl::Status status;
  std::size_t header_bytes = 0;
  bool enough = false;  // of an error's body
};

void Prepare(Transfer& transfer, const Options& options, const llm::Secret& token) {
  CURL* const easy = transfer.easy;
  const Request& request = transfer.request;
  const auto add = [&](const std::string& header) {
    transfer.headers = curl_slist_append(transfer.headers, header.c_str());
  };
  add("Accept: application/json");
  add("Expect:");
  if (!token.empty()) add(absl::StrCat("Authorization: ", options.scheme, " ", token.Reveal()));
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (!request.content_type.empty()) {
    add(absl::StrCat("Content-Type: ", request.content_type));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
  }
  const std::string url = absl::StrCat(options.server, request.target);
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.headers);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "galen");
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.error.data());
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Transfer::OnHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Transfer::OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, &KeepFromChildren);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));  // NOLINT
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));  // NOLINT
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(absl::ToInt64Milliseconds(options.connect)));         // NOLINT
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));  // NOLINT
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!options.ca_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, options.ca_file.c_str());
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
  }
  if (!options.certificate_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_SSLCERT, options.certificate_file.c_str());
    curl_easy_setopt(easy, CURLOPT_SSLKEY, options.certificate_key_file.c_str());
  }
}

// Runs until the transfer ends by itself, with its result, or has to.
absl::StatusOr<CURLcode> Run(CURLM* multi, const Request& request, const Options& options) {
  for (;;) {
    int running = 0;
    curl_multi_perform(multi, &running);
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
      if (message->msg == CURLMSG_DONE) return message->data.result;
    }
    if (request.cancellation != nullptr && request.cancellation->cancelled()) {
      return absl::CancelledError("stopped by the caller");
    }
    const absl::Time now = SteadyNow();
    if (now >= request.deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("no whole answer of the ", options.what, " in time"));
    }
    absl::Duration wait = std::min(request.deadline - now, absl::Seconds(1));
    if (request.cancellation != nullptr) wait = std::min(wait, kTick);
    // Rounded up: less than a millisecond would be no wait at all.
    curl_multi_poll(multi, nullptr, 0, static_cast<int>(absl::ToInt64Milliseconds(wait)) + 1,
                    nullptr);
  }
}

}  // namespace

struct CurlTransport::Connections {
  Connections() : multi(curl_multi_init()) { curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 1L); }
  ~Connections() { curl_multi_cleanup(multi); }
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  CURLM* const multi;
};

CurlTransport::CurlTransport(const Options& options) : options_(options) {}

CurlTransport::~CurlTransport() = default;

absl::StatusOr<Reply> CurlTransport::Send(const Request& request, const llm::Secret& token) {
  static const bool initialized = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  if (!initialized) return absl::InternalError("libcurl does not start");
  std::unique_ptr<Connections> connections;
  {
    MutexLock lock(mu_);
    if (!idle_.empty()) {
      connections = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (connections == nullptr) connections = std::make_unique<Connections>();
  Transfer transfer(request);
  if (connections->multi == nullptr || transfer.easy == nullptr) {
    return absl::InternalError("libcurl does not start");
  }
  Prepare(transfer, options_, token);
  curl_multi_add_handle(connections->multi, transfer.easy);
  const absl::StatusOr<CURLcode> code = Run(connections->multi, request, options_);
  curl_multi_remove_handle(connections->multi, transfer.easy);
  {
    MutexLock lock(mu_);
    if (idle_.size() < kMostIdle) idle_.push_back(std::move(connections));
  }
  if (!code.ok()) return code.status();
  if (!transfer.status.ok()) return transfer.status;
  if (*code != CURLE_OK && !transfer.enough) {
    return StatusOf(*code, transfer.error.data(), options_);
  }
  return std::move(transfer.reply);
}

}  // namespace galen::http
