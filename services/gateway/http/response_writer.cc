#include "services/gateway/http/response_writer.h"

#include <utility>

namespace galen::gateway::http {

bool ResponseWriter::BeginAnswer(std::string bytes, bool ended, bool keep_alive) {
  const MutexLock lock(mu_);
  if (begun_) return false;
  begun_ = true;
  ended_ = ended;
  keep_alive_ = keep_alive;
  bytes_ += bytes.size();
  pieces_.push_back(std::move(bytes));
  return true;
}

bool ResponseWriter::Write(std::string bytes) {
  const MutexLock lock(mu_);
  if (!begun_ || ended_ || gone_ || (bytes_ > 0 && bytes_ + bytes.size() > most_)) return false;
  bytes_ += bytes.size();
  pieces_.push_back(std::move(bytes));
  return true;
}

void ResponseWriter::End(std::string bytes) {
  const MutexLock lock(mu_);
  if (!begun_ || ended_) return;
  ended_ = true;
  bytes_ += bytes.size();
  pieces_.push_back(std::move(bytes));
}

void ResponseWriter::Break() {
  const MutexLock lock(mu_);
  if (!ended_) broken_ = true;
}

bool ResponseWriter::begun() {
  const MutexLock lock(mu_);
  return begun_;
}

bool ResponseWriter::complete() {
  const MutexLock lock(mu_);
  return ended_ || gone_;
}

void ResponseWriter::OnRoom(absl::AnyInvocable<void()> room) {
  const MutexLock lock(mu_);
  room_ = std::make_shared<absl::AnyInvocable<void()>>(std::move(room));
}

void ResponseWriter::OnHangUp(absl::AnyInvocable<void()> gone) {
  {
    const MutexLock lock(mu_);
    if (!gone_) {
      hang_up_ = std::move(gone);
      return;
    }
  }
  gone();
}

ResponseWriter::Next ResponseWriter::TakeNext() {
  absl::AnyInvocable<void()> freed;  // outside the lock
  std::shared_ptr<absl::AnyInvocable<void()>> freed_room;
  const MutexLock lock(mu_);
  Next next;
  next.keep_alive = keep_alive_;
  if (broken_) {
    next.what = Next::kBroken;
  } else if (!pieces_.empty()) {
    next.what = Next::kSend;
    next.bytes = std::move(pieces_.front());
    pieces_.pop_front();
    // Small pieces travel together.
    constexpr std::size_t kTogether = 16 << 10;
    while (!pieces_.empty() && next.bytes.size() + pieces_.front().size() <= kTogether) {
      next.bytes.append(pieces_.front());
      pieces_.pop_front();
    }
  } else if (ended_) {
    next.what = Next::kFinished;
    freed = std::exchange(hang_up_, nullptr);
    freed_room = std::exchange(room_, nullptr);
  }
  return next;
}

void ResponseWriter::Sent(std::size_t bytes) {
  const MutexLock lock(mu_);
  bytes_ -= bytes;
}

void ResponseWriter::TellRoom() {
  std::shared_ptr<absl::AnyInvocable<void()>> room;
  {
    const MutexLock lock(mu_);
    if (!pieces_.empty() || ended_ || gone_) return;
    room = room_;
  }
  if (room != nullptr) (*room)();
}

void ResponseWriter::TellGone() {
  absl::AnyInvocable<void()> hang_up;
  std::shared_ptr<absl::AnyInvocable<void()>> freed;
  {
    const MutexLock lock(mu_);
    if (gone_) return;
    gone_ = true;
    freed = std::exchange(room_, nullptr);
    hang_up = std::exchange(hang_up_, nullptr);
  }
  if (hang_up) hang_up();
}

namespace {

class ResponseWriterExchange final : public Exchange {
 public:
  ResponseWriterExchange(const AnswerForm& form, std::shared_ptr<ConnectionRegistry> registry,
                         std::shared_ptr<ResponseWriter> writer,
                         std::shared_ptr<ConnectionSink> sink)
      : form_(form),
        registry_(std::move(registry)),
        writer_(std::move(writer)),
        sink_(std::move(sink)) {}
  ~ResponseWriterExchange() override {
    if (writer_->complete()) return;
    if (!writer_->begun()) Respond(registry_->handler.Refuse(500, "the request was not answered"));
    writer_->Break();  // an answer that was begun and not ended
    sink_->Flush();
  }

  void Respond(Response response) override {
    const AnswerForm form = Form(/*streamed=*/false);
    writer_->BeginAnswer(WholeAnswer(std::move(response), form, registry_->options.gzip_from_bytes),
                         /*ended=*/true, form.keep_alive);
    sink_->Flush();
  }
  void Begin(Response head) override {
    const AnswerForm form = Form(/*streamed=*/true);
    writer_->BeginAnswer(StreamHead(head, form) + BodyPiece(head.body, form), /*ended=*/false,
                         form.keep_alive);
    sink_->Flush();
  }
  bool Write(std::string piece) override {
    if (piece.empty()) return true;
    const bool taken = writer_->Write(BodyPiece(piece, form_));
    if (taken) sink_->Flush();
    return taken;
  }
  void End() override {
    writer_->End(EndOfBody(form_));
    sink_->Flush();
  }
  void OnRoom(absl::AnyInvocable<void()> room) override { writer_->OnRoom(std::move(room)); }
  void OnHangUp(absl::AnyInvocable<void()> gone) override { writer_->OnHangUp(std::move(gone)); }

 private:
  AnswerForm Form(bool streamed) const {
    AnswerForm form = form_;
    if (registry_->draining() || (streamed && form.http_1_0)) form.keep_alive = false;
    return form;
  }

  const AnswerForm form_;
  const std::shared_ptr<ConnectionRegistry> registry_;
  const std::shared_ptr<ResponseWriter> writer_;
  const std::shared_ptr<ConnectionSink> sink_;
};

}  // namespace

std::shared_ptr<Exchange> MakeExchange(const AnswerForm& form,
                                       std::shared_ptr<ConnectionRegistry> registry,
                                       std::shared_ptr<ResponseWriter> writer,
                                       std::shared_ptr<ConnectionSink> sink) {
  return std::make_shared<ResponseWriterExchange>(form, std::move(registry), std::move(writer),
                                                  std::move(sink));
}

}  // namespace galen::gateway::http
