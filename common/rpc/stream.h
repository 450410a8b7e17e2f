#ifndef COMMON_RPC_STREAM_H_
#define COMMON_RPC_STREAM_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "common/base/cancellation.h"
#include "common/base/executor.h"
#include "common/base/mutex.h"
#include "common/base/steady.h"
#include "common/observability/trace/trace.h"
#include "common/rpc/observe.h"
#include "common/rpc/status.h"
#include "common/rpc/unary.h"

namespace galen::rpc {

// The server's side of a server-streaming call: a bounded queue with one write in flight.
// Thread-safe. Make it with ServerStream::Start; it lives until gRPC is done with the call and
// nobody holds it any more.
template <typename Message>
class ServerStream final : public grpc::ServerWriteReactor<Message>,
                           public std::enable_shared_from_this<ServerStream<Message>> {
 public:
  // `max_queued`: messages that wait before Push() refuses more.
  static std::shared_ptr<ServerStream> Start(std::size_t max_queued = 256) {
    auto stream = std::make_shared<ServerStream>(max_queued);
    MutexLock lock(stream->mu_);
    stream->self_ = stream;
    return stream;
  }
  // Use Start().
  explicit ServerStream(std::size_t max_queued) : max_queued_(max_queued) {}

  // Called whenever there is room again after the queue ran empty, and once when the client is
  // gone (then alive() is false). Runs on a gRPC thread: must not block. Set it before Push().
  void OnReady(absl::AnyInvocable<void()> ready) {
    MutexLock lock(mu_);
    ready_ = std::move(ready);
  }

  // Queues a message. False when the client is gone, the stream is finishing, or the queue is full.
  bool Push(Message message) {
    MutexLock lock(mu_);
    if (!alive_ || finishing_ || queue_.size() >= max_queued_) return false;
    queue_.push_back(std::move(message));
    WriteNext();
    return true;
  }

  // As Push(), but waits for room. Only for threads that may block.
  bool PushWait(Message message) {
    MutexLock lock(mu_);
    while (alive_ && !finishing_ && queue_.size() >= max_queued_) mu_.Wait(room_);
    if (!alive_ || finishing_) return false;
    queue_.push_back(std::move(message));
    WriteNext();
    return true;
  }

  // Ends the call with `status` once what is queued has been written. The first call counts.
  void End(const absl::Status& status) {
    MutexLock lock(mu_);
    if (finishing_) return;
    finishing_ = true;
    status_ = ToGrpcStatus(status);
    room_.notify_all();
    FinishIfDrained();
  }

  bool alive() {
    MutexLock lock(mu_);
    return alive_;
  }

  // Waiting messages. When the queue becomes empty again, OnReady()'s function is called.
  std::size_t queued() {
    MutexLock lock(mu_);
    return queue_.size();
  }

  // gRPC's side.
  void OnWriteDone(bool ok) override {
    absl::AnyInvocable<void()>* ready = nullptr;
    {
      MutexLock lock(mu_);
      writing_ = false;
      queue_.pop_front();
      if (!ok) Lost();
      WriteNext();
      FinishIfDrained();
      room_.notify_all();
      if (queue_.empty() && !finishing_ && ready_) ready = &ready_;
    }
    // Set once before the first Push and never replaced, so it may run without the lock.
    if (ready != nullptr) (*ready)();
  }
  void OnCancel() override {
    absl::AnyInvocable<void()>* ready = nullptr;
    {
      MutexLock lock(mu_);
      Lost();
      if (!finishing_ && ready_) ready = &ready_;
    }
    if (ready != nullptr) (*ready)();
    // A call that nobody will End() must not linger.
    End(absl::CancelledError("the client went away"));
  }
  void OnDone() override {
    absl::AnyInvocable<void()> ready;
    std::shared_ptr<ServerStream> self;
    {
      MutexLock lock(mu_);
      alive_ = false;
      ready = std::move(ready_);  // may hold what holds this stream
      ready_ = nullptr;
      self = std::move(self_);
    }
  }

 private:
  void Lost() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    alive_ = false;
    while (queue_.size() > (writing_ ? 1u : 0u)) queue_.pop_back();
    room_.notify_all();
  }
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (writing_ || queue_.empty() || !alive_) return;
    writing_ = true;
    // With more to come, gRPC may gather messages into one write to the socket.
    this->StartWrite(&queue_.front(), queue_.size() > 1 ? grpc::WriteOptions().set_buffer_hint()
                                                        : grpc::WriteOptions());
  }
  void FinishIfDrained() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!finishing_ || finished_ || writing_ || (!queue_.empty() && alive_)) return;
    finished_ = true;
    this->Finish(status_);
  }

  const std::size_t max_queued_;
  Mutex mu_;
  std::condition_variable room_;
  // A deque keeps the address of the front while others are added behind it.
  std::deque<Message> queue_ ABSL_GUARDED_BY(mu_);
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool alive_ ABSL_GUARDED_BY(mu_) = true;
  bool finishing_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mu_);
  absl::AnyInvocable<void()> ready_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<ServerStream> self_ ABSL_GUARDED_BY(mu_);
};

// The end of a stream that a handler writes to.
template <typename Message>
class StreamWriter {
 public:
  explicit StreamWriter(ServerStream<Message>& stream) : stream_(stream) {}
  // Waits for room; false when the client is gone and there is no use in going on.
  bool Write(Message message) { return stream_.PushWait(std::move(message)); }

 private:
  ServerStream<Message>& stream_;
};

// Runs `handler` on `executor` and ends the stream with its status. For handlers that produce and
// then are done; a stream that follows something for long uses ServerStream itself, so that it
// holds no thread.
template <typename Message>
grpc::ServerWriteReactor<Message>* RunServerStream(
    grpc::CallbackServerContext* context, Executor& executor,
    absl::AnyInvocable<absl::Status(const Call&, StreamWriter<Message>&) &&> handler) {
  std::shared_ptr<ServerStream<Message>> stream = ServerStream<Message>::Start();
  auto cancelled = std::make_shared<Cancellation>();
  // Called by the stream itself, which therefore is alive.
  stream->OnReady([cancelled, raw = stream.get()] {
    if (!raw->alive()) cancelled->Cancel();
  });
  // The clock may be set while the call waits for its turn.
  const absl::Time due = ToSteady(DeadlineOf(*context));
  // The context is gone once the stream has ended, which may be before its turn.
  const bool taken = executor.TrySchedule(
      [stream, due, cancelled, work = WorkOf(*context), handler = std::move(handler)]() mutable {
        const trace::Scope scope(std::move(work));
        StreamWriter<Message> writer(*stream);
        const absl::Status status = std::move(handler)(Call{ToTimeOfDay(due), cancelled}, writer);
        TellFault(status);
        stream->End(status);
      });
  if (!taken) {
    stream->End(OverloadedError());
  }
  return stream.get();
}

}  // namespace galen::rpc

#endif  // COMMON_RPC_STREAM_H_
