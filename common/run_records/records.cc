#include "common/run_records/records.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/text.h"

namespace galen::run_records {
namespace {

constexpr std::size_t kMostTag = 256;
constexpr std::size_t kMostNotes = 32;
// From 2000 to 2200: before TensorBoard, and after every run that somebody asks about.
constexpr std::int64_t kEarliest = 946'684'800'000;
constexpr std::int64_t kLatest = 7'258'118'400'000;

// `text` as the value of a label.
std::string LabelOf(absl::string_view text) {
  std::string label = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') label += '\\';
    if (c == '\n') {
      label += "\\n";
    } else {
      label += c;
    }
  }
  return label + "\"";
}

std::string ValueText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return absl::StrFormat("%.9g", value);
}

std::string LinesOf(const NamedSeries& series, std::size_t stride) {
  std::string labels = absl::StrCat("run_id=", LabelOf(series.run));
  if (!series.tag.empty()) absl::StrAppend(&labels, ",tag=", LabelOf(series.tag));
  const std::string head = absl::StrCat(series.name, "{", labels, "} ");
  std::string lines;
  // The last point is the one nearest to the end.
  for (std::size_t i = (series.points.size() - 1) % stride; i < series.points.size(); i += stride) {
    absl::StrAppend(&lines, head, ValueText(series.points[i].value),
                    absl::StrFormat(" %.3f\n", static_cast<double>(series.points[i].at) * 1e-3));
  }
  return lines;
}

}  // namespace

void RunRecords::Add(absl::string_view run, absl::string_view tag, const Point& point) {
  if (point.at < kEarliest || point.at > kLatest || tag.empty()) {
    ++left_out_;
    return;
  }
  const std::pair<std::string, std::string> key{CleanText(run, kMostTag), CleanText(tag, kMostTag)};
  auto found = series_.find(key);
  if (points_ >= limits_.points || (found == series_.end() && series_.size() >= limits_.series)) {
    ++left_out_;
    return;
  }
  if (found == series_.end()) found = series_.try_emplace(key).first;
  found->second.push_back(point);
  ++points_;
}

void RunRecords::Note(std::string note) {
  if (notes_.size() < kMostNotes) notes_.push_back(CleanText(note, 300));
}

std::vector<RunSeries> RunRecords::Take() && {
  std::vector<RunSeries> all;
  for (auto& [key, points] : series_) {
    std::stable_sort(points.begin(), points.end(),
                     [](const Point& a, const Point& b) { return a.at < b.at; });
    // If a restart wrote a time twice, the later value counts.
    std::vector<Point> kept;
    for (const Point& point : points) {
      if (!kept.empty() && kept.back().at == point.at) kept.pop_back();
      kept.push_back(point);
    }
    all.push_back({key.first, key.second, std::move(kept)});
  }
  series_.clear();
  return all;
}

std::vector<NamedSeries> Named(std::vector<RunSeries> series) {
  std::vector<NamedSeries> named;
  std::map<std::string, const RunSeries*> longest;
  for (const RunSeries& each : series) {
    const RunSeries*& most = longest[each.run];
    if (most == nullptr || each.points.size() > most->points.size()) most = &each;
  }
  for (const auto& [run, most] : longest) {
    NamedSeries steps{kStep, run, "", {}};
    NamedSeries seconds{kStepSeconds, run, "", {}};
    const Point* before = nullptr;
    for (const Point& point : most->points) {
      if (point.step < 0) continue;
      steps.points.push_back({point.at, point.step, static_cast<double>(point.step)});
      // A step that comes again belongs to another attempt: the time between is not a step's.
      if (before != nullptr && point.step > before->step) {
        const double passed = static_cast<double>(point.at - before->at) * 1e-3;
        const double per_step =
            passed / (static_cast<double>(point.step) - static_cast<double>(before->step));
        if (per_step > 0) seconds.points.push_back({point.at, point.step, per_step});
      }
      before = &point;
    }
    if (!steps.points.empty()) named.push_back(std::move(steps));
    if (!seconds.points.empty()) named.push_back(std::move(seconds));
  }
  for (RunSeries& each : series) {
    named.push_back({kScalar, std::move(each.run), std::move(each.tag), std::move(each.points)});
  }
  return named;
}

std::string AsOpenMetrics(const std::vector<NamedSeries>& series, std::size_t most) {
  for (std::size_t stride = 1;; stride *= 2) {
    std::string text = absl::StrCat(kFirstLine, "\n");
    if (stride > 1) absl::StrAppend(&text, "# one of ", stride, " points of each series is kept\n");
    for (const NamedSeries& each : series) {
      if (!each.points.empty()) absl::StrAppend(&text, LinesOf(each, stride));
      if (text.size() > most) break;
    }
    if (text.size() + 6 <= most || stride > (std::size_t{1} << 32)) {
      return absl::StrCat(text.substr(0, text.rfind('\n', most - 1) + 1), "# EOF\n");
    }
  }
}

}  // namespace galen::run_records
