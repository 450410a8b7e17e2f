#include "services/gateway/http/connection_registry.h"

#include "common/base/steady.h"

namespace galen::gateway::http {

std::int64_t ConnectionRegistry::Enter(const std::shared_ptr<Closable>& connection) {
  const MutexLock lock(mu_);
  if (draining()) return 0;
  connections.fetch_add(1, std::memory_order_relaxed);
  entries_[++last_].connection = connection;
  return last_;
}

void ConnectionRegistry::Leave(std::int64_t id) {
  const MutexLock lock(mu_);
  const auto it = entries_.find(id);
  if (it == entries_.end()) return;
  waiting_.erase(it->second.since);
  entries_.erase(it);
  fewer_.notify_all();
}

void ConnectionRegistry::Waiting(std::int64_t id) {
  const MutexLock lock(mu_);
  const auto it = entries_.find(id);
  if (it == entries_.end() || it->second.since != 0) return;
  it->second.since = ++last_;
  waiting_[last_] = id;
}

void ConnectionRegistry::Working(std::int64_t id) {
  const MutexLock lock(mu_);
  const auto it = entries_.find(id);
  if (it == entries_.end()) return;
  waiting_.erase(it->second.since);
  it->second.since = 0;
}

bool ConnectionRegistry::MakeRoom() {
  std::shared_ptr<Closable> oldest;
  {
    const MutexLock lock(mu_);
    if (entries_.size() < options.max_connections) return true;
    if (waiting_.empty()) return false;
    const std::int64_t id = waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
    Entry& entry = entries_[id];
    entry.since = 0;
    oldest = entry.connection.lock();
  }
  evicted.fetch_add(1, std::memory_order_relaxed);
  if (oldest != nullptr) oldest->Close();
  return true;
}

bool ConnectionRegistry::TakeBody(const std::string& payer, std::size_t bytes) {
  if (bytes == 0) return true;
  const std::size_t most = payer.empty() ? options.max_unknown_bytes : options.max_payer_bytes;
  const MutexLock lock(bodies_mu_);
  const auto own = bodies_of_.find(payer);
  const std::size_t held = own == bodies_of_.end() ? 0 : own->second;
  if (bodies_ + bytes > options.max_bodies_bytes || held + bytes > most) return false;
  bodies_ += bytes;
  bodies_of_[payer] = held + bytes;
  return true;
}

void ConnectionRegistry::GiveBody(const std::string& payer, std::size_t bytes) {
  if (bytes == 0) return;
  const MutexLock lock(bodies_mu_);
  bodies_ -= bytes;
  const auto own = bodies_of_.find(payer);
  if ((own->second -= bytes) == 0) bodies_of_.erase(own);
}

std::vector<std::shared_ptr<Closable>> ConnectionRegistry::All() const {
  const MutexLock lock(mu_);
  std::vector<std::shared_ptr<Closable>> all;
  for (const auto& [id, entry] : entries_) {
    if (auto connection = entry.connection.lock()) all.push_back(std::move(connection));
  }
  return all;
}

void ConnectionRegistry::Drain() {
  {
    const MutexLock lock(mu_);
    draining_.store(true, std::memory_order_release);
  }
  for (const auto& connection : All()) connection->Drain();
}

void ConnectionRegistry::CloseAll() {
  for (const auto& connection : All()) connection->Close();
}

bool ConnectionRegistry::WaitUntilNone(absl::Duration limit) {
  const absl::Time until = SteadyNow() + limit;
  const MutexLock lock(mu_);
  while (!entries_.empty() && SteadyNow() < until) mu_.WaitFor(fewer_, until - SteadyNow());
  return entries_.empty();
}

std::size_t ConnectionRegistry::open() const {
  const MutexLock lock(mu_);
  return entries_.size();
}

}  // namespace galen::gateway::http
