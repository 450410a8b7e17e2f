#include "common/telemetry/merge_series.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace galen::telemetry {
namespace {

using timeseries::Sample;
using SampleList = std::vector<Sample>;

// Sets of label names of one answer that are compared; an answer about one metric has a few.
constexpr std::size_t kMostShapes = 32;
// Samples that are this many intervals apart have a gap between them.
constexpr double kGap = 2.5;
// Two servers that compute a rate from samples of different seconds agree within this.
constexpr double kSimilar = 0.1;
// So many values of the same times must differ before two series are different things.
constexpr std::size_t kLeastDiffering = 3;

using Shape = std::set<std::string>;

Shape ShapeOf(const Labels& labels) {
  Shape shape;
  for (const auto& [name, value] : labels) shape.insert(name);
  return shape;
}

// The values of the labels of `shape`.
std::vector<std::string> Projected(const Labels& labels, const Shape& shape) {
  std::vector<std::string> values;
  for (const std::string& name : shape) values.push_back(labels.find(name)->second);
  return values;
}

// Whether some labels can tell one series of a metric from another.
bool Tells(const Shape& shape) { return shape.size() > shape.count(kMetricName); }

bool Same(double a, double b, bool evaluated) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  if (a == b) return true;
  return std::fabs(a - b) <= (evaluated ? kSimilar : 1e-9) * std::max(std::fabs(a), std::fabs(b));
}

// Whether most values of the same times differ.
bool Differ(const SampleList& a, const SampleList& b, bool evaluated) {
  std::size_t shared = 0;
  std::size_t differing = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].at != b[j].at) {
      ++(a[i].at < b[j].at ? i : j);
      continue;
    }
    ++shared;
    differing += Same(a[i++].value, b[j++].value, evaluated) ? 0 : 1;
  }
  return differing * 2 > shared && (evaluated || differing >= kLeastDiffering);
}

// The usual time between two samples; 0: not known.
std::int64_t IntervalOf(const SampleList& samples) {
  if (samples.size() < 2) return 0;
  std::vector<std::int64_t> between;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    between.push_back(samples[i].at - samples[i - 1].at);
  }
  const auto middle = between.begin() + static_cast<std::ptrdiff_t>(between.size() / 2);
  std::nth_element(between.begin(), middle, between.end());
  return *middle;
}

// Puts those of `other` into the gaps of `base`. Between samples of one and of the other there is
// half an interval: two servers that ask one exporter have clocks of their own, and a counter that
// goes backwards would count as a reset.
void FillGaps(const SampleList& other, bool evaluated, SampleList& base) {
  const std::int64_t interval = std::max(IntervalOf(base), IntervalOf(other));
  const std::int64_t margin = evaluated ? 1 : std::max<std::int64_t>(interval / 2, 1);
  const double gap = evaluated ? 0 : kGap * static_cast<double>(interval);
  SampleList filled;
  filled.reserve(base.size() + other.size());
  std::size_t next = 0;  // of `other`
  std::optional<std::int64_t> before;
  const auto fill = [&](std::optional<std::int64_t> until) {
    const bool open =
        !before.has_value() || !until.has_value() || static_cast<double>(*until - *before) > gap;
    for (; next < other.size() && (!until.has_value() || other[next].at < *until); ++next) {
      const std::int64_t at = other[next].at;
      if (open && (!before.has_value() || at >= *before + margin) &&
          (!until.has_value() || at <= *until - margin)) {
        filled.push_back(other[next]);
      }
    }
  };
  for (const Sample& sample : base) {
    fill(sample.at);
    filled.push_back(sample);
    before = sample.at;
  }
  fill(std::nullopt);
  base = std::move(filled);
}

class Merger {
 public:
  Merger(std::vector<TimeSeries>& more, bool evaluated, std::vector<TimeSeries>& series)
      : more_(more), evaluated_(evaluated), series_(series), taken_(series.size(), false) {}

  MergeResult Run() {
    std::map<Labels, std::size_t> known;
    for (std::size_t i = 0; i < series_.size(); ++i) known.emplace(series_[i].labels, i);
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < more_.size(); ++i) {
      const auto same = known.find(more_[i].labels);
      if (same == known.end()) {
        left.push_back(i);
      } else {
        Join(same->second, i);
      }
    }
    JoinWithin(left);
    for (const std::size_t i : left) {
      if (!joined_.contains(i)) series_.push_back(std::move(more_[i]));
    }
    return std::move(result_);
  }

 private:
  using Shapes = std::map<Shape, std::vector<std::size_t>>;

  // Those of one answer whose labels include the labels of one of the other.
  void JoinWithin(const std::vector<std::size_t>& left) {
    Shapes ours;
    Shapes theirs;
    for (std::size_t i = 0; i < taken_.size(); ++i) ours[ShapeOf(series_[i].labels)].push_back(i);
    for (const std::size_t i : left) theirs[ShapeOf(more_[i].labels)].push_back(i);
    if (ours.size() > kMostShapes || theirs.size() > kMostShapes) return;
    for (const auto& [shape, own] : ours) {
      for (const auto& [other_shape, others] : theirs) {
        const bool smaller = shape.size() < other_shape.size();
        const Shape& inner = smaller ? shape : other_shape;
        const Shape& outer = smaller ? other_shape : shape;
        if (shape.size() == other_shape.size() || !Tells(inner) ||
            !std::includes(outer.begin(), outer.end(), inner.begin(), inner.end())) {
          continue;
        }
        JoinPairs(inner, own, others);
      }
    }
  }

  void JoinPairs(const Shape& by, const std::vector<std::size_t>& own,
                 const std::vector<std::size_t>& others) {
    struct Candidates {
      std::vector<std::size_t> own;
      std::vector<std::size_t> others;
    };
    std::map<std::vector<std::string>, Candidates> candidates;
    for (const std::size_t i : own) {
      candidates[Projected(series_[i].labels, by)].own.push_back(i);
    }
    for (const std::size_t i : others) {
      candidates[Projected(more_[i].labels, by)].others.push_back(i);
    }
    for (const auto& [values, pair] : candidates) {
      if (pair.own.size() != 1 || pair.others.size() != 1) continue;
      if (taken_[pair.own[0]] || joined_.contains(pair.others[0])) continue;
      Join(pair.own[0], pair.others[0]);
    }
  }

  void Join(std::size_t into, std::size_t from) {
    TimeSeries& one = series_[into];
    TimeSeries& other = more_[from];
    taken_[into] = true;
    joined_.insert(from);
    if (Differ(one.samples, other.samples, evaluated_)) {
      if (result_.differ++ == 0) result_.example = ShowLabels(one.labels);
      return;
    }
    // More labels tell more of the machine.
    if (other.labels.size() > one.labels.size()) one.labels = std::move(other.labels);
    if (other.samples.size() > one.samples.size()) std::swap(one.samples, other.samples);
    FillGaps(other.samples, evaluated_, one.samples);
  }

  std::vector<TimeSeries>& more_;
  const bool evaluated_;
  std::vector<TimeSeries>& series_;
  std::vector<bool> taken_;       // of the series that were there
  std::set<std::size_t> joined_;  // of those of `more_`
  MergeResult result_;
};

}  // namespace

MergeResult MergeSeries(std::vector<TimeSeries> more, bool evaluated,
                        std::vector<TimeSeries>& series) {
  if (series.empty()) {
    series = std::move(more);
    return {};
  }
  if (more.empty()) return {};
  return Merger(more, evaluated, series).Run();
}

}  // namespace galen::telemetry
