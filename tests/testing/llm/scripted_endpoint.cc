#include "tests/testing/llm/scripted_endpoint.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace galen::testing {
namespace {

using Json = nlohmann::ordered_json;

void Demand(bool holds, const char* what) {
  if (holds) return;
  std::perror(what);
  std::abort();
}

}  // namespace

struct ScriptedEndpoint::Context {
  ~Context() { SSL_CTX_free(tls); }
  SSL_CTX* tls = nullptr;  // null: plain
};

// A connection, with TLS or without.
class ScriptedEndpoint::Stream {
 public:
  Stream(int socket, int stop, SSL_CTX* tls) : socket_(socket), stop_(stop) {
    if (tls == nullptr) return;
    ssl_ = SSL_new(tls);
    SSL_set_fd(ssl_, socket);
  }
  ~Stream() {
    SSL_free(ssl_);
    close(socket_);
  }

  // Waits for something to read; false when the endpoint stops.
  bool Wait() const {
    if (ssl_ != nullptr && SSL_pending(ssl_) > 0) return true;
    pollfd wanted[] = {{socket_, POLLIN, 0}, {stop_, POLLIN, 0}};
    while (poll(wanted, 2, -1) < 0) {
    }
    return wanted[1].revents == 0;
  }

  bool Handshake() { return ssl_ == nullptr || (Wait() && SSL_accept(ssl_) == 1); }

  // Appends what comes; false when nothing more does.
  bool Read(std::string& buffer) {
    if (!Wait()) return false;
    char bytes[16384];
    const auto size = ssl_ != nullptr ? static_cast<ssize_t>(SSL_read(ssl_, bytes, sizeof(bytes)))
                                      : recv(socket_, bytes, sizeof(bytes), 0);
    if (size <= 0) return false;
    buffer.append(bytes, static_cast<std::size_t>(size));
    return true;
  }

  bool Write(absl::string_view bytes) {
    while (!bytes.empty()) {
      const auto size = ssl_ != nullptr
                            ? static_cast<ssize_t>(SSL_write(
                                  ssl_, bytes.data(),
                                  static_cast<int>(std::min<std::size_t>(bytes.size(), 65536))))
                            : send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (size <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(size));
    }
    return true;
  }

  void Reset() const {
    const linger now{1, 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  }

 private:
  const int socket_;
  const int stop_;
  SSL* ssl_ = nullptr;
};

ScriptedEndpoint::ScriptedEndpoint(Script script)
    : context_(std::make_unique<Context>()), script_(std::move(script)) {
  Listen();
}

ScriptedEndpoint::ScriptedEndpoint(std::vector<Scripted> replies)
    : ScriptedEndpoint([replies = std::move(replies)](const Recorded& request) {
        const auto number = static_cast<std::size_t>(request.number);
        return replies[std::min(number, replies.size() - 1)];
      }) {}

ScriptedEndpoint::ScriptedEndpoint(Script script, const Certificate& certificate)
    : context_(std::make_unique<Context>()), script_(std::move(script)) {
  // OpenSSL may write to a client that has disconnected.
  std::signal(SIGPIPE, SIG_IGN);
  context_->tls = SSL_CTX_new(TLS_server_method());
  BIO* const chain = BIO_new_mem_buf(certificate.certificate.data(), -1);
  X509* const x509 = PEM_read_bio_X509(chain, nullptr, nullptr, nullptr);
  Demand(SSL_CTX_use_certificate(context_->tls, x509) == 1, "certificate");
  BIO* const key = BIO_new_mem_buf(certificate.key.data(), -1);
  EVP_PKEY* const private_key = PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr);
  Demand(SSL_CTX_use_PrivateKey(context_->tls, private_key) == 1, "key");
  X509_free(x509);
  EVP_PKEY_free(private_key);
  BIO_free(chain);
  BIO_free(key);
  Listen();
}

ScriptedEndpoint::~ScriptedEndpoint() {
  Demand(write(stop_write_, "x", 1) == 1, "stop");
  acceptor_.join();
  for (std::thread& connection : connections_) connection.join();
  close(listener_);
  close(stop_read_);
  close(stop_write_);
}

std::string ScriptedEndpoint::url() const {
  return absl::StrCat(context_->tls == nullptr ? "http" : "https", "://127.0.0.1:", port_, "/v1");
}

std::vector<Recorded> ScriptedEndpoint::requests() const {
  const std::lock_guard<std::mutex> lock(mu_);
  return requests_;
}

void ScriptedEndpoint::WaitForRequests(std::size_t count) const {
  std::unique_lock<std::mutex> lock(mu_);
  changed_.wait(lock, [&] { return requests_.size() >= count; });
}

void ScriptedEndpoint::Listen() {
  int ends[2];
  Demand(pipe2(ends, O_CLOEXEC) == 0, "pipe2");
  stop_read_ = ends[0];
  stop_write_ = ends[1];
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Demand(listener_ >= 0, "socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Demand(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0, "bind");
  Demand(listen(listener_, 64) == 0, "listen");
  socklen_t size = sizeof(address);
  Demand(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0, "getsockname");
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

void ScriptedEndpoint::Accept() {
  for (int connection = 0;; ++connection) {
    pollfd wanted[] = {{listener_, POLLIN, 0}, {stop_read_, POLLIN, 0}};
    while (poll(wanted, 2, -1) < 0) {
    }
    if (wanted[1].revents != 0) return;
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    const std::lock_guard<std::mutex> lock(mu_);
    connections_.emplace_back([this, socket, connection] { Serve(socket, connection); });
  }
}

void ScriptedEndpoint::Serve(int socket, int connection) {
  Stream stream(socket, stop_read_, context_->tls);
  if (!stream.Handshake()) return;
  std::string buffer;
  while (ServeOne(stream, buffer, connection)) {
  }
}

bool ScriptedEndpoint::ServeOne(Stream& stream, std::string& buffer, int connection) {
  std::size_t head = std::string::npos;
  while ((head = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (!stream.Read(buffer)) return false;
  }
  Recorded request;
  request.connection = connection;
  std::vector<std::string> lines = absl::StrSplit(buffer.substr(0, head), "\r\n");
  const std::vector<std::string> words = absl::StrSplit(lines[0], ' ');
  if (words.size() != 3) return false;
  request.method = words[0];
  request.target = words[1];
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::pair<std::string, std::string> field =
        absl::StrSplit(lines[i], absl::MaxSplits(": ", 1));
    request.headers[absl::AsciiStrToLower(field.first)] = field.second;
  }
  std::size_t length = 0;
  if (const auto found = request.headers.find("content-length"); found != request.headers.end()) {
    Demand(absl::SimpleAtoi(found->second, &length), "content-length");
  }
  buffer.erase(0, head + 4);
  while (buffer.size() < length) {
    if (!stream.Read(buffer)) return false;
  }
  request.body = buffer.substr(0, length);
  buffer.erase(0, length);

  Scripted reply;
  {
    const std::lock_guard<std::mutex> lock(mu_);
    request.number = static_cast<int>(requests_.size());
    requests_.push_back(request);
    reply = script_(request);
    changed_.notify_all();
  }
  std::string text = reply.raw_head;
  if (text.empty() && !reply.no_head) {
    text = absl::StrCat("HTTP/1.1 ", reply.code, " Scripted\r\nContent-Type: ", reply.type, "\r\n");
    for (const auto& [name, value] : reply.headers)
      absl::StrAppend(&text, name, ": ", value, "\r\n");
    if (reply.chunked) {
      text += "Transfer-Encoding: chunked\r\n";
    } else if (reply.then == Scripted::Then::kClose) {
      text += "Connection: close\r\n";
    } else {
      // One that breaks off announced more than it sends.
      const std::size_t missing = reply.then == Scripted::Then::kFinish ? 0 : 1000;
      absl::StrAppend(&text, "Content-Length: ", reply.body.size() + missing, "\r\n");
    }
    text += "\r\n";
  }
  if (!reply.chunked) {
    text += reply.body;
    if (!stream.Write(text)) return false;
  } else {
    if (!stream.Write(text)) return false;
    for (const absl::string_view event : absl::StrSplit(reply.body, "\n\n", absl::SkipEmpty())) {
      if (!stream.Write(absl::StrCat(absl::Hex(event.size() + 2), "\r\n", event, "\n\n", "\r\n"))) {
        return false;
      }
    }
    if (reply.then == Scripted::Then::kFinish && !stream.Write("0\r\n\r\n")) return false;
  }
  switch (reply.then) {
    case Scripted::Then::kFinish:
      return true;
    case Scripted::Then::kReset:
      stream.Reset();
      return false;
    case Scripted::Then::kHang: {
      std::string ignored;
      while (stream.Read(ignored)) {
      }
      return false;
    }
    case Scripted::Then::kClose:
      return false;
  }
  return false;
}

namespace {

Json Usage(const Tokens& tokens) {
  return {{"prompt_tokens", tokens.prompt},
          {"completion_tokens", tokens.completion},
          {"total_tokens", tokens.prompt + tokens.completion},
          {"prompt_tokens_details", {{"cached_tokens", tokens.cached}}}};
}

std::string Event(const Json& data) { return absl::StrCat("data: ", data.dump(), "\n\n"); }

Json Chunk(const Json& choices) {
  return {{"id", "c"},
          {"object", "chat.completion.chunk"},
          {"model", "scripted"},
          {"choices", choices}};
}

Json Piece(const std::string& piece) {
  return Json::array({{{"index", 0}, {"delta", {{"content", piece}}}}});
}

}  // namespace

Scripted ChatReply(const std::string& text, const Tokens& tokens) {
  const Json body = {
      {"id", "c"},
      {"object", "chat.completion"},
      {"model", "scripted"},
      {"choices", Json::array({{{"index", 0},
                                {"message", {{"role", "assistant"}, {"content", text}}},
                                {"finish_reason", "stop"}}})},
      {"usage", Usage(tokens)}};
  Scripted reply;
  reply.body = body.dump();
  return reply;
}

Scripted StreamReply(const std::vector<std::string>& pieces, const Tokens& tokens) {
  Scripted reply;
  reply.type = "text/event-stream";
  reply.chunked = true;
  for (const std::string& piece : pieces) reply.body += Event(Chunk(Piece(piece)));
  reply.body += Event(
      Chunk(Json::array({{{"index", 0}, {"delta", Json::object()}, {"finish_reason", "stop"}}})));
  Json last = Chunk(Json::array());
  last["usage"] = Usage(tokens);
  reply.body += Event(last);
  reply.body += "data: [DONE]\n\n";
  return reply;
}

Scripted ErrorReply(int code, const std::string& message) {
  Scripted reply;
  reply.code = code;
  const Json body = {{"error", {{"message", message}, {"type", "scripted"}, {"code", code}}}};
  reply.body = body.dump();
  return reply;
}

Scripted Throttled(const std::string& retry_after) {
  Scripted reply = ErrorReply(429, "slow down");
  if (!retry_after.empty()) reply.headers.emplace_back("Retry-After", retry_after);
  return reply;
}

Scripted Hang() {
  Scripted reply;
  reply.no_head = true;
  reply.then = Scripted::Then::kHang;
  return reply;
}

Scripted ResetMidStream() {
  Scripted reply;
  reply.type = "text/event-stream";
  reply.chunked = true;
  reply.body = Event(Chunk(Piece("{\"order\": [")));
  reply.then = Scripted::Then::kReset;
  return reply;
}

Scripted HugeReply(std::size_t bytes, bool announced) {
  Scripted reply = ChatReply("~");
  reply.body.replace(reply.body.find('~'), 1, std::string(bytes, 'a'));
  if (!announced) reply.then = Scripted::Then::kClose;
  return reply;
}

Scripted NotUtf8() {
  Scripted reply = ChatReply("four bytes: ~~~~");
  const std::size_t place = reply.body.find("~~~~");
  reply.body.replace(place, 4, "\xff\xfe\x80\xc0");
  return reply;
}

Scripted EmbeddingReply(const std::vector<std::vector<float>>& vectors) {
  Json data = Json::array();
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    data.push_back({{"object", "embedding"}, {"index", i}, {"embedding", vectors[i]}});
  }
  const Json body = {{"object", "list"},
                     {"model", "scripted-embedding"},
                     {"data", data},
                     {"usage", {{"prompt_tokens", 5}, {"total_tokens", 5}}}};
  Scripted reply;
  reply.body = body.dump();
  return reply;
}

Scripted ModelsReply(const std::vector<std::string>& names) {
  Json data = Json::array();
  for (const std::string& name : names) data.push_back({{"id", name}, {"object", "model"}});
  const Json body = {{"object", "list"}, {"data", data}};
  Scripted reply;
  reply.body = body.dump();
  return reply;
}

}  // namespace galen::testing
