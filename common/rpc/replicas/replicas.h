#ifndef COMMON_RPC_REPLICAS_REPLICAS_H_
#define COMMON_RPC_REPLICAS_REPLICAS_H_

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/rpc/channel.h"
#include "common/rpc/replicas/picker.h"

namespace galen::rpc {

// Whether a call that ended so, and that nobody here cancelled, never had an answer from a service
// of ours: the connection broke or could not be made, or the server ended before the call did (then
// gRPC says CANCELLED). Our services' own errors (rpc::ToGrpcStatus) carry details.
bool IsUnreachable(const grpc::Status& status);
// Such a status as our callers know it: UNAVAILABLE. Any other as it is.
absl::Status StatusOf(const grpc::Status& status);

// One process that serves, and the channel to it. Thread-safe.
class Replica {
 public:
  Replica(std::string address, std::shared_ptr<grpc::Channel> channel)
      : address_(std::move(address)), channel_(std::move(channel)) {}
  const std::string& address() const { return address_; }
  grpc::Channel& channel() const { return *channel_; }
  const std::shared_ptr<grpc::Channel>& shared_channel() const { return channel_; }

  // The stub of a service there.
  template <typename Service>
  typename Service::Stub& Stub() {
    MutexLock lock(mu_);
    std::shared_ptr<void>& stub = stubs_[std::type_index(typeid(Service))];
    if (stub == nullptr) stub = std::shared_ptr<typename Service::Stub>(Service::NewStub(channel_));
    return *static_cast<typename Service::Stub*>(stub.get());
  }

 private:
  const std::string address_;
  const std::shared_ptr<grpc::Channel> channel_;
  Mutex mu_;
  std::map<std::type_index, std::shared_ptr<void>> stubs_ ABSL_GUARDED_BY(mu_);
};

// The replicas of one service, with a channel to each, kept up in a thread of its own: names are
// looked up again, and where there are several replicas each is asked every second whether it
// serves. Picker (picker.h) says which one a call goes to. Thread-safe.
//
// Must outlive its calls; as a thread of gRPC's own must not be the last that holds a channel
// (gRPC 1.51 aborts), channels that nobody wants any more end in our thread.
class Replicas {
  struct State;

 public:
  struct Options {
    absl::Duration check_every = absl::Seconds(1);
    absl::Duration check_limit = absl::Seconds(2);
    // How often names are looked up, and how often where a replica is out of order: it may have
    // come back elsewhere.
    absl::Duration resolve_every = absl::Seconds(10);
    absl::Duration resolve_again = absl::Seconds(2);
  };

  // `target`: addresses "HOST:PORT", separated by commas; a name stands for all of its addresses. A
  // name that cannot be resolved now is retried. With several replicas, waits for a health check of
  // each, `check_limit` at most. INVALID_ARGUMENT; FAILED_PRECONDITION when an address is not
  // loopback and there are no certificates. `security` must outlive it.
  static absl::StatusOr<std::unique_ptr<Replicas>> Connect(const std::string& target,
                                                           const Security& security,
                                                           const Peer& peer);
  static absl::StatusOr<std::unique_ptr<Replicas>> Connect(const std::string& target,
                                                           const Security& security,
                                                           const Peer& peer,
                                                           const Options& options);
  // One that is never anything else.
  static std::unique_ptr<Replicas> Of(std::shared_ptr<grpc::Channel> channel);
  ~Replicas();
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  // A call at a replica, from its begin to its end. May outlive the Replicas.
  class Turn {
   public:
    Turn(Turn&&) = default;
    Turn& operator=(Turn&&) = delete;
    // Without End() it reports nothing about the replica.
    ~Turn();
    Replica& replica() const { return *replica_; }
    // The call no longer uses the channel; `reached` as of Picker::Ended(). Once.
    void End(bool reached);

   private:
    friend class Replicas;
    Turn() = default;
    std::weak_ptr<State> state_;
    std::shared_ptr<Replica> replica_;
    Picker::Ticket ticket_ = 0;
  };
  // The next call.
  Turn Begin();
  // A second attempt at a call that did not reach `not_this`; nothing when there is no other
  // replica.
  std::optional<Turn> BeginAgain(const std::string& not_this);

  // Whether there is more than one now.
  bool several() const;

 private:
  explicit Replicas(std::shared_ptr<State> state);
  std::optional<Turn> Begin(const std::string& not_this);

  const std::shared_ptr<State> state_;
};

}  // namespace galen::rpc

#endif  // COMMON_RPC_REPLICAS_REPLICAS_H_
