#include "common/svg/courses_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "common/base/proto_time.h"
#include "common/svg/svg.h"

namespace galen::svg {
namespace {

using galen::v1::Course;

constexpr double kWidth = 960;
constexpr double kLeft = 84;
constexpr double kRight = 180;  // for names
constexpr double kTop = 44;
constexpr double kThroughput = 150;  // height of its panel
constexpr double kPanel = 110;
constexpr double kGap = 30;
constexpr double kNameLine = 14;
constexpr std::size_t kMostPanels = 6;
constexpr std::size_t kMostLines = 6;
// The share of throughput's best level below which it is low.
constexpr double kLow = 0.96;
constexpr std::array<absl::string_view, kMostLines> kDashes = {"",        "6 3", "2 2",
                                                               "8 2 2 2", "1 3", "10 4"};

double TimeOf(const google::protobuf::Timestamp& time) {
  return absl::ToDoubleSeconds(ToTime(time) - absl::UnixEpoch());
}

double StepOf(const Course& course) { return absl::ToDoubleSeconds(ToDuration(course.step())); }

std::string Number(double value) {
  const double size = std::abs(value);
  if (size >= 1e9) return absl::StrFormat("%.3gG", value / 1e9);
  if (size >= 1e6) return absl::StrFormat("%.3gM", value / 1e6);
  if (size >= 1e4) return absl::StrFormat("%.3gk", value / 1e3);
  return absl::StrFormat("%.4g", value);
}

// The range of the lines of a panel.
struct Span {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Take(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return high < low; }
};

struct Panel {
  std::string name;
  std::string unit;
  std::vector<const Course*> lines;
  double height = kPanel;
};

std::string NameOf(const Course& course) {
  if (course.role() == Course::PEERS) return "median of the others";
  if (course.subject().node().empty()) return course.name();
  return course.subject().device().empty()
             ? course.subject().node()
             : absl::StrCat(course.subject().node(), " ", course.subject().device());
}

std::vector<Panel> PanelsOf(const google::protobuf::RepeatedPtrField<Course>& courses) {
  std::vector<Panel> panels;
  for (const Course& course : courses) {
    if (course.values().empty() || StepOf(course) <= 0) continue;
    const bool throughput = course.role() == Course::THROUGHPUT;
    auto panel = std::find_if(panels.begin(), panels.end(),
                              [&](const Panel& p) { return p.name == course.name(); });
    if (panel == panels.end()) {
      if (panels.size() == kMostPanels) continue;
      panels.push_back({course.name(), course.unit(), {}, throughput ? kThroughput : kPanel});
      panel = panels.end() - 1;
    }
    if (panel->lines.size() < kMostLines + 1) panel->lines.push_back(&course);
  }
  std::stable_sort(panels.begin(), panels.end(), [](const Panel& a, const Panel& b) {
    return a.lines.front()->role() == Course::THROUGHPUT &&
           b.lines.front()->role() != Course::THROUGHPUT;
  });
  // Peers below suspects.
  for (Panel& panel : panels) {
    std::stable_sort(panel.lines.begin(), panel.lines.end(), [](const Course* a, const Course* b) {
      return a->role() == Course::PEERS && b->role() != Course::PEERS;
    });
  }
  return panels;
}

class Drawing {
 public:
  Drawing(std::vector<Panel> panels, absl::string_view title)
      : panels_(std::move(panels)), title_(title) {
    for (const Panel& panel : panels_) {
      for (const Course* line : panel.lines) {
        const double start = TimeOf(line->start_time());
        time_.Take(start);
        time_.Take(start + StepOf(*line) * (line->values_size() - 1));
      }
    }
    if (time_.high <= time_.low) time_.high = time_.low + 1;
  }

  std::string Draw() {
    double height = kTop;
    for (const Panel& panel : panels_) height += panel.height + kGap;
    height += 14;
    svg_.Text(kLeft, 22, title_, "t", "start", " font-size=\"15\" font-weight=\"600\"");
    DrawShades(height);
    double top = kTop;
    for (const Panel& panel : panels_) {
      DrawPanel(panel, top);
      top += panel.height + kGap;
    }
    DrawTimes(top - kGap);
    return svg_.Finish(kWidth, height, title_);
  }

 private:
  double X(double time) const {
    return kLeft + (kWidth - kLeft - kRight) * (time - time_.low) / (time_.high - time_.low);
  }

  void DrawShades(double height) {
    for (const Panel& panel : panels_) {
      const Course& course = *panel.lines.back();
      if (course.role() != Course::THROUGHPUT) continue;
      double best = 0;
      for (const Course::Level& level : course.levels()) best = std::max(best, level.value());
      for (const Course::Level& level : course.levels()) {
        if (level.value() >= kLow * best) continue;
        const double from = X(std::max(time_.low, TimeOf(level.start_time())));
        const double to = X(std::min(time_.high, TimeOf(level.end_time())));
        if (to <= from) continue;
        svg_.Rect(from, kTop, to - from, height - kTop - kGap - 14, "shade", "throughput is low");
      }
    }
  }

  void DrawPanel(const Panel& panel, double top) {
    Span span;
    for (const Course* line : panel.lines) {
      for (const float value : line->values()) span.Take(static_cast<double>(value));
    }
    if (span.empty()) span = {0, 1};
    // A range near zero starts at zero; any other is enlarged.
    if (span.low > 0 && span.low < 0.6 * span.high) span.low = 0;
    if (span.high <= span.low) span.high = span.low + std::max(1.0, std::abs(span.low) * 0.1);
    const double room = 0.06 * (span.high - span.low);
    const Frame frame = {kLeft,
                         top,
                         kWidth - kLeft - kRight,
                         panel.height,
                         time_.low,
                         time_.high,
                         span.low == 0 ? 0 : span.low - room,
                         span.high + room};
    svg_.Rect(frame.left, top, frame.width, frame.height, "f");
    svg_.Text(kLeft, top - 5,
              panel.unit.empty() ? panel.name : absl::StrCat(panel.name, ", ", panel.unit), "t");
    for (const double value : {span.low, span.high}) {
      svg_.Text(kLeft - 6, frame.Y(value) + 4, Number(value), "q", "end");
    }
    std::size_t colour = 0;
    double name_at = top + 10;
    for (const Course* line : panel.lines) {
      std::string kind = "n a";
      std::string dash;
      if (line->role() == Course::PEERS) {
        kind = "n peers";
      } else if (line->role() != Course::THROUGHPUT) {
        kind = absl::StrCat("n c", colour % kMostLines);
        if (colour % kMostLines > 0) {
          dash = absl::StrCat(" stroke-dasharray=\"", kDashes[colour % kMostLines], "\"");
        }
        ++colour;
      }
      DrawLine(*line, kind, dash, frame);
      const double x = kWidth - kRight + 8;
      svg_.Path(absl::StrFormat("M%.1f %.1fh18", x, name_at - 4), kind, dash);
      svg_.Text(x + 24, name_at, NameOf(*line), "t");
      name_at += kNameLine;
      for (const Course::Level& level : line->levels()) {
        const double from = X(std::max(time_.low, TimeOf(level.start_time())));
        const double to = X(std::min(time_.high, TimeOf(level.end_time())));
        if (to <= from || !std::isfinite(level.value())) continue;
        svg_.Path(absl::StrFormat("M%.1f %.1fH%.1f", from,
                                  std::clamp(frame.Y(level.value()), top, frame.bottom()), to),
                  "level");
      }
    }
  }

  void DrawLine(const Course& line, absl::string_view kind, absl::string_view dash,
                const Frame& frame) {
    std::string path;
    bool pen = false;  // last: an unknown value leaves a gap
    const double start = TimeOf(line.start_time());
    for (int i = 0; i < line.values_size(); ++i) {
      const auto value = static_cast<double>(line.values(i));
      if (!std::isfinite(value)) {
        pen = false;
        continue;
      }
      absl::StrAppendFormat(&path, "%s%.1f %.1f", pen ? "L" : "M",
                            frame.X(start + StepOf(line) * i), frame.Y(value));
      pen = true;
    }
    if (!path.empty()) svg_.Path(path, kind, dash);
  }

  void DrawTimes(double bottom) {
    constexpr int kTicks = 5;
    const bool long_span = time_.high - time_.low > 86'400;
    for (int i = 0; i <= kTicks; ++i) {
      const double at = time_.low + (time_.high - time_.low) * i / kTicks;
      const std::string text = absl::FormatTime(
          long_span ? "%m-%d %H:%M" : "%H:%M:%S",
          absl::FromUnixSeconds(static_cast<std::int64_t>(at)), absl::UTCTimeZone());
      svg_.Line(X(at), bottom, X(at), bottom + 5);
      svg_.Text(X(at), bottom + 18, i == 0 ? absl::StrCat(text, " UTC") : text, "q", "middle");
    }
  }

  const std::vector<Panel> panels_;
  const absl::string_view title_;
  Span time_;
  Svg svg_;
};

}  // namespace

std::string CoursesSvg(const google::protobuf::RepeatedPtrField<Course>& courses,
                       absl::string_view title) {
  std::vector<Panel> panels = PanelsOf(courses);
  if (panels.empty()) return "";
  return Drawing(std::move(panels), title).Draw();
}

}  // namespace galen::svg
