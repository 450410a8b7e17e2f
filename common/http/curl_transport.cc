#include "common/http/curl_transport.h"

#include <curl/curl.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/base/text.h"
#include "common/http/retry.h"

namespace galen::http {
namespace {

constexpr std::size_t kMostHeaderBytes = 64 << 10;
constexpr std::size_t kMostErrorBytes = 64 << 10;
constexpr std::size_t kMostDetail = 200;
// A cancellation has no way to wake a poll; a request checks it this often.
constexpr absl::Duration kTick = absl::Milliseconds(50);

// Programs that checks start must not inherit the connection.
int KeepFromChildren(void* /*self*/, curl_socket_t socket, curlsocktype /*purpose*/) {
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  return CURL_SOCKOPT_OK;
}

bool IsStopped(const Request& request) {
  return request.cancellation != nullptr && request.cancellation->cancelled();
}

std::string Prefix(const Options& options) {
  return options.what.empty() ? "" : absl::StrCat(options.what, " ", options.server, ": ");
}

absl::Status StatusOf(CURLcode code, absl::string_view detail, const Options& options) {
  const std::string what =
      CleanText(detail.empty() ? curl_easy_strerror(code) : detail, kMostDetail);
  const std::string server = Prefix(options);
  switch (code) {
    case CURLE_SSL_CACERT_BADFILE:
      return absl::PermissionDeniedError(
          absl::StrCat(options.ca_file, ": has no certificates of an authority: ", what));
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
      return absl::PermissionDeniedError(
          absl::StrCat(server, "the certificate is not trusted: ", what, "; look at ",
                       options.ca_file.empty() ? "the system's authorities" : options.ca_file));
    case CURLE_SSL_CERTPROBLEM:
      return absl::PermissionDeniedError(
          absl::StrCat(options.certificate_file,
                       ": is not a certificate of ours, or its key is another one: ", what));
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_HTTP2:
      return absl::DataLossError(
          absl::StrCat(server, "what answers there does not speak HTTP: ", what));
    case CURLE_OUT_OF_MEMORY:
      return absl::InternalError(what);
    default:
      return absl::UnavailableError(absl::StrCat(server, what));
  }
}

}  // namespace

// One request on its way. Stays where it is while libcurl knows it.
struct CurlTransport::Transfer {
  Transfer() : easy(curl_easy_init()) {}
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

  bool Success() const { return reply.code >= 200 && reply.code < 300; }
  // One that no second request could better.
  bool Good() const {
    return ended && status.ok() && reply.code < 500 && reply.code != 429 && reply.code != 408;
  }

  bool Header(absl::string_view line) {
    has_bytes = true;
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
    if (colon == absl::string_view::npos) return true;
    const absl::string_view name = line.substr(0, colon);
    const absl::string_view value = absl::StripAsciiWhitespace(line.substr(colon + 1));
    if (absl::EqualsIgnoreCase(name, "retry-after-ms")) {
      std::int64_t milliseconds = 0;
      if (absl::SimpleAtoi(value, &milliseconds) && milliseconds >= 0) {
        reply.retry_after = absl::Milliseconds(milliseconds);
      }
    } else if (absl::EqualsIgnoreCase(name, "retry-after") && !reply.retry_after.has_value()) {
      reply.retry_after = ParseRetryAfter(value, absl::Now());
    } else if (absl::EqualsIgnoreCase(name, "content-length") && Success()) {
      std::uint64_t length = 0;
      if (absl::SimpleAtoi(value, &length) && length > request->most_bytes) return TooLarge();
    }
    return true;
  }

  bool Body(absl::string_view bytes) {
    if (!Success()) {
      const std::size_t room = kMostErrorBytes - reply.body.size();
      reply.body.append(bytes.data(), std::min(room, bytes.size()));
      cut_off = bytes.size() > room;
      return !cut_off;
    }
    body_bytes += bytes.size();
    if (body_bytes > request->most_bytes) return TooLarge();
    if (request->on_bytes) {
      status = request->on_bytes(bytes);
      return status.ok();
    }
    reply.body.append(bytes.data(), bytes.size());
    return true;
  }

  bool TooLarge() {
    status = absl::DataLossError(absl::StrCat("the answer is longer than ", request->most_bytes,
                                              " bytes; ask for less at a time"));
    return false;
  }

  // Whether a byte of it may have left this machine.
  bool MayHaveArrived() const {
    switch (result) {
      case CURLE_COULDNT_RESOLVE_HOST:
      case CURLE_COULDNT_RESOLVE_PROXY:
      case CURLE_COULDNT_CONNECT:
      case CURLE_SSL_CONNECT_ERROR:
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_URL_MALFORMAT:
      case CURLE_UNSUPPORTED_PROTOCOL:
        return false;
      default: {
        curl_off_t began = 0;
        return curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &began) != CURLE_OK ||
               began > 0;
      }
    }
  }

  void End(CURLcode code, const Options& options) {
    ended = true;
    result = code;
    if (!status.ok() || code == CURLE_OK || cut_off) return;
    long refused = 0;  // NOLINT(google-runtime-int): libcurl's type
    if (curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &refused) == CURLE_OK &&
        refused >= 300) {
      status = absl::UnavailableError(
          absl::StrCat(Prefix(options), "the proxy refuses the connection: ", refused));
      return;
    }
    status = StatusOf(code, error.data(), options);
  }

  CURL* const easy;
  curl_slist* headers = nullptr;
  std::array<char, CURL_ERROR_SIZE> error{};
  const Request* request = nullptr;
  Reply reply;
  absl::Status status;
  std::size_t header_bytes = 0;
  std::size_t body_bytes = 0;
  bool has_bytes = false;
  bool cut_off = false;  // of an error's body enough was read
  bool ended = false;
  CURLcode result = CURLE_OK;
};

// A place for a request and its hedge, with the sockets of the ones before.
struct CurlTransport::Connection {
  Connection() : multi(curl_multi_init()) { curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 2L); }
  ~Connection() { curl_multi_cleanup(multi); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  CURLM* const multi;
};

CurlTransport::CurlTransport(const Options& options) : options_(options) {}

CurlTransport::~CurlTransport() = default;

absl::StatusOr<std::unique_ptr<CurlTransport::Connection>> CurlTransport::Take(
    const Request& request) {
  static const bool initialized = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  if (!initialized) return absl::InternalError("libcurl does not start");
  const MutexLock lock(mu_);
  while (busy_ >= options_.most_at_once) {
    if (IsStopped(request)) return absl::CancelledError("stopped by the caller");
    const absl::Duration left = request.deadline - SteadyNow();
    if (left <= absl::ZeroDuration()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("all ", options_.most_at_once,
                       " connections are in use; raise concurrency, or the deadline"));
    }
    mu_.WaitFor(freed_, std::min(kTick, left));
  }
  ++busy_;
  if (idle_.empty()) return std::make_unique<Connection>();
  std::unique_ptr<Connection> connection = std::move(idle_.back());
  idle_.pop_back();
  return connection;
}

void CurlTransport::Return(std::unique_ptr<Connection> connection) {
  {
    const MutexLock lock(mu_);
    if (idle_.size() < options_.most_idle) idle_.push_back(std::move(connection));
    --busy_;
  }
  freed_.notify_one();
}

void CurlTransport::Prepare(Transfer& transfer, const Request& request, const Secret& key) const {
  CURL* const easy = transfer.easy;
  transfer.request = &request;
  const auto add = [&](const std::string& header) {
    transfer.headers = curl_slist_append(transfer.headers, header.c_str());
  };
  if (!request.accept.empty()) add(absl::StrCat("Accept: ", request.accept));
  add("Expect:");  // "100-continue" is answered late or never by many a server
  if (!key.empty()) add(absl::StrCat(options_.key_header, key.Reveal()));
  for (const auto& [name, value] : request.headers) add(absl::StrCat(name, ": ", value));
  if (!request.content_type.empty()) add(absl::StrCat("Content-Type: ", request.content_type));
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  const bool has_body = !request.content_type.empty() || !request.body.empty() ||
                        request.method == "POST" || request.method == "PUT" ||
                        request.method == "PATCH";
  if (has_body) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
  }
  curl_easy_setopt(easy, CURLOPT_URL, absl::StrCat(options_.server, request.target).c_str());
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
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  // A name server that does not answer must not hold a request beyond its deadline.
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(absl::ToInt64Milliseconds(options_.connect)));
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!options_.ca_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, options_.ca_file.c_str());
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
  }
  if (!options_.certificate_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_SSLCERT, options_.certificate_file.c_str());
    curl_easy_setopt(easy, CURLOPT_SSLKEY, options_.certificate_key_file.c_str());
  }
  if (options_.proxy == "none") {
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
  } else if (options_.proxy != "environment") {
    curl_easy_setopt(easy, CURLOPT_PROXY, options_.proxy.c_str());
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
  }
}

absl::StatusOr<Reply> CurlTransport::Exchange(Connection& connection, const Request& request,
                                              const Secret& key, Sent& sent) const {
  std::array<Transfer, 2> transfers;
  CURLM* const multi = connection.multi;
  std::size_t started = 0;
  const auto start = [&] {
    Transfer& transfer = transfers[started++];
    Prepare(transfer, request, key);
    curl_multi_add_handle(multi, transfer.easy);
    ++sent.requests;
  };
  const absl::Time begin = SteadyNow();
  const absl::Time hedge_at = request.hedge_after > absl::ZeroDuration() && !request.on_bytes
                                  ? begin + request.hedge_after
                                  : absl::InfiniteFuture();
  start();
  absl::Status stopped;
  for (;;) {
    int running = 0;
    curl_multi_perform(multi, &running);
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      for (Transfer& transfer : transfers) {
        if (transfer.easy == message->easy_handle) transfer.End(message->data.result, options_);
      }
    }
    const auto end = transfers.begin() + static_cast<std::ptrdiff_t>(started);
    if (std::any_of(transfers.begin(), end, [](const Transfer& t) { return t.Good(); })) break;
    if (std::all_of(transfers.begin(), end, [](const Transfer& t) { return t.ended; })) break;
    const bool has_bytes =
        std::any_of(transfers.begin(), end, [](const Transfer& t) { return t.has_bytes; });
    const absl::Time now = SteadyNow();
    if (IsStopped(request)) {
      stopped = absl::CancelledError("stopped by the caller");
      break;
    }
    if (now >= request.deadline) {
      stopped = absl::DeadlineExceededError(
          absl::StrCat(Prefix(options_), "no whole answer in ",
                       absl::FormatDuration(absl::Trunc(now - begin, absl::Milliseconds(1)))));
      break;
    }
    if (!has_bytes && now >= request.first_byte_by) {
      stopped = absl::DeadlineExceededError(
          absl::StrCat(Prefix(options_), "not a byte in ",
                       absl::FormatDuration(absl::Trunc(now - begin, absl::Milliseconds(1)))));
      break;
    }
    if (!has_bytes && started == 1 && now >= hedge_at) {
      start();
      continue;
    }
    absl::Time wake = request.deadline;
    if (!has_bytes) wake = std::min(wake, request.first_byte_by);
    if (!has_bytes && started == 1) wake = std::min(wake, hedge_at);
    absl::Duration wait = std::min(wake - now, absl::Seconds(1));
    if (request.cancellation != nullptr) wait = std::min(wait, kTick);
    // Rounded up: less than a millisecond would be no wait at all.
    curl_multi_poll(multi, nullptr, 0, static_cast<int>(absl::ToInt64Milliseconds(wait)) + 1,
                    nullptr);
  }
  for (std::size_t i = 0; i < started; ++i) {
    sent.may_have_arrived = sent.may_have_arrived || transfers[i].MayHaveArrived();
    curl_multi_remove_handle(multi, transfers[i].easy);
  }
  if (!stopped.ok()) return stopped;
  for (Transfer& transfer : transfers) {
    if (transfer.Good()) return std::move(transfer.reply);
  }
  if (!transfers[0].status.ok()) return transfers[0].status;
  return std::move(transfers[0].reply);
}

absl::StatusOr<Reply> CurlTransport::Send(const Request& request, const Secret& key) {
  Sent ignored;
  Sent& sent = request.sent != nullptr ? *request.sent : ignored;
  sent = {};
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, Take(request));
  absl::StatusOr<Reply> reply = Exchange(*connection, request, key, sent);
  Return(std::move(connection));
  return reply;
}

}  // namespace galen::http
