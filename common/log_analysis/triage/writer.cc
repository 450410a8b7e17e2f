#include "common/log_analysis/triage/writer.h"

#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/text.h"

namespace galen::triage {
namespace {

constexpr std::size_t kMostDigits = 7;
constexpr std::size_t kMostName = 128;

bool IsDecimal(char c) { return c >= '0' && c <= '9'; }
bool IsNameChar(char c) {
  return IsDecimal(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '-' || c == '.' ||
         c == '_';
}

std::size_t CountDigits(absl::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && n <= kMostDigits && IsDecimal(text[n])) ++n;
  return n;
}

// Size of "[rank3]: " or "[default3]:"; 0: none.
std::size_t BracketSize(absl::string_view text) {
  if (text.empty() || text[0] != '[') return 0;
  for (const absl::string_view word : {"rank", "default"}) {
    if (!absl::StartsWith(text.substr(1), word)) continue;
    const std::size_t digits = CountDigits(text.substr(1 + word.size()));
    const std::size_t end = 1 + word.size() + digits;
    if (digits == 0 || digits > kMostDigits) return 0;
    if (text.substr(end, 2) == "]:") return end + 2;
  }
  return 0;
}

// "3: " or "  3: ".
std::size_t TaskSize(absl::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && at < kMostDigits && text[at] == ' ') ++at;
  const std::size_t digits = CountDigits(text.substr(at));
  if (digits == 0 || digits > kMostDigits) return 0;
  at += digits;
  return text.substr(at, 2) == ": " ? at + 2 : 0;
}

// "(RayTrainWorker pid=81234, ip=10.0.3.17) ".
std::size_t WorkerSize(absl::string_view text) {
  if (text.empty() || text[0] != '(') return 0;
  const std::size_t end = text.substr(0, kMostName).find(')');
  if (end == absl::string_view::npos) return 0;
  return absl::StrContains(text.substr(0, end), "pid=") ? end + 1 : 0;
}

// "vm-07-05: ": names of machines contain a number.
std::size_t HostSize(absl::string_view text) {
  std::size_t at = 0;
  bool digit = false;
  while (at < text.size() && at < kMostName && IsNameChar(text[at])) digit |= IsDecimal(text[at++]);
  if (at == 0 || !digit || IsDecimal(text[0]) || text.substr(at, 2) != ": ") return 0;
  return at + 2;
}

}  // namespace

absl::string_view WriterPrefix(absl::string_view line) {
  std::size_t size = TaskSize(line);
  if (size == 0) size = HostSize(line);
  if (size == 0) size = WorkerSize(line);
  return line.substr(0, size + BracketSize(line.substr(size)));
}

Writer ParseWriter(absl::string_view prefix) {
  Writer writer;
  int number = 0;
  if (const std::size_t size = TaskSize(prefix); size > 0) {
    if (absl::SimpleAtoi(prefix.substr(0, size - 2), &number)) writer.task = number;
    prefix.remove_prefix(size);
  } else if (const std::size_t host = HostSize(prefix); host > 0) {
    writer.host = CleanText(prefix.substr(0, host - 2), kMostName);
    prefix.remove_prefix(host);
  } else if (const std::size_t worker = WorkerSize(prefix); worker > 0) {
    writer.worker = CleanText(prefix.substr(1, worker - 2), kMostName);
    prefix.remove_prefix(worker);
  }
  if (BracketSize(prefix) > 0) {
    const bool is_rank = absl::ConsumePrefix(&prefix, "[rank");
    if (!is_rank) absl::ConsumePrefix(&prefix, "[default");
    if (absl::SimpleAtoi(prefix.substr(0, CountDigits(prefix)), &number)) {
      (is_rank ? writer.rank : writer.local_rank) = number;
    }
  }
  return writer;
}

std::string ToString(const Writer& writer) {
  std::string text;
  if (writer.rank.has_value()) {
    text = absl::StrCat("rank ", *writer.rank);
  } else if (writer.local_rank.has_value()) {
    text = absl::StrCat("local rank ", *writer.local_rank);
    if (writer.task.has_value()) absl::StrAppend(&text, " of task ", *writer.task);
  } else if (writer.task.has_value()) {
    text = absl::StrCat("task ", *writer.task);
  } else if (!writer.worker.empty()) {
    text = writer.worker;
  }
  if (!writer.host.empty()) {
    text = text.empty() ? writer.host : absl::StrCat(text, " of ", writer.host);
  }
  return text;
}

}  // namespace galen::triage
