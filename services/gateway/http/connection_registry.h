#ifndef SERVICES_GATEWAY_HTTP_CONNECTION_REGISTRY_H_
#define SERVICES_GATEWAY_HTTP_CONNECTION_REGISTRY_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "services/gateway/http/handler.h"
#include "services/gateway/http/server.h"

namespace galen::gateway::http {

// A connection in the view of the others. Thread-safe.
class Closable {
 public:
  virtual ~Closable() = default;
  // At once, whatever is under way.
  virtual void Close() = 0;
  // When no request is being answered, now or later.
  virtual void Drain() = 0;
};

// The open connections of a server and the limits that they share. Thread-safe.
class ConnectionRegistry {
 public:
  ConnectionRegistry(const ServerOptions& how, Handler& answers) : options(how), handler(answers) {}

  // Adds and removes a connection. `id` is above 0; 0: the server drains.
  std::int64_t Enter(const std::shared_ptr<Closable>& connection);
  void Leave(std::int64_t id);

  // The connection waits for its client to send (a request, or the rest of one), or no longer does.
  void Waiting(std::int64_t id);
  void Working(std::int64_t id);
  // Whether one more connection may come; at the limit it closes the one that has waited longest.
  bool MakeRoom();

  // Reserves `bytes` more for a body that `payer` sends; false if there is no room.
  bool TakeBody(const std::string& payer, std::size_t bytes);
  void GiveBody(const std::string& payer, std::size_t bytes);

  bool draining() const { return draining_.load(std::memory_order_acquire); }
  void Drain();
  void CloseAll();
  // False when some are left.
  bool WaitUntilNone(absl::Duration limit);
  std::size_t open() const;

  const ServerOptions options;
  Handler& handler;
  std::atomic<std::uint64_t> connections = 0;
  std::atomic<std::uint64_t> evicted = 0;
  std::atomic<std::uint64_t> timed_out = 0;
  std::atomic<std::uint64_t> refused = 0;

 private:
  struct Entry {
    std::weak_ptr<Closable> connection;
    std::int64_t since = 0;  // its place among those that wait; 0: it does not
  };
  std::vector<std::shared_ptr<Closable>> All() const;

  mutable Mutex mu_;
  std::condition_variable fewer_;
  std::int64_t last_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::int64_t, Entry> entries_ ABSL_GUARDED_BY(mu_);
  std::map<std::int64_t, std::int64_t> waiting_ ABSL_GUARDED_BY(mu_);  // since: id
  std::atomic<bool> draining_ = false;
  Mutex bodies_mu_;
  std::size_t bodies_ ABSL_GUARDED_BY(bodies_mu_) = 0;
  std::map<std::string, std::size_t> bodies_of_ ABSL_GUARDED_BY(bodies_mu_);  // by payer
};

}  // namespace galen::gateway::http

#endif  // SERVICES_GATEWAY_HTTP_CONNECTION_REGISTRY_H_
