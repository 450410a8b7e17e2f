#include "bench/eval/report/plots.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/svg/svg.h"

namespace galen::eval {
namespace {

// Pixels.
constexpr double kHeight = 260;
constexpr double kLeft = 56;
constexpr double kTop = 48;
constexpr double kBottom = 44;
constexpr double kBar = 26;
constexpr double kGroupGap = 30;
constexpr double kLeastWidth = 360;
constexpr double kSquare = 240;
constexpr int kTicks = 5;

// The page has the style sheet: title, grid, whisker, s0 to s3.
std::string Finish(svg::Svg& svg, double width, double height, const std::string& title) {
  svg.Text(8, 18, title, "title");
  return svg.Finish(width, height, title, "");
}

std::string SeriesType(std::size_t number) { return absl::StrCat("s", number % 4); }

// A round number at or above `value`.
double RoundUp(double value) {
  if (!(value > 0) || !std::isfinite(value)) return 1;
  const double magnitude = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 2.5, 5.0, 10.0}) {
    if (step * magnitude >= value) return step * magnitude;
  }
  return 10 * magnitude;
}

double Highest(const BarChart& chart) {
  if (chart.top > 0) return chart.top;
  double highest = 0;
  for (const Series& series : chart.series) {
    for (const double value : series.values) highest = std::max(highest, value);
    for (const double value : series.high) highest = std::max(highest, value);
  }
  return RoundUp(highest);
}

void Legend(svg::Svg& svg, const std::vector<Series>& all) {
  double x = kLeft;
  for (std::size_t i = 0; i < all.size(); ++i) {
    svg.Rect(x, 28, 10, 10, SeriesType(i));
    svg.Text(x + 14, 37, all[i].name, "");
    x += 30 + svg::Svg::WidthOf(all[i].name);
  }
}

}  // namespace

std::string BarsSvg(const BarChart& chart) {
  const double top = Highest(chart);
  const double group = kBar * static_cast<double>(std::max<std::size_t>(chart.series.size(), 1));
  const double width = std::max(
      kLeastWidth, kLeft + 10 + (group + kGroupGap) * static_cast<double>(chart.groups.size()));
  const double base = kHeight - kBottom;
  const auto y_of = [&](double value) {
    const double share = std::isfinite(value) ? std::clamp(value / top, 0.0, 1.0) : 0.0;
    return base - share * (base - kTop);
  };
  svg::Svg svg;
  Legend(svg, chart.series);
  for (int i = 0; i <= kTicks; ++i) {
    const double value = top * i / kTicks;
    svg.Line(kLeft, y_of(value), width - 6, y_of(value), "grid");
    svg.Text(kLeft - 6, y_of(value) + 4, absl::StrFormat("%g", value), "", "end");
  }
  if (!chart.unit.empty()) svg.Text(8, 37, chart.unit, "");
  for (std::size_t g = 0; g < chart.groups.size(); ++g) {
    const double left = kLeft + kGroupGap / 2 + static_cast<double>(g) * (group + kGroupGap);
    for (std::size_t s = 0; s < chart.series.size(); ++s) {
      const Series& series = chart.series[s];
      if (g >= series.values.size()) continue;
      const double x = left + static_cast<double>(s) * kBar;
      const double y = y_of(series.values[g]);
      svg.Rect(x + 1, y, kBar - 2, base - y, SeriesType(s),
               absl::StrFormat("%s, %s: %.3f", chart.groups[g], series.name, series.values[g]));
      if (g < series.low.size() && g < series.high.size()) {
        const double middle = x + kBar / 2;
        svg.Line(middle, y_of(series.low[g]), middle, y_of(series.high[g]), "whisker");
      }
      svg.Text(x + kBar / 2, y - 4, absl::StrFormat("%.*f", top <= 1 ? 2 : 0, series.values[g]), "",
               "middle");
    }
    svg.Text(left + group / 2, base + 18 + (g % 2 == 0 ? 0 : 14), chart.groups[g], "", "middle");
  }
  return Finish(svg, width, kHeight, chart.title);
}

std::string ReliabilitySvg(const std::string& title, const v1::Calibration& calibration) {
  const double base = kTop + kSquare;
  const auto x_of = [](double value) { return kLeft + std::clamp(value, 0.0, 1.0) * kSquare; };
  const auto y_of = [&](double value) { return base - std::clamp(value, 0.0, 1.0) * kSquare; };
  svg::Svg svg;
  for (int i = 0; i <= kTicks; ++i) {
    const double value = static_cast<double>(i) / kTicks;
    svg.Line(kLeft, y_of(value), kLeft + kSquare, y_of(value), "grid");
    svg.Text(kLeft - 6, y_of(value) + 4, absl::StrFormat("%.1f", value), "", "end");
    svg.Text(x_of(value), base + 16, absl::StrFormat("%.1f", value), "", "middle");
  }
  svg.Line(x_of(0), y_of(0), x_of(1), y_of(1), "whisker");
  int most = 1;
  for (const v1::CalibrationBin& bin : calibration.bins()) most = std::max(most, bin.verdicts());
  for (const v1::CalibrationBin& bin : calibration.bins()) {
    if (bin.verdicts() == 0) continue;
    svg.Circle(x_of(bin.confidence()), y_of(bin.right()),
               4 + 10 * std::sqrt(static_cast<double>(bin.verdicts()) / most), "s0",
               absl::StrFormat("%d verdicts, confidence %.3f, right %.3f", bin.verdicts(),
                               bin.confidence(), bin.right()));
  }
  svg.Text(kLeft, 37,
           absl::StrFormat("share right over confidence; %d verdicts, error %.3f",
                           calibration.verdicts(), calibration.error()),
           "");
  return Finish(svg, kLeft + kSquare + 20, base + 44, title);
}

}  // namespace galen::eval
