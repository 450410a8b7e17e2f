// Tests of the job as a whole: how throughput went, and what training did meanwhile.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/playbook/test_parts.h"
#include "common/series/correlation.h"
#include "common/series/period.h"
#include "common/series/robust.h"

namespace galen::playbook {
namespace {

using series::IsKnown;
using series::kUnknown;

std::string PhasesText(const Scene& scene) {
  std::vector<std::string> parts;
  for (const series::Phase& phase : scene.phases) {
    if (parts.size() == 12) {
      parts.push_back(absl::StrCat(scene.phases.size() - parts.size(), " more"));
      break;
    }
    parts.push_back(absl::StrCat(Short(static_cast<double>(phase.level)), " from ",
                                 Clock(scene.grid, phase.begin)));
  }
  return absl::StrCat(absl::StrJoin(parts, ", "), " (", scene.unit, ")");
}

std::vector<Seen> ShapeOf(const TestInput& input) {
  const Scene& scene = input.scene;
  if (!scene.known || scene.shape == Shape::kUnknown) {
    return {Unknown({}, "the throughput of the job is not known")};
  }
  return {{{}, std::string(Word(scene.shape)), PhasesText(scene), -1}};
}

std::vector<Seen> Loss(const TestInput& input) {
  const Scene& scene = input.scene;
  if (!scene.known || scene.shape == Shape::kUnknown) {
    return {Unknown({}, "the throughput of the job is not known")};
  }
  return {{{}, scene.loss, PhasesText(scene), -1}};
}

// Medians of `count` blocks of the job's time.
std::vector<float> Blocks(absl::Span<const float> row, const Scene& scene, std::size_t count) {
  std::vector<float> blocks;
  const std::size_t size = scene.end - scene.begin;
  for (std::size_t b = 0; b < count; ++b) {
    const std::size_t from = scene.begin + size * b / count;
    const std::size_t to = scene.begin + size * (b + 1) / count;
    blocks.push_back(series::Median(row.subspan(from, to - from)));
  }
  return blocks;
}

// A measure of training that rises while, and as, throughput falls.
std::vector<Seen> RisesAsThroughputFalls(const TestInput& input) {
  const Scene& scene = input.scene;
  const Rows& rows = *input.of[0];
  if (!scene.known) return {Unknown({}, "the throughput of the job is not known")};
  constexpr std::size_t kBlocks = 24;
  if (scene.end - scene.begin < 2 * kBlocks) return {Unknown({}, "too few points")};
  const std::vector<float> median = MedianOf(rows);
  const std::vector<float> blocks = Blocks(median, scene, kBlocks);
  const std::vector<float> throughput = Blocks(scene.throughput, scene, kBlocks);
  const auto part = [](const std::vector<float>& all, std::size_t from, std::size_t size) {
    return static_cast<double>(series::Median(absl::MakeConstSpan(all).subspan(from, size)));
  };
  const double before = part(blocks, 0, kBlocks / 4);
  const double after = part(blocks, kBlocks - kBlocks / 4, kBlocks / 4);
  if (!std::isfinite(before) || !std::isfinite(after) || KnownShare(blocks) < 0.7) {
    return {Unknown({}, absl::StrCat(rows.name, " is known for too little of the time"))};
  }
  const double rise = before == 0 ? 0 : (after - before) / std::abs(before);
  const auto correlation = series::Correlate(blocks, throughput);
  const double together =
      correlation.has_value() && correlation->pairs >= kBlocks / 3 ? correlation->value : 0;
  const double fall =
      part(throughput, 0, kBlocks / 4) - part(throughput, kBlocks - kBlocks / 4, kBlocks / 4);
  const bool is = scene.loss > 0 && fall > 0 && rise >= input.Number("least_rise") &&
                  together <= -input.Number("least_correlation");
  return {{{},
           is,
           absl::StrCat(rows.name, " from ", Short(before), " to ", Short(after),
                        ", correlation with throughput ", Short(together)),
           0}};
}

// Points that jump far above what is around them.
std::vector<Seen> Spikes(const TestInput& input) {
  const Rows& rows = *input.of[0];
  const std::vector<float> median = MedianOf(rows);
  if (KnownShare(median) < 0.1) return {Unknown({}, "known for too little of the time")};
  const std::size_t window =
      std::max<std::size_t>(5, PointsOf(input.Number("window_min"), rows.grid));
  double spikes = 0;
  std::size_t first = median.size();
  bool inside = false;
  for (std::size_t t = window; t < median.size(); ++t) {
    if (!IsKnown(median[t])) continue;
    const auto before = absl::MakeConstSpan(median).subspan(t - window, window);
    const auto usual = static_cast<double>(series::Median(before));
    const bool is = std::isfinite(usual) && usual > 0 &&
                    static_cast<double>(median[t]) > input.Number("times") * usual;
    if (is && !inside) {
      ++spikes;
      first = std::min(first, t);
    }
    inside = is;
  }
  return {{{},
           spikes,
           spikes == 0 ? absl::StrCat(rows.name, " has none")
                       : absl::StrCat("the first one at ", Clock(rows.grid, first)),
           spikes == 0 ? -1 : 0}};
}

std::vector<Seen> PeriodIn(const TestInput& input) {
  const Rows& rows = *input.of[0];
  const std::vector<float> median = MedianOf(rows);
  const auto period = series::PeriodOf(median);
  if (!period.has_value()) return {{{}, 0.0, "no period", -1}};
  return {{{},
           period->samples * absl::ToDoubleSeconds(rows.grid.step),
           absl::StrCat("strength ", Short(static_cast<double>(period->strength))),
           0}};
}

}  // namespace

std::vector<Test> JobTests() {
  return {
      {"shape",
       "How throughput went: steady, phased (comes back), gradual, one_off (does not come back).",
       0,
       "text",
       {},
       ShapeOf},
      {"loss",
       "What throughput lost in its worse phases beside its best one; %.",
       0,
       "float",
       {},
       Loss},
      {"rises_as_throughput_falls",
       "Whether a measure of training rises while throughput falls, and as it does.",
       1,
       "bool",
       {{"least_rise", 0.2, 0, 100,
         "share of the first quarter that the last one is above: judgement"},
        {"least_correlation", 0.7, 0, 1, "of 24 medians of both: judgement"}},
       RisesAsThroughputFalls},
      {"spikes",
       "How often it jumped above what it was before.",
       1,
       "float",
       {{"times", 3, 1.01, 1000, "times the median of the time before: judgement"},
        {"window_min", 10, 0.5, 600, "minutes of that time"}},
       Spikes},
      {"period", "Its period in seconds; 0: it has none.", 1, "float", {}, PeriodIn},
  };
}

}  // namespace galen::playbook
