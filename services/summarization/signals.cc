#include "services/summarization/signals.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/proto_time.h"

namespace galen::summarization {
namespace {

using galen::v1::Signal;

std::pair<std::int64_t, std::int32_t> TimeKey(const Signal& signal) {
  if (!signal.has_first_time()) return {std::numeric_limits<std::int64_t>::max(), 0};
  return {signal.first_time().seconds(), signal.first_time().nanos()};
}

bool Before(const Signal& a, const Signal& b) {
  const auto key = [](const Signal& s) {
    return std::make_tuple(TimeKey(s), absl::string_view(s.source()), s.first_line(),
                           absl::string_view(s.signal()));
  };
  return key(a) < key(b);
}

// Unspecified last; the enum is ordered by nearness to a cause.
int RoleKey(const Signal& signal) {
  return signal.role() == galen::v1::SIGNAL_ROLE_UNSPECIFIED ? galen::v1::SignalRole_ARRAYSIZE
                                                             : signal.role();
}

bool Stronger(const Signal& a, const Signal& b) {
  if (a.strength() != b.strength()) return a.strength() > b.strength();
  if (RoleKey(a) != RoleKey(b)) return RoleKey(a) < RoleKey(b);
  return Before(a, b);
}

bool Expects(const knowledge::v1::SignalPattern& pattern, galen::v1::Where where) {
  return std::find(pattern.where().begin(), pattern.where().end(), where) != pattern.where().end();
}

}  // namespace

galen::v1::Where WhereOf(const Source& source, const knowledge::v1::SignalPattern& pattern) {
  if (source.description) return galen::v1::DESCRIPTION;
  switch (source.kind) {
    case galen::v1::LogSource::JOB:
      return galen::v1::JOB_LOG;
    case galen::v1::LogSource::SYSTEM:
      return galen::v1::KERNEL_LOG;
    case galen::v1::LogSource::SCHEDULER:
    case galen::v1::LogSource::TOOL:
      return galen::v1::TOOL_OUTPUT;
    default:
      break;
  }
  if (Expects(pattern, galen::v1::JOB_LOG)) return galen::v1::JOB_LOG;
  if (Expects(pattern, galen::v1::KERNEL_LOG)) return galen::v1::KERNEL_LOG;
  if (Expects(pattern, galen::v1::TOOL_OUTPUT)) return galen::v1::TOOL_OUTPUT;
  return galen::v1::JOB_LOG;
}

Signal MakeSignal(const knowledge::v1::SignalPattern& pattern, const log_scan::Hit& hit,
                  const Source& source) {
  Signal signal;
  signal.set_id(absl::StrCat("signal/", pattern.id(), "@", source.name));
  signal.set_signal(pattern.id());
  *signal.mutable_labels() = pattern.labels();
  *signal.mutable_refutes() = pattern.refutes();
  signal.set_where(WhereOf(source, pattern));
  signal.set_strength(pattern.strength());
  signal.set_role(pattern.role());
  signal.set_source(source.name);
  signal.set_node(source.node);
  const std::optional<std::int32_t> rank = source.rank.has_value() ? source.rank : hit.rank;
  if (rank.has_value()) signal.set_rank(*rank);
  signal.set_first_line(hit.first_line);
  signal.set_count(hit.count);
  if (hit.first_time.has_value()) *signal.mutable_first_time() = ToTimestamp(*hit.first_time);
  if (hit.last_time.has_value()) *signal.mutable_last_time() = ToTimestamp(*hit.last_time);
  signal.set_excerpt(hit.excerpt);
  signal.set_meaning(pattern.meaning());
  return signal;
}

void SortSignals(std::vector<Signal>& signals) {
  std::sort(signals.begin(), signals.end(), Before);
}

std::size_t KeepStrongest(std::vector<Signal>& signals, std::size_t max) {
  if (signals.size() <= max) return 0;
  const std::size_t gone = signals.size() - max;
  std::sort(signals.begin(), signals.end(), Stronger);
  signals.erase(signals.begin() + static_cast<std::ptrdiff_t>(max), signals.end());
  SortSignals(signals);
  return gone;
}

}  // namespace galen::summarization
