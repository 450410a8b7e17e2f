#include "common/telemetry/named_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace galen::telemetry {
namespace {

// Names that lead to names: a pod's address to its node, an exporter's own word to that.
constexpr int kMostHops = 4;

// The metric's name of a selector that is only a name and labels; "" of another one.
absl::string_view MetricIn(absl::string_view selector) {
  const std::size_t brace = selector.find('{');
  const absl::string_view name = absl::StripAsciiWhitespace(selector.substr(0, brace));
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':';
  });
  return plain ? name : absl::string_view();
}

}  // namespace

void MachineNames::Learn(const std::string& alias, const std::string& name, int source) {
  if (alias.empty() || name.empty() || alias == name) return;
  const auto [at, added] = known_.try_emplace(alias, Known{name, source});
  if (added || at->second.source != source || at->second.name == name) return;
  at->second.name.clear();
}

std::string MachineNames::Of(const std::string& name) const {
  const std::string* found = &name;
  for (int hop = 0; hop < kMostHops; ++hop) {
    const auto next = known_.find(*found);
    if (next == known_.end() || next->second.name.empty() || next->second.name == name) break;
    found = &next->second.name;
  }
  return *found;
}

absl::StatusOr<std::unique_ptr<NamedSource>> NamedSource::Open(Source& source, const Rules& rules,
                                                               absl::Time start, absl::Time end,
                                                               const Call& call) {
  std::unique_ptr<NamedSource> named(new NamedSource(source, rules));
  bool complete = true;
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> metrics,
                         source.LabelValues(kMetricName, "", start, end, call, &complete));
  named->metrics_.insert(metrics.begin(), metrics.end());
  named->all_metrics_ = complete;
  int rank = 0;
  for (const Naming& naming : rules.names) {
    ++rank;
    if (complete && !named->metrics_.contains(naming.metric)) continue;
    GALEN_ASSIGN_OR_RETURN(
        const Answer answer,
        source.SeriesOf(absl::StrCat(naming.metric, naming.where), start, end, call));
    for (const TimeSeries& series : answer.series) {
      const auto name = series.labels.find(naming.name);
      if (name == series.labels.end()) continue;
      for (const std::string& label : naming.of) {
        const auto alias = series.labels.find(label);
        if (alias == series.labels.end()) continue;
        named->names_.Learn(WithoutPort(alias->second), name->second, rank);
      }
    }
  }
  return named;
}

bool NamedSource::IsAbsent(absl::string_view selector) const {
  const absl::string_view metric = MetricIn(selector);
  return all_metrics_ && !metric.empty() && !metrics_.contains(metric);
}

absl::StatusOr<Answer> NamedSource::Named(absl::StatusOr<Answer> answer) const {
  GALEN_RETURN_IF_ERROR(answer.status());
  for (TimeSeries& series : answer->series) {
    const std::string node = rules_.PlaceOf(series.labels).node;
    std::string machine = names_.Of(node);
    if (machine != node) series.labels[kMachine] = std::move(machine);
  }
  return answer;
}

absl::StatusOr<Answer> NamedSource::Instant(const std::string& query, absl::Time at,
                                            const Call& call) {
  return Named(source_.Instant(query, at, call));
}

absl::StatusOr<Answer> NamedSource::RangeOf(const std::string& query, const Range& range,
                                            const Call& call) {
  return Named(source_.RangeOf(query, range, call));
}

absl::StatusOr<Answer> NamedSource::Samples(const std::string& selector, absl::Time start,
                                            absl::Time end, const Call& call) {
  if (!IsAbsent(selector)) return Named(source_.Samples(selector, start, end, call));
  Answer none;
  none.source = source_.name();
  none.query = selector;
  none.start = start;
  none.end = end;
  return none;
}

absl::StatusOr<Answer> NamedSource::SeriesOf(const std::string& selector, absl::Time start,
                                             absl::Time end, const Call& call) {
  return Named(source_.SeriesOf(selector, start, end, call));
}

absl::StatusOr<std::vector<std::string>> NamedSource::LabelValues(const std::string& label,
                                                                  const std::string& selector,
                                                                  absl::Time start, absl::Time end,
                                                                  const Call& call,
                                                                  bool* complete) {
  return source_.LabelValues(label, selector, start, end, call, complete);
}

}  // namespace galen::telemetry
