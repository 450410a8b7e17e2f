#ifndef SERVICES_WATCH_KUBERNETES_NODE_REPORTER_H_
#define SERVICES_WATCH_KUBERNETES_NODE_REPORTER_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/kube/client.h"
#include "common/kube/watch.h"
#include "common/store/store.h"
#include "services/watch/kubernetes/conclusions.h"
#include "services/watch/kubernetes/node_rules.h"

namespace galen::watch::kubernetes {

// Sets the conditions of a cluster's nodes to the conclusions of diagnoses, makes an event for each
// conclusion, and reports which nodes with GPUs have no node executor. It always starts from the
// present state, so several of them, also after a restart, write the same. Thread-safe.
class NodeReporter {
 public:
  struct Options {
    absl::Duration hold = absl::Hours(24);  // how long a conclusion is valid
    std::string own = "tenants/provider";   // tenant of diagnoses about nodes' own reports
    absl::Duration every = absl::Seconds(10);
    absl::Duration events_of = absl::Minutes(30);  // conclusions older than that get no event
    absl::Duration settle = absl::Minutes(5);      // delay before missing executors are reported
  };
  // All must outlive it. `tell` gets a sentence about each problem.
  NodeReporter(kube::Client& client, store::Store& store, NodeRules rules, const Clock& clock,
               Options options, std::function<void(const std::string&)> tell);
  ~NodeReporter();
  NodeReporter(const NodeReporter&) = delete;
  NodeReporter& operator=(const NodeReporter&) = delete;

 private:
  void Heard(const kube::Change& change);
  void Loop();
  absl::Status Round();
  absl::Status Report(const std::string& node, const std::map<std::string, Problem>& problems);
  absl::Status TellEvents(const std::vector<Conclusion>& conclusions);
  absl::Status LookForExecutors();

  kube::Client& client_;
  store::Store& store_;
  const NodeRules rules_;
  const Clock& clock_;
  const Options options_;
  const std::function<void(const std::string&)> tell_;
  const absl::Time began_;
  // Only for the loop's thread:
  Conclusions conclusions_;
  std::set<std::string> told_;     // names of events
  std::set<std::string> missing_;  // nodes that were reported to have no executor
  // Only for the watch's thread:
  bool deaf_ = false;
  Mutex mu_;
  std::map<std::string, kube::Json> nodes_ ABSL_GUARDED_BY(mu_);  // the parts that are read of each
  bool synced_ ABSL_GUARDED_BY(mu_) = false;
  Cancellation cancellation_;
  std::unique_ptr<kube::Watch> watch_;
  std::thread thread_;
};

}  // namespace galen::watch::kubernetes

#endif  // SERVICES_WATCH_KUBERNETES_NODE_REPORTER_H_
