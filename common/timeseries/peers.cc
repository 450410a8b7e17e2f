#include "common/timeseries/peers.h"

#include <algorithm>
#include <cmath>

#include "common/timeseries/align.h"
#include "common/timeseries/robust.h"

namespace galen::timeseries {
namespace {

// Scores of one window, unknown if nothing can be said.
bool Score(absl::Span<const float> values, const PeerOptions& options, float& median,
           std::vector<float>& scores) {
  std::fill(scores.begin(), scores.end(), kUnknown);
  const Center center = CenterOf(values, options.most_share);
  median = center.median;
  if (center.known < options.least_peers + 1) return false;
  const auto least = static_cast<float>(options.least_relative * std::fabs(center.median));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!IsKnown(values[i])) continue;
    const float off = values[i] - center.median;
    // In a small group, the outlier widens the spread of all: its distance is measured by its
    // peers' own spread.
    float spread = center.spread;
    if (center.known <= 16 && std::fabs(off) > least) {
      std::vector<float> others;
      for (std::size_t j = 0; j < values.size(); ++j) {
        if (j != i && IsKnown(values[j])) others.push_back(values[j]);
      }
      spread = CenterOf(others, options.most_share).spread;
    }
    if (std::fabs(off) <= least) {
      scores[i] = 0;
    } else {
      // Peers that are all equal: any difference that counts is large.
      scores[i] = spread > 0 ? off / spread : std::copysign(1000.0F, off);
    }
  }
  return true;
}

}  // namespace

PeerReport FindOutliers(const Panel& panel, const PeerOptions& options) {
  PeerReport report;
  const std::size_t window = std::max<std::size_t>(options.window, 1);
  const std::size_t windows = (panel.samples() + window - 1) / window;
  report.windows = windows;
  std::vector<std::vector<float>> values(windows, std::vector<float>(panel.entities(), kUnknown));
  for (std::size_t entity = 0; entity < panel.entities(); ++entity) {
    const std::vector<float> medians = BlockMedians(panel.Row(entity), window);
    for (std::size_t w = 0; w < windows; ++w) values[w][entity] = medians[w];
  }
  std::vector<std::vector<float>> scores(windows, std::vector<float>(panel.entities(), kUnknown));
  std::vector<float> medians(windows, kUnknown);
  for (std::size_t w = 0; w < windows; ++w) {
    if (!Score(values[w], options, medians[w], scores[w])) continue;
    ++report.compared;
    const auto far =
        static_cast<double>(std::count_if(scores[w].begin(), scores[w].end(), [&](float score) {
          return IsKnown(score) && std::fabs(score) >= options.least_score;
        }));
    const double most = std::max(1.0, options.most_share * static_cast<double>(panel.entities()));
    if (far > most) std::fill(scores[w].begin(), scores[w].end(), 0.0F);
  }
  for (std::size_t entity = 0; entity < panel.entities(); ++entity) {
    std::size_t best_begin = 0;
    std::size_t best_end = 0;
    std::size_t begin = 0;
    int side = 0;
    for (std::size_t w = 0; w <= windows; ++w) {
      const float score = w < windows ? scores[w][entity] : 0.0F;
      const bool far = IsKnown(score) && std::fabs(score) >= options.least_score;
      const int now = far ? (score > 0 ? 1 : -1) : 0;
      if (now == side) continue;
      if (side != 0 && w - begin > best_end - best_begin) {
        best_begin = begin;
        best_end = w;
      }
      begin = w;
      side = now;
    }
    if (best_end - best_begin < std::max<std::size_t>(options.least_windows, 1)) continue;
    std::vector<float> own_scores;
    std::vector<float> own;
    for (std::size_t w = best_begin; w < best_end; ++w) {
      own_scores.push_back(scores[w][entity]);
      own.push_back(values[w][entity]);
    }
    const auto peers = absl::MakeConstSpan(medians).subspan(best_begin, best_end - best_begin);
    report.outliers.push_back({entity, best_begin * window,
                               std::min(best_end * window, panel.samples()), Median(own_scores),
                               Median(own), Median(peers)});
  }
  std::sort(report.outliers.begin(), report.outliers.end(), [](const Outlier& a, const Outlier& b) {
    return std::fabs(a.score) > std::fabs(b.score);
  });
  return report;
}

}  // namespace galen::timeseries
