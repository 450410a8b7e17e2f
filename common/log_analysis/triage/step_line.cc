#include "common/log_analysis/triage/step_line.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "absl/strings/numbers.h"

namespace galen::triage {
namespace {

// A log has millions of such lines, so numbers are parsed by hand: most have few digits, and a
// number below 2^53 divided by a small power of ten is exactly the double that a library returns.

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool StartsWithNan(absl::string_view text) {
  const auto is = [&](const char* word) {
    for (std::size_t i = 0; i < 3; ++i) {
      if (text.size() <= i || (text[i] | 0x20) != word[i]) return false;
    }
    return true;
  };
  return is("nan") || is("inf");
}

struct Number {
  double value = 0;
  std::size_t size = 0;  // 0: none
};

// "2.66E+00", "1,024.5", "6,785", "-3", "nan".
Number ReadNumber(absl::string_view text) {
  constexpr std::size_t kMostChars = 64;
  static constexpr double kTens[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11};
  Number number;
  std::size_t at = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) ++at;
  if (StartsWithNan(text.substr(at))) {
    number.value = std::numeric_limits<double>::quiet_NaN();
    number.size = at + 3;
    return number;
  }
  const std::size_t begin = at;
  std::uint64_t digits = 0;
  std::size_t count = 0;
  std::size_t behind_point = 0;
  bool commas = false;
  while (at < text.size() && at < kMostChars) {
    if (IsDigit(text[at])) {
      digits = 10 * digits + static_cast<std::uint64_t>(text[at] - '0');
      ++count;
    } else if (text[at] == ',' && at + 1 < text.size() && IsDigit(text[at + 1]) && count > 0) {
      commas = true;
    } else {
      break;
    }
    ++at;
  }
  if (count == 0) return number;
  if (at + 1 < text.size() && text[at] == '.' && IsDigit(text[at + 1])) {
    ++at;
    while (at < text.size() && at < kMostChars && IsDigit(text[at])) {
      digits = 10 * digits + static_cast<std::uint64_t>(text[at] - '0');
      ++count;
      ++behind_point;
      ++at;
    }
  }
  bool has_exponent = false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t end = at + 1;
    if (end < text.size() && (text[end] == '-' || text[end] == '+')) ++end;
    if (end < text.size() && IsDigit(text[end])) {
      while (end < text.size() && end < kMostChars && IsDigit(text[end])) ++end;
      has_exponent = true;
      at = end;
    }
  }
  number.size = at;
  if (!has_exponent && count <= 15 && behind_point < 12) {
    number.value = static_cast<double>(digits) / kTens[behind_point];
    if (negative) number.value = -number.value;
    return number;
  }
  std::string plain;
  for (const char c : text.substr(begin, at - begin)) {
    if (!commas || c != ',') plain += c;
  }
  if (!absl::SimpleAtod(plain, &number.value)) return Number();
  if (negative) number.value = -number.value;
  return number;
}

// "15:19", "1:02:03". Days are not supported: tqdm prints only hours.
Number ReadClock(absl::string_view text) {
  Number clock;
  std::size_t at = 0;
  int parts = 0;
  while (parts < 3) {
    const std::size_t begin = at;
    double part = 0;
    while (at < text.size() && at - begin < 9 && IsDigit(text[at])) {
      part = 10 * part + (text[at++] - '0');
    }
    if (at == begin) break;
    clock.value = 60 * clock.value + part;
    ++parts;
    if (at == text.size() || text[at] != ':') break;
    ++at;
  }
  clock.size = parts >= 2 ? at : 0;
  return clock;
}

std::size_t SkipSpace(absl::string_view line, std::size_t at) {
  while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
  return at;
}

bool IsWhole(double value) { return value >= 0 && value <= static_cast<double>(kMostSteps); }

constexpr std::size_t kNone = absl::string_view::npos;

// Begin of the number directly before a text, with optional spaces between them.
std::size_t NumberBefore(absl::string_view line, std::size_t end) {
  while (end > 0 && line[end - 1] == ' ') --end;
  std::size_t begin = end;
  while (begin > 0 &&
         (IsDigit(line[begin - 1]) || line[begin - 1] == '.' || line[begin - 1] == ',')) {
    --begin;
  }
  while (begin < end && !IsDigit(line[begin])) ++begin;
  return begin == end ? kNone : begin;
}

// Begin of the number of a field, from `at` on.
std::size_t FindNumber(const StepField& field, absl::string_view line, std::size_t at) {
  for (const std::string& after : field.after) {
    const std::size_t place = line.find(after, at);
    if (place != kNone) return SkipSpace(line, place + after.size());
  }
  for (const std::string& before : field.before) {
    const std::size_t place = line.find(before, at);
    if (place == kNone) continue;
    const std::size_t begin = NumberBefore(line, place);
    if (begin != kNone && begin >= at) return begin;
  }
  return kNone;
}

// For a line with fields in any order: "12 / 100" has a total, "12 ... 3/4" does not.
bool IsTotalBehind(std::size_t step_end, std::size_t total_at) {
  constexpr std::size_t kMostBetween = 4;
  return total_at >= step_end && total_at - step_end <= kMostBetween;
}

// A step of an epoch becomes one of the run, if the line tells the epoch and its number of steps.
void CountOverEpochs(const StepFormat& format, StepLine& line) {
  const std::optional<double> epoch = line.Get(Quantity::kEpoch);
  if (!epoch.has_value() || line.total < 0) return;
  const double before = *epoch - static_cast<double>(format.first_epoch);
  const double steps = before * static_cast<double>(line.total);
  if (!IsWhole(steps) || !IsWhole(steps + static_cast<double>(line.step))) return;
  line.step += static_cast<std::int64_t>(steps);
  const double all = line.Get(Quantity::kEpochs).value_or(-1) * static_cast<double>(line.total);
  line.total = IsWhole(all) ? static_cast<std::int64_t>(all) : -1;
}

std::optional<StepLine> ReadFrom(const StepFormat& format, absl::string_view line, std::size_t at) {
  StepLine found;
  const std::size_t begin = at;
  std::size_t step_end = begin;
  for (const StepField& field : format.fields) {
    if (found.Has(field.quantity)) continue;
    const bool total = format.any_order && field.quantity == Quantity::kTotal;
    const std::size_t number_at = FindNumber(field, line,
                                             total              ? step_end
                                             : format.any_order ? begin
                                                                : at);
    if (number_at == kNone) continue;
    if (total && !IsTotalBehind(step_end, number_at)) continue;
    const absl::string_view rest = line.substr(number_at);
    Number number;
    if (field.quantity == Quantity::kElapsed) number = ReadClock(rest);
    if (number.size == 0) number = ReadNumber(rest);
    if (number.size == 0) continue;
    at = number_at + number.size;
    if (field.quantity == Quantity::kStep) step_end = at;
    if (!std::isfinite(number.value) && field.quantity != Quantity::kLoss) continue;
    found.Set(field.quantity, number.value);
  }
  if (const auto step = found.Get(Quantity::kStep); step.has_value()) {
    // Some programs print a step below the first one before they start.
    if (!IsWhole(*step) || *step < static_cast<double>(format.first_step)) return std::nullopt;
    found.step = static_cast<std::int64_t>(*step);
  } else if (!format.serving) {
    return std::nullopt;
  }
  if (const auto total = found.Get(Quantity::kTotal); total.has_value() && IsWhole(*total)) {
    found.total = static_cast<std::int64_t>(*total);
  }
  CountOverEpochs(format, found);
  return found;
}

}  // namespace

std::optional<double> StepLine::Seconds() const {
  // A step of more than a year is not plausible.
  constexpr double kMost = 366.0 * 86400;
  std::optional<double> seconds = Get(Quantity::kSeconds);
  if (!seconds.has_value() && Has(Quantity::kMilliseconds)) {
    seconds = *Get(Quantity::kMilliseconds) / 1000;
  }
  if (seconds.has_value() && !(*seconds >= 0 && *seconds < kMost)) return std::nullopt;
  return seconds;
}

absl::string_view BarName(absl::string_view line) {
  std::size_t at = line.rfind("%|");
  if (at == kNone) return "";
  while (at > 0 && (IsDigit(line[at - 1]) || line[at - 1] == ' ')) --at;
  std::size_t begin = line.substr(0, at).find_last_of("\r\n");
  begin = begin == kNone ? 0 : begin + 1;
  return line.substr(begin, at - begin);
}

std::optional<StepLine> ReadStepLine(const StepFormat& format, absl::string_view line) {
  if (!format.last_of_line) return ReadFrom(format, line, 0);
  // The begin of the last report of the line: the last place of the text of its first field.
  const StepField& first = format.fields.front();
  const auto last_before = [&](std::size_t end) {
    for (const std::string& after : first.after) {
      if (const std::size_t at = line.rfind(after, end); at != kNone) return at;
    }
    for (const std::string& before : first.before) {
      const std::size_t at = line.rfind(before, end);
      if (at != kNone && NumberBefore(line, at) != kNone) return NumberBefore(line, at);
    }
    return kNone;
  };
  // If the last report was cut, or is of another form, the one before it counts.
  constexpr int kMostTries = 4;
  std::size_t at = last_before(kNone);
  for (int tries = 0; tries < kMostTries && at != kNone; ++tries) {
    const std::optional<StepLine> found = ReadFrom(format, line, at);
    const bool has_all =
        !format.all_fields || !found.has_value() ||
        std::all_of(format.fields.begin(), format.fields.end(),
                    [&](const StepField& field) { return found->Has(field.quantity); });
    if (found.has_value() && has_all) return found;
    if (at == 0) break;
    at = last_before(at - 1);
  }
  return std::nullopt;
}

}  // namespace galen::triage
