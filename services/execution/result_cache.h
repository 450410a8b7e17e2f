#ifndef SERVICES_EXECUTION_RESULT_CACHE_H_
#define SERVICES_EXECUTION_RESULT_CACHE_H_

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "galen/v1/evidence.pb.h"

namespace galen::execution {

// Results of checks by the diagnosis that they were run for, so that a call that is made again (a
// retry, another replica of the orchestrator) does not load the nodes again. Only what ran or was
// skipped is kept, not errors: those are worth another try. Bounded; the diagnosis that was used
// longest ago goes first. Lost with the process, which costs time and nothing else. Thread-safe.
class ResultCache {
 public:
  struct Options {
    // Limit for results, their keys and their overhead.
    std::size_t max_bytes = std::size_t{64} << 20;
    // A diagnosis that asks later than this needs fresh results.
    absl::Duration max_age = absl::Minutes(30);
  };

  explicit ResultCache(Options options) : options_(options) {}

  // `variant` tells calls of a check apart that may answer differently (window, parameters).
  void Keep(const std::string& diagnosis, const std::string& variant,
            const galen::v1::CheckResult& result, absl::Time now);
  std::optional<galen::v1::CheckResult> Find(const std::string& diagnosis,
                                             const std::string& variant, const std::string& id,
                                             absl::Time now);

  // Results of the same check on other nodes than `nodes`.
  std::vector<galen::v1::CheckResult> OfOthers(const std::string& diagnosis,
                                               const std::string& variant, const std::string& check,
                                               const std::set<std::string>& nodes, absl::Time now);

 private:
  struct Entry {
    galen::v1::CheckResult result;
    absl::Time kept;
  };
  struct Diagnosis {
    std::string name;
    std::size_t bytes = 0;
    std::map<std::string, Entry> results;
  };

  // Size of an entry, in bytes.
  static std::size_t SizeOf(const std::string& key, const Entry& entry);
  // Moves the diagnosis to the front, or adds it: the front is the most recently used.
  std::list<Diagnosis>::iterator Touch(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  Mutex mu_;
  std::list<Diagnosis> diagnoses_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::list<Diagnosis>::iterator> by_name_ ABSL_GUARDED_BY(mu_);
  std::size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_RESULT_CACHE_H_
