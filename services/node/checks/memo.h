#ifndef SERVICES_NODE_CHECKS_MEMO_H_
#define SERVICES_NODE_CHECKS_MEMO_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/base/mutex.h"

namespace galen::node {

// Values by a key, made when they are first asked for, and kept: at most `most`, then all are
// dropped. Two threads may make the same one at once; the first to be done wins. Thread-safe.
template <typename Value>
class Memo {
 public:
  explicit Memo(std::size_t most) : most_(most) {}

  template <typename Make>
  std::shared_ptr<const Value> Get(const std::string& key, Make make) {
    {
      const MutexLock lock(mu_);
      if (const auto it = values_.find(key); it != values_.end()) return it->second;
    }
    std::shared_ptr<const Value> made = make();
    const MutexLock lock(mu_);
    if (values_.size() >= most_) values_.clear();
    return values_.emplace(key, std::move(made)).first->second;
  }

 private:
  const std::size_t most_;
  Mutex mu_;
  std::map<std::string, std::shared_ptr<const Value>> values_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_MEMO_H_
