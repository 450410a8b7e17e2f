#ifndef SERVICES_NODE_BUNDLE_CACHE_H_
#define SERVICES_NODE_BUNDLE_CACHE_H_

#include <list>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "common/host/bundle.h"

namespace galen::node {

// The bundles that were asked for last, so that the calls of one diagnosis read a bundle once. One
// whose files have changed is read anew. Thread-safe.
class BundleCache {
 public:
  // What Bundle::Open(path) gives.
  absl::StatusOr<std::shared_ptr<const host::Bundle>> Open(const std::string& path);

 private:
  struct Entry {
    std::string path;
    std::string stamp;
    std::shared_ptr<const host::Bundle> bundle;
  };

  // The entry of `path`, or an empty one.
  Entry Find(const std::string& path);

  Mutex mu_;
  // The one used last stands first.
  std::list<Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::node

#endif  // SERVICES_NODE_BUNDLE_CACHE_H_
