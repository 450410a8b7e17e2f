#include "common/rpc/replicas/replicas.h"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/rpc/replicas/health_check.h"
#include "common/rpc/replicas/resolve.h"
#include "common/rpc/status.h"

namespace galen::rpc {
namespace {

constexpr absl::Duration kShortestPause = absl::Milliseconds(100);

using Connector =
    std::function<absl::StatusOr<std::shared_ptr<grpc::Channel>>(const std::string& address)>;

}  // namespace

bool IsUnreachable(const grpc::Status& status) {
  return (status.error_code() == grpc::StatusCode::UNAVAILABLE ||
          status.error_code() == grpc::StatusCode::CANCELLED) &&
         status.error_details().empty();
}

absl::Status StatusOf(const grpc::Status& status) {
  if (status.error_code() != grpc::StatusCode::CANCELLED || !IsUnreachable(status)) {
    return FromGrpcStatus(status);
  }
  return absl::UnavailableError("the server ended before the call did");
}

// State that the threads share.
struct Replicas::State {
  Options options;
  Connector connect;
  std::vector<TargetEndpoint> endpoints;
  std::thread keeper;
  // Used by the keeper alone, and by Connect() before the keeper starts.
  std::map<std::string, std::vector<std::string>> found;  // the addresses of each name

  // Wakes the keeper.
  std::mutex wake_mu;
  std::condition_variable woken;
  bool stopping = false;
  bool hurry = false;  // a replica was put aside

  mutable Mutex mu;
  Picker picker ABSL_GUARDED_BY(mu);
  std::map<std::string, std::shared_ptr<Replica>> replicas ABSL_GUARDED_BY(mu);
  std::vector<std::shared_ptr<Replica>> retired ABSL_GUARDED_BY(mu);  // with calls under way yet

  bool AnyName() const {
    return std::any_of(endpoints.begin(), endpoints.end(),
                       [](const TargetEndpoint& endpoint) { return !endpoint.name.empty(); });
  }
  void LookUp();
  absl::Status Update();
  void CheckAll();
  void FreeRetired();
  void Keep();
};

// Looks up the names. One that cannot be found keeps what it had.
void Replicas::State::LookUp() {
  for (const TargetEndpoint& endpoint : endpoints) {
    if (endpoint.name.empty()) continue;
    if (absl::StatusOr<std::vector<std::string>> addresses = Resolve(endpoint); addresses.ok()) {
      found[endpoint.text] = *std::move(addresses);
    }
  }
}

// Makes the replicas what was found. A endpoint that was never found stands for itself: gRPC says
// what is wrong with it, or finds it.
absl::Status Replicas::State::Update() {
  std::set<std::string> wanted;
  for (const TargetEndpoint& endpoint : endpoints) {
    const auto it = found.find(endpoint.text);
    if (it == found.end()) {
      wanted.insert(endpoint.text);
    } else {
      wanted.insert(it->second.begin(), it->second.end());
    }
  }
  std::map<std::string, std::shared_ptr<Replica>> now;
  {
    MutexLock lock(mu);
    now = replicas;
  }
  absl::Status problem;
  for (const std::string& address : wanted) {
    if (now.count(address) > 0) continue;
    absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = connect(address);
    if (channel.ok()) {
      now.emplace(address, std::make_shared<Replica>(address, *std::move(channel)));
    } else {
      problem.Update(channel.status());
    }
  }
  std::vector<std::string> addresses;
  std::vector<std::shared_ptr<Replica>> gone;
  for (auto it = now.begin(); it != now.end();) {
    if (wanted.count(it->first) > 0) {
      addresses.push_back((it++)->first);
    } else {
      gone.push_back(std::move(it->second));
      it = now.erase(it);
    }
  }
  if (addresses.empty()) return problem;
  MutexLock lock(mu);
  replicas = std::move(now);
  picker.Set(addresses);
  retired.insert(retired.end(), gone.begin(), gone.end());
  return problem;
}

// Asks every replica for its health and waits for the answers.
void Replicas::State::CheckAll() {
  struct Pending {
    Mutex mu;
    std::condition_variable done;
    std::size_t left ABSL_GUARDED_BY(mu) = 0;
  };
  std::vector<std::pair<std::shared_ptr<Replica>, Picker::Ticket>> asked;
  {
    MutexLock lock(mu);
    if (replicas.size() < 2) return;
    for (const auto& [address, replica] : replicas) {
      asked.emplace_back(replica, picker.CheckBegan(address));
    }
  }
  Pending pending;
  {
    MutexLock lock(pending.mu);
    pending.left = asked.size();
  }
  std::vector<std::unique_ptr<HealthCheck>> checks;
  for (const auto& [replica, ticket] : asked) {
    checks.push_back(std::make_unique<HealthCheck>(
        replica->shared_channel(), options.check_limit,
        [this, &pending, address = replica->address(), at = ticket](Picker::Health health) {
          {
            MutexLock lock(mu);
            picker.CheckEnded(address, at, health);
          }
          MutexLock lock(pending.mu);
          --pending.left;
          pending.done.notify_all();
        }));
  }
  // Each ends at its limit.
  MutexLock lock(pending.mu);
  while (pending.left > 0) pending.mu.Wait(pending.done);
}

void Replicas::State::FreeRetired() {
  std::vector<std::shared_ptr<Replica>> free;
  MutexLock lock(mu);
  for (auto it = retired.begin(); it != retired.end();) {
    if (it->use_count() > 1) {
      ++it;
      continue;
    }
    free.push_back(std::move(*it));
    it = retired.erase(it);
  }
}

void Replicas::State::Keep() {
  absl::Time looked_up = SteadyNow();
  for (;;) {
    bool hurried = false;
    {
      const absl::Time begun = SteadyNow();
      std::unique_lock<std::mutex> lock(wake_mu);
      for (;;) {
        if (stopping) return;
        // However many calls fail, there is a pause between two rounds.
        const absl::Time next =
            begun + (hurry ? std::min(kShortestPause, options.check_every) : options.check_every);
        const absl::Duration left = next - SteadyNow();
        if (left <= absl::ZeroDuration()) break;
        woken.wait_for(lock, absl::ToChronoNanoseconds(left));
      }
      hurried = std::exchange(hurry, false);
    }
    if (!hurried) {
      MutexLock lock(mu);
      hurried = picker.AnyAside();
    }
    const absl::Time now = SteadyNow();
    if (AnyName() && now >= looked_up + (hurried ? options.resolve_again : options.resolve_every)) {
      LookUp();
      looked_up = SteadyNow();
      Update().IgnoreError();  // failing calls report it
    }
    CheckAll();
    FreeRetired();
  }
}

Replicas::Replicas(std::shared_ptr<State> state) : state_(std::move(state)) {}

absl::StatusOr<std::unique_ptr<Replicas>> Replicas::Connect(const std::string& target,
                                                            const Security& security,
                                                            const Peer& peer) {
  return Connect(target, security, peer, Options());
}

absl::StatusOr<std::unique_ptr<Replicas>> Replicas::Connect(const std::string& target,
                                                            const Security& security,
                                                            const Peer& peer,
                                                            const Options& options) {
  auto state = std::make_shared<State>();
  state->options = options;
  GALEN_ASSIGN_OR_RETURN(state->endpoints, EndpointsIn(target));
  state->connect = [&security, peer](const std::string& address) {
    return rpc::Connect(address, security, peer);
  };
  // The security settings must allow every endpoint, names included, before any is resolved.
  for (const TargetEndpoint& endpoint : state->endpoints) {
    GALEN_RETURN_IF_ERROR(security.ForChannel(endpoint.text, peer).status());
  }
  state->LookUp();
  GALEN_RETURN_IF_ERROR(state->Update());
  state->CheckAll();
  if (state->AnyName() || state->endpoints.size() > 1) {
    state->keeper = std::thread([kept = state.get()] { kept->Keep(); });
  }
  return std::unique_ptr<Replicas>(new Replicas(std::move(state)));
}

std::unique_ptr<Replicas> Replicas::Of(std::shared_ptr<grpc::Channel> channel) {
  auto state = std::make_shared<State>();
  {
    MutexLock lock(state->mu);
    state->replicas.emplace("", std::make_shared<Replica>("", std::move(channel)));
    state->picker.Set({""});
  }
  return std::unique_ptr<Replicas>(new Replicas(std::move(state)));
}

Replicas::~Replicas() {
  {
    const std::lock_guard<std::mutex> lock(state_->wake_mu);
    state_->stopping = true;
    state_->woken.notify_all();
  }
  if (state_->keeper.joinable()) state_->keeper.join();
  // A call's end that runs just now may hold the state; the channels end here.
  std::map<std::string, std::shared_ptr<Replica>> replicas;
  std::vector<std::shared_ptr<Replica>> retired;
  MutexLock lock(state_->mu);
  replicas.swap(state_->replicas);
  retired.swap(state_->retired);
}

std::optional<Replicas::Turn> Replicas::Begin(const std::string& not_this) {
  Turn turn;
  turn.state_ = state_;
  for (std::size_t tries = 1;; ++tries) {
    std::size_t all = 0;
    {
      MutexLock lock(state_->mu);
      const std::optional<std::string> address = state_->picker.Pick(not_this);
      if (!address.has_value()) return std::nullopt;
      turn.replica_ = state_->replicas[*address];
      turn.ticket_ = state_->picker.Began(*address);
      all = state_->picker.size();
    }
    // gRPC may know already that a connection is down, which saves a call.
    if (tries >= all ||
        turn.replica_->channel().GetState(false) != GRPC_CHANNEL_TRANSIENT_FAILURE) {
      return turn;
    }
    turn.End(false);
  }
}

Replicas::Turn Replicas::Begin() { return *Begin(""); }

std::optional<Replicas::Turn> Replicas::BeginAgain(const std::string& not_this) {
  return several() ? Begin(not_this) : std::nullopt;
}

bool Replicas::several() const {
  MutexLock lock(state_->mu);
  return state_->picker.size() > 1;
}

Replicas::Turn::~Turn() {
  ticket_ = -1;  // matches no state of the replica
  End(true);
}

void Replicas::Turn::End(bool reached) {
  const std::shared_ptr<Replica> replica = std::exchange(replica_, nullptr);
  if (replica == nullptr) return;
  const std::shared_ptr<State> state = state_.lock();
  if (state == nullptr) return;
  {
    MutexLock lock(state->mu);
    state->picker.Ended(replica->address(), ticket_, reached);
  }
  if (reached) return;
  const std::lock_guard<std::mutex> lock(state->wake_mu);
  state->hurry = true;
  state->woken.notify_all();
}

}  // namespace galen::rpc
