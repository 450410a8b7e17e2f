#ifndef COMMON_STORE_REDIS_LINK_H_
#define COMMON_STORE_REDIS_LINK_H_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/store/redis/config.h"
#include "common/store/redis/reply.h"

namespace galen::store::redis {

// One connection to one Redis server, shared by every thread of the process: commands sent at the
// same time go out together, and with appendfsync=always Redis then syncs its file once for all of
// them. It connects on the first send, and reconnects (after 10 ms, at most 500 ms) when the
// connection breaks. Runs on a thread of its own, so that a name that resolves slowly holds nobody
// else up. Thread-safe.
class Link {
 public:
  struct Options {
    std::string user;
    std::string password;
    int database = 0;
    bool must_be_master = false;  // refuse a server that says it is a replica
    int replicas = 0;             // that must have a `write` before it is answered
    absl::Duration answer = absl::Seconds(2);
    ReplyLimits limits;
  };
  struct Request {
    std::vector<std::string> words;
    bool asking = false;  // sent after ASKING: -ASK redirected it to this server
    bool write = false;   // its answer waits for Options::replicas
  };
  // Called once for each request, on the link's thread, or by Send() itself. An error reply of
  // Redis is a Reply; a status means that there was no usable one: UNAVAILABLE (the command may
  // have been carried out or not), PERMISSION_DENIED (user or password), FAILED_PRECONDITION (the
  // server cannot be used as configured). The last owner of a link must not be one of these.
  using Answer = absl::AnyInvocable<void(absl::StatusOr<Reply>) &&>;

  Link(Address address, Options options);
  // Answers what is under way with UNAVAILABLE.
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void Send(Request request, Answer answer);
  // The same, and waits.
  absl::StatusOr<Reply> Ask(Request request);

  const Address& address() const { return address_; }

 private:
  class Loop;
  struct Queued {
    Request request;
    Answer answer;
  };

  const Address address_;
  const Options options_;
  const int wake_;  // eventfd: there is something in the queue
  Mutex mu_;
  std::vector<Queued> queue_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace galen::store::redis

#endif  // COMMON_STORE_REDIS_LINK_H_
