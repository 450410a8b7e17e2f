#include "common/advisor/kaplan_meier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace galen::advisor {
namespace {

struct AtRisk {
  double hours = 0;  // or days, or steps
  double at_risk = 0;
  double failed = 0;
};

std::vector<CurvePoint> CurveOf(absl::Span<const AtRisk> times) {
  std::vector<CurvePoint> curve;
  double surviving = 1;
  double greenwood = 0;
  for (const AtRisk& time : times) {
    if (!(time.at_risk > 0)) break;
    const double failed = std::min(time.failed, time.at_risk);
    surviving *= 1 - failed / time.at_risk;
    CurvePoint point{time.hours, surviving, 0, 1};
    if (surviving > 0 && failed > 0) {
      greenwood += failed / (time.at_risk * (time.at_risk - failed));
    }
    if (surviving > 0 && surviving < 1) {
      const double log_survival = std::log(surviving);
      const double half = 1.959963984540054 * std::sqrt(greenwood) / std::abs(log_survival);
      point.low = std::exp(log_survival * std::exp(half));
      point.high = std::exp(log_survival * std::exp(-half));
    }
    if (surviving <= 0) point.high = curve.empty() ? 1 : curve.back().high;
    curve.push_back(point);
  }
  return curve;
}

}  // namespace

std::vector<CurvePoint> KaplanMeier(std::vector<Life> lives) {
  std::sort(lives.begin(), lives.end(),
            [](const Life& a, const Life& b) { return a.hours < b.hours; });
  std::vector<AtRisk> times;
  for (std::size_t i = 0; i < lives.size();) {
    AtRisk time{lives[i].hours, static_cast<double>(lives.size() - i), 0};
    for (; i < lives.size() && lives[i].hours == time.hours; ++i) time.failed += lives[i].failed;
    if (time.failed > 0) times.push_back(time);
  }
  return CurveOf(times);
}

std::vector<CurvePoint> KaplanMeier(absl::Span<const LifeCounts::Cell> cells, int least_sign) {
  std::array<double, kAges> hours{};
  std::array<double, kAges> failures{};
  for (const LifeCounts::Cell& cell : cells) {
    const int strongest = *std::max_element(cell.signs.begin(), cell.signs.end());
    if (strongest < least_sign) continue;
    hours[cell.age] += cell.hours;
    failures[cell.age] += cell.failures;
  }
  std::vector<AtRisk> times;
  for (std::size_t age = 0; age + 1 < kAges; ++age) {
    if (hours[age] <= 0 && failures[age] <= 0) continue;
    // A failed run was at risk for half of the interval on average.
    const double width = AgeBegin(age + 1) - AgeBegin(age);
    times.push_back({AgeBegin(age + 1), hours[age] / width + failures[age] / 2, failures[age]});
  }
  return CurveOf(times);
}

}  // namespace galen::advisor
