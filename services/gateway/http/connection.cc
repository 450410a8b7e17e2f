#include "services/gateway/http/connection.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "services/gateway/http/parsed_request.h"
#include "services/gateway/http/response_writer.h"

namespace galen::gateway::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using tcp = asio::ip::tcp;

constexpr std::size_t kReadAhead = 4 << 10;
constexpr std::size_t kReadBuffer = 64 << 10;
constexpr std::size_t kWriteSlice = 64 << 10;
constexpr std::size_t kPiece = 64 << 10;
constexpr std::size_t kLingerBytes = 1 << 20;
constexpr absl::Duration kLinger = absl::Seconds(2);
constexpr absl::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// Everything runs on the strand of the socket, except what other threads call. At most one read and
// one write are in flight.
template <typename Stream>
class Connection final : public Closable,
                         public ConnectionSink,
                         public BodyPieces,
                         public std::enable_shared_from_this<Connection<Stream>> {
  static constexpr bool kTls = !std::is_same_v<Stream, tcp::socket>;

 public:
  Connection(std::shared_ptr<asio::io_context> io, Stream stream,
             std::shared_ptr<asio::ssl::context> tls, std::shared_ptr<ConnectionRegistry> registry)
      : io_(std::move(io)),
        tls_(std::move(tls)),
        stream_(std::move(stream)),
        registry_(std::move(registry)),
        read_timer_(stream_.get_executor()),
        write_timer_(stream_.get_executor()) {}
  ~Connection() override { registry_->Leave(id_); }

  void Start() {
    id_ = registry_->Enter(this->shared_from_this());
    if (id_ == 0) return;
    OnStrand([this] {
      error_code ignored;
      const auto peer = Socket().remote_endpoint(ignored);
      peer_ = ignored ? "" : peer.address().to_string();
      Socket().set_option(tcp::no_delay(true), ignored);
      registry_->Waiting(id_);
      if constexpr (kTls) {
        Limit(read_timer_, registry_->options.header_timeout);
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
  void Read(absl::AnyInvocable<void(absl::StatusOr<std::string>) &&> take) override {
    OnStrand([this, take = std::move(take)]() mutable { NextPiece(std::move(take)); });
  }

 private:
  enum class State { kIdle, kReading, kAnswering, kLingering, kClosed };
  using Parser = beast::http::request_parser<beast::http::string_body>;
  using PieceParser = beast::http::request_parser<beast::http::buffer_body>;
  using Take = absl::AnyInvocable<void(absl::StatusOr<std::string>) &&>;

  tcp::socket& Socket() { return beast::get_lowest_layer(stream_); }
  template <typename Work>
  void OnStrand(Work work) {
    asio::post(stream_.get_executor(),
               [self = this->shared_from_this(), work = std::move(work)]() mutable { work(); });
  }

  // The callback of a read: `then` gets its result, unless the connection was closed meanwhile.
  template <typename Then>
  auto AfterRead(Then then) {
    reading_ = true;
    return [self = this->shared_from_this(), then](const error_code& error, std::size_t bytes) {
      self->reading_ = false;
      if (self->state_ != State::kClosed) then(error, bytes);
    };
  }

  // ---- time
  void Limit(asio::steady_timer& timer, absl::Duration limit) {
    timer.expires_after(absl::ToChronoNanoseconds(limit));
    timer.async_wait([self = this->shared_from_this(), &timer](const error_code& error) {
      // It may have been postponed after this was queued.
      if (error || timer.expiry() > std::chrono::steady_clock::now()) return;
      if (self->state_ == State::kReading || self->take_ || &timer == &self->write_timer_) {
        self->registry_->timed_out.fetch_add(1, std::memory_order_relaxed);
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
    if (registry_->draining()) return Shut();
    registry_->Waiting(id_);
    if (buffer_.size() > 0) return ReadHead();
    Limit(read_timer_, registry_->options.idle_timeout);
    ReadAhead();
  }

  // Waits for the first bytes of a request; while one is answered, also detects that the client has
  // hung up.
  void ReadAhead() {
    if (reading_ || buffer_.size() > 0) return;
    buffer_.shrink_to_fit();  // a waiting connection holds little memory
    stream_.async_read_some(buffer_.prepare(kReadAhead),
                            AfterRead([this](const error_code& error, std::size_t bytes) {
                              if (error) return Shut();
                              if (state_ == State::kLingering) return Discard();
                              buffer_.commit(bytes);
                              if (state_ == State::kIdle) ReadHead();
                            }));
  }

  void ReadHead() {
    state_ = State::kReading;
    // The wait for the next request does not count as slow reading.
    registry_->Working(id_);
    registry_->Waiting(id_);
    Limit(read_timer_, registry_->options.header_timeout);
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(registry_->options.max_header_bytes));
    parser_->body_limit(boost::none);  // that depends on the head
    beast::http::async_read_header(stream_, buffer_, *parser_,
                                   AfterRead([this](const error_code& error, std::size_t) {
                                     if (error) return RefuseRead(error);
                                     OnHead();
                                   }));
  }

  void OnHead() {
    absl::StatusOr<ParsedHead> head = ParseHead(parser_->get());
    if (!head.ok()) return Refuse(400, std::string(head.status().message()));
    request_ = std::move(head->request);
    request_.peer = peer_;
    form_ = head->form;
    form_.tls = kTls;
    form_.keep_alive = parser_->keep_alive();
    continue_ = head->awaits_continue;
    const std::optional<BodyRules> rules =
        parser_->is_done() ? std::nullopt : registry_->handler.TakesPieces(request_);
    payer_.clear();
    most_body_ = rules ? rules->max_bytes : registry_->options.max_body_bytes;
    if (!rules && !parser_->is_done()) {
      // Identifies the client before any of the body is held: unknown clients share little memory.
      HeadVerdict verdict = registry_->handler.LookAtHead(request_);
      if (verdict.refusal) return RefuseWith(*std::move(verdict.refusal));
      payer_ = std::move(verdict.payer);
      most_body_ = std::min<std::uint64_t>(most_body_, verdict.most_body);
    }
    if (const auto length = parser_->content_length(); length && *length > most_body_) {
      return RefuseRead(make_error_code(beast::http::error::body_limit));
    }
    parser_->body_limit(most_body_);
    if (rules) return HandlePieces(*rules);
    Limit(read_timer_, payer_.empty() ? std::min(registry_->options.unknown_body_timeout,
                                                 registry_->options.body_timeout)
                                      : registry_->options.body_timeout);
    parser_->eager(true);
    if (parser_->is_done() || !std::exchange(continue_, false)) return ReadBody();
    SendContinue([this] { ReadBody(); });
  }

  template <typename Then>
  void SendContinue(Then then) {
    writing_ = true;
    asio::async_write(
        stream_, asio::buffer(kContinue.data(), kContinue.size()),
        [self = this->shared_from_this(), then](const error_code& error, std::size_t) {
          self->writing_ = false;
          if (self->state_ == State::kClosed) return;
          if (error) return self->Shut();
          then();
        });
  }

  void ReadBody() {
    const std::size_t bytes = parser_->get().body().size();
    if (!registry_->TakeBody(payer_, bytes - body_bytes_)) {
      return Refuse(503, "too many requests are being read: try again");
    }
    body_bytes_ = bytes;
    if (parser_->is_done()) return Handle();
    beast::http::async_read_some(stream_, buffer_, *parser_,
                                 AfterRead([this](const error_code& error, std::size_t) {
                                   if (error) return RefuseRead(error);
                                   ReadBody();
                                 }));
  }

  void Handle() {
    NoLimit(read_timer_);
    registry_->Working(id_);
    request_.body = std::move(parser_->get().body());
    parser_.reset();
    GiveBody();
    Answer();
    ReadAhead();
    Hand();
  }

  void Answer() {
    state_ = State::kAnswering;
    writer_ = std::make_shared<ResponseWriter>(registry_->options.max_stream_bytes);
  }
  void Hand() {
    registry_->handler.Handle(std::exchange(request_, Request()),
                              MakeExchange(form_, registry_, writer_, this->shared_from_this()));
  }

  // ---- a body that is taken in pieces, while the request is being answered
  void HandlePieces(const BodyRules& rules) {
    NoLimit(read_timer_);
    registry_->Working(id_);
    pieces_.emplace(std::move(*parser_));
    parser_.reset();
    pieces_until_ = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(rules.timeout);
    // The unread rest of the body would precede the next request.
    form_.keep_alive = false;
    request_.pieces = std::shared_ptr<BodyPieces>(this->shared_from_this());
    Answer();
    Hand();
  }

  void NextPiece(Take take) {
    if (state_ != State::kAnswering) return std::move(take)(absl::CancelledError("too late"));
    if (!pieces_) return std::move(take)(std::string());
    take_ = std::move(take);
    registry_->Waiting(id_);
    const auto left = pieces_until_ - std::chrono::steady_clock::now();
    Limit(read_timer_, std::min(registry_->options.body_timeout, absl::FromChrono(left)));
    if (!std::exchange(continue_, false) || writing_ || writer_->begun()) return ReadPiece();
    SendContinue([this] {
      SendNext();
      ReadPiece();
    });
  }

  void ReadPiece() {
    if (reading_ || !pieces_) return;
    piece_.resize(kPiece);
    pieces_->get().body().data = piece_.data();
    pieces_->get().body().size = piece_.size();
    beast::http::async_read_some(
        stream_, buffer_, *pieces_, AfterRead([this](const error_code& error, std::size_t) {
          if (state_ == State::kLingering) return Discard();
          const bool full = error == make_error_code(beast::http::error::need_buffer);
          OnPiece(full ? error_code() : error);
        }));
  }

  void OnPiece(const error_code& error) {
    if (error && ConnectionEnded(error)) return Shut();
    if (error) return Give(PieceFault(error, most_body_));
    piece_.resize(piece_.size() - pieces_->get().body().size);
    const bool over = pieces_->is_done();
    if (piece_.empty() && !over) return ReadPiece();
    if (over) pieces_.reset();
    Give(std::exchange(piece_, std::string()));
    // From now on reading detects whether the client hangs up.
    if (over && state_ == State::kAnswering) ReadAhead();
  }

  void Give(absl::StatusOr<std::string> piece) {
    NoLimit(read_timer_);
    registry_->Working(id_);
    Take take = std::exchange(take_, nullptr);
    if (take) std::move(take)(std::move(piece));
  }

  // ---- requests that are refused before any handler sees them
  void RefuseRead(const error_code& error) {
    if (ConnectionEnded(error)) return Shut();
    const ReadRefusal refusal = RefusalOf(error, registry_->options.max_header_bytes, most_body_);
    Refuse(refusal.status, refusal.why);
  }

  void Refuse(int status, const std::string& why) {
    RefuseWith(registry_->handler.Refuse(status, why));
  }
  void RefuseWith(Response response) {
    registry_->refused.fetch_add(1, std::memory_order_relaxed);
    NoLimit(read_timer_);
    GiveBody();
    parser_.reset();
    Answer();
    writer_->BeginAnswer(
        WholeAnswer(std::move(response), AnswerForm(), registry_->options.gzip_from_bytes),
        /*ended=*/true, /*keep_alive=*/false);
    SendNext();
  }

  void GiveBody() { registry_->GiveBody(payer_, std::exchange(body_bytes_, 0)); }

  // ---- the answer
  void SendNext() {
    if (state_ != State::kAnswering || writing_) return;
    ResponseWriter::Next next = writer_->TakeNext();
    switch (next.what) {
      case ResponseWriter::Next::kNothing:
        return;
      case ResponseWriter::Next::kBroken:
        return Shut();
      case ResponseWriter::Next::kFinished:
        writer_.reset();
        if (!next.keep_alive) return Linger();
        return AwaitRequest();
      case ResponseWriter::Next::kSend:
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
      writer_->Sent(std::exchange(sent_, 0));
      sending_ = std::string();
      // The callback that waits for room may end the answer, or the connection.
      const std::shared_ptr<ResponseWriter> writer = writer_;
      writer->TellRoom();
      return SendNext();
    }
    Limit(write_timer_, registry_->options.write_timeout);
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
  // Closing while the client still sends would reset the connection, and the client might never
  // read our answer: reads what arrives for a moment, and discards it.
  void Linger() {
    state_ = State::kLingering;
    Limit(read_timer_, kLinger);
    if constexpr (kTls) {
      // Reads and writes until both sides have closed the TLS session.
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
    stream_.async_read_some(buffer_.prepare(kReadAhead),
                            AfterRead([this](const error_code& error, std::size_t bytes) {
                              discarded_ += bytes;
                              if (error || discarded_ > kLingerBytes) return Shut();
                              Discard();
                            }));
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
    registry_->Leave(id_);
    if (Take take = std::exchange(take_, nullptr)) {
      std::move(take)(absl::CancelledError("the client is gone, or was too slow"));
    }
    if (const std::shared_ptr<ResponseWriter> writer = std::exchange(writer_, nullptr))
      writer->TellGone();
  }

  const std::shared_ptr<asio::io_context> io_;  // for owners that outlive the server
  const std::shared_ptr<asio::ssl::context> tls_;
  Stream stream_;
  const std::shared_ptr<ConnectionRegistry> registry_;
  asio::steady_timer read_timer_;
  asio::steady_timer write_timer_;
  std::int64_t id_ = 0;
  std::string peer_;
  std::atomic<bool> closed_ = false;
  State state_ = State::kIdle;
  beast::flat_buffer buffer_{kReadBuffer};
  std::optional<Parser> parser_;
  std::size_t body_bytes_ = 0;  // of the request that is being read
  std::uint64_t most_body_ = 0;
  std::string payer_;  // of that body
  Request request_;    // until it is handed on
  AnswerForm form_;
  bool continue_ = false;              // the client waits for "100 Continue"
  std::optional<PieceParser> pieces_;  // until the end of its body
  std::chrono::steady_clock::time_point pieces_until_;
  std::string piece_;
  Take take_;  // waits for a piece
  bool reading_ = false;
  bool writing_ = false;
  std::shared_ptr<ResponseWriter> writer_;
  std::string sending_;
  std::size_t sent_ = 0;
  std::size_t discarded_ = 0;
};

}  // namespace

void ServeConnection(std::shared_ptr<asio::io_context> io, tcp::socket socket,
                     const std::shared_ptr<ConnectionRegistry>& registry,
                     std::shared_ptr<asio::ssl::context> tls) {
  if (tls == nullptr) {
    std::make_shared<Connection<tcp::socket>>(std::move(io), std::move(socket), nullptr, registry)
        ->Start();
    return;
  }
  asio::ssl::stream<tcp::socket> stream(std::move(socket), *tls);
  std::make_shared<Connection<asio::ssl::stream<tcp::socket>>>(std::move(io), std::move(stream),
                                                               std::move(tls), registry)
      ->Start();
}

}  // namespace galen::gateway::http
