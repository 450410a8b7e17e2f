#include "bench/eval/report/plots.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/eval/report/table.h"

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

std::string Text(double x, double y, const char* anchor, const std::string& text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
                         EscapeHtml(text));
}

std::string Line(double x1, double y1, double x2, double y2, const char* style) {
  return absl::StrFormat("<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                         style, x1, y1, x2, y2);
}

std::string Open(double width, double height, const std::string& title) {
  return absl::StrFormat(
      "<svg role=\"img\" aria-label=\"%s\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
      "height=\"%.0f\">\n<text class=\"title\" x=\"8\" y=\"18\">%s</text>\n",
      EscapeHtml(title), width, height, width, height, EscapeHtml(title));
}

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

std::string Legend(const std::vector<Series>& all) {
  std::string svg;
  double x = kLeft;
  for (std::size_t i = 0; i < all.size(); ++i) {
    absl::StrAppendFormat(&svg,
                          "<rect class=\"s%d\" x=\"%.1f\" y=\"28\" width=\"10\" height=\"10\"/>\n",
                          static_cast<int>(i % 4), x);
    svg += Text(x + 14, 37, "start", all[i].name);
    x += 30 + 7 * static_cast<double>(all[i].name.size());
  }
  return svg;
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
  std::string svg = Open(width, kHeight, chart.title);
  svg += Legend(chart.series);
  for (int i = 0; i <= kTicks; ++i) {
    const double value = top * i / kTicks;
    svg += Line(kLeft, y_of(value), width - 6, y_of(value), "grid");
    svg += Text(kLeft - 6, y_of(value) + 4, "end", absl::StrFormat("%g", value));
  }
  if (!chart.unit.empty()) svg += Text(8, 37, "start", chart.unit);
  for (std::size_t g = 0; g < chart.groups.size(); ++g) {
    const double left = kLeft + kGroupGap / 2 + static_cast<double>(g) * (group + kGroupGap);
    for (std::size_t s = 0; s < chart.series.size(); ++s) {
      const Series& series = chart.series[s];
      if (g >= series.values.size()) continue;
      const double x = left + static_cast<double>(s) * kBar;
      const double y = y_of(series.values[g]);
      absl::StrAppendFormat(&svg,
                            "<rect class=\"s%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                            "height=\"%.1f\"><title>%s, %s: %.3f</title></rect>\n",
                            static_cast<int>(s % 4), x + 1, y, kBar - 2, base - y,
                            EscapeHtml(chart.groups[g]), EscapeHtml(series.name), series.values[g]);
      if (g < series.low.size() && g < series.high.size()) {
        const double middle = x + kBar / 2;
        svg += Line(middle, y_of(series.low[g]), middle, y_of(series.high[g]), "whisker");
      }
      svg += Text(x + kBar / 2, y - 4, "middle",
                  absl::StrFormat("%.*f", top <= 1 ? 2 : 0, series.values[g]));
    }
    svg += Text(left + group / 2, base + 18 + (g % 2 == 0 ? 0 : 14), "middle", chart.groups[g]);
  }
  return absl::StrCat(svg, "</svg>\n");
}

std::string ReliabilitySvg(const std::string& title, const v1::Calibration& calibration) {
  const double base = kTop + kSquare;
  const auto x_of = [](double value) { return kLeft + std::clamp(value, 0.0, 1.0) * kSquare; };
  const auto y_of = [&](double value) { return base - std::clamp(value, 0.0, 1.0) * kSquare; };
  std::string svg = Open(kLeft + kSquare + 20, base + 44, title);
  for (int i = 0; i <= kTicks; ++i) {
    const double value = static_cast<double>(i) / kTicks;
    svg += Line(kLeft, y_of(value), kLeft + kSquare, y_of(value), "grid");
    svg += Text(kLeft - 6, y_of(value) + 4, "end", absl::StrFormat("%.1f", value));
    svg += Text(x_of(value), base + 16, "middle", absl::StrFormat("%.1f", value));
  }
  svg += Line(x_of(0), y_of(0), x_of(1), y_of(1), "whisker");
  int most = 1;
  for (const v1::CalibrationBin& bin : calibration.bins()) most = std::max(most, bin.verdicts());
  for (const v1::CalibrationBin& bin : calibration.bins()) {
    if (bin.verdicts() == 0) continue;
    absl::StrAppendFormat(
        &svg,
        "<circle class=\"s0\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"><title>%d verdicts, confidence "
        "%.3f, right %.3f</title></circle>\n",
        x_of(bin.confidence()), y_of(bin.right()),
        4 + 10 * std::sqrt(static_cast<double>(bin.verdicts()) / most), bin.verdicts(),
        bin.confidence(), bin.right());
  }
  svg += Text(kLeft, 37, "start",
              absl::StrFormat("share right over confidence; %d verdicts, error %.3f",
                              calibration.verdicts(), calibration.error()));
  return absl::StrCat(svg, "</svg>\n");
}

}  // namespace galen::eval
