#include "common/run_records/metric_lines.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/json_access.h"
#include "nlohmann/json.hpp"

namespace galen::run_records {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostLine = std::size_t{1} << 20;
constexpr std::size_t kMostMlflowLine = 256;
constexpr std::size_t kStampDigits = 13;  // milliseconds, from 2001 to 2286
// Scalars may be grouped: {"train": {"loss": 2.5}}.
constexpr int kMostNesting = 4;

std::optional<double> NumberOfText(absl::string_view text) {
  if (text == "NaN" || text == "nan") return std::nan("");
  if (text == "Infinity" || text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity" || text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::optional<double> NumberOfValue(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return NumberOfText(value.get_ref<const std::string&>());
  return std::nullopt;
}

struct Scalars {
  std::optional<double> time;
  std::int64_t step = -1;
  std::vector<std::pair<std::string, double>> values;
};

void TakeObject(const Json& object, const std::string& prefix, int nesting, Scalars& scalars) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object() && nesting < kMostNesting) {
      TakeObject(value, absl::StrCat(prefix, key, "."), nesting + 1, scalars);
      continue;
    }
    const std::optional<double> number = NumberOfValue(value);
    if (!number.has_value()) continue;
    if (prefix.empty() && key == "_timestamp") scalars.time = number;
    if (prefix.empty() && key == "_step" && *number >= 0 && *number < 9e15) {
      scalars.step = static_cast<std::int64_t>(*number);
    }
    if (!absl::StartsWith(key, "_")) scalars.values.emplace_back(prefix + key, *number);
  }
}

// Three numbers: milliseconds, value, step.
bool ParseMlflow(absl::string_view line, Point& point) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::StripAsciiWhitespace(line), ' ', absl::SkipEmpty());
  if (words.size() != 3 || words[0].size() != kStampDigits) return false;
  if (!absl::SimpleAtoi(words[0], &point.at) || !absl::SimpleAtoi(words[2], &point.step)) {
    return false;
  }
  const std::optional<double> named = NumberOfText(words[1]);
  if (named.has_value()) {
    point.value = *named;
    return true;
  }
  return absl::SimpleAtod(words[1], &point.value);
}

// The folder that a file of W&B is in, or the one above its files: run-20260102_030405-abcdef.
std::string RunOfPath(const std::string& path) {
  std::vector<std::string> parts = absl::StrSplit(path, '/');
  parts.pop_back();
  if (!parts.empty() && parts.back() == "files") parts.pop_back();
  if (parts.empty() || parts.back().empty()) return path;
  // As the file beside it says of itself: the last part is the run's id.
  const std::string& folder = parts.back();
  if (absl::StartsWith(folder, "run-") || absl::StartsWith(folder, "offline-run-")) {
    return folder.substr(folder.rfind('-') + 1);
  }
  return folder;
}

}  // namespace

std::optional<double> NumberOfJson(absl::string_view json) {
  json = absl::StripAsciiWhitespace(json);
  if (json.size() >= 2 && json.front() == '"' && json.back() == '"') {
    return NumberOfText(json.substr(1, json.size() - 2));
  }
  double number = 0;
  if (json.empty() || json.size() > 64 || !absl::SimpleAtod(json, &number)) {
    return NumberOfText(json);
  }
  return number;
}

bool LooksLikeWandbLines(absl::string_view head) {
  head = absl::StripLeadingAsciiWhitespace(head);
  // The head of a long object may lack one of these.
  return absl::StartsWith(head, "{") && absl::StrContains(head, "\"_timestamp\":") &&
         (absl::StrContains(head, "\"_step\":") || absl::StrContains(head, "\"_runtime\":"));
}

void ReadWandbLines(const std::string& path, ByteSource source, RunRecords& records) {
  const std::string run = RunOfPath(path);
  Bytes bytes(std::move(source));
  std::string line;
  std::size_t damaged = 0;
  while (bytes.Line(kMostLine + 1, line)) {
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    Json object;
    if (line.size() <= kMostLine) object = ParseJson(line, {.depth = 16});
    Scalars scalars;
    if (object.is_object()) TakeObject(object, "", 0, scalars);
    if (!scalars.time.has_value() || !(*scalars.time > 0 && *scalars.time < 1e11)) {
      ++damaged;
      continue;
    }
    for (const auto& [tag, value] : scalars.values) {
      records.Add(run, tag, {static_cast<std::int64_t>(*scalars.time * 1e3), scalars.step, value});
    }
  }
  if (damaged > 0) records.Note(absl::StrCat(path, ": ", damaged, " lines are left out"));
}

bool LooksLikeMlflowLines(absl::string_view head) {
  std::size_t lines = 0;
  while (!head.empty()) {
    const std::size_t end = head.find('\n');
    // The last line of the head may be cut off.
    if (end == absl::string_view::npos && lines > 0) break;
    Point point;
    if (!ParseMlflow(head.substr(0, end), point)) return false;
    ++lines;
    head.remove_prefix(end == absl::string_view::npos ? head.size() : end + 1);
  }
  return lines > 0;
}

void ReadMlflowLines(const std::string& path, ByteSource source, RunRecords& records) {
  static const std::string kFolder = "/metrics/";
  const std::size_t folder = path.rfind(kFolder);
  const bool stored = folder != std::string::npos;
  const std::string tag =
      stored ? path.substr(folder + kFolder.size()) : path.substr(path.rfind('/') + 1);
  const std::string store = stored ? path.substr(0, folder) : "";
  const std::string run = stored ? store.substr(store.rfind('/') + 1) : path;
  Bytes bytes(std::move(source));
  std::string line;
  std::size_t damaged = 0;
  while (bytes.Line(kMostMlflowLine, line)) {
    Point point;
    if (ParseMlflow(line, point)) {
      records.Add(run, tag, point);
    } else if (!absl::StripAsciiWhitespace(line).empty()) {
      ++damaged;
    }
  }
  if (damaged > 0) records.Note(absl::StrCat(path, ": ", damaged, " damaged lines are left out"));
}

}  // namespace galen::run_records
