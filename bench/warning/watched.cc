#include "bench/warning/watched.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/timeseries/align.h"

namespace galen::bench {
namespace {

// As in galen-watch (services/watch/early_warning): how long a sample is valid.
constexpr absl::Duration kMostAge = absl::Minutes(2);

// The second of each minute at which a machine is scraped.
std::int64_t SecondOf(std::size_t node) { return static_cast<std::int64_t>((node * 37) % 60); }

}  // namespace

void Watched::Grow(const std::vector<double>& values, double scale, std::vector<Scrapes>& counters,
                   std::vector<float>& growth) const {
  counters.resize(values.size());
  growth.resize(values.size());
  const std::size_t per_node = values.size() / fleet_.node_jobs().size();
  const std::int64_t second = std::int64_t{60} * fleet_.minute();
  const timeseries::Grid grid{absl::FromUnixSeconds(second), absl::Minutes(1), 1};
  for (std::size_t i = 0; i < values.size(); ++i) {
    Scrapes& scrapes = counters[i];
    if (!std::isnan(values[i])) {
      if (scrapes.size == scrapes.samples.size()) {
        std::copy(scrapes.samples.begin() + 1, scrapes.samples.end(), scrapes.samples.begin());
        --scrapes.size;
      }
      scrapes.samples[scrapes.size++] = {1000 * (second + SecondOf(i / per_node)), values[i]};
    }
    const timeseries::Rate rate = timeseries::RateOf(
        absl::MakeConstSpan(scrapes.samples.data(), scrapes.size), grid, {.most_gap = kMostAge});
    growth[i] = rate.per_second.values[0] * static_cast<float>(scale);
  }
}

void Watched::Take() {
  Grow(fleet_.ecc(), 60, ecc_, ecc);
  Grow(fleet_.nvlink(), 60, nvlink_, nvlink);
  Grow(fleet_.pcie(), 60, pcie_, pcie);
  Grow(fleet_.retransmissions(), 60, retransmissions_, retransmissions);
  const std::vector<float>& shares = fleet_.io_pressure();
  waited_.resize(shares.size());
  std::vector<double> told = waited_;
  for (std::size_t node = 0; node < shares.size(); ++node) {
    const bool known = !std::isnan(shares[node]);
    if (known) waited_[node] += 60 * static_cast<double>(shares[node]);
    told[node] = known ? waited_[node] : std::numeric_limits<double>::quiet_NaN();
  }
  Grow(told, 1, io_, io_pressure);
  ones.assign(fleet_.memory_available().size(), 1.0F);
  planned.assign(fleet_.node_jobs().size(), false);
  std::set<std::int32_t> jobs;
  for (const testing::PlannedWork& work : fleet_.planned()) {
    // Planned work is announced, with the time until the machines are normal again.
    if (fleet_.minute() < work.from || fleet_.minute() >= work.until + 30) continue;
    planned[static_cast<std::size_t>(work.node)] = true;
    jobs.insert(fleet_.node_jobs()[static_cast<std::size_t>(work.node)]);
  }
  if (jobs.empty()) return;
  for (std::size_t node = 0; node < planned.size(); ++node) {
    const std::int32_t job = fleet_.node_jobs()[node];
    if (job >= 0 && jobs.contains(job)) planned[node] = true;
  }
}

}  // namespace galen::bench
