// Fuzzes the output of exporters, the answers of a Prometheus, selectors of series, and the
// knowledge of exporters.
#include <cmath>
#include <string>
#include <vector>

#include "common/base/text.h"
#include "common/telemetry/open_metrics.h"
#include "common/telemetry/open_metrics_source.h"
#include "common/telemetry/prometheus_answer.h"
#include "common/telemetry/rules.h"
#include "common/telemetry/selector.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

void Require(bool holds) {
  if (!holds) __builtin_trap();
}

void MetricLine(absl::string_view text) {
  const auto line = telemetry::ParseMetricLine(text);
  if (!line.ok()) return;
  Require(!line->labels.at(telemetry::kMetricName).empty());
  for (const auto& [name, value] : line->labels) Require(IsUtf8(name) && IsUtf8(value));
}

// The same samples, however the text is cut into pieces.
std::vector<std::string> Lines(absl::string_view text, std::size_t piece, std::size_t& damaged) {
  telemetry::OpenMetricsReader reader;
  std::vector<std::string> lines;
  const auto sink = [&](telemetry::MetricLine line) {
    lines.push_back(telemetry::ShowLabels(line.labels));
    return absl::OkStatus();
  };
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    Require(reader.Take(text.substr(0, piece), sink).ok());
  }
  Require(reader.Finish(sink).ok());
  damaged = reader.damaged();
  Require(damaged <= reader.lines());
  return lines;
}

void OpenMetrics(absl::string_view text) {
  std::size_t whole = 0;
  std::size_t pieces = 0;
  Require(Lines(text, text.size(), whole) == Lines(text, 3, pieces) && whole == pieces);
}

// A file's series are in order of time, within the limits, and chosen by their own labels.
void Source(absl::string_view text) {
  const telemetry::FileLimits limits = {.series = 5, .samples = 10};
  const auto source =
      telemetry::OpenMetricsSource::OfText("fuzz.om", text, absl::FromUnixSeconds(1), limits);
  const auto all = source->Samples("{__name__!=\"\"}", absl::FromUnixSeconds(-300'000'000'000),
                                   absl::FromUnixSeconds(300'000'000'000), {});
  Require(all.ok() && all->series.size() <= 5);
  std::size_t samples = 0;
  for (const telemetry::TimeSeries& series : all->series) {
    samples += series.samples.size();
    for (std::size_t i = 1; i < series.samples.size(); ++i)
      Require(series.samples[i - 1].at < series.samples[i].at);
    std::string selector = "{";
    for (const auto& [name, value] : series.labels)
      selector += name + "=" + telemetry::Quote(value) + ",";
    const auto chosen = telemetry::Selector::Parse(selector + "}");
    Require(selector.size() > 8000 || (chosen.ok() && chosen->Matches(series.labels)));
  }
  Require(samples <= 10);
}

void Selector(absl::string_view text) {
  const auto selector = telemetry::Selector::Parse(text);
  if (selector.ok())
    Use(selector->Matches({{telemetry::kMetricName, "up"}, {"gpu", "0"}, {"instance", "n1:9100"}}));
}

void ApiBody(absl::string_view text) {
  telemetry::Limits limits;
  limits.series = 4;
  limits.samples = 6;
  const auto body = telemetry::ParseApiBody(text, limits);
  Use(telemetry::ErrorOf(500, text));
  if (!body.ok()) return;
  Require(body->series.size() <= 4 && body->values.size() <= 4);
  std::size_t samples = 0;
  for (const telemetry::TimeSeries& series : body->series) {
    samples += series.samples.size();
    for (std::size_t i = 1; i < series.samples.size(); ++i)
      Require(series.samples[i - 1].at < series.samples[i].at);
  }
  Require(samples <= 6);
  for (const std::string& warning : body->warnings) Require(IsUtf8(warning));
}

void Rules(absl::string_view text) {
  const auto rules = telemetry::ParseRules(text, "sources.yaml");
  if (!rules.ok()) return;
  Require(!rules->families.empty());
  for (const telemetry::Family& family : rules->families) {
    Use(family.Has("DCGM_FI_DEV_GPU_TEMP"));
    Use(family.PlaceOf({{"instance", "n1:9100"}, {"gpu", "0"}}));
  }
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> parsers = {
      {"metric_line", MetricLine}, {"open_metrics", OpenMetrics}, {"source", Source},
      {"selector", Selector},      {"api_body", ApiBody},         {"rules", Rules},
  };
  return parsers;
}

}  // namespace galen::fuzz
