#ifndef BENCH_EVAL_REPORT_PLOTS_H_
#define BENCH_EVAL_REPORT_PLOTS_H_

#include <string>
#include <vector>

#include "galen/eval/v1/eval.pb.h"

namespace galen::eval {

// Values of one colour, one a group.
struct Series {
  std::string name;
  std::vector<double> values;
  // One whisker for each value; may be empty.
  std::vector<double> low;
  std::vector<double> high;
};

// Bars side by side in groups.
struct BarChart {
  std::string title;
  std::string unit;  // of the axis
  std::vector<std::string> groups;
  std::vector<Series> series;
  double top = 0;  // where the axis ends; 0: at the highest value
};

// As an SVG element without scripts or references, its colours from the page's style. Pure.
std::string BarsSvg(const BarChart& chart);

// The reliability diagram: a point for each bin, sized by its verdicts, and the diagonal on which
// confidence equals accuracy. Pure.
std::string ReliabilitySvg(const std::string& title, const v1::Calibration& calibration);

}  // namespace galen::eval

#endif  // BENCH_EVAL_REPORT_PLOTS_H_
