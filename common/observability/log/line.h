#ifndef COMMON_OBSERVABILITY_LOG_LINE_H_
#define COMMON_OBSERVABILITY_LOG_LINE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace galen::log {

enum class Level { kInfo, kWarning, kError };

// kText is for people: time, level, service and message, then what else there is as name=value.
// kJson is for collectors: an object with "time" (RFC 3339, UTC), "level", "service", "message",
// and where they are known "diagnosis", "trace_id" and the fields.
enum class Format { kText, kJson };

// "text", "json" or "auto": text where `fd` is a terminal, with a person in front of it, and JSON
// elsewhere, where a collector reads. INVALID_ARGUMENT for another word.
absl::StatusOr<Format> ParseFormat(absl::string_view word, int fd);

// More about an event. The name is code's own: lower case, with underscores.
struct Field {
  absl::string_view name;
  std::string value;
};

// An event. Texts may come from anywhere: they are cleaned and cut, and none breaks its line.
struct Line {
  absl::Time time;
  Level level = Level::kInfo;
  absl::string_view service;
  absl::string_view message;
  absl::string_view diagnosis;
  absl::string_view trace_id;
  absl::Span<const Field> fields;
};

// The longest message or value, in bytes; more is cut.
inline constexpr int kMostText = 4096;

// The line with its line feed, the only one in it. Pure.
std::string Render(const Line& line, Format format);

}  // namespace galen::log

#endif  // COMMON_OBSERVABILITY_LOG_LINE_H_
