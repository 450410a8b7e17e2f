#include "services/gateway/http/outbox.h"

#include <utility>

namespace galen::gateway::http {

bool Outbox::BeginAnswer(std::string bytes, bool ended, bool keep_alive) {
  const MutexLock lock(mu_);
  if (begun_) return false;
  begun_ = true;
  ended_ = ended;
  keep_alive_ = keep_alive;
  bytes_ += bytes.size();
  pieces_.push_back(std::move(bytes));
  return true;
}

bool Outbox::Write(std::string bytes) {
  const MutexLock lock(mu_);
  if (!begun_ || ended_ || gone_ || (bytes_ > 0 && bytes_ + bytes.size() > most_)) return false;
  bytes_ += bytes.size();
  pieces_.push_back(std::move(bytes));
  return true;
}

void Outbox::End(std::string bytes) {
  const MutexLock lock(mu_);
  if (!begun_ || ended_) return;
  ended_ = true;
  bytes_ += bytes.size();
  pieces_.push_back(std::move(bytes));
}

void Outbox::Break() {
  const MutexLock lock(mu_);
  if (!ended_) broken_ = true;
}

bool Outbox::begun() {
  const MutexLock lock(mu_);
  return begun_;
}

bool Outbox::complete() {
  const MutexLock lock(mu_);
  return ended_ || gone_;
}

void Outbox::OnRoom(absl::AnyInvocable<void()> room) {
  const MutexLock lock(mu_);
  room_ = std::make_shared<absl::AnyInvocable<void()>>(std::move(room));
}

void Outbox::OnHangUp(absl::AnyInvocable<void()> gone) {
  {
    const MutexLock lock(mu_);
    if (!gone_) {
      hang_up_ = std::move(gone);
      return;
    }
  }
  gone();
}

Outbox::Next Outbox::TakeNext() {
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

void Outbox::Sent(std::size_t bytes) {
  const MutexLock lock(mu_);
  bytes_ -= bytes;
}

void Outbox::TellRoom() {
  std::shared_ptr<absl::AnyInvocable<void()>> room;
  {
    const MutexLock lock(mu_);
    if (!pieces_.empty() || ended_ || gone_) return;
    room = room_;
  }
  if (room != nullptr) (*room)();
}

void Outbox::TellGone() {
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

class OutboxExchange final : public Exchange {
 public:
  OutboxExchange(const AnswerForm& form, std::shared_ptr<Shared> shared,
                 std::shared_ptr<Outbox> outbox, std::shared_ptr<Wire> wire)
      : form_(form),
        shared_(std::move(shared)),
        outbox_(std::move(outbox)),
        wire_(std::move(wire)) {}
  ~OutboxExchange() override {
    if (outbox_->complete()) return;
    if (!outbox_->begun()) Respond(shared_->handler.Refuse(500, "the request was not answered"));
    outbox_->Break();  // an answer that was begun and not ended
    wire_->Flush();
  }

  void Respond(Response response) override {
    const AnswerForm form = Form(/*streamed=*/false);
    outbox_->BeginAnswer(WholeAnswer(std::move(response), form, shared_->options.gzip_from_bytes),
                         /*ended=*/true, form.keep_alive);
    wire_->Flush();
  }
  void Begin(Response head) override {
    const AnswerForm form = Form(/*streamed=*/true);
    outbox_->BeginAnswer(StreamHead(head, form) + BodyPiece(head.body, form), /*ended=*/false,
                         form.keep_alive);
    wire_->Flush();
  }
  bool Write(std::string piece) override {
    if (piece.empty()) return true;
    const bool taken = outbox_->Write(BodyPiece(piece, form_));
    if (taken) wire_->Flush();
    return taken;
  }
  void End() override {
    outbox_->End(EndOfBody(form_));
    wire_->Flush();
  }
  void OnRoom(absl::AnyInvocable<void()> room) override { outbox_->OnRoom(std::move(room)); }
  void OnHangUp(absl::AnyInvocable<void()> gone) override { outbox_->OnHangUp(std::move(gone)); }

 private:
  AnswerForm Form(bool streamed) const {
    AnswerForm form = form_;
    if (shared_->draining() || (streamed && form.http_1_0)) form.keep_alive = false;
    return form;
  }

  const AnswerForm form_;
  const std::shared_ptr<Shared> shared_;
  const std::shared_ptr<Outbox> outbox_;
  const std::shared_ptr<Wire> wire_;
};

}  // namespace

std::shared_ptr<Exchange> MakeExchange(const AnswerForm& form, std::shared_ptr<Shared> shared,
                                       std::shared_ptr<Outbox> outbox, std::shared_ptr<Wire> wire) {
  return std::make_shared<OutboxExchange>(form, std::move(shared), std::move(outbox),
                                          std::move(wire));
}

}  // namespace galen::gateway::http
