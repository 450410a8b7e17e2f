#ifndef SERVICES_SUMMARIZATION_SIGNALS_H_
#define SERVICES_SUMMARIZATION_SIGNALS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/log_analysis/scan/scanner.h"
#include "galen/knowledge/v1/knowledge.pb.h"
#include "galen/v1/evidence.pb.h"
#include "galen/v1/incident.pb.h"

namespace galen::summarization {

// A text as signals cite it.
struct Source {
  std::string name;  // "description" or the path of the log, unique within the summary
  bool description = false;
  bool capture = false;  // of a machine, by a bundle
  galen::v1::LogSource::Kind kind = galen::v1::LogSource::KIND_UNSPECIFIED;
  std::string node;  // "" when not known
  std::optional<std::int32_t> rank;
};

// The signal for a `hit` of `pattern`, in the form of evidence.proto. Pure.
galen::v1::Signal MakeSignal(const knowledge::v1::SignalPattern& pattern, const log_scan::Hit& hit,
                             const Source& source);

// The place that the text counts as: its kind if known, otherwise the place where the pattern
// expects its message. Pure.
galen::v1::Where WhereOf(const Source& source, const knowledge::v1::SignalPattern& pattern);

// By first time (those without one after those with), then source, line and signal. Pure.
void SortSignals(std::vector<galen::v1::Signal>& signals);

// Keeps at most `max` signals: the stronger, then those nearer to a cause, then the earlier ones.
// Returns the number of removed ones. Pure.
std::size_t KeepStrongest(std::vector<galen::v1::Signal>& signals, std::size_t max);

}  // namespace galen::summarization

#endif  // SERVICES_SUMMARIZATION_SIGNALS_H_
