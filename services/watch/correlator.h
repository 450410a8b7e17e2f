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

// The same serious event, on one machine or many, at the same time.
struct Outbreak {
  std::string kind;        // "system.kernel_log xid 79"
  std::int64_t begin = 0;  // of its first event: position of the record in the journal,
  int begin_index = 0;     // and place in the record
  int part = 0;            // of an outbreak of more machines than one incident may name
  absl::Time first;        // when its first and last event were received
  absl::Time last;
  std::vector<v1::HealthEvent> events;  // the first of each machine, in order of arrival
};

// Groups related events. A pure function of the events, their positions and the times at which they
// were received; not thread-safe.
//
// An outbreak is reported if nothing was added to it for `quiet`, and after `longest` in any case:
// a switch or a power feed that fails is noticed by its machines within a fraction of a second, and
// a diagnosis should not wait for stragglers. Those form another outbreak. A reported machine is
// not reported again for the same kind until `repeat` has passed.
class Correlator {
 public:
  struct Options {
    absl::Duration quiet = absl::Milliseconds(200);
    absl::Duration longest = absl::Milliseconds(700);
    absl::Duration repeat = absl::Minutes(10);
    // Machines that one incident may name: a larger outbreak is reported at once, in parts.
    std::size_t most_machines = 10'000;
    // Reported machines that are remembered; beyond that the ones that expire first are dropped
    // first.
    std::size_t most_remembered = 100'000;
  };

  explicit Correlator(Options options) : options_(options) {}

  // A serious event: the one at place `index` of the record at `position`. Positions must not
  // decrease.
  void Add(const std::string& kind, v1::HealthEvent event, std::int64_t position, int index,
           absl::Time received);

  // The outbreaks due at `now`, oldest first. They count as reported from here on.
  std::vector<Outbreak> Due(absl::Time now);
  // When Due() may next return something; InfiniteFuture if nothing is open.
  absl::Time NextDue() const;

  // The position from which the journal has to be read after a restart, if it was read up to
  // `position`: open and unreported events must be read again. Also the reported machines, for
  // Restore().
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
