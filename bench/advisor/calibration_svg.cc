#include "calibration_svg.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace galen::bench {
namespace {

constexpr double kSize = 520;
constexpr double kLeft = 80;
constexpr double kTop = 48;
constexpr double kLow = -3;  // logarithm of the least share that is drawn
constexpr double kHigh = 0;

double At(double share) {
  const double place = std::log10(std::max(share, 1e-9));
  return (std::clamp(place, kLow, kHigh) - kLow) / (kHigh - kLow);
}
double X(double share) { return kLeft + kSize * At(share); }
double Y(double share) { return kTop + kSize * (1 - At(share)); }

}  // namespace

std::string CalibrationSvg(const std::vector<CalibrationBin>& bins, const std::string& title) {
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
      "<text x=\"%.0f\" y=\"26\" font-size=\"15\">%s</text>\n",
      kLeft + kSize + 30, kTop + kSize + 64, kLeft, title);
  for (const double share : {0.001, 0.01, 0.1, 1.0}) {
    absl::StrAppendFormat(&svg,
                          "<path d=\"M%.1f %.1fV%.1fM%.1f %.1fH%.1f\" stroke=\"#ddd\"/>\n"
                          "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g</text>\n"
                          "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                          X(share), Y(1), Y(0.001), X(0.001), Y(share), X(1), X(share),
                          Y(0.001) + 18, share, X(0.001) - 8, Y(share) + 4, share);
  }
  absl::StrAppendFormat(
      &svg, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"#888\" stroke-dasharray=\"5 4\"/>\n",
      X(0.001), Y(0.001), X(1), Y(1));
  for (const CalibrationBin& bin : bins) {
    absl::StrAppendFormat(&svg,
                          "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#1f6fb4\" stroke-width=\"1.5\"/>\n"
                          "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#1f6fb4\"><title>%d "
                          "predictions of %.4f: %.4f</title></circle>\n",
                          X(bin.predicted), Y(bin.observed.low), Y(bin.observed.high),
                          X(bin.predicted), Y(bin.observed.value), bin.count, bin.predicted,
                          bin.observed.value);
  }
  absl::StrAppendFormat(
      &svg,
      "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">predicted probability of failing</text>\n"
      "<text transform=\"translate(22 %.1f) rotate(-90)\" text-anchor=\"middle\">share that "
      "failed, 95 %% interval</text>\n</svg>\n",
      kLeft + kSize / 2, kTop + kSize + 44, kTop + kSize / 2);
  return svg;
}

}  // namespace galen::bench
