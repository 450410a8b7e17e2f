#ifndef SERVICES_GATEWAY_HTTP_RESPONSE_WRITER_H_
#define SERVICES_GATEWAY_HTTP_RESPONSE_WRITER_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "common/base/mutex.h"
#include "services/gateway/http/answer.h"
#include "services/gateway/http/connection_registry.h"
#include "services/gateway/http/handler.h"

namespace galen::gateway::http {

// Gets notifications for a connection from the writers of its answer. Thread-safe.
class ConnectionSink {
 public:
  virtual ~ConnectionSink() = default;
  // There is something to send, or the answer has ended.
  virtual void Flush() = 0;
};

// The bytes of one answer on their way from the handler to the connection. Thread-safe.
class ResponseWriter {
 public:
  explicit ResponseWriter(std::size_t most) : most_(most) {}

  // The handler's side. The first call: false if an answer was begun before.
  bool BeginAnswer(std::string bytes, bool ended, bool keep_alive);
  bool Write(std::string bytes);
  void End(std::string bytes);
  bool begun();
  // True also if the rest is no longer wanted.
  bool complete();
  // The answer will never be complete.
  void Break();
  void OnRoom(absl::AnyInvocable<void()> room);
  void OnHangUp(absl::AnyInvocable<void()> gone);

  // The connection's side: the next thing to do.
  struct Next {
    enum What { kNothing, kSend, kFinished, kBroken } what = kNothing;
    std::string bytes;
    bool keep_alive = false;
  };
  Next TakeNext();
  // `bytes` of the result of TakeNext() have been sent.
  void Sent(std::size_t bytes);
  // Calls the writer that waits for room if nothing is left to send and the answer continues.
  void TellRoom();
  // The connection is gone.
  void TellGone();

 private:
  const std::size_t most_;
  Mutex mu_;
  std::deque<std::string> pieces_ ABSL_GUARDED_BY(mu_);
  std::size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;  // with those that are being sent
  bool begun_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  bool broken_ ABSL_GUARDED_BY(mu_) = false;
  bool gone_ ABSL_GUARDED_BY(mu_) = false;
  bool keep_alive_ ABSL_GUARDED_BY(mu_) = false;
  // Set before the answer begins, and dropped at its end: they may own the owner of this.
  std::shared_ptr<absl::AnyInvocable<void()>> room_ ABSL_GUARDED_BY(mu_);
  absl::AnyInvocable<void()> hang_up_ ABSL_GUARDED_BY(mu_);
};

// The exchange of one request on a connection.
std::shared_ptr<Exchange> MakeExchange(const AnswerForm& form,
                                       std::shared_ptr<ConnectionRegistry> registry,
                                       std::shared_ptr<ResponseWriter> writer,
                                       std::shared_ptr<ConnectionSink> sink);

}  // namespace galen::gateway::http

#endif  // SERVICES_GATEWAY_HTTP_RESPONSE_WRITER_H_
