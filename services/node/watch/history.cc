#include "services/node/watch/history.h"

#include <algorithm>
#include <utility>

#include "services/node/watch/counter_files.h"

namespace galen::node {

void History::Resize(std::size_t series) {
  if (series <= width_) return;
  Resize(fine_, series);
  Resize(coarse_, series);
  width_ = series;
}

void History::Resize(Ring& ring, std::size_t width) const {
  Ring wider;
  wider.capacity = std::clamp(options_.bytes / (width * sizeof(std::uint64_t)),
                              options_.fewest_samples, options_.most_samples);
  wider.times.resize(wider.capacity);
  wider.values.assign(wider.capacity * width, kUnknownCount);
  // The newest samples that fit.
  const std::size_t kept = std::min(ring.count, wider.capacity);
  for (std::size_t i = 0; i < kept; ++i) {
    const std::size_t from = ring.Place(ring.count - kept + i);
    wider.times[i] = ring.times[from];
    std::copy_n(ring.values.data() + from * width_, width_, wider.values.data() + i * width);
  }
  wider.count = kept;
  wider.next = kept % wider.capacity;
  ring = std::move(wider);
}

void History::Add(absl::Time time, absl::Span<const std::uint64_t> values) {
  if (width_ == 0) return;
  Add(fine_, time, values);
  if (until_coarse_-- > 0) return;
  until_coarse_ = options_.every - 1;
  Add(coarse_, time, values);
}

void History::Add(Ring& ring, absl::Time time, absl::Span<const std::uint64_t> values) const {
  ring.times[ring.next] = time;
  std::copy_n(values.data(), std::min(width_, values.size()),
              ring.values.data() + ring.next * width_);
  ring.next = (ring.next + 1) % ring.capacity;
  ring.count = std::min(ring.count + 1, ring.capacity);
}

std::optional<History::Change> History::Between(std::size_t series, absl::Time from,
                                                absl::Time to) const {
  if (series >= width_ || fine_.count == 0) return std::nullopt;
  const bool far = from < fine_.Oldest() && coarse_.Oldest() < fine_.Oldest();
  const Ring& ring = far ? coarse_ : fine_;
  // Times do not go back, so the first sample of the window is found by halving.
  std::size_t low = 0;
  std::size_t high = ring.count;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (ring.times[ring.Place(middle)] < from) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  std::optional<Change> change;
  int samples = 0;
  for (std::size_t i = low; i < ring.count; ++i) {
    const std::size_t place = ring.Place(i);
    if (ring.times[place] > to) break;
    const std::uint64_t value = ring.values[place * width_ + series];
    if (value == kUnknownCount) continue;
    if (!change.has_value()) {
      change = Change{ring.times[place], ring.times[place], value, value, 0, 0};
    } else if (value >= change->last) {
      change->rise += value - change->last;
    } else {
      ++change->resets;
    }
    change->to = ring.times[place];
    change->last = value;
    ++samples;
  }
  if (samples < 2) return std::nullopt;
  return change;
}

std::size_t History::bytes() const {
  return (fine_.values.size() + coarse_.values.size()) * sizeof(std::uint64_t) +
         (fine_.times.size() + coarse_.times.size()) * sizeof(absl::Time);
}

}  // namespace galen::node
