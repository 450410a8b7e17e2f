#include "common/perfmodel/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/perfmodel/task.h"
#include "common/svg/svg.h"

namespace galen::perfmodel {
namespace {

using svg::Frame;
using svg::Svg;

constexpr double kWidth = 820;
constexpr std::size_t kMostPoints = 6;

std::string Rate(double rate) {
  if (rate >= 1e15) return absl::StrFormat("%.3g PFLOP/s", rate / 1e15);
  if (rate >= 1e12) return absl::StrFormat("%.3g TFLOP/s", rate / 1e12);
  return absl::StrFormat("%.3g GFLOP/s", rate / 1e9);
}

template <typename Function>
void Curve(Svg& svg, const Frame& frame, const char* type, const Function& value) {
  constexpr int kSteps = 120;
  std::string path;
  for (int i = 0; i <= kSteps; ++i) {
    const double at = frame.x_low + (frame.x_high - frame.x_low) * i / kSteps;
    absl::StrAppendFormat(&path, "%s%.1f %.1f", i == 0 ? "M" : "L", frame.X(at),
                          frame.Y(std::clamp(value(at), frame.y_low, frame.y_high)));
  }
  svg.Path(path, absl::StrCat("n ", type));
}

bool Positive(double value) { return std::isfinite(value) && value > 0; }

}  // namespace

std::string RooflineSvg(const Roofs& roofs, absl::Span<const RoofPoint> points) {
  if (!Positive(roofs.peak) || !Positive(roofs.matrices) || !Positive(roofs.memory_peak) ||
      !Positive(roofs.memory)) {
    return "";
  }
  constexpr double kHeight = 430;
  const std::string title =
      absl::StrCat("Roofline of ", roofs.name, ": what ", Rate(roofs.peak), " and ",
                   absl::StrFormat("%.3g TB/s", roofs.memory_peak / 1e12), " come to");
  Svg svg;
  Frame frame = {90, 50, kWidth - 90 - 40, kHeight - 50 - 110, 0, 4, 0, 0};
  const double ridge = std::log10(roofs.peak / roofs.memory_peak);
  frame.x_low = std::min(0.0, std::floor(ridge) - 1);
  frame.x_high = std::max(4.0, std::ceil(ridge) + 1);
  frame.y_high = std::ceil(std::log10(roofs.peak) * 2) / 2;
  frame.y_low = frame.y_high - 3.5;
  svg.Text(16, 26, title, "t");
  for (double x = std::ceil(frame.x_low); x <= frame.x_high + 1e-9; ++x) {
    svg.Line(frame.X(x), frame.top, frame.X(x), frame.bottom());
    svg.Text(frame.X(x), frame.bottom() + 18, absl::StrFormat("%.15g", std::pow(10, x)), "q",
             "middle");
  }
  for (double y = std::ceil(frame.y_low); y <= frame.y_high + 1e-9; ++y) {
    svg.Line(frame.left, frame.Y(y), frame.right(), frame.Y(y));
    svg.Text(frame.left - 6, frame.Y(y) + 4, Rate(std::pow(10, y)), "q", "end");
  }
  const auto roof = [](double peak, double memory) {
    return
        [peak, memory](double at) { return std::log10(std::min(peak, memory * std::pow(10, at))); };
  };
  Curve(svg, frame, "d", roof(roofs.peak, roofs.memory_peak));
  Curve(svg, frame, "a", roof(roofs.matrices, roofs.memory));
  Curve(svg, frame, "b", [&](double at) {
    return -std::log10(1 / roofs.matrices + 1 / (roofs.memory * std::pow(10, at)));
  });
  std::size_t drawn = 0;
  for (const RoofPoint& point : points) {
    if (!Positive(point.intensity) || !Positive(point.rate) || drawn == kMostPoints) continue;
    ++drawn;
    const double x = std::clamp(std::log10(point.intensity), frame.x_low, frame.x_high);
    const double y = std::clamp(std::log10(point.rate), frame.y_low, frame.y_high);
    svg.Circle(frame.X(x), frame.Y(y), 4, "o");
    svg.Text(frame.X(x) + 8, frame.Y(y) + 4, absl::StrCat(drawn), "t");
    svg.Text(frame.right() - 10, frame.top + 0.55 * frame.height + 16 * static_cast<double>(drawn),
             absl::StrCat(drawn, "  ", point.name, ", ", Rate(point.rate)), "t", "end");
  }
  const double legend = frame.bottom() + 62;
  svg.Text(frame.left + frame.width / 2, legend - 22, "operations for each byte of memory", "q",
           "middle");
  svg.Keys(legend, {{"d", "by the data sheet"},
                    {"a", "as calibrated, both at once"},
                    {"b", "as calibrated, in turns: what steps do"}});
  return svg.Finish(kWidth, kHeight, title);
}

std::string MixSvg(double overlap) {
  if (!std::isfinite(overlap)) return "";
  constexpr double kHeight = 320;
  const std::string title =
      absl::StrFormat("Resource use while two tasks mix (interconnect overlaps to %.0f %%)",
                      100 * std::clamp(overlap, 0.0, 1.0));
  Svg svg;
  svg.Text(16, 26, title, "t");
  struct Pair {
    const char* first;
    const char* second;
    double Demand::*one;
    double Demand::*other;
  };
  constexpr std::array<Pair, 3> kPairs = {
      {{"compute", "memory", &Demand::compute, &Demand::memory},
       {"interconnect", "memory", &Demand::interconnect, &Demand::memory},
       {"interconnect", "compute", &Demand::interconnect, &Demand::compute}}};
  constexpr double kPanel = 215;
  double left = 60;
  for (const Pair& pair : kPairs) {
    const Frame frame = {left, 60, kPanel, 180, 0, 1, 0, 1.05};
    for (const double y : {0.0, 0.5, 1.0}) {
      svg.Line(left, frame.Y(y), left + kPanel, frame.Y(y));
      svg.Text(left - 6, frame.Y(y) + 4, absl::StrFormat("%.0f %%", 100 * y), "q", "end");
    }
    // At `x` the second task has this share of both tasks' seconds.
    const auto used = [&](double x, bool second, double degree) {
      Demand demand;
      demand.*pair.one = 1 - x;
      demand.*pair.other = x;
      return (second ? x : 1 - x) / Combined(demand, degree);
    };
    const auto ideal = [&](double x, bool second) {
      return (second ? x : 1 - x) / std::max(x, 1 - x);
    };
    Curve(svg, frame, "d", [&](double x) { return ideal(x, false); });
    Curve(svg, frame, "d", [&](double x) { return ideal(x, true); });
    Curve(svg, frame, "a", [&](double x) { return used(x, false, overlap); });
    Curve(svg, frame, "b", [&](double x) { return used(x, true, overlap); });
    svg.Text(left, frame.top - 10, absl::StrCat(pair.first, " and ", pair.second), "t");
    svg.Text(left, frame.bottom() + 20, absl::StrCat("all ", pair.first), "q");
    svg.Text(frame.right(), frame.bottom() + 20, absl::StrCat("all ", pair.second), "q", "end");
    left += kPanel + 45;
  }
  svg.Keys(kHeight - 20, {{"a", "the first is in use"},
                          {"b", "the second is in use"},
                          {"d", "if both could always work at once"}});
  return svg.Finish(kWidth, kHeight, title);
}

}  // namespace galen::perfmodel
