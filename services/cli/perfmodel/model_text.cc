#include "services/cli/perfmodel/model_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace galen::cli {
namespace {

using perfmodel::Calibration;
using perfmodel::Errors;
using perfmodel::Interval;
using perfmodel::Measured;
using perfmodel::Standing;
using perfmodel::StepTime;
using perfmodel::Trial;

constexpr std::size_t kName = 12;
constexpr std::array<Measured, 3> kKinds = {Measured::kRate, Measured::kTransfer, Measured::kStep};

std::string Seconds(double seconds) {
  if (seconds >= 1) return absl::StrFormat("%.4g s", seconds);
  if (seconds >= 1e-3) return absl::StrFormat("%.4g ms", seconds * 1e3);
  return absl::StrFormat("%.4g us", seconds * 1e6);
}

std::string Percent(double share) { return absl::StrFormat("%.1f %%", 100 * share); }

// Rows of which each column is as wide as it needs; all but the first stand to the right.
std::vector<std::string> Aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], Columns(row[i]));
    }
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - Columns(row[i]), ' ');
      absl::StrAppend(&line, i == 0 ? row[i] : space, i == 0 ? space : row[i],
                      i + 1 < row.size() ? "  " : "");
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

class Page {
 public:
  explicit Page(const Terminal& terminal) : terminal_(terminal) {}

  void Line(absl::string_view name, absl::string_view line) {
    absl::StrAppend(&text_, Paint(terminal_, Colour::kBold, Pad(name, kName)), line, "\n");
  }
  void Rows(absl::string_view name, const std::vector<std::vector<std::string>>& rows) {
    bool first = true;
    for (const std::string& line : Aligned(rows)) {
      Line(first ? name : "", first ? Paint(terminal_, Colour::kDim, line) : line);
      first = false;
    }
  }
  std::string Take() { return std::move(text_); }

 private:
  const Terminal& terminal_;
  std::string text_;
};

std::string Between(const std::string& low, const std::string& high, double confidence) {
  return absl::StrFormat("%s to %s at %.0f %%", low, high, 100 * confidence);
}

std::string Value(Measured kind, double value) {
  if (kind != Measured::kRate) return Seconds(value);
  if (value >= 20e12) return absl::StrFormat("%.4g TFLOP/s", value / 1e12);
  return absl::StrFormat("%.4g GB/s", value / 1e9);
}

void Parts(const PredictionPage& shown, Page& page) {
  const StepTime& time = shown.expected.parts;
  const auto share = [&time](double seconds) { return Percent(seconds / time.total); };
  page.Rows("time", {{"part", "seconds", "of the step"},
                     {"products of matrices", Seconds(time.compute), share(time.compute)},
                     {"traffic of memory", Seconds(time.memory), share(time.memory)},
                     {"interconnect", Seconds(time.interconnect), share(time.interconnect)},
                     {"pipeline fills", Seconds(time.bubble), share(time.bubble)},
                     {"hidden interconnect", Seconds(time.hidden), "beside it"}});
  std::vector<std::vector<std::string>> rows = {
      {"traffic", "what", "ranks", "nodes", "bytes", "times", "seconds", ""}};
  for (std::size_t i = 0; i < time.work.traffic.size(); ++i) {
    const perfmodel::Traffic& one = time.work.traffic[i];
    rows.push_back({one.what, std::string(perfmodel::ToString(one.kind)),
                    absl::StrCat(one.group.ranks), absl::StrCat(one.group.Nodes()),
                    absl::StrFormat("%.3g", one.bytes), absl::StrFormat("%.4g", one.times),
                    Seconds(time.traffic[i]), one.hides ? "may hide" : "work waits"});
  }
  if (rows.size() > 1) page.Rows("traffic", rows);
  page.Rows("rates", {{"one GPU", "needs in a step", "has in a second"},
                      {"operations", absl::StrFormat("%.4g", time.work.flops + time.work.odd_flops),
                       absl::StrFormat("%.4g", time.matrix_rate)},
                      {"bytes of memory", absl::StrFormat("%.4g", time.work.bytes),
                       absl::StrFormat("%.4g", time.memory_rate)}});
  if (time.work.odd_flops > 0) {
    page.Line("remark",
              absl::StrFormat("%.0f %% of the operations are on matrices whose sizes, split over "
                              "tp, are not multiples of 8",
                              100 * time.work.odd_flops / (time.work.flops + time.work.odd_flops)));
  }
}

std::string ErrorLine(const Errors& errors) {
  return absl::StrFormat("median %s, worst %s, %d of %d within their interval",
                         Percent(errors.median), Percent(errors.worst), errors.covered,
                         errors.tested);
}

std::string StandingText(Standing standing) {
  switch (standing) {
    case Standing::kAsExpected:
      return "within what is expected";
    case Standing::kAbove:
      return "above what is expected: slower than a healthy step";
    case Standing::kBelow:
      return "below what is expected: faster than the model; is the job the one that was measured?";
    case Standing::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace

std::string StandingName(Standing standing) {
  switch (standing) {
    case Standing::kAsExpected:
      return "within";
    case Standing::kAbove:
      return "above";
    case Standing::kBelow:
      return "below";
    case Standing::kUnknown:
      break;
  }
  return "unknown";
}

std::string BoundOf(const StepTime& time) {
  const std::array<std::pair<double, const char*>, 4> parts = {
      {{time.compute, "products of matrices"},
       {time.memory, "traffic of memory"},
       {time.interconnect, "the interconnect"},
       {time.bubble, "a pipeline that fills"}}};
  return std::max_element(parts.begin(), parts.end(),
                          [](const auto& a, const auto& b) { return a.first < b.first; })
      ->second;
}

std::string PredictionText(const PredictionPage& shown, const Terminal& terminal) {
  Page page(terminal);
  const perfmodel::Expectation& expected = shown.expected;
  const Interval& step = expected.step;
  const Interval& tokens = expected.throughput;
  page.Line("step", absl::StrCat(Seconds(step.expected), "   ",
                                 Between(Seconds(step.low), Seconds(step.high), step.confidence)));
  const auto rate = [](double value) { return absl::StrFormat("%.5g", value); };
  page.Line("tokens",
            absl::StrCat(rate(tokens.expected), " a second   ",
                         Between(rate(tokens.low), rate(tokens.high), tokens.confidence)));
  page.Line("utilization", absl::StrCat(Percent(expected.utilization), " of the GPUs' peak (MFU)"));
  page.Line("power", expected.power.has_value()
                         ? absl::StrFormat("%.0f W a GPU   %s", expected.power->expected,
                                           Between(absl::StrFormat("%.0f", expected.power->low),
                                                   absl::StrFormat("%.0f", expected.power->high),
                                                   expected.power->confidence))
                         : "unknown: no measured step says what it took (power_w)");
  page.Line("bound by", BoundOf(expected.parts));
  if (shown.took.has_value()) {
    page.Line("took", absl::StrCat(Seconds(*shown.took), "   ",
                                   StandingText(perfmodel::StandingOf(step, *shown.took))));
  }
  if (shown.explained) Parts(shown, page);
  return page.Take();
}

std::string CalibrationText(const Calibration& calibration, double confidence,
                            const Terminal& terminal) {
  Page page(terminal);
  std::vector<std::vector<std::string>> rows = {{"factor", "value", "measurements"}};
  for (const auto& [name, value] : calibration.factors.all()) {
    const auto told = calibration.told_by.find(name);
    rows.push_back(
        {name, name.rfind("latency.", 0) == 0 ? Seconds(value) : absl::StrFormat("%.3f", value),
         absl::StrCat(told != calibration.told_by.end() ? told->second : 0)});
  }
  page.Rows("factors", rows);
  rows = {{"each by all others", "measurements", "median error",
           absl::StrFormat("interval at %.4g %%", 100 * confidence)}};
  for (const auto& [kin, misses] : calibration.misses) {
    if (misses.empty()) continue;
    const auto interval = perfmodel::IntervalOf(calibration, kin, 1, confidence);
    rows.push_back({kin, absl::StrCat(misses.size()),
                    Percent(std::expm1(misses[misses.size() / 2])),
                    interval.ok() ? absl::StrFormat("x %.2f to %.2f (%.4g %%)", interval->low,
                                                    interval->high, 100 * interval->confidence)
                                  : ""});
  }
  page.Rows("errors", rows);
  for (const std::string& one : calibration.unused) page.Line("not used", one);
  return page.Take();
}

std::string TrialText(const Trial& trial, const std::vector<Trial>& drawn,
                      const Terminal& terminal) {
  Page page(terminal);
  std::vector<std::vector<std::string>> rows = {
      {"tested", "kind", "measured", "predicted", "error", "from", "to", "within"}};
  for (const perfmodel::Tested& one : trial.tested) {
    const perfmodel::Measurement& measured = *one.measurement;
    rows.push_back(
        {measured.id, measured.held_out ? "held out" : std::string(ToString(measured.kind)),
         Value(measured.kind, measured.value), Value(measured.kind, one.interval.expected),
         absl::StrFormat("%+.1f %%", 100 * one.error), Value(measured.kind, one.interval.low),
         Value(measured.kind, one.interval.high), one.covered ? "yes" : "no"});
  }
  page.Rows("tests", rows);
  for (const std::string& one : trial.untested) page.Line("not tested", one);
  page.Line("calibrated", absl::StrCat(trial.calibrated.size(), " measurements"));
  const Errors all = ErrorsOf(trial, std::nullopt, false);
  page.Line("all", ErrorLine(all));
  for (const Measured kind : kKinds) {
    const Errors errors = ErrorsOf(trial, kind, false);
    if (errors.tested > 0) page.Line(absl::StrCat(ToString(kind), "s"), ErrorLine(errors));
  }
  if (const Errors held = ErrorsOf(trial, std::nullopt, true); held.tested > 0) {
    page.Line("held out", ErrorLine(held));
  }
  if (!drawn.empty()) {
    std::vector<double> medians;
    double covered = 0;
    double tested = 0;
    for (const Trial& one : drawn) {
      const Errors errors = ErrorsOf(one, std::nullopt, false);
      medians.push_back(errors.median);
      covered += static_cast<double>(errors.covered);
      tested += static_cast<double>(errors.tested);
    }
    std::sort(medians.begin(), medians.end());
    page.Line("drawn", absl::StrFormat("%d other halves: median error %s (%s to %s), %s within",
                                       drawn.size(), Percent(medians[medians.size() / 2]),
                                       Percent(medians.front()), Percent(medians.back()),
                                       Percent(tested > 0 ? covered / tested : 0)));
  }
  return page.Take();
}

}  // namespace galen::cli
