#include "common/log_analysis/triage/log_times.h"

#include <algorithm>
#include <cstddef>

#include "absl/time/clock.h"
#include "common/log_analysis/scan/timestamp.h"
#include "common/log_analysis/triage/lines.h"

namespace galen::triage {
namespace {

// Bytes of a line that are searched for its time.
constexpr std::size_t kHead = 256;
// Lines at the beginning of a log that are searched for its first time.
constexpr int kLinesOfBegin = 2000;
// Lines after the last step that are searched for a time.
constexpr int kLinesBehind = 256;

}  // namespace

void LogTimes::BeginLog(Collected::OfLog& log) {
  log_ = &log;
  begin_looked_ = 0;
  behind_left_ = 0;
}

void LogTimes::ReadBlock(absl::string_view block) {
  LookForBegin(block);
  LookBehindStep(block);
}

void LogTimes::NoteStep(absl::string_view behind) {
  behind_left_ = kLinesBehind;
  log_->after_step.reset();
  LookBehindStep(behind);
}

void LogTimes::EndLog(absl::string_view tail) {
  // The last time of the log: the closest one before its end.
  while (!tail.empty()) {
    const std::size_t end = tail.back() == '\n' ? tail.size() - 1 : tail.size();
    const std::size_t begin = LineBegin(tail, end);
    if (Note(TimeOfLine(tail.substr(begin, end - begin))).has_value()) break;
    tail = tail.substr(0, begin);
  }
}

std::optional<absl::Time> LogTimes::TimeOf(absl::string_view text) const {
  const std::optional<log_scan::TimeStamp> stamp = log_scan::FindTimeStamp(text);
  if (!stamp.has_value()) return std::nullopt;
  log_scan::TimeContext context;
  context.near = near_.has_value() ? near_ : options_.near;
  if (!context.near.has_value()) context.near = options_.now;
  // No line was written after now.
  context.latest = options_.latest.value_or(absl::Now());
  return log_scan::Resolve(*stamp, context);
}

std::optional<absl::Time> LogTimes::TimeOfLine(absl::string_view line) const {
  return TimeOf(line.substr(0, kHead));
}

std::optional<absl::Time> LogTimes::Note(std::optional<absl::Time> time) {
  if (!time.has_value()) return time;
  if (!log_->begin.has_value() || *time < *log_->begin) log_->begin = time;
  if (!log_->end.has_value() || *time > *log_->end) log_->end = time;
  return time;
}

void LogTimes::LookForBegin(absl::string_view block) {
  if (begin_looked_ == 0 && !block.empty()) {
    if (const auto year = YearOf(block, kLinesOfBegin, kHead); year.has_value()) near_ = year;
  }
  while (begin_looked_ < kLinesOfBegin && !block.empty()) {
    const std::size_t end = LineEnd(block, 0);
    ++begin_looked_;
    const absl::string_view head = block.substr(0, std::min(end, kHead));
    if (const auto time = Note(TimeOf(head)); time.has_value()) {
      begin_looked_ = kLinesOfBegin;
      if (log_scan::FindTimeStamp(head)->has_year) near_ = time;
    }
    block.remove_prefix(std::min(end + 1, block.size()));
  }
}

// Searches for the first time after the last step.
void LogTimes::LookBehindStep(absl::string_view block) {
  for (; behind_left_ > 0 && !block.empty(); --behind_left_) {
    const std::size_t end = LineEnd(block, 0);
    if (const auto time = TimeOfLine(block.substr(0, end)); time.has_value()) {
      log_->after_step = time;
      behind_left_ = 0;
      return;
    }
    block.remove_prefix(std::min(end + 1, block.size()));
  }
}

}  // namespace galen::triage
