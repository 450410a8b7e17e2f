#include "common/perfmodel/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "common/base/text.h"
#include "common/perfmodel/task.h"

namespace galen::perfmodel {
namespace {

constexpr double kWidth = 820;
constexpr std::size_t kMostPoints = 6;

std::string Escape(absl::string_view text) {
  return absl::StrReplaceAll(CleanText(text, 80),
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string Head(double width, double height, absl::string_view title) {
  return absl::StrCat(
      absl::StrFormat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                      "viewBox=\"0 0 %.0f %.0f\" font-family=\"DejaVu Sans, Helvetica, Arial, "
                      "sans-serif\" font-size=\"13\" role=\"img\">\n",
                      width, height, width, height),
      "<title>", Escape(title),
      "</title>\n<style>.p{fill:#ffffff}.t{fill:#1f2328}.q{fill:#57606a}.l{stroke:#d0d7de}"
      ".n{fill:none;stroke-width:2}.a{stroke:#0969da}.b{stroke:#bc4c00}.d{stroke:#57606a;"
      "stroke-dasharray:5 4;stroke-width:1.5}.o{fill:#cf222e}"
      "@media (prefers-color-scheme: dark){.p{fill:#0d1117}.t{fill:#e6edf3}.q{fill:#9198a1}"
      ".l{stroke:#30363d}.a{stroke:#4493f8}.b{stroke:#f0883e}.d{stroke:#9198a1}.o{fill:#ff7b72}}"
      "</style>\n<rect class=\"p\" width=\"100%\" height=\"100%\" rx=\"8\"/>\n");
}

std::string Text(double x, double y, absl::string_view text, const char* type,
                 const char* anchor = "start") {
  return absl::StrFormat("<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n",
                         type, x, y, anchor, Escape(text));
}

std::string Line(double x1, double y1, double x2, double y2) {
  return absl::StrFormat("<line class=\"l\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                         x1, y1, x2, y2);
}

std::string Rate(double rate) {
  if (rate >= 1e15) return absl::StrFormat("%.3g PFLOP/s", rate / 1e15);
  if (rate >= 1e12) return absl::StrFormat("%.3g TFLOP/s", rate / 1e12);
  return absl::StrFormat("%.3g GFLOP/s", rate / 1e9);
}

// A rectangle with a value of each axis at its edges.
struct Frame {
  double left, top, width, height;
  double x_low, x_high, y_low, y_high;  // logarithms to ten, or values

  double X(double at) const { return left + width * (at - x_low) / (x_high - x_low); }
  double Y(double at) const { return top + height * (y_high - at) / (y_high - y_low); }
};

template <typename Function>
std::string Curve(const Frame& frame, const char* type, const Function& value) {
  constexpr int kSteps = 120;
  std::string path;
  for (int i = 0; i <= kSteps; ++i) {
    const double at = frame.x_low + (frame.x_high - frame.x_low) * i / kSteps;
    absl::StrAppendFormat(&path, "%s%.1f %.1f", i == 0 ? "M" : "L", frame.X(at),
                          frame.Y(std::clamp(value(at), frame.y_low, frame.y_high)));
  }
  return absl::StrCat("<path class=\"n ", type, "\" d=\"", path, "\"/>\n");
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
  std::string out = Head(kWidth, kHeight, title);
  Frame frame = {90, 50, kWidth - 90 - 40, kHeight - 50 - 110, 0, 4, 0, 0};
  const double ridge = std::log10(roofs.peak / roofs.memory_peak);
  frame.x_low = std::min(0.0, std::floor(ridge) - 1);
  frame.x_high = std::max(4.0, std::ceil(ridge) + 1);
  frame.y_high = std::ceil(std::log10(roofs.peak) * 2) / 2;
  frame.y_low = frame.y_high - 3.5;
  absl::StrAppend(&out, Text(16, 26, title, "t"));
  for (double x = std::ceil(frame.x_low); x <= frame.x_high + 1e-9; ++x) {
    absl::StrAppend(&out, Line(frame.X(x), frame.top, frame.X(x), frame.top + frame.height),
                    Text(frame.X(x), frame.top + frame.height + 18,
                         absl::StrFormat("%.15g", std::pow(10, x)), "q", "middle"));
  }
  for (double y = std::ceil(frame.y_low); y <= frame.y_high + 1e-9; ++y) {
    absl::StrAppend(&out, Line(frame.left, frame.Y(y), frame.left + frame.width, frame.Y(y)),
                    Text(frame.left - 6, frame.Y(y) + 4, Rate(std::pow(10, y)), "q", "end"));
  }
  const auto roof = [](double peak, double memory) {
    return
        [peak, memory](double at) { return std::log10(std::min(peak, memory * std::pow(10, at))); };
  };
  absl::StrAppend(&out, Curve(frame, "d", roof(roofs.peak, roofs.memory_peak)),
                  Curve(frame, "a", roof(roofs.matrices, roofs.memory)),
                  Curve(frame, "b", [&](double at) {
                    return -std::log10(1 / roofs.matrices + 1 / (roofs.memory * std::pow(10, at)));
                  }));
  std::size_t drawn = 0;
  for (const RoofPoint& point : points) {
    if (!Positive(point.intensity) || !Positive(point.rate) || drawn == kMostPoints) continue;
    ++drawn;
    const double x = std::clamp(std::log10(point.intensity), frame.x_low, frame.x_high);
    const double y = std::clamp(std::log10(point.rate), frame.y_low, frame.y_high);
    absl::StrAppendFormat(&out, "<circle class=\"o\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n",
                          frame.X(x), frame.Y(y));
    absl::StrAppend(
        &out, Text(frame.X(x) + 8, frame.Y(y) + 4, absl::StrCat(drawn), "t"),
        Text(frame.left + frame.width - 10,
             frame.top + 0.55 * frame.height + 16 * static_cast<double>(drawn),
             absl::StrCat(drawn, "  ", point.name, ", ", Rate(point.rate)), "t", "end"));
  }
  const double legend = frame.top + frame.height + 62;
  absl::StrAppend(&out, Text(frame.left + frame.width / 2, legend - 22,
                             "operations for each byte of memory", "q", "middle"));
  double x = 16;
  for (const auto& [type, name] : {std::pair<const char*, const char*>{"d", "by the data sheet"},
                                   {"a", "as calibrated, both at once"},
                                   {"b", "as calibrated, in turns: what steps do"}}) {
    absl::StrAppendFormat(&out, "<path class=\"n %s\" d=\"M%.1f %.1fh26\"/>\n", type, x, legend);
    absl::StrAppend(&out, Text(x + 32, legend + 4, name, "q"));
    x += 60 + 7.2 * static_cast<double>(absl::string_view(name).size());
  }
  return absl::StrCat(out, "</svg>\n");
}

std::string MixSvg(double overlap) {
  if (!std::isfinite(overlap)) return "";
  constexpr double kHeight = 320;
  const std::string title =
      absl::StrFormat("What is in use while two tasks mix (interconnect overlaps to %.0f %%)",
                      100 * std::clamp(overlap, 0.0, 1.0));
  std::string out = Head(kWidth, kHeight, title);
  absl::StrAppend(&out, Text(16, 26, title, "t"));
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
      absl::StrAppend(
          &out, Line(left, frame.Y(y), left + kPanel, frame.Y(y)),
          Text(left - 6, frame.Y(y) + 4, absl::StrFormat("%.0f %%", 100 * y), "q", "end"));
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
    absl::StrAppend(&out, Curve(frame, "d", [&](double x) { return ideal(x, false); }),
                    Curve(frame, "d", [&](double x) { return ideal(x, true); }),
                    Curve(frame, "a", [&](double x) { return used(x, false, overlap); }),
                    Curve(frame, "b", [&](double x) { return used(x, true, overlap); }));
    absl::StrAppend(
        &out, Text(left, frame.top - 10, absl::StrCat(pair.first, " and ", pair.second), "t"),
        Text(left, frame.top + frame.height + 20, absl::StrCat("all ", pair.first), "q"),
        Text(left + kPanel, frame.top + frame.height + 20, absl::StrCat("all ", pair.second), "q",
             "end"));
    left += kPanel + 45;
  }
  double x = 16;
  for (const auto& [type, name] : {std::pair<const char*, const char*>{"a", "the first is in use"},
                                   {"b", "the second is in use"},
                                   {"d", "if both could always work at once"}}) {
    absl::StrAppendFormat(&out, "<path class=\"n %s\" d=\"M%.1f %.1fh26\"/>\n", type, x,
                          kHeight - 20.0);
    absl::StrAppend(&out, Text(x + 32, kHeight - 16, name, "q"));
    x += 60 + 7.2 * static_cast<double>(absl::string_view(name).size());
  }
  return absl::StrCat(out, "</svg>\n");
}

}  // namespace galen::perfmodel
