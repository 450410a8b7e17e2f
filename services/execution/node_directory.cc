#include "services/execution/node_directory.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"

namespace galen::execution {
namespace {

// Reads of the store between two times that what is over is deleted from it.
constexpr int kReadsPerSweep = 30;

}  // namespace

NodeDirectory::NodeDirectory(store::NodeTable& table, const Clock& clock, Options options)
    : table_(table), clock_(clock), options_(std::move(options)) {}

NodeDirectory::~NodeDirectory() { Stop(); }

void NodeDirectory::Start(std::string address) {
  {
    MutexLock lock(mu_);
    address_ = std::move(address);
  }
  task_.emplace([this, next_read = absl::InfinitePast()]() mutable {
    const bool read = SteadyNow() >= next_read;
    if (read) next_read = SteadyNow() + options_.refresh;
    Sync(read).IgnoreError();  // it has been told
    return options_.gather;
  });
}

void NodeDirectory::Stop() {
  if (!task_.has_value()) return;
  task_.reset();
  std::string address;
  {
    MutexLock lock(mu_);
    address = address_;
  }
  const absl::Status gone = table_.Withdraw(ReplicaName(address));
  if (!gone.ok()) {
    options_.tell(
        absl::StrCat("this replica stays registered until its time is over: ", gone.message()));
  }
}

absl::StatusOr<NodeDirectory::Registered> NodeDirectory::Register(absl::string_view node,
                                                                  absl::string_view address,
                                                                  absl::Duration ttl,
                                                                  bool may_move) {
  GALEN_RETURN_IF_ERROR(CheckRegistration(node, address));
  const absl::Duration life = TimeToLive(ttl);
  const std::string name(node);
  MutexLock lock(mu_);
  if (known_.count(name) == 0 && pending_.count(name) == 0 &&
      known_.size() + pending_.size() >= options_.max_nodes) {
    return absl::ResourceExhaustedError(absl::StrCat("node ", name,
                                                     ": as many nodes as execution keeps (",
                                                     options_.max_nodes, ") are registered"));
  }
  Registered registered{.again_in = life / 3};
  const absl::Time now = clock_.Now();
  for (const Entries* entries : {&pending_, &known_}) {
    const auto there = entries->find(name);
    if (there == entries->end()) continue;
    if (there->second.record != address && there->second.expires > now) {
      registered.moved_from = there->second.record;
    }
    break;
  }
  if (!registered.moved_from.empty() && !may_move) {
    return absl::AlreadyExistsError(absl::StrCat(
        "node ", name, ": is at ", registered.moved_from, ", and does not move to ", address,
        " before it is gone there: the caller's certificate does not say that it is this node"));
  }
  pending_[name] = {name, std::string(address), now + life};
  return registered;
}

absl::Status NodeDirectory::Withdraw(absl::string_view node, absl::string_view address) {
  GALEN_RETURN_IF_ERROR(CheckRegistration(node, address));
  const std::string name(node);
  MutexLock turn(sync_mu_);
  {
    MutexLock lock(mu_);
    const auto waiting = pending_.find(name);
    const auto known = known_.find(name);
    const bool moved = waiting != pending_.end()
                           ? waiting->second.record != address
                           : known != known_.end() && known->second.record != address;
    // A successor has registered; it is not the one that goes.
    if (moved) return absl::OkStatus();
    pending_.erase(name);
    known_.erase(name);
  }
  const absl::Status gone = table_.Withdraw(name);
  TellView(!failing_);
  return gone;
}

absl::Status NodeDirectory::Sync(bool read) {
  MutexLock turn(sync_mu_);
  bool changed = read;
  const absl::Status status = Exchange(read, changed);
  if (!status.ok() && !std::exchange(failing_, true)) {
    options_.tell(absl::StrCat("the store of nodes does not answer, those that are known stay: ",
                               status.message()));
  } else if (status.ok() && read && std::exchange(failing_, false)) {
    options_.tell("the store of nodes answers again");
  }
  if (changed) TellView(!failing_);
  return status;
}

absl::Status NodeDirectory::Exchange(bool read, bool& changed) {
  const absl::Time now = clock_.Now();
  Entries batch;
  std::vector<store::NodeEntry> entries;
  {
    MutexLock lock(mu_);
    batch.swap(pending_);
    // Nodes registered here are known here, whatever happens to the store.
    for (const auto& [name, entry] : batch) {
      store::NodeEntry& known = known_[name];
      changed = changed || known.record != entry.record;
      known = entry;
      entries.push_back(entry);
    }
    if (read && !address_.empty()) {
      entries.push_back({ReplicaName(address_), address_, now + options_.replica_ttl});
    }
  }
  const absl::Status written = entries.empty() ? absl::OkStatus() : table_.Announce(entries);
  if (!written.ok()) {
    MutexLock lock(mu_);
    pending_.insert(batch.begin(), batch.end());  // what came since is newer and stays
    return written;
  }
  if (!read) return absl::OkStatus();
  GALEN_ASSIGN_OR_RETURN(std::vector<store::NodeEntry> listed, table_.List(now));
  Entries known;
  for (store::NodeEntry& entry : listed) {
    std::string name = entry.name;
    known.emplace(std::move(name), std::move(entry));
  }
  {
    MutexLock lock(mu_);
    known_.swap(known);
  }
  if (++reads_ % kReadsPerSweep == 0) return table_.Sweep(now).status();
  return absl::OkStatus();
}

void NodeDirectory::TellView(bool expire) {
  std::vector<store::NodeEntry> entries;
  std::string own;
  {
    MutexLock lock(mu_);
    own = address_;
    entries.reserve(known_.size());
    for (const auto& [name, entry] : known_) entries.push_back(entry);
  }
  MembershipView view = ViewOf(entries, expire ? clock_.Now() : absl::InfinitePast());
  if (view == view_) return;
  view_ = std::move(view);
  if (options_.on_change) options_.on_change(view_, own);
}

}  // namespace galen::execution
