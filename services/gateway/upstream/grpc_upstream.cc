#include "services/gateway/upstream/grpc_upstream.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <condition_variable>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/mutex.h"
#include "common/base/steady.h"
#include "common/observability/trace/trace.h"
#include "common/rpc/status.h"
#include "common/security/claims/claim.h"

namespace galen::gateway {
namespace {

using google::protobuf::Message;
using Stub = grpc::TemplatedGenericStub<Message, Message>;

void Prepare(const Upstream::Call& call, const ClaimFor& claim_for, grpc::ClientContext& context) {
  if (call.deadline != absl::InfiniteFuture()) {
    context.set_deadline(ClockIn(call.deadline - absl::Now()));
  }
  const std::string claim = claim_for ? claim_for(call.resource) : "";
  if (!claim.empty()) context.AddMetadata(security::kClaimKey, claim);
}

// The work of the calling thread, which sends it with the call, for the call's asker.
trace::Work WorkFor(const Upstream::Call& call) {
  trace::Work work = trace::Current();
  if (!call.asker.id.empty()) work.asker = NameOf(call.asker);
  return work;
}

Upstream::Answer NewAnswer(const google::protobuf::MethodDescriptor& method) {
  return Upstream::Answer(google::protobuf::MessageFactory::generated_factory()
                              ->GetPrototype(method.output_type())
                              ->New());
}

// Counts calls in flight: what they use must outlive them.
class Flying {
 public:
  // Counts as one until it is dropped.
  std::shared_ptr<void> Begin() {
    const MutexLock lock(mu_);
    ++count_;
    return {this, [](Flying* flying) {
              const MutexLock locked(flying->mu_);
              if (--flying->count_ == 0) flying->none_.notify_all();
            }};
  }
  void AwaitNone() {
    const MutexLock lock(mu_);
    while (count_ > 0) mu_.Wait(none_);
  }

 private:
  Mutex mu_;
  std::condition_variable none_;
  int count_ ABSL_GUARDED_BY(mu_) = 0;
};

// One call with one answer. A context keeps its channel, and a thread of gRPC's own must not be the
// last owner: so the call drops its context before it reports its end.
class UnaryCall : public std::enable_shared_from_this<UnaryCall> {
 public:
  UnaryCall(std::shared_ptr<void> flying, rpc::Replicas& replicas, const ClaimFor& claim_for,
            const std::string& path, Upstream::Call call, clients::Done<Upstream::Answer> done)
      : flying_(std::move(flying)),
        replicas_(replicas),
        claim_for_(claim_for),
        path_(path),
        call_(std::move(call)),
        done_(std::move(done)) {}

  void Run(rpc::Replicas::Turn turn) {
    turn_.emplace(std::move(turn));
    answer_ = NewAnswer(*call_.method);
    const trace::Scope scope(WorkFor(call_));
    auto context = std::make_shared<grpc::ClientContext>();
    Prepare(call_, claim_for_, *context);
    {
      const MutexLock lock(mu_);
      context_ = context;
      if (cancelled_) context->TryCancel();
    }
    Stub(turn_->replica().shared_channel())
        .UnaryCall(context.get(), path_, grpc::StubOptions(), call_.request.get(), answer_.get(),
                   [self = shared_from_this()](const grpc::Status& status) { self->End(status); });
  }

  void Cancel() {
    std::shared_ptr<grpc::ClientContext> live;
    {
      const MutexLock lock(mu_);
      cancelled_ = true;
      live = context_;
    }
    if (live != nullptr) live->TryCancel();
  }

 private:
  void End(const grpc::Status& status) {
    bool cancelled = false;
    {
      std::shared_ptr<grpc::ClientContext> freed;
      const MutexLock lock(mu_);
      freed = std::exchange(context_, nullptr);
      cancelled = cancelled_;
    }
    const bool reached = cancelled || !rpc::IsUnreachable(status);
    const std::string at = turn_->replica().address();
    turn_->End(reached);
    turn_.reset();
    if (!reached && std::exchange(call_.again, false)) {
      if (std::optional<rpc::Replicas::Turn> other = replicas_.BeginAgain(at)) {
        const trace::Scope scope(work_);
        return Run(*std::move(other));
      }
    }
    if (status.ok()) {
      std::move(done_)(std::move(answer_));
    } else {
      std::move(done_)(cancelled ? rpc::FromGrpcStatus(status) : rpc::StatusOf(status));
    }
    done_ = nullptr;
    flying_.reset();
  }

  std::shared_ptr<void> flying_;  // until it has ended
  rpc::Replicas& replicas_;
  const ClaimFor& claim_for_;
  const std::string& path_;
  Upstream::Call call_;
  clients::Done<Upstream::Answer> done_;
  const trace::Work work_ = trace::Current();  // a second attempt belongs to the same
  std::optional<rpc::Replicas::Turn> turn_;
  Upstream::Answer answer_;
  Mutex mu_;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  std::shared_ptr<grpc::ClientContext> context_ ABSL_GUARDED_BY(mu_);
};

// One call with many answers. (On the wire a server stream is a bidirectional one whose client has
// sent everything in its first message.) A hold keeps gRPC from ending it while nothing is being
// read, until the last answer has been.
class GrpcFeed final : public Upstream::Feed,
                       public grpc::ClientBidiReactor<Message, Message>,
                       public std::enable_shared_from_this<GrpcFeed> {
 public:
  GrpcFeed(Flying& flying, rpc::Replicas& replicas, const ClaimFor& claim_for,
           const std::string& path, Upstream::Call call,
           absl::AnyInvocable<void(const Message&)> on_message,
           absl::AnyInvocable<void(absl::Status) &&> done)
      : all_flying_(flying),
        replicas_(replicas),
        claim_for_(claim_for),
        path_(path),
        call_(std::move(call)),
        on_message_(std::move(on_message)),
        done_(std::move(done)) {}

  void Next() override {
    {
      const MutexLock lock(mu_);
      if (state_ == State::kOver) return;
      reading_ = true;
      if (state_ == State::kNew) {
        state_ = State::kOpen;
        self_ = shared_from_this();
        return Open();
      }
    }
    StartRead(message_.get());
  }

  void Cancel() override {
    bool release = false;
    std::shared_ptr<grpc::ClientContext> live;
    {
      const MutexLock lock(mu_);
      cancelled_ = true;
      live = context_;
      if (state_ == State::kOpen && !reading_) {
        state_ = State::kOver;
        release = true;
      } else if (state_ == State::kNew) {
        state_ = State::kOver;
      }
    }
    if (live != nullptr) live->TryCancel();
    live.reset();
    if (release) RemoveHold();
  }

  void OnReadDone(bool ok) override {
    bool over = false;
    {
      const MutexLock lock(mu_);
      reading_ = false;
      over = !ok || cancelled_;
      if (over) state_ = State::kOver;
    }
    if (over) return RemoveHold();
    on_message_(*message_);
  }

  void OnDone(const grpc::Status& status) override {
    bool cancelled = false;
    std::shared_ptr<GrpcFeed> self;  // to the end of this
    {
      std::shared_ptr<grpc::ClientContext> freed;
      const MutexLock lock(mu_);
      freed = std::exchange(context_, nullptr);
      cancelled = cancelled_;
      self = std::exchange(self_, nullptr);
    }
    turn_->End(cancelled || !rpc::IsUnreachable(status));
    turn_.reset();
    on_message_ = nullptr;  // may hold what holds this
    std::move(done_)(cancelled ? rpc::FromGrpcStatus(status) : rpc::StatusOf(status));
    done_ = nullptr;
    flying_.reset();
  }

 private:
  enum class State { kNew, kOpen, kOver };

  void Open() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    flying_ = all_flying_.Begin();
    turn_.emplace(replicas_.Begin());
    message_ = NewAnswer(*call_.method);
    const trace::Scope scope(WorkFor(call_));
    context_ = std::make_shared<grpc::ClientContext>();
    Prepare(call_, claim_for_, *context_);
    Stub(turn_->replica().shared_channel())
        .PrepareBidiStreamingCall(context_.get(), path_, grpc::StubOptions(), this);
    AddHold();
    StartWriteLast(call_.request.get(), grpc::WriteOptions());
    StartRead(message_.get());
    StartCall();
  }

  Flying& all_flying_;
  std::shared_ptr<void> flying_;  // while it is under way
  rpc::Replicas& replicas_;
  const ClaimFor& claim_for_;
  const std::string& path_;
  const Upstream::Call call_;
  absl::AnyInvocable<void(const Message&)> on_message_;
  absl::AnyInvocable<void(absl::Status) &&> done_;
  std::optional<rpc::Replicas::Turn> turn_;
  Upstream::Answer message_;
  Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = State::kNew;
  bool reading_ ABSL_GUARDED_BY(mu_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  std::shared_ptr<grpc::ClientContext> context_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<GrpcFeed> self_ ABSL_GUARDED_BY(mu_);  // while gRPC knows it
};

class GrpcUpstream final : public Upstream {
 public:
  GrpcUpstream(std::unique_ptr<rpc::Replicas> replicas, ClaimFor claim_for)
      : replicas_(std::move(replicas)), claim_for_(std::move(claim_for)) {}

  ~GrpcUpstream() override { flying_.AwaitNone(); }

  clients::Cancel Ask(Call call, clients::Done<Answer> done) override {
    const std::string& path = PathOf(*call.method);
    auto made = std::make_shared<UnaryCall>(flying_.Begin(), *replicas_, claim_for_, path,
                                            std::move(call), std::move(done));
    made->Run(replicas_->Begin());
    return [weak = std::weak_ptr<UnaryCall>(made)] {
      if (const std::shared_ptr<UnaryCall> live = weak.lock()) live->Cancel();
    };
  }

  std::shared_ptr<Feed> Follow(Call call, absl::AnyInvocable<void(const Message&)> on_message,
                               absl::AnyInvocable<void(absl::Status) &&> done) override {
    const std::string& path = PathOf(*call.method);
    return std::make_shared<GrpcFeed>(flying_, *replicas_, claim_for_, path, std::move(call),
                                      std::move(on_message), std::move(done));
  }

 private:
  // gRPC keeps a pointer to it, not a copy.
  const std::string& PathOf(const google::protobuf::MethodDescriptor& method) {
    const MutexLock lock(mu_);
    std::unique_ptr<const std::string>& path = paths_[&method];
    if (path == nullptr) {
      path = std::make_unique<const std::string>(
          absl::StrCat("/", method.service()->full_name(), "/", method.name()));
    }
    return *path;
  }

  const std::unique_ptr<rpc::Replicas> replicas_;
  const ClaimFor claim_for_;
  Flying flying_;
  Mutex mu_;
  std::map<const google::protobuf::MethodDescriptor*, std::unique_ptr<const std::string>> paths_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace

std::unique_ptr<Upstream> MakeGrpcUpstream(std::unique_ptr<rpc::Replicas> replicas,
                                           ClaimFor claim_for) {
  return std::make_unique<GrpcUpstream>(std::move(replicas), std::move(claim_for));
}

}  // namespace galen::gateway
