#include "common/telemetry/open_metrics.h"

#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace galen::telemetry {
namespace {

constexpr std::size_t kMostLine = 64 << 10;
constexpr std::size_t kMostLabels = 64;
constexpr double kMilliseconds = 1e11;    // seconds of the year 5138
constexpr double kLatest = 253402300800;  // seconds; the year 10,000

bool IsNameByte(char c, bool first, bool colon) {
  return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_' || (colon && c == ':') ||
         (!first && absl::ascii_isdigit(static_cast<unsigned char>(c)));
}

absl::string_view TakeName(absl::string_view& rest, bool colon) {
  std::size_t size = 0;
  while (size < rest.size() && IsNameByte(rest[size], size == 0, colon)) ++size;
  const absl::string_view name = rest.substr(0, size);
  rest.remove_prefix(size);
  return name;
}

void SkipBlanks(absl::string_view& rest) {
  while (!rest.empty() && (rest[0] == ' ' || rest[0] == '\t')) rest.remove_prefix(1);
}

absl::string_view TakeWord(absl::string_view& rest) {
  SkipBlanks(rest);
  std::size_t size = 0;
  while (size < rest.size() && rest[size] != ' ' && rest[size] != '\t') ++size;
  const absl::string_view word = rest.substr(0, size);
  rest.remove_prefix(size);
  SkipBlanks(rest);
  return word;
}

bool Consume(absl::string_view& rest, absl::string_view prefix) {
  if (!absl::StartsWith(rest, prefix)) return false;
  rest.remove_prefix(prefix.size());
  return true;
}

absl::Status Wrong(absl::string_view what) { return absl::InvalidArgumentError(what); }

absl::Status TakeLabels(absl::string_view& rest, Labels& labels) {
  rest.remove_prefix(1);  // {
  for (;;) {
    SkipBlanks(rest);
    if (Consume(rest, "}")) return absl::OkStatus();
    const absl::string_view name = TakeName(rest, false);
    if (name.empty()) return Wrong("no name of a label");
    SkipBlanks(rest);
    if (!Consume(rest, "=")) return Wrong("no = behind a label");
    SkipBlanks(rest);
    if (!Consume(rest, "\"")) return Wrong("no \" before a label's value");
    std::string value;
    std::size_t at = 0;
    for (; at < rest.size() && rest[at] != '"'; ++at) {
      if (rest[at] != '\\' || at + 1 == rest.size()) {
        value += rest[at];
        continue;
      }
      ++at;
      value += rest[at] == 'n' ? '\n' : rest[at];
    }
    if (at >= rest.size()) return Wrong("a label's value does not end");
    rest.remove_prefix(at + 1);
    // (An empty value is as good as no label.)
    if (name == kMetricName || !labels.try_emplace(std::string(name), std::move(value)).second)
      return Wrong("a label twice");
    if (labels.size() > kMostLabels) return Wrong("more than 64 labels");
    SkipBlanks(rest);
    if (!Consume(rest, ",") && !absl::StartsWith(rest, "}"))
      return Wrong("neither , nor } behind a label");
  }
}

}  // namespace

absl::StatusOr<MetricLine> ParseMetricLine(absl::string_view rest) {
  MetricLine line;
  SkipBlanks(rest);
  const std::string name(TakeName(rest, true));
  if (name.empty()) return Wrong("no name of a metric");
  SkipBlanks(rest);
  if (absl::StartsWith(rest, "{")) GALEN_RETURN_IF_ERROR(TakeLabels(rest, line.labels));
  for (const auto& [label, value] : line.labels) {
    if (!IsUtf8(value)) return Wrong("a label's value is not UTF-8");
  }
  line.labels[kMetricName] = name;
  const absl::string_view value = TakeWord(rest);
  if (value.empty() || !absl::SimpleAtod(value, &line.value)) return Wrong("no value");
  if (rest.empty() || rest[0] == '#') return line;
  double at = 0;
  if (!absl::SimpleAtod(TakeWord(rest), &at) || !std::isfinite(at))
    return Wrong("no time behind the value");
  if (std::fabs(at) >= kMilliseconds) at /= 1000;
  if (std::fabs(at) >= kLatest) return Wrong("a time beyond all years");
  line.at = static_cast<std::int64_t>(std::llround(at * 1000));
  if (!rest.empty() && rest[0] != '#') return Wrong("more behind the time");
  return line;
}

void OpenMetricsReader::Damage(absl::string_view what) {
  if (damaged_++ == 0) first_damage_ = absl::StrCat("line ", lines_, ": ", what);
}

absl::Status OpenMetricsReader::Line(absl::string_view line, Sink sink) {
  ++lines_;
  if (absl::EndsWith(line, "\r")) line.remove_suffix(1);
  if (too_long_) {
    Damage("longer than 64 KiB");
    return absl::OkStatus();
  }
  if (absl::StripAsciiWhitespace(line).empty()) return absl::OkStatus();
  if (line[0] == '#') {
    whole_ = line == "# EOF";
    return absl::OkStatus();
  }
  whole_ = false;
  absl::StatusOr<MetricLine> parsed = ParseMetricLine(line);
  if (!parsed.ok()) {
    Damage(parsed.status().message());
    return absl::OkStatus();
  }
  return sink(*std::move(parsed));
}

absl::Status OpenMetricsReader::Take(absl::string_view bytes, Sink sink) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const absl::string_view piece = bytes.substr(0, end);
    if (rest_.size() + piece.size() > kMostLine) {
      too_long_ = true;
      rest_.clear();
    }
    if (end == absl::string_view::npos) {
      if (!too_long_) rest_.append(piece.data(), piece.size());
      return absl::OkStatus();
    }
    absl::Status status;
    if (rest_.empty()) {
      status = Line(piece, sink);
    } else {
      rest_.append(piece.data(), piece.size());
      status = Line(rest_, sink);
    }
    rest_.clear();
    too_long_ = false;
    GALEN_RETURN_IF_ERROR(status);
    bytes.remove_prefix(end + 1);
  }
  return absl::OkStatus();
}

absl::Status OpenMetricsReader::Finish(Sink sink) {
  if (rest_.empty() && !too_long_) return absl::OkStatus();
  absl::Status status = Line(rest_, sink);
  rest_.clear();
  too_long_ = false;
  return status;
}

}  // namespace galen::telemetry
