#ifndef SERVICES_WATCH_CORRELATOR_H_
#define SERVICES_WATCH_CORRELATOR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "galen/watch/v1/watch.pb.h"

namespace galen::watch {

// The same grave thing, on one machine or many, at the same time.
struct Outbreak {
  std::string kind;        // "system.kernel_log xid 79"
  std::int64_t begin = 0;  // of its first event: position of the record in the journal,
  int begin_index = 0;     // and place in the record
  int part = 0;            // of an outbreak of more machines than one incident may name
  absl::Time first;        // when its first and last event were received
  absl::Time last;
  std::vector<v1::HealthEvent> events;  // of each machine the first, in the order they came
};

// Brings together what belongs together. A pure function of the events, their positions and the
// times at which they were received; not thread-safe.
//
// An outbreak is told when nothing was added to it for `quiet`, and after `longest` in any case: a
// switch or a power feed that fails is seen by its machines within a fraction of a second, and who
// waits for a diagnosis does not want to wait for stragglers. Those are an outbreak of their own.
// A machine that was told of is not told of again for the same kind until `repeat` has passed.
class Correlator {
 public:
  struct Options {
    absl::Duration quiet = absl::Milliseconds(200);
    absl::Duration longest = absl::Milliseconds(700);
    absl::Duration repeat = absl::Minutes(10);
    // Machines that one incident may name: an outbreak of more is told at once, in parts.
    std::size_t most_machines = 10'000;
    // Machines told of that are remembered; beyond it the ones whose time is over first go first.
    std::size_t most_remembered = 100'000;
  };

  explicit Correlator(Options options) : options_(options) {}

  // A grave event: the one at place `index` of the record at `position`. Positions must not go
  // down.
  void Add(const std::string& kind, v1::HealthEvent event, std::int64_t position, int index,
           absl::Time received);

  // The outbreaks to be told of at `now`, oldest first. They are told of from here on.
  std::vector<Outbreak> Due(absl::Time now);
  // When Due() may have something next; InfiniteFuture when nothing is open.
  absl::Time NextDue() const;

  // Where the journal has to be read on after a restart, when it was read up to `position`: what
  // is open and was not told of must be met again. And whom was told of, to be given to Restore().
  v1::Progress Save(std::int64_t position) const;
  void Restore(const v1::Progress& progress);

 private:
  using Key = std::pair<std::string, std::string>;  // kind, node
  void Split(Outbreak outbreak, std::vector<Outbreak>& into) const;
  bool IsDue(const Outbreak& outbreak, absl::Time now) const;

  const Options options_;
  std::map<std::string, Outbreak> open_;                  // by kind
  std::map<std::string, std::set<std::string>> members_;  // by kind: machines of the open one
  std::map<Key, absl::Time> told_;                        // until when
};

}  // namespace galen::watch

#endif  // SERVICES_WATCH_CORRELATOR_H_
