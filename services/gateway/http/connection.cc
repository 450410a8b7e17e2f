#include "services/gateway/http/connection.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/gateway/http/outbox.h"

namespace galen::gateway::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using tcp = asio::ip::tcp;

constexpr std::size_t kReadAhead = 4 << 10;
constexpr std::size_t kReadBuffer = 64 << 10;
constexpr std::size_t kWriteSlice = 64 << 10;
constexpr std::size_t kLingerBytes = 1 << 20;
constexpr absl::Duration kLinger = absl::Seconds(2);
constexpr absl::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

absl::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

// Everything but what other threads call runs on the strand of the socket. There is at most one
// read and one write under way.
template <typename Stream>
class Connection final : public Closable,
                         public Wire,
                         public std::enable_shared_from_this<Connection<Stream>> {
  static constexpr bool kTls = !std::is_same_v<Stream, tcp::socket>;

 public:
  Connection(std::shared_ptr<asio::io_context> io, Stream stream,
             std::shared_ptr<asio::ssl::context> tls, std::shared_ptr<Shared> shared)
      : io_(std::move(io)),
        tls_(std::move(tls)),
        stream_(std::move(stream)),
        shared_(std::move(shared)),
        read_timer_(stream_.get_executor()),
        write_timer_(stream_.get_executor()) {}
  ~Connection() override { shared_->Leave(id_); }

  void Start() {
    id_ = shared_->Enter(this->shared_from_this());
    if (id_ == 0) return;
    OnStrand([this] {
      error_code ignored;
      const auto peer = Socket().remote_endpoint(ignored);
      peer_ = ignored ? "" : peer.address().to_string();
      Socket().set_option(tcp::no_delay(true), ignored);
      shared_->Waiting(id_);
      if constexpr (kTls) {
        Limit(read_timer_, shared_->options.header_timeout);
        stream_.async_handshake(asio::ssl::stream_base::server,
                                [self = this->shared_from_this()](const error_code& error) {
                                  if (error) return self->Shut();
                                  self->AwaitRequest();
                                });
      } else {
        AwaitRequest();
      }
    });
  }

  // From any thread.
  void Close() override {
    OnStrand([this] { Shut(); });
  }
  void Drain() override {
    OnStrand([this] {
      if (state_ == State::kIdle) Shut();
    });
  }
  void Flush() override {
    if (closed_.load(std::memory_order_acquire)) return;
    OnStrand([this] { SendNext(); });
  }

 private:
  enum class State { kIdle, kReading, kAnswering, kLingering, kClosed };
  using Parser = beast::http::request_parser<beast::http::string_body>;

  tcp::socket& Socket() {
    if constexpr (kTls) {
      return stream_.next_layer();
    } else {
      return stream_;
    }
  }
  template <typename Work>
  void OnStrand(Work work) {
    asio::post(stream_.get_executor(),
               [self = this->shared_from_this(), work = std::move(work)]() mutable { work(); });
  }

  // ---- time
  void Limit(asio::steady_timer& timer, absl::Duration limit) {
    timer.expires_after(absl::ToChronoNanoseconds(limit));
    timer.async_wait([self = this->shared_from_this(), &timer](const error_code& error) {
      // It may have been put off when this was on its way already.
      if (error || timer.expiry() > std::chrono::steady_clock::now()) return;
      if (self->state_ == State::kReading || &timer == &self->write_timer_) {
        self->shared_->timed_out.fetch_add(1, std::memory_order_relaxed);
      }
      self->Shut();
    });
  }
  static void NoLimit(asio::steady_timer& timer) {
    timer.expires_at(std::chrono::steady_clock::time_point::max());
  }

  // ---- the next request
  void AwaitRequest() {
    if (state_ == State::kClosed) return;
    state_ = State::kIdle;
    if (shared_->draining()) return Shut();
    shared_->Waiting(id_);
    if (buffer_.size() > 0) return ReadHead();
    Limit(read_timer_, shared_->options.idle_timeout);
    ReadAhead();
  }

  // Waits for the first bytes of a request; while one is answered this also tells that the client
  // has hung up.
  void ReadAhead() {
    if (reading_ || buffer_.size() > 0) return;
    buffer_.shrink_to_fit();  // who waits, waits with little
    reading_ = true;
    stream_.async_read_some(
        buffer_.prepare(kReadAhead),
        [self = this->shared_from_this()](const error_code& error, std::size_t bytes) {
          self->reading_ = false;
          if (self->state_ == State::kClosed) return;
          if (error) return self->Shut();
          if (self->state_ == State::kLingering) return self->Discard();
          self->buffer_.commit(bytes);
          if (self->state_ == State::kIdle) self->ReadHead();
        });
  }

  void ReadHead() {
    state_ = State::kReading;
    // Who has waited long for its next request has not been slow with it.
    shared_->Working(id_);
    shared_->Waiting(id_);
    Limit(read_timer_, shared_->options.header_timeout);
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(shared_->options.max_header_bytes));
    parser_->body_limit(shared_->options.max_body_bytes);
    reading_ = true;
    beast::http::async_read_header(
        stream_, buffer_, *parser_,
        [self = this->shared_from_this()](const error_code& error, std::size_t) {
          self->reading_ = false;
          if (self->state_ == State::kClosed) return;
          if (error) return self->RefuseRead(error);
          self->OnHead();
        });
  }

  void OnHead() {
    const auto& head = parser_->get();
    if (head.version() != 11 && head.version() != 10) {
      return Refuse(400, "only HTTP/1.1 and HTTP/1.0 are spoken");
    }
    if (head.version() == 11 && head.count(beast::http::field::host) != 1) {
      return Refuse(400, "the request must have one Host field");
    }
    Limit(read_timer_, shared_->options.body_timeout);
    parser_->eager(true);
    if (parser_->is_done() ||
        !absl::EqualsIgnoreCase(View(head[beast::http::field::expect]), "100-continue")) {
      return ReadBody();
    }
    asio::async_write(stream_, asio::buffer(kContinue.data(), kContinue.size()),
                      [self = this->shared_from_this()](const error_code& error, std::size_t) {
                        if (self->state_ == State::kClosed) return;
                        if (error) return self->Shut();
                        self->ReadBody();
                      });
  }

  void ReadBody() {
    const std::size_t bytes = parser_->get().body().size();
    if (!shared_->TakeBody(bytes - body_bytes_)) {
      return Refuse(503, "too many requests are being read: try again");
    }
    body_bytes_ = bytes;
    if (parser_->is_done()) return Handle();
    reading_ = true;
    beast::http::async_read_some(
        stream_, buffer_, *parser_,
        [self = this->shared_from_this()](const error_code& error, std::size_t) {
          self->reading_ = false;
          if (self->state_ == State::kClosed) return;
          if (error) return self->RefuseRead(error);
          self->ReadBody();
        });
  }

  void Handle() {
    NoLimit(read_timer_);
    shared_->Working(id_);
    Parser::value_type message = parser_->release();
    parser_.reset();
    GiveBody();
    Request request;
    request.method = std::string(View(message.method_string()));
    request.target = std::string(View(message.target()));
    for (const auto& field : message) {
      request.headers.Add(View(field.name_string()), View(field.value()));
    }
    request.body = std::move(message.body());
    request.peer = peer_;
    AnswerForm form;
    form.head = request.method == "HEAD";
    form.http_1_0 = message.version() == 10;
    form.keep_alive = message.keep_alive();
    form.gzip = AcceptsGzip(request.headers.Get("Accept-Encoding"));
    state_ = State::kAnswering;
    outbox_ = std::make_shared<Outbox>(shared_->options.max_stream_bytes);
    ReadAhead();
    shared_->handler.Handle(std::move(request),
                            MakeExchange(form, shared_, outbox_, this->shared_from_this()));
  }

  // ---- what is refused before any handler sees it
  void RefuseRead(const error_code& error) {
    using Fault = beast::http::error;
    const auto is = [&error](Fault fault) { return error == make_error_code(fault); };
    if (is(Fault::header_limit) || is(Fault::buffer_overflow)) {
      return Refuse(431, absl::StrCat("the head of a request has at most ",
                                      shared_->options.max_header_bytes, " bytes"));
    }
    if (is(Fault::body_limit)) {
      return Refuse(413, absl::StrCat("the body of a request has at most ",
                                      shared_->options.max_body_bytes, " bytes"));
    }
    const bool spoken = error.category() == make_error_code(Fault::end_of_stream).category();
    if (!spoken || is(Fault::end_of_stream) || is(Fault::partial_message)) return Shut();
    Refuse(400, absl::StrCat("not HTTP: ", error.message()));
  }

  void Refuse(int status, const std::string& why) {
    shared_->refused.fetch_add(1, std::memory_order_relaxed);
    NoLimit(read_timer_);
    GiveBody();
    parser_.reset();
    state_ = State::kAnswering;
    outbox_ = std::make_shared<Outbox>(shared_->options.max_stream_bytes);
    outbox_->BeginAnswer(WholeAnswer(shared_->handler.Refuse(status, why), AnswerForm(),
                                     shared_->options.gzip_from_bytes),
                         /*ended=*/true, /*keep_alive=*/false);
    SendNext();
  }

  void GiveBody() { shared_->GiveBody(std::exchange(body_bytes_, 0)); }

  // ---- the answer
  void SendNext() {
    if (state_ != State::kAnswering || writing_) return;
    Outbox::Next next = outbox_->TakeNext();
    switch (next.what) {
      case Outbox::Next::kNothing:
        return;
      case Outbox::Next::kBroken:
        return Shut();
      case Outbox::Next::kFinished:
        outbox_.reset();
        if (!next.keep_alive) return Linger();
        return AwaitRequest();
      case Outbox::Next::kSend:
        sending_ = std::move(next.bytes);
        sent_ = 0;
        writing_ = true;
        return SendSlice();
    }
  }

  void SendSlice() {
    if (sent_ == sending_.size()) {
      NoLimit(write_timer_);
      writing_ = false;
      outbox_->Sent(std::exchange(sent_, 0));
      sending_ = std::string();
      // Whoever waits for room may end the answer, or the connection.
      const std::shared_ptr<Outbox> outbox = outbox_;
      outbox->TellRoom();
      return SendNext();
    }
    Limit(write_timer_, shared_->options.write_timeout);
    asio::async_write(
        stream_,
        asio::buffer(sending_.data() + sent_, std::min(sending_.size() - sent_, kWriteSlice)),
        [self = this->shared_from_this()](const error_code& error, std::size_t bytes) {
          if (self->state_ == State::kClosed) return;
          if (error) return self->Shut();
          self->sent_ += bytes;
          self->SendSlice();
        });
  }

  // ---- the end
  // To close while the client still sends would reset the connection, and the client might never
  // read our answer: takes what comes for a moment, and throws it away.
  void Linger() {
    state_ = State::kLingering;
    Limit(read_timer_, kLinger);
    if constexpr (kTls) {
      // Reads and writes until both sides have said goodbye.
      if (reading_) return Shut();
      stream_.async_shutdown(
          [self = this->shared_from_this()](const error_code&) { self->Shut(); });
    } else {
      error_code ignored;
      Socket().shutdown(tcp::socket::shutdown_send, ignored);
      Discard();
    }
  }
  void Discard() {
    if (state_ == State::kClosed || reading_) return;  // goes on from there
    buffer_.clear();
    reading_ = true;
    stream_.async_read_some(
        buffer_.prepare(kReadAhead),
        [self = this->shared_from_this()](const error_code& error, std::size_t bytes) {
          self->reading_ = false;
          self->discarded_ += bytes;
          if (error || self->discarded_ > kLingerBytes) return self->Shut();
          self->Discard();
        });
  }

  void Shut() {
    if (state_ == State::kClosed) return;
    state_ = State::kClosed;
    closed_.store(true, std::memory_order_release);
    NoLimit(read_timer_);
    NoLimit(write_timer_);
    error_code ignored;
    Socket().close(ignored);
    GiveBody();
    shared_->Leave(id_);
    if (const std::shared_ptr<Outbox> outbox = std::exchange(outbox_, nullptr)) outbox->TellGone();
  }

  const std::shared_ptr<asio::io_context> io_;  // for those who hold us longer than the server
  const std::shared_ptr<asio::ssl::context> tls_;
  Stream stream_;
  const std::shared_ptr<Shared> shared_;
  asio::steady_timer read_timer_;
  asio::steady_timer write_timer_;
  std::int64_t id_ = 0;
  std::string peer_;
  std::atomic<bool> closed_ = false;
  State state_ = State::kIdle;
  beast::flat_buffer buffer_{kReadBuffer};
  std::optional<Parser> parser_;
  std::size_t body_bytes_ = 0;  // of the request that is being read
  bool reading_ = false;
  bool writing_ = false;
  std::shared_ptr<Outbox> outbox_;
  std::string sending_;
  std::size_t sent_ = 0;
  std::size_t discarded_ = 0;
};

}  // namespace

void ServeConnection(std::shared_ptr<asio::io_context> io, tcp::socket socket,
                     const std::shared_ptr<Shared>& shared,
                     std::shared_ptr<asio::ssl::context> tls) {
  if (tls == nullptr) {
    std::make_shared<Connection<tcp::socket>>(std::move(io), std::move(socket), nullptr, shared)
        ->Start();
    return;
  }
  asio::ssl::stream<tcp::socket> stream(std::move(socket), *tls);
  std::make_shared<Connection<asio::ssl::stream<tcp::socket>>>(std::move(io), std::move(stream),
                                                               std::move(tls), shared)
      ->Start();
}

}  // namespace galen::gateway::http
