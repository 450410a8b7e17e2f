#ifndef SERVICES_ORCHESTRATOR_RECENT_EVENTS_H_
#define SERVICES_ORCHESTRATOR_RECENT_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "galen/v1/diagnosis_event.pb.h"

namespace galen::orchestrator {

// The latest events appended here, so that watchers of a diagnosis need not read them back from the
// store. For each diagnosis, the events at the end of its log, without a gap; if there is no more
// room, the diagnoses with the oldest appends are dropped first. Thread-safe.
class RecentEvents {
 public:
  // `most_bytes`: of all events together, as they are stored.
  explicit RecentEvents(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // Takes events that were appended, and follow each other.
  void Add(const std::string& name, std::vector<v1::DiagnosisEvent> events);

  // The log ends with this event, whoever wrote it: drops what is not up to date.
  void EndsWith(absl::string_view name, std::int64_t last_sequence);

  // Drops all events of the diagnosis.
  void Forget(absl::string_view name);

  // Events after `after_sequence`, at most `limit`: none when that is the last one that was added.
  // nullopt when what follows is not known here.
  std::optional<std::vector<v1::DiagnosisEvent>> After(absl::string_view name,
                                                       std::int64_t after_sequence,
                                                       std::size_t limit);

 private:
  struct Log {
    std::deque<v1::DiagnosisEvent> events;  // never empty
    std::size_t bytes = 0;
    std::list<std::string>::iterator age;
  };
  void Drop(absl::string_view name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::size_t most_bytes_;
  Mutex mu_;
  std::size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<std::string, Log> logs_ ABSL_GUARDED_BY(mu_);
  std::list<std::string> by_age_ ABSL_GUARDED_BY(mu_);  // oldest first
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_RECENT_EVENTS_H_
