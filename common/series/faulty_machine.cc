#include "common/series/faulty_machine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "common/series/robust.h"
#include "common/series/window_sums.h"

namespace galen::series {
namespace {

// Scales are estimated from this many machines at most: their error is a tenth, and a selection
// among all machines costs more than everything else.
constexpr std::size_t kMostForScale = 128;
constexpr std::size_t kMostForMedian = 125;

// The search ends after this many rejected groups.
constexpr std::size_t kMostGroups = 8;
constexpr float kAlikeAtLeast = 12;  // noises
// A stretch and its past each have this many parts: a blip shorter than one moves two of them at
// most.
constexpr std::size_t kParts = 4;
// The parts are noisier than the whole: a part may deviate by this multiple of the spread over all
// of them.
constexpr float kGenerous = 2;

// (Unlike std::min and std::max these become one instruction each.)
inline float Least(float a, float b) { return a < b ? a : b; }
inline float Most(float a, float b) { return a > b ? a : b; }

// A stretch of windows, and its past: [begin - kParts * past, begin) and [begin, end).
struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

class Search {
 public:
  Search(absl::Span<const Panel* const> metrics, const FaultyOptions& options)
      : options_(options),
        metrics_(metrics),
        machines_(metrics[0]->entities()),
        windows_((metrics[0]->samples() + options.window - 1) / options.window),
        past_(std::max<std::size_t>(options.before / kParts, 1)) {
    // (Longer ones need not begin at each window.)
    for (std::size_t step = 1, length = std::max<std::size_t>(options.after, kParts); step <= 4;
         step *= 2, length *= 2) {
      for (std::size_t begin = kParts * past_; begin + length <= windows_; begin += step)
        stretches_.push_back({begin, begin + length});
    }
  }

  FaultReport Run() {
    FaultReport report;
    report.too_little = stretches_.empty() || machines_ < options_.least_machines;
    if (report.too_little) return report;
    ReadOnce();
    ForgetFrozen(report);
    FindSilent(report);
    evidence_.assign(stretches_.size() * machines_, 0);
    scaled_.resize(machines_);
    for (std::size_t metric = 0; metric < metrics_.size(); ++metric) {
      Center(metric);
      AddUp(metric);
      if (noise_ > 0) AddEvidence();
    }
    Judge(report);
    return report;
  }

 private:
  absl::Span<float> Means(std::size_t metric, std::size_t window) {
    return absl::MakeSpan(means_).subspan((metric * windows_ + window) * machines_, machines_);
  }

  void ReadOnce() {
    means_.resize(metrics_.size() * windows_ * machines_);
    frozen_.resize(windows_ * machines_);
    frozen_metrics_.assign(windows_ * machines_, 0);
    moving_metrics_.assign(windows_, 0);
    for (std::size_t metric = 0; metric < metrics_.size(); ++metric) {
      for (std::size_t machine = 0; machine < machines_; ++machine) {
        SumWindows(metrics_[metric]->Row(machine), options_.window,
                   {Means(metric, 0).data() + machine, frozen_.data() + machine, machines_});
      }
      for (std::size_t w = 0; w < windows_; ++w) {
        const std::uint8_t* const frozen = frozen_.data() + w * machines_;
        std::size_t count = 0;
        for (std::size_t i = 0; i < machines_; ++i) count += frozen[i];
        // A metric that stands still everywhere is constant by design.
        if (count * 2 > machines_) continue;
        ++moving_metrics_[w];
        if (count == 0) continue;
        for (std::size_t i = 0; i < machines_; ++i) frozen_metrics_[w * machines_ + i] += frozen[i];
      }
    }
  }

  // One constant metric may be the fault itself; nearly all of them at once are a hung collector.
  void ForgetFrozen(FaultReport& report) {
    std::vector<std::size_t> windows(machines_, 0);
    for (std::size_t w = 0; w < windows_; ++w) {
      if (moving_metrics_[w] < 2) continue;
      const double least =
          std::max(2.0, options_.least_frozen * static_cast<double>(moving_metrics_[w]));
      for (std::size_t i = 0; i < machines_; ++i) {
        if (static_cast<double>(frozen_metrics_[w * machines_ + i]) < least) continue;
        ++windows[i];
        for (std::size_t metric = 0; metric < metrics_.size(); ++metric)
          Means(metric, w)[i] = kUnknown;
      }
    }
    for (std::size_t i = 0; i < machines_; ++i) {
      if (windows[i] >= 2) report.frozen.push_back(i);
    }
  }

  void FindSilent(FaultReport& report) {
    unknown_.assign(windows_ * machines_, 0);
    for (std::size_t metric = 0; metric < metrics_.size(); ++metric) {
      for (std::size_t w = 0; w < windows_; ++w) {
        const absl::Span<const float> means = Means(metric, w);
        std::int32_t* const unknown = unknown_.data() + w * machines_;
        for (std::size_t i = 0; i < machines_; ++i) unknown[i] += IsKnown(means[i]) ? 0 : 1;
      }
    }
    const auto all = static_cast<std::int32_t>(metrics_.size());
    for (std::size_t i = 0; i < machines_; ++i) {
      std::size_t silent = 0;
      while (silent < windows_ && unknown_[(windows_ - 1 - silent) * machines_ + i] == all)
        ++silent;
      const bool frozen = std::binary_search(report.frozen.begin(), report.frozen.end(), i);
      if (silent >= options_.after && !frozen) report.silent.push_back(i);
    }
    // If most are silent, the source ended, not the machines.
    if (report.silent.size() * 2 > machines_) report.silent.clear();
  }

  // Subtracts the median of the machines from the means.
  void Center(std::size_t metric) {
    std::vector<float> known;
    known.reserve(machines_);
    bool gaps = false;
    for (std::size_t w = 0; w < windows_; ++w) {
      const absl::Span<float> means = Means(metric, w);
      std::size_t unknown = 0;
      for (const float value : means) unknown += IsKnown(value) ? 0 : 1;
      gaps = gaps || unknown > 0;
      // The sampling error of the median is the same for all machines: their differences stay.
      const std::size_t stride = std::max<std::size_t>(machines_ / kMostForMedian, 1);
      known.clear();
      for (std::size_t i = 0; i < machines_; i += stride) {
        if (IsKnown(means[i])) known.push_back(means[i]);
      }
      const float median =
          known.size() * 2 * stride < machines_ ? kUnknown : MedianInPlace(absl::MakeSpan(known));
      for (float& value : means) value -= median;
    }
    if (gaps) FillGaps(metric);
  }

  // Prefix sums of a centered metric, and its noise.
  void AddUp(std::size_t metric) {
    sums_.resize((windows_ + 1) * machines_);
    std::fill_n(sums_.begin(), machines_, 0.0F);
    noises_.assign(machines_, 0);
    for (std::size_t w = 0; w < windows_; ++w) {
      const float* const now = Means(metric, w).data();
      const float* const last = Means(metric, w == 0 ? 0 : w - 1).data();
      const float* const from = sums_.data() + w * machines_;
      float* const to = sums_.data() + (w + 1) * machines_;
      for (std::size_t i = 0; i < machines_; ++i) {
        to[i] = from[i] + now[i];
        noises_[i] += std::fabs(now[i] - last[i]);
      }
    }
    const float to_sigma = kMeanAdToSigma / std::sqrt(2.0F) /
                           static_cast<float>(std::max<std::size_t>(windows_ - 1, 1));
    for (float& noise : noises_) noise *= to_sigma;
    std::vector<float> known = noises_;
    noise_ = MedianInPlace(absl::MakeSpan(known));
    if (noise_ > 0) {
      for (float& noise : noises_) noise = std::max(noise, noise_);
      return;
    }
    // Most machines stand still in this metric (errors, drops): its noise is the common behaviour
    // of all.
    double sum = 0;
    for (const float noise : noises_) sum += noise;
    noise_ = static_cast<float>(sum / static_cast<double>(machines_));
    for (float& noise : noises_) noise = std::max(noise, noise_);
  }

  // An unknown window is evidence neither for nor against its machine: it gets the machine's own
  // usual value. (A machine without any known value differs in nothing.)
  void FillGaps(std::size_t metric) {
    std::vector<float> known;
    for (std::size_t i = 0; i < machines_; ++i) {
      known.clear();
      for (std::size_t w = 0; w < windows_; ++w) {
        const float value = Means(metric, w)[i];
        if (IsKnown(value)) known.push_back(value);
      }
      if (known.size() == windows_) continue;
      const float usual = known.empty() ? 0 : MedianInPlace(absl::MakeSpan(known));
      for (std::size_t w = 0; w < windows_; ++w) {
        float& value = Means(metric, w)[i];
        if (!IsKnown(value)) value = usual;
      }
    }
  }

  // The shift of each machine in a stretch from its own past, into scaled_, in units of its noise;
  // 0 if it is less than least_score.
  void Scale(const Stretch& stretch) {
    const auto row = [&](std::size_t w) { return sums_.data() + w * machines_; };
    // Borders of the four parts of the past, and of the four of the stretch.
    std::array<const float*, kParts + 1> p{};
    std::array<const float*, kParts + 1> a{};
    std::array<float, kParts> one{};  // over the windows of a part
    const std::size_t length = stretch.end - stretch.begin;
    const std::size_t before = stretch.begin - kParts * past_;
    std::size_t last = 0;
    for (std::size_t k = 0; k <= kParts; ++k) {
      p[k] = row(before + k * past_);
      const std::size_t border = length * k / kParts;
      a[k] = row(stretch.begin + border);
      if (k > 0) one[k - 1] = 1.0F / static_cast<float>(border - last);
      last = border;
    }
    const float past = 1.0F / static_cast<float>(past_);
    const float whole = 1.0F / static_cast<float>(length);
    const float whole_past = past / static_cast<float>(kParts);
    for (std::size_t i = 0; i < machines_; ++i) {
      plain_[i] =
          std::fabs((a[kParts][i] - a[0][i]) * whole - (p[kParts][i] - p[0][i]) * whole_past);
    }
    const float spread = std::sqrt(whole + whole_past);
    const std::size_t stride = (machines_ + kMostForScale - 1) / kMostForScale;
    std::array<float, kMostForScale> sample{};
    std::size_t size = 0;
    for (std::size_t i = 0; i < machines_; i += stride) sample[size++] = plain_[i];
    const float usual = kMadToSigma * MedianInPlace(absl::MakeSpan(sample.data(), size));
    const auto least = static_cast<float>(options_.least_score);
    for (std::size_t i = 0; i < machines_; ++i) {
      scaled_[i] = 0;
      const float scale = Most(usual, noises_[i] * spread);
      // Rarely needed, so the parts need not be fast.
      if (plain_[i] < least * scale) continue;
      float past_low = std::numeric_limits<float>::max();
      float past_high = std::numeric_limits<float>::lowest();
      float low = past_low;
      float high = past_high;
      for (std::size_t k = 0; k < kParts; ++k) {
        const float before_part = (p[k + 1][i] - p[k][i]) * past;
        const float part = (a[k + 1][i] - a[k][i]) * one[k];
        past_low = Least(past_low, before_part);
        past_high = Most(past_high, before_part);
        low = Least(low, part);
        high = Most(high, part);
      }
      // A blip moves some parts of one side; a change separates all of them.
      const float all = Most(Most(low - past_high, past_low - high), 0.0F);
      scaled_[i] = Least(plain_[i], kGenerous * all) / scale;
    }
  }

  void AddEvidence() {
    plain_.resize(machines_);
    const auto least = static_cast<float>(options_.least_score);
    const auto most = static_cast<float>(options_.most_score);
    for (std::size_t s = 0; s < stretches_.size(); ++s) {
      Scale(stretches_[s]);
      float* const evidence = evidence_.data() + s * machines_;
      for (std::size_t i = 0; i < machines_; ++i) {
        const float over = Most(Least(scaled_[i], most) - least, 0.0F);
        evidence[i] += over * over;
      }
    }
  }

  struct Candidate {
    std::size_t machine = 0;
    std::size_t stretch = 0;
    float evidence = 0;
  };

  Candidate Furthest(absl::Span<const std::uint8_t> passed_over) const {
    Candidate best;
    for (std::size_t s = 0; s < stretches_.size(); ++s) {
      const float* const evidence = evidence_.data() + s * machines_;
      if (*std::max_element(evidence, evidence + machines_) <= best.evidence) continue;
      for (std::size_t i = 0; i < machines_; ++i) {
        if (evidence[i] > best.evidence && passed_over[i] == 0) best = {i, s, evidence[i]};
      }
    }
    return best;
  }

  // Machines that moved the same way in the metric in which `suspect` moved furthest, as far or
  // nearly, at the same time, including itself. One that drifts with others may be ahead of them in
  // some stretches: all that overlap count.
  std::vector<std::size_t> LikesOf(const Candidate& candidate, const Suspect& suspect) {
    std::vector<std::size_t> likes;
    if (suspect.metrics.empty()) return likes;
    const MetricChange& change = suspect.metrics.front();
    const Stretch& own = stretches_[candidate.stretch];
    const float sign = change.noises > 0 ? 1.0F : -1.0F;
    AddUp(change.metric);
    std::vector<float> most(machines_, 0);
    for (const Stretch& stretch : stretches_) {
      if (stretch.begin >= own.end || own.begin >= stretch.end) continue;
      Scale(stretch);
      for (std::size_t i = 0; i < machines_; ++i) {
        if (sign * ShiftOf(i, stretch) > 0) most[i] = Most(most[i], scaled_[i]);
      }
    }
    // A shift that noise also reaches is not a resemblance.
    const float least =
        Most(std::fabs(change.noises), kAlikeAtLeast) * static_cast<float>(options_.alike);
    for (std::size_t i = 0; i < machines_; ++i) {
      if (most[i] >= least) likes.push_back(i);
    }
    return likes;
  }

  // The change of a machine's mean in the centered metric.
  float ShiftOf(std::size_t machine, const Stretch& stretch) const {
    const float* const sums = sums_.data() + machine;
    const std::size_t before = stretch.begin - kParts * past_;
    return (sums[stretch.end * machines_] - sums[stretch.begin * machines_]) /
               static_cast<float>(stretch.end - stretch.begin) -
           (sums[stretch.begin * machines_] - sums[before * machines_]) /
               static_cast<float>(kParts * past_);
  }

  void Judge(FaultReport& report) {
    std::vector<std::uint8_t> passed_over(machines_, 0);
    for (std::size_t round = 0; round < kMostGroups; ++round) {
      const Candidate candidate = Furthest(passed_over);
      if (candidate.evidence < static_cast<float>(options_.least_evidence)) return;
      const Stretch& stretch = stretches_[candidate.stretch];
      Suspect suspect;
      suspect.machine = candidate.machine;
      suspect.evidence = candidate.evidence;
      suspect.begin = stretch.begin * options_.window;
      suspect.end = std::min(stretch.end * options_.window, metrics_[0]->samples());
      Explain(candidate.machine, stretch, suspect);
      const std::vector<std::size_t> likes = LikesOf(candidate, suspect);
      if (likes.size() <= 1 + options_.most_alike) {
        report.suspect = std::move(suspect);
        return;
      }
      report.group = true;
      for (const std::size_t machine : likes) passed_over[machine] = 1;
      passed_over[candidate.machine] = 1;
    }
  }

  // The metrics of the change, measured once more.
  void Explain(std::size_t machine, const Stretch& stretch, Suspect& suspect) {
    for (std::size_t metric = 0; metric < metrics_.size(); ++metric) {
      AddUp(metric);
      if (!(noise_ > 0)) continue;
      Scale(stretch);
      if (scaled_[machine] < static_cast<float>(options_.least_score)) continue;
      suspect.metrics.push_back(
          {metric, std::copysign(scaled_[machine], ShiftOf(machine, stretch))});
    }
    std::sort(suspect.metrics.begin(), suspect.metrics.end(),
              [](const MetricChange& a, const MetricChange& b) {
                return std::fabs(a.noises) > std::fabs(b.noises);
              });
  }

  const FaultyOptions options_;
  const absl::Span<const Panel* const> metrics_;
  const std::size_t machines_;
  const std::size_t windows_;
  const std::size_t past_;  // windows of a part of a past
  std::vector<Stretch> stretches_;
  std::vector<float> means_;                   // metric, window, machine
  std::vector<std::uint8_t> frozen_;           // of one metric: window, machine
  std::vector<std::uint16_t> frozen_metrics_;  // window, machine
  std::vector<std::int32_t> unknown_;          // window, machine: metrics
  std::vector<std::size_t> moving_metrics_;    // window
  std::vector<float> sums_;                    // of one metric: window, machine; prefix sums
  std::vector<float> noises_;                  // of one metric: machine
  float noise_ = 0;
  std::vector<float> scaled_;
  std::vector<float> plain_;
  std::vector<float> evidence_;  // stretch, machine
};

}  // namespace

FaultReport FindFaultyMachine(absl::Span<const Panel* const> metrics,
                              const FaultyOptions& options) {
  FaultReport report;
  report.too_little = true;
  if (metrics.empty() || metrics.size() > 10'000 || options.window == 0) return report;
  for (const Panel* const metric : metrics) {
    if (metric->entities() != metrics[0]->entities() || metric->samples() != metrics[0]->samples())
      return report;
  }
  return Search(metrics, options).Run();
}

}  // namespace galen::series
