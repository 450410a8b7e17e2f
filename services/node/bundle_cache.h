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

// Caches the bundles that were requested last, so that the calls of one diagnosis read a bundle
// once. A bundle is read again when its files change. Thread-safe.
class BundleCache {
 public:
  // The result of Bundle::Open(path).
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
  // The most recently used entry is first.
  std::list<Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::node

#endif  // SERVICES_NODE_BUNDLE_CACHE_H_
