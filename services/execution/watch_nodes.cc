#include "services/execution/watch_nodes.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "common/base/proto_time.h"
#include "common/base/text.h"

namespace galen::execution {
namespace {

// Limit of one event from a node: a finding with a line of a log.
constexpr std::size_t kMostEventBytes = 64 << 10;
constexpr std::size_t kMostTroubleBytes = 1024;
// Longest interval between two looks of the thread that makes the calls.
constexpr absl::Duration kLongestWait = absl::Hours(1);

std::string Events(std::int64_t count) {
  return count == 1 ? "1 event was" : absl::StrCat(count, " events were");
}

}  // namespace

struct NodeWatch::State {
  struct Watcher {
    std::set<std::string> nodes;
    Push push;
    std::map<std::string, std::int64_t> lost;  // by node
  };
  struct Upstream {
    std::set<std::int64_t> watchers;
    // Set while there is a call.
    clients::Cancel cancel;
    // Tells answers of this call from those of one before.
    std::int64_t call = 0;
    // When to call again; InfiniteFuture: there is a call.
    absl::Time again = absl::InfinitePast();
    absl::Duration pause;
    // Sequence number of the last event, 0 before the first one.
    std::int64_t sequence = 0;
    bool in_trouble = false;
  };

  State(const NodeRegistry& nodes, const Clock& time, Options given)
      : registry(nodes), clock(time), options(given) {}

  const NodeRegistry& registry;
  const Clock& clock;
  const Options options;
  Mutex mu;
  std::map<std::int64_t, Watcher> watchers ABSL_GUARDED_BY(mu);
  std::map<std::string, Upstream> upstreams ABSL_GUARDED_BY(mu);
  std::int64_t next_watcher ABSL_GUARDED_BY(mu) = 0;
  std::int64_t next_call ABSL_GUARDED_BY(mu) = 1;
  bool stopping ABSL_GUARDED_BY(mu) = false;

  // Wakes the thread that makes the calls. A separate lock, as galen::Mutex does not support a wait
  // with a time limit.
  std::mutex wake_mu;
  std::condition_variable wake;
  bool woken = false;

  void Wake() {
    const std::lock_guard<std::mutex> lock(wake_mu);
    woken = true;
    wake.notify_all();
  }

  void Send(const std::string& node, const Upstream& upstream, const v1::NodeEvent& event)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    for (const std::int64_t id : upstream.watchers) {
      Watcher& watcher = watchers[id];
      std::int64_t& lost = watcher.lost[node];
      if (lost > 0) {
        v1::NodeEvent note;
        note.set_node(node);
        *note.mutable_received_at() = ToTimestamp(clock.Now());
        note.set_trouble(absl::StrCat(Events(lost), " lost: this watcher reads too slowly"));
        if (!watcher.push(std::move(note))) {
          ++lost;
          continue;
        }
        lost = 0;
      }
      if (!watcher.push(event)) ++lost;
    }
  }

  void Trouble(const std::string& node, const Upstream& upstream, const std::string& text)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    v1::NodeEvent event;
    event.set_node(node);
    *event.mutable_received_at() = ToTimestamp(clock.Now());
    event.set_trouble(CleanText(text, kMostTroubleBytes));
    Send(node, upstream, event);
  }

  void OnEvent(const std::string& node, std::int64_t call, node::v1::WatchEvent event) {
    const absl::Time now = clock.Now();
    MutexLock lock(mu);
    const auto at = upstreams.find(node);
    if (at == upstreams.end() || at->second.call != call) return;
    Upstream& upstream = at->second;
    upstream.pause = options.first_pause;
    upstream.in_trouble = false;
    // A node may lie or be broken; it must not speak for others, nor flood us.
    if (event.ByteSizeLong() > kMostEventBytes ||
        (event.finding().subject().node() != node && !event.finding().subject().node().empty())) {
      Trouble(node, upstream, "it sent an event that is too large or about another node");
      return;
    }
    // A number that went back means that the executor restarted.
    const std::int64_t before = std::exchange(upstream.sequence, event.sequence());
    const bool same_life = event.sequence() > before;
    const std::int64_t lost = same_life ? event.sequence() - before - 1 : event.lost();
    if (before > 0 && lost > 0) Trouble(node, upstream, absl::StrCat(Events(lost), " lost"));
    v1::NodeEvent told;
    told.set_node(node);
    told.set_check(CleanText(event.check(), 256));
    *told.mutable_finding() = std::move(*event.mutable_finding());
    *told.mutable_noticed_at() = event.noticed_at();
    *told.mutable_received_at() = ToTimestamp(now);
    Send(node, upstream, told);
  }

  void OnEnd(const std::string& node, std::int64_t call, const absl::Status& status) {
    MutexLock lock(mu);
    const auto at = upstreams.find(node);
    if (at == upstreams.end() || at->second.call != call) return;
    Upstream& upstream = at->second;
    upstream.cancel = nullptr;
    upstream.again = clock.Now() + upstream.pause;
    upstream.pause = std::min(upstream.pause * 2, options.longest_pause);
    // Said once, not with every attempt.
    if (!std::exchange(upstream.in_trouble, true)) {
      Trouble(node, upstream,
              absl::StrCat("nothing is heard of it: ",
                           status.ok() ? "its executor ended the watch" : status.message(),
                           "; it is tried again"));
    }
    Wake();
  }

  // Makes the calls that are due; gives the time of the next one.
  absl::Time Connect(const std::shared_ptr<State>& self) {
    std::vector<std::pair<std::string, std::int64_t>> due;
    absl::Time next = absl::InfiniteFuture();
    {
      MutexLock lock(mu);
      const absl::Time now = clock.Now();
      for (auto& [node, upstream] : upstreams) {
        if (upstream.again <= now) {
          upstream.again = absl::InfiniteFuture();
          upstream.call = next_call++;
          due.emplace_back(node, upstream.call);
        }
        next = std::min(next, upstream.again);
      }
    }
    // Without the lock: a client may answer at once.
    for (const auto& [node, call] : due) {
      const absl::StatusOr<NodeRegistry::Node> client = registry.Live(node);
      if (!client.ok()) {  // its time was over
        OnEnd(node, call, client.status());
        continue;
      }
      clients::Cancel cancel = (*client)->Watch(
          node::v1::WatchRequest(),
          [self, node = node, call = call](node::v1::WatchEvent event) {
            self->OnEvent(node, call, std::move(event));
          },
          [self, node = node, call = call, client = *client](const absl::Status& status) {
            self->OnEnd(node, call, status);
          });
      bool wanted = false;
      {
        MutexLock lock(mu);
        const auto at = upstreams.find(node);
        wanted = at != upstreams.end() && at->second.call == call;
        // One that has ended already waits for its next call.
        if (wanted && at->second.again == absl::InfiniteFuture()) at->second.cancel = cancel;
      }
      if (!wanted) cancel();
    }
    return next;
  }

  void Loop(const std::shared_ptr<State>& self) {
    while (true) {
      const absl::Time next = Connect(self);
      {
        MutexLock lock(mu);
        if (stopping) return;
      }
      const absl::Duration pause =
          std::clamp(next - clock.Now(), absl::ZeroDuration(), kLongestWait);
      std::unique_lock<std::mutex> lock(wake_mu);
      wake.wait_for(lock, absl::ToChronoMilliseconds(pause) + std::chrono::milliseconds(1),
                    [this] { return woken; });
      woken = false;
    }
  }
};

NodeWatch::NodeWatch(const NodeRegistry& registry, const Clock& clock, Options options)
    : state_(std::make_shared<State>(registry, clock, options)),
      reconnecting_([state = state_] { state->Loop(state); }) {}

NodeWatch::~NodeWatch() {
  std::map<std::string, State::Upstream> upstreams;
  {
    MutexLock lock(state_->mu);
    state_->stopping = true;
    upstreams.swap(state_->upstreams);
    state_->watchers.clear();
  }
  state_->Wake();
  for (const auto& [node, upstream] : upstreams) {
    if (upstream.cancel) upstream.cancel();
  }
  reconnecting_.join();
}

absl::StatusOr<std::int64_t> NodeWatch::Watch(const v1::WatchNodesRequest& request, Push push) {
  std::set<std::string> nodes(request.nodes().begin(), request.nodes().end());
  for (const std::string& node : nodes) {
    if (state_->registry.PlaceOf(node).empty()) {
      return absl::NotFoundError(
          absl::StrCat("node \"", node, "\": is not registered with execution (--nodes)"));
    }
  }
  if (nodes.empty()) {
    for (const std::string& node : state_->registry.LiveNodes()) nodes.insert(node);
  }
  MutexLock lock(state_->mu);
  if (state_->watchers.size() >= kMaxWatchers) {
    return absl::ResourceExhaustedError("as many callers watch as this execution agent takes");
  }
  const std::int64_t id = state_->next_watcher++;
  for (const std::string& node : nodes) {
    const auto [at, added] = state_->upstreams.try_emplace(node);
    if (added) at->second.pause = state_->options.first_pause;
    at->second.watchers.insert(id);
    // Those that come later must not think that all is well.
    if (at->second.in_trouble) {
      v1::NodeEvent event;
      event.set_node(node);
      *event.mutable_received_at() = ToTimestamp(state_->clock.Now());
      event.set_trouble("nothing is heard of it; it is tried again");
      push(std::move(event));
    }
  }
  state_->watchers[id] = {std::move(nodes), std::move(push), {}};
  state_->Wake();
  return id;
}

void NodeWatch::Leave(std::int64_t watcher) {
  std::vector<clients::Cancel> cancels;
  {
    MutexLock lock(state_->mu);
    const auto at = state_->watchers.find(watcher);
    if (at == state_->watchers.end()) return;
    for (const std::string& node : at->second.nodes) {
      const auto upstream = state_->upstreams.find(node);
      if (upstream == state_->upstreams.end()) continue;
      upstream->second.watchers.erase(watcher);
      if (!upstream->second.watchers.empty()) continue;
      if (upstream->second.cancel) cancels.push_back(std::move(upstream->second.cancel));
      state_->upstreams.erase(upstream);
    }
    state_->watchers.erase(at);
  }
  for (const clients::Cancel& cancel : cancels) cancel();
}

}  // namespace galen::execution
