#ifndef SERVICES_GATEWAY_KUBERNETES_CONTROLLER_H_
#define SERVICES_GATEWAY_KUBERNETES_CONTROLLER_H_

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/base/mutex.h"
#include "common/kube/client.h"
#include "common/kube/watch.h"
#include "services/gateway/kubernetes/reconciler.h"

namespace galen::gateway::kubernetes {

// Watches the Diagnosis objects of a cluster, and has the reconciler step those that are not over.
// Thread-safe.
class Controller {
 public:
  struct Options {
    int threads = 4;
    absl::Duration longest_pause = absl::Minutes(1);  // after problems in a row
  };
  struct Counts {
    std::size_t followed = 0;    // objects that are not over
    std::uint64_t steps = 0;     // made
    std::uint64_t problems = 0;  // of them
  };
  // Both must outlive it. `tell` gets a sentence about each problem.
  Controller(kube::Client& client, Reconciler& reconciler, Options options,
             std::function<void(const std::string&)> tell);
  // Waits for steps that are under way.
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  Counts counts() const;

 private:
  using Key = std::pair<std::string, std::string>;  // namespace and uid
  struct Item {
    kube::Json object;
    bool deleted = false;
    bool busy = false;     // a step of it is being made
    bool changed = false;  // meanwhile
    int problems = 0;      // in a row
    absl::Time due;        // on SteadyNow()'s scale
  };
  void Heard(const kube::Change& change);
  // Waits for a due step; false at the end.
  bool Take(Key& key, kube::Json& object, bool& deleted);
  void Loop();
  void Made(const Key& key, const kube::Json& object, Reconciler::Outcome outcome);

  Reconciler& reconciler_;
  const Options options_;
  const std::function<void(const std::string&)> tell_;
  Cancellation cancellation_;
  mutable Mutex mu_;
  std::condition_variable changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  Counts counts_ ABSL_GUARDED_BY(mu_);
  bool failing_ ABSL_GUARDED_BY(mu_) = false;  // and it was reported
  bool deaf_ = false;                          // the same of the watch; of its thread alone
  std::map<Key, Item> items_ ABSL_GUARDED_BY(mu_);
  std::vector<std::thread> threads_;
  std::unique_ptr<kube::Watch> watch_;
};

}  // namespace galen::gateway::kubernetes

#endif  // SERVICES_GATEWAY_KUBERNETES_CONTROLLER_H_
