#include "common/telemetry/open_metrics_source.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/base/text.h"
#include "common/telemetry/open_metrics.h"
#include "common/telemetry/selector.h"

namespace galen::telemetry {
namespace {

constexpr char kFolder[] = "telemetry";
// A sample speaks for so long, as with Prometheus.
constexpr absl::Duration kLookBack = absl::Minutes(5);
// How often a loop looks whether somebody still waits.
constexpr std::size_t kLook = 256;

absl::Status StillWanted(const Call& call) {
  if (call.cancellation != nullptr && call.cancellation->cancelled())
    return absl::CancelledError("stopped by the caller");
  if (SteadyNow() >= call.deadline)
    return absl::DeadlineExceededError("telemetry files: no time left");
  return absl::OkStatus();
}

// The last sample at or before `at` that is not too old; null: there is none.
const timeseries::Sample* LastBefore(const TimeSeries& series, absl::Time at) {
  const std::int64_t until = absl::ToUnixMillis(at);
  const auto behind = std::upper_bound(
      series.samples.begin(), series.samples.end(), until,
      [](std::int64_t time, const timeseries::Sample& sample) { return time < sample.at; });
  if (behind == series.samples.begin()) return nullptr;
  const timeseries::Sample& last = *(behind - 1);
  return at - absl::FromUnixMillis(last.at) > kLookBack ? nullptr : &last;
}

// Whether it has a sample between two times.
bool HasBetween(const TimeSeries& series, absl::Time start, absl::Time end) {
  const auto first = std::lower_bound(
      series.samples.begin(), series.samples.end(), absl::ToUnixMillis(start),
      [](const timeseries::Sample& sample, std::int64_t time) { return sample.at < time; });
  return first != series.samples.end() && first->at <= absl::ToUnixMillis(end);
}

}  // namespace

// Fills a source, file after file.
class OpenMetricsSource::Loader {
 public:
  Loader(OpenMetricsSource& source, std::optional<absl::Time> at, const FileLimits& limits)
      : source_(source), at_(at), limits_(limits) {}

  using NextPiece = std::function<absl::StatusOr<absl::string_view>()>;

  // `next` gives pieces of the text, an empty one at its end.
  absl::Status Read(const std::string& name, const NextPiece& next) {
    OpenMetricsReader reader;
    untimed_ = 0;
    const auto sink = [this](MetricLine line) { return Add(std::move(line)); };
    absl::Status status;
    while (status.ok()) {
      GALEN_ASSIGN_OR_RETURN(const absl::string_view piece, next());
      if (piece.empty()) {
        status = reader.Finish(sink);
        break;
      }
      bytes_ += piece.size();
      if (bytes_ > limits_.bytes)
        status = absl::ResourceExhaustedError(absl::StrCat("more than ", limits_.bytes, " bytes"));
      if (status.ok()) status = reader.Take(piece, sink);
    }
    const auto fault = [&](absl::string_view what) {
      source_.faults_.push_back(CleanText(absl::StrCat(name, ": ", what), 300));
    };
    if (!status.ok()) fault(absl::StrCat(status.message(), "; the rest is left out"));
    if (reader.damaged() > 0)
      fault(absl::StrCat(reader.damaged(), " damaged lines, the first ", reader.first_damage()));
    if (untimed_ > 0) fault(absl::StrCat(untimed_, " samples without a time are left out"));
    if (status.ok() && !reader.whole() && absl::EndsWith(name, ".om"))
      fault("no # EOF at its end: it may be cut short");
    return absl::OkStatus();
  }

  void Finish() {
    for (TimeSeries& series : source_.series_) {
      const auto earlier = [](const timeseries::Sample& a, const timeseries::Sample& b) {
        return a.at < b.at;
      };
      if (!std::is_sorted(series.samples.begin(), series.samples.end(), earlier)) {
        std::stable_sort(series.samples.begin(), series.samples.end(), earlier);
      }
      series.samples.erase(std::unique(series.samples.begin(), series.samples.end(),
                                       [](const timeseries::Sample& a,
                                          const timeseries::Sample& b) { return a.at == b.at; }),
                           series.samples.end());
      series.samples.shrink_to_fit();
    }
  }

 private:
  absl::Status Add(MetricLine line) {
    std::int64_t at = 0;
    if (line.at.has_value()) {
      at = *line.at;
    } else if (at_.has_value()) {
      at = absl::ToUnixMillis(*at_);
    } else {
      ++untimed_;
      return absl::OkStatus();
    }
    // Files are written series after series, or round after round; either way the last one, or its
    // follower, is often the one that comes.
    auto found = places_.find(line.labels);
    if (found == places_.end()) {
      std::size_t size = 0;
      for (const auto& [name, value] : line.labels) size += name.size() + value.size();
      label_bytes_ += 2 * size;
      if (source_.series_.size() >= limits_.series || label_bytes_ > limits_.label_bytes) {
        return absl::ResourceExhaustedError(
            absl::StrCat("more than ", limits_.series, " series, or too many labels"));
      }
      found = places_.emplace(line.labels, source_.series_.size()).first;
      source_.series_.push_back({std::move(line.labels), {}});
    }
    if (++samples_ > limits_.samples)
      return absl::ResourceExhaustedError(absl::StrCat("more than ", limits_.samples, " samples"));
    source_.series_[found->second].samples.push_back({at, line.value});
    return absl::OkStatus();
  }

  OpenMetricsSource& source_;
  const std::optional<absl::Time> at_;
  const FileLimits& limits_;
  std::map<Labels, std::size_t> places_;
  std::size_t bytes_ = 0;
  std::size_t label_bytes_ = 0;
  std::size_t samples_ = 0;
  std::size_t untimed_ = 0;
};

absl::StatusOr<std::unique_ptr<OpenMetricsSource>> OpenMetricsSource::Open(
    const host::BundleFiles& bundle, std::optional<absl::Time> at, const FileLimits& limits,
    const Call& call) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> names, bundle.List(kFolder));
  auto source = std::unique_ptr<OpenMetricsSource>(
      new OpenMetricsSource(absl::StrCat(bundle.root(), "/", kFolder)));
  Loader loader(*source, at, limits);
  std::size_t files = 0;
  for (const std::string& name : names) {
    if (!absl::EndsWith(name, ".om") && !absl::EndsWith(name, ".prom")) continue;
    if (++files > limits.files) {
      source->faults_.push_back(
          absl::StrCat("more than ", limits.files, " files; the rest is left out"));
      break;
    }
    const absl::StatusOr<std::string> path = bundle.Resolve(absl::StrCat(kFolder, "/", name));
    std::ifstream in;
    std::error_code error;
    // (Opening a pipe would wait for a writer.)
    if (path.ok() && std::filesystem::is_regular_file(*path, error))
      in.open(*path, std::ios::binary);
    if (!in.is_open()) {
      source->faults_.push_back(CleanText(absl::StrCat(name, ": cannot be read"), 300));
      continue;
    }
    std::array<char, 64 << 10> buffer{};
    const auto next = [&]() -> absl::StatusOr<absl::string_view> {
      GALEN_RETURN_IF_ERROR(StillWanted(call));
      in.read(buffer.data(), buffer.size());
      return absl::string_view(buffer.data(), static_cast<std::size_t>(in.gcount()));
    };
    GALEN_RETURN_IF_ERROR(loader.Read(name, next));
  }
  if (files == 0) return absl::NotFoundError(absl::StrCat(source->name_, ": no file *.om"));
  loader.Finish();
  return source;
}

std::unique_ptr<OpenMetricsSource> OpenMetricsSource::OfText(const std::string& name,
                                                             absl::string_view text,
                                                             std::optional<absl::Time> at,
                                                             const FileLimits& limits) {
  auto source = std::unique_ptr<OpenMetricsSource>(new OpenMetricsSource(name));
  Loader loader(*source, at, limits);
  loader
      .Read(name,
            [&]() -> absl::StatusOr<absl::string_view> {
              return std::exchange(text, absl::string_view());
            })
      .IgnoreError();
  loader.Finish();
  return source;
}

std::optional<OpenMetricsSource::Span> OpenMetricsSource::span() const {
  std::optional<Span> span;
  for (const TimeSeries& series : series_) {
    if (series.samples.empty()) continue;
    const absl::Time first = absl::FromUnixMillis(series.samples.front().at);
    const absl::Time last = absl::FromUnixMillis(series.samples.back().at);
    if (!span.has_value()) span = Span{first, last};
    span->first = std::min(span->first, first);
    span->last = std::max(span->last, last);
  }
  return span;
}

absl::StatusOr<Answer> OpenMetricsSource::Over(const std::string& text, const Call& call,
                                               const Each& each) const {
  GALEN_ASSIGN_OR_RETURN(const Selector selector, Selector::Parse(text));
  Answer answer;
  answer.source = name_;
  answer.query = text;
  for (const std::string& fault : faults_) answer.Incomplete(fault);
  std::size_t samples = 0;
  for (std::size_t i = 0; i < series_.size(); ++i) {
    if (i % kLook == 0) GALEN_RETURN_IF_ERROR(StillWanted(call));
    if (!selector.Matches(series_[i].labels)) continue;
    const std::size_t before = answer.series.size();
    if (before >= call.limits.series || samples >= call.limits.samples) {
      answer.Incomplete(absl::StrCat("more than ", call.limits.series, " series or ",
                                     call.limits.samples, " samples: cut; ask for fewer"));
      break;
    }
    GALEN_RETURN_IF_ERROR(each(series_[i], answer));
    if (answer.series.size() > before) samples += answer.series.back().samples.size();
  }
  return answer;
}

absl::StatusOr<Answer> OpenMetricsSource::Instant(const std::string& query, absl::Time at,
                                                  const Call& call) {
  GALEN_ASSIGN_OR_RETURN(Answer answer,
                         Over(query, call, [&](const TimeSeries& series, Answer& into) {
                           if (const timeseries::Sample* const last = LastBefore(series, at))
                             into.series.push_back({series.labels, {*last}});
                           return absl::OkStatus();
                         }));
  answer.start = answer.end = at;
  return answer;
}

absl::StatusOr<Answer> OpenMetricsSource::RangeOf(const std::string& query, const Range& range,
                                                  const Call& call) {
  GALEN_RETURN_IF_ERROR(CheckRange(range, call.limits));
  GALEN_ASSIGN_OR_RETURN(const timeseries::Grid grid,
                         timeseries::MakeGrid(range.start, range.end, range.step));
  GALEN_ASSIGN_OR_RETURN(
      Answer answer, Over(query, call, [&](const TimeSeries& series, Answer& into) {
        TimeSeries found{series.labels, {}};
        for (std::size_t i = 0; i < grid.size; ++i) {
          if (const timeseries::Sample* const last = LastBefore(series, grid.At(i))) {
            found.samples.push_back({absl::ToUnixMillis(grid.At(i)), last->value});
          }
        }
        if (!found.samples.empty()) into.series.push_back(std::move(found));
        return absl::OkStatus();
      }));
  answer.start = range.start;
  answer.end = range.end;
  answer.step = range.step;
  return answer;
}

absl::StatusOr<Answer> OpenMetricsSource::SeriesOf(const std::string& selector, absl::Time start,
                                                   absl::Time end, const Call& call) {
  GALEN_ASSIGN_OR_RETURN(Answer answer,
                         Over(selector, call, [&](const TimeSeries& series, Answer& into) {
                           if (HasBetween(series, start, end))
                             into.series.push_back({series.labels, {}});
                           return absl::OkStatus();
                         }));
  answer.start = start;
  answer.end = end;
  return answer;
}

absl::StatusOr<Answer> OpenMetricsSource::Samples(const std::string& selector, absl::Time start,
                                                  absl::Time end, const Call& call) {
  const std::int64_t from = absl::ToUnixMillis(start);
  const std::int64_t until = absl::ToUnixMillis(end);
  GALEN_ASSIGN_OR_RETURN(Answer answer,
                         Over(selector, call, [&](const TimeSeries& series, Answer& into) {
                           TimeSeries found{series.labels, {}};
                           for (const timeseries::Sample& sample : series.samples) {
                             if (sample.at >= from && sample.at <= until)
                               found.samples.push_back(sample);
                           }
                           if (!found.samples.empty()) into.series.push_back(std::move(found));
                           return absl::OkStatus();
                         }));
  answer.start = start;
  answer.end = end;
  return answer;
}

absl::StatusOr<std::vector<std::string>> OpenMetricsSource::LabelValues(
    const std::string& label, const std::string& selector, absl::Time start, absl::Time end,
    const Call& call, bool* complete) {
  std::set<std::string> values;
  const std::string all = absl::StrCat("{", kMetricName, "!=\"\"}");
  Call unlimited = call;
  unlimited.limits.series = series_.size() + 1;
  GALEN_ASSIGN_OR_RETURN(const Answer answer, Over(selector.empty() ? all : selector, unlimited,
                                                   [&](const TimeSeries& series, Answer& into) {
                                                     const auto value = series.labels.find(label);
                                                     if (value == series.labels.end() ||
                                                         value->second.empty() ||
                                                         !HasBetween(series, start, end))
                                                       return absl::OkStatus();
                                                     values.insert(value->second);
                                                     if (values.size() > call.limits.series)
                                                       into.complete = false;
                                                     return absl::OkStatus();
                                                   }));
  if (complete != nullptr) *complete = answer.complete;
  std::vector<std::string> sorted(values.begin(), values.end());
  if (sorted.size() > call.limits.series) sorted.resize(call.limits.series);
  return sorted;
}

}  // namespace galen::telemetry
