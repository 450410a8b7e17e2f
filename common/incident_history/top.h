#ifndef COMMON_INCIDENT_HISTORY_TOP_H_
#define COMMON_INCIDENT_HISTORY_TOP_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace galen::incident_history {

// A document of a view: part by part (view.h), in each part from 0.
struct Scored {
  std::uint32_t part = 0;
  std::uint32_t document = 0;
  float score = 0;
};

// The better first: by falling score, equal ones in the order of the view.
inline bool Better(const Scored& a, const Scored& b) {
  if (a.score != b.score) return a.score > b.score;
  if (a.part != b.part) return a.part < b.part;
  return a.document < b.document;
}

// Keeps the `most` best of what it is offered. Not thread-safe.
class Top {
 public:
  explicit Top(size_t most) : most_(std::max<size_t>(most, 1)) { kept_.reserve(2 * most_); }

  size_t most() const { return most_; }
  // Documents with a lower score are not kept.
  float threshold() const { return threshold_; }

  void Offer(const Scored& scored) {
    if (!(scored.score >= threshold_)) return;  // also rejects NaN
    kept_.push_back(scored);
    if (kept_.size() == 2 * most_) Cut();
  }

  // Makes threshold() as high as what was offered allows.
  void Cut() {
    if (kept_.size() < most_) return;
    std::nth_element(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(most_ - 1),
                     kept_.end(), Better);
    kept_.resize(most_);
    threshold_ = std::max(threshold_, kept_[most_ - 1].score);
  }

  // Best first.
  std::vector<Scored> Take() {
    Cut();
    std::sort(kept_.begin(), kept_.end(), Better);
    return std::move(kept_);
  }

 private:
  const size_t most_;
  std::vector<Scored> kept_;
  float threshold_ = 0;
};

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_TOP_H_
