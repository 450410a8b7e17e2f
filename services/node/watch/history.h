#ifndef SERVICES_NODE_WATCH_HISTORY_H_
#define SERVICES_NODE_WATCH_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"

namespace galen::node {

// The values of counters at the last samples: all samples of some minutes, and one in `every` for
// longer. Bounded, and adding a sample allocates nothing. Not thread-safe.
class History {
 public:
  struct Options {
    // Bytes for the values of each of the two rings. The more counters, the fewer samples.
    std::size_t bytes = std::size_t{1} << 20;
    std::size_t most_samples = 900;
    std::size_t fewest_samples = 30;
    // The second ring keeps one sample in this many.
    int every = 15;
  };

  // How a counter moved between two samples.
  struct Change {
    absl::Time from;
    absl::Time to;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    // Sum of the rises from sample to sample. After a reset a counter begins at an unknown value,
    // so what it counts until the next sample is missing.
    std::uint64_t rise = 0;
    int resets = 0;
  };

  explicit History(const Options& options) : options_(options) {}

  // Makes room for `series` counters, never fewer than before; what is known stays known.
  void Resize(std::size_t series);

  // `values` has the length given to Resize(). Times must not go back.
  void Add(absl::Time time, absl::Span<const std::uint64_t> values);

  // Between the first and the last known sample of [from, to], from the ring that reaches back far
  // enough, or further. Nothing with fewer than two samples.
  std::optional<Change> Between(std::size_t series, absl::Time from, absl::Time to) const;

  // Bytes that the rings hold.
  std::size_t bytes() const;

 private:
  struct Ring {
    std::size_t capacity = 0;
    std::size_t next = 0;  // place of the next sample
    std::size_t count = 0;
    std::vector<absl::Time> times;
    std::vector<std::uint64_t> values;  // capacity rows of width numbers

    // Place of sample `i`, 0 the oldest one.
    std::size_t Place(std::size_t i) const { return (next + capacity - count + i) % capacity; }
    absl::Time Oldest() const { return count == 0 ? absl::InfiniteFuture() : times[Place(0)]; }
  };

  void Resize(Ring& ring, std::size_t width) const;
  void Add(Ring& ring, absl::Time time, absl::Span<const std::uint64_t> values) const;

  const Options options_;
  std::size_t width_ = 0;
  Ring fine_;
  Ring coarse_;
  int until_coarse_ = 0;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_WATCH_HISTORY_H_
