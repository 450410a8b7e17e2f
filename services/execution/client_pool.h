#ifndef SERVICES_EXECUTION_CLIENT_POOL_H_
#define SERVICES_EXECUTION_CLIENT_POOL_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/periodic_task.h"
#include "common/base/steady.h"

namespace galen::execution {

// Clients by address, made on first use. Idle clients are kept up to a limit and for a limited
// time, the most recently used first. A thread of the pool destroys a client some time after its
// last call: a gRPC thread that drops the last reference would wait for itself (gRPC 1.51 aborts).
// Thread-safe.
template <typename Client>
class ClientPool {
 public:
  // `peer`: the instance that must answer there, "" no matter which.
  using Make = std::function<absl::StatusOr<std::unique_ptr<Client>>(const std::string& address,
                                                                     const std::string& peer)>;
  struct Options {
    // Clients beyond this are closed once nobody uses them.
    std::size_t max_clients = 1024;
    // One that was not asked for in this time is closed.
    absl::Duration max_idle = absl::Minutes(5);
    // From when nobody uses a client that is to be closed until it is.
    absl::Duration rest = absl::Seconds(5);
    // How often the pool's thread looks; zero: there is none, and Tend() is called instead.
    absl::Duration look = absl::Seconds(1);
  };

  ClientPool(Make make, Options options) : make_(std::move(make)), options_(options) {
    if (options_.look > absl::ZeroDuration()) {
      tending_.emplace(
          [this] {
            Tend(SteadyNow());
            return options_.look;
          },
          options_.look);
    }
  }
  // Waits a while for calls in flight, which must have been cancelled.
  ~ClientPool() {
    tending_.reset();
    MutexLock lock(mu_);
    for (Entry& entry : entries_) retired_.push_back({std::move(entry.client), SteadyNow()});
    for (Retired& retired : retired_) {
      for (int i = 0; i < 500 && retired.client.use_count() > 1; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      if (retired.client.use_count() > 1) Lose(retired.client);
    }
  }

  // The error of `make`.
  absl::StatusOr<std::shared_ptr<Client>> Get(const std::string& address, const std::string& peer) {
    std::string key = address;
    key.append("\n").append(peer);
    MutexLock lock(mu_);
    const auto known = by_key_.find(key);
    if (known != by_key_.end()) {
      entries_.splice(entries_.begin(), entries_, known->second);
      known->second->used = SteadyNow();
      return known->second->client;
    }
    absl::StatusOr<std::unique_ptr<Client>> made = make_(address, peer);
    if (!made.ok()) return made.status();
    entries_.push_front({key, std::shared_ptr<Client>(*std::move(made)), SteadyNow()});
    by_key_[std::move(key)] = entries_.begin();
    std::shared_ptr<Client> client = entries_.front().client;
    MakeRoom(/*most=*/64);
    return client;
  }

  // Those that are open, also those that are about to be closed.
  std::size_t size() const {
    MutexLock lock(mu_);
    return entries_.size() + retired_.size();
  }

  // Periodic work of the pool's thread. Must not run on a gRPC thread.
  void Tend(absl::Time now) {
    std::vector<std::shared_ptr<Client>> closed;  // destroyed without the lock
    MutexLock lock(mu_);
    MakeRoom(entries_.size());
    for (auto at = entries_.end(); at != entries_.begin();) {
      const auto entry = std::prev(at);
      if (entry->used + options_.max_idle > now) break;
      if (entry->client.use_count() == 1) {
        Retire(entry, now);
      } else {
        at = entry;
      }
    }
    for (auto at = retired_.begin(); at != retired_.end();) {
      if (at->client.use_count() > 1) {
        at->since = now;
        ++at;
      } else if (at->since + options_.rest <= now) {
        closed.push_back(std::move(at->client));
        at = retired_.erase(at);
      } else {
        ++at;
      }
    }
  }

 private:
  // Keeps a client for ever: better lost than given up by its own thread.
  static void Lose(std::shared_ptr<Client> client) {
    new std::shared_ptr<Client>(std::move(client));
  }

  struct Entry {
    std::string key;
    std::shared_ptr<Client> client;
    absl::Time used;
  };
  struct Retired {
    std::shared_ptr<Client> client;
    absl::Time since;
  };

  void Retire(typename std::list<Entry>::iterator entry, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    retired_.push_back({std::move(entry->client), now});
    by_key_.erase(entry->key);
    entries_.erase(entry);
  }

  // Examines up to `most` of the least recently used clients and retires those without calls. While
  // more clients have calls in flight than may be kept, all of them stay.
  void MakeRoom(std::size_t most) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const absl::Time now = SteadyNow();
    auto at = entries_.end();
    for (std::size_t looked = 0;
         looked < most && entries_.size() > options_.max_clients && at != entries_.begin();
         ++looked) {
      const auto entry = std::prev(at);
      if (entry->client.use_count() == 1) {
        Retire(entry, now);
      } else {
        at = entry;
      }
    }
  }

  const Make make_;
  const Options options_;
  mutable Mutex mu_;
  // The one that was asked for last, at the front.
  std::list<Entry> entries_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, typename std::list<Entry>::iterator> by_key_
      ABSL_GUARDED_BY(mu_);
  std::list<Retired> retired_ ABSL_GUARDED_BY(mu_);

  std::optional<PeriodicTask> tending_;
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_CLIENT_POOL_H_
