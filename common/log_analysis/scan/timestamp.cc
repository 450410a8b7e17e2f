#include "common/log_analysis/scan/timestamp.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"

namespace galen::log_scan {
namespace {

// How far into a line a stamp may begin: after a level, a rank, a host, a facility.
constexpr std::size_t kTimestampReach = 96;

// Reads a line from left to right. Each method either takes what it names and returns true, or
// takes nothing and returns false.
class Cursor {
 public:
  explicit Cursor(absl::string_view text) : rest_(text) {}

  absl::string_view rest() const { return rest_; }
  char peek() const { return rest_.empty() ? '\0' : rest_[0]; }

  bool Take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Exactly `width` digits, whatever follows.
  bool TakeNumber(std::size_t width, int& value) {
    if (rest_.size() < width) return false;
    int result = 0;
    for (std::size_t i = 0; i < width; ++i) {
      if (!absl::ascii_isdigit(static_cast<unsigned char>(rest_[i]))) return false;
      result = result * 10 + (rest_[i] - '0');
    }
    value = result;
    rest_.remove_prefix(width);
    return true;
  }

  // "12:00:00", then an optional fraction.
  bool TakeClock(int& hour, int& minute, int& second, absl::Duration& fraction) {
    Cursor at = *this;
    if (!at.TakeNumber(2, hour) || !at.Take(':') || !at.TakeNumber(2, minute) || !at.Take(':') ||
        !at.TakeNumber(2, second)) {
      return false;
    }
    *this = at;
    fraction = TakeFraction();
    return true;
  }

  absl::Duration TakeFraction() {
    if (rest_.size() < 2 || (rest_[0] != '.' && rest_[0] != ',') ||
        !absl::ascii_isdigit(static_cast<unsigned char>(rest_[1]))) {
      return absl::ZeroDuration();
    }
    rest_.remove_prefix(1);
    std::int64_t nanoseconds = 0;
    std::int64_t unit = 100'000'000;
    while (!rest_.empty() && absl::ascii_isdigit(static_cast<unsigned char>(rest_[0]))) {
      nanoseconds += unit * (rest_[0] - '0');
      unit /= 10;
      rest_.remove_prefix(1);
    }
    return absl::Nanoseconds(nanoseconds);
  }

 private:
  absl::string_view rest_;
};

bool IsAlnum(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); }
bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

std::size_t CountDigits(absl::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), IsDigit) -
                                  text.begin());
}

// CivilSecond turns the 31st of June into the 1st of July; such a stamp is invalid.
bool MakeCivil(int year, int month, int day, int hour, int minute, int second,
               absl::CivilSecond& civil) {
  if (month < 1 || day < 1 || hour > 23 || minute > 59 || second > 60) return false;
  civil = absl::CivilSecond(year, month, day, hour, minute, second);
  return absl::CivilDay(year, month, day).day() == day && month <= 12;
}

// "Z", "+02:00", "+0200", " +0200".
std::optional<absl::Duration> TakeZone(Cursor at) {
  if (at.Take('Z')) return absl::ZeroDuration();
  at.Take(' ');
  const char sign = at.peek();
  if (sign != '+' && sign != '-') return std::nullopt;
  at.Take(sign);
  int hours = 0;
  int minutes = 0;
  if (!at.TakeNumber(2, hours)) return std::nullopt;
  at.Take(':');
  if (!at.TakeNumber(2, minutes) || hours > 14 || minutes > 59 || IsDigit(at.peek())) {
    return std::nullopt;
  }
  const absl::Duration offset = absl::Hours(hours) + absl::Minutes(minutes);
  return sign == '-' ? -offset : offset;
}

// "2024-05-01 12:00:00,123"
bool ParseIso(Cursor at, TimeStamp& stamp) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!at.TakeNumber(4, year)) return false;
  const char separator = at.peek();
  if (separator != '-' && separator != '/') return false;
  if (!at.Take(separator) || !at.TakeNumber(2, month) || !at.Take(separator) ||
      !at.TakeNumber(2, day) || !(at.Take('T') || at.Take(' ') || at.Take('_')) ||
      !at.TakeClock(hour, minute, second, stamp.fraction)) {
    return false;
  }
  if (year < 1970 || year > 2200) return false;
  stamp.utc_offset = TakeZone(at);
  return MakeCivil(year, month, day, hour, minute, second, stamp.civil);
}

// "05-01 12:00:00"
bool ParseMonthDay(Cursor at, TimeStamp& stamp) {
  int month = 0, day = 0, hour = 0, minute = 0, second = 0;
  stamp.has_year = false;
  return at.TakeNumber(2, month) && at.Take('-') && at.TakeNumber(2, day) && at.Take(' ') &&
         at.TakeClock(hour, minute, second, stamp.fraction) &&
         MakeCivil(1970, month, day, hour, minute, second, stamp.civil);
}

// "May  1 12:00:00", optionally followed by " 2024".
bool ParseSyslog(Cursor at, TimeStamp& stamp) {
  static constexpr std::array<absl::string_view, 12> kMonths = {
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto found = std::find(kMonths.begin(), kMonths.end(), at.rest().substr(0, 3));
  if (found == kMonths.end()) return false;
  const int month = static_cast<int>(found - kMonths.begin()) + 1;
  at = Cursor(at.rest().substr(3));
  int year = 1970, day = 0, hour = 0, minute = 0, second = 0;
  if (!at.Take(' ')) return false;
  at.Take(' ');
  if (!at.TakeNumber(2, day) && !at.TakeNumber(1, day)) return false;
  if (!at.Take(' ') || !at.TakeClock(hour, minute, second, stamp.fraction)) return false;
  Cursor behind = at;
  stamp.has_year = behind.Take(' ') && behind.TakeNumber(4, year) && year >= 1970 &&
                   !IsAlnum(behind.peek()) && behind.peek() != '-' && behind.peek() != '.';
  return MakeCivil(stamp.has_year ? year : 1970, month, day, hour, minute, second, stamp.civil);
}

// "I0501 12:00:00.123456"; PyTorch leaves out the month's zero, newer glog adds the year.
bool ParseGlog(Cursor at, TimeStamp& stamp) {
  if (absl::string_view("IWEFDV").find(at.peek()) == absl::string_view::npos) return false;
  at.Take(at.peek());
  int year = 1970, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  const std::size_t digits = CountDigits(at.rest());
  if (digits != 3 && digits != 4 && digits != 8) return false;
  stamp.has_year = digits == 8;
  if (stamp.has_year && !at.TakeNumber(4, year)) return false;
  return at.TakeNumber(digits == 3 ? 1 : 2, month) && at.TakeNumber(2, day) && at.Take(' ') &&
         at.TakeClock(hour, minute, second, stamp.fraction) &&
         MakeCivil(year, month, day, hour, minute, second, stamp.civil);
}

// "1714564800.123 " or "[1714564800123]", from 2001 to 2200.
bool ParseEpoch(absl::string_view line, TimeStamp& stamp) {
  if (!line.empty() && (line[0] == '[' || line[0] == '(')) line.remove_prefix(1);
  const std::size_t digits = CountDigits(line);
  if ((digits != 10 && digits != 13) || line[0] == '0') return false;
  std::int64_t value = 0;
  for (const char c : line.substr(0, digits)) value = value * 10 + (c - '0');
  Cursor at(line.substr(digits));
  absl::Time time = digits == 13 ? absl::FromUnixMillis(value) : absl::FromUnixSeconds(value);
  if (digits == 10) time += at.TakeFraction();
  if (at.peek() != '\0' &&
      absl::string_view(" ])\t:,|").find(at.peek()) == absl::string_view::npos) {
    return false;
  }
  stamp.civil = absl::ToCivilSecond(time, absl::UTCTimeZone());
  stamp.fraction = time - absl::FromCivil(stamp.civil, absl::UTCTimeZone());
  stamp.utc_offset = absl::ZeroDuration();
  return true;
}

}  // namespace

std::optional<TimeStamp> FindTimeStamp(absl::string_view line) {
  TimeStamp stamp;
  if (ParseEpoch(line, stamp)) return stamp;
  const std::size_t end = std::min(line.size(), kTimestampReach);
  for (std::size_t i = 0; i < end; ++i) {
    if (!IsAlnum(line[i]) || (i > 0 && (IsAlnum(line[i - 1]) || line[i - 1] == '.'))) continue;
    const Cursor at(line.substr(i));
    using Parse = bool (*)(Cursor, TimeStamp&);
    static constexpr std::array<Parse, 2> kByNumber = {ParseIso, ParseMonthDay};
    static constexpr std::array<Parse, 2> kByLetter = {ParseSyslog, ParseGlog};
    for (const Parse parse : IsDigit(line[i]) ? kByNumber : kByLetter) {
      stamp = TimeStamp();
      if (parse(at, stamp)) return stamp;
    }
  }
  return std::nullopt;
}

std::optional<absl::Time> Resolve(const TimeStamp& stamp, const TimeContext& context) {
  const auto in_year = [&](absl::CivilSecond civil) {
    if (stamp.utc_offset.has_value()) {
      return absl::FromCivil(civil, absl::UTCTimeZone()) - *stamp.utc_offset + stamp.fraction;
    }
    return absl::FromCivil(civil, context.zone) + stamp.fraction;
  };
  if (stamp.has_year) return in_year(stamp.civil);
  if (!context.near.has_value()) return std::nullopt;
  const absl::civil_year_t year = absl::ToCivilYear(*context.near, context.zone).year();
  std::optional<absl::Time> best;
  for (const absl::civil_year_t candidate : {year - 1, year, year + 1}) {
    const absl::CivilSecond& c = stamp.civil;
    const absl::Time time =
        in_year(absl::CivilSecond(candidate, c.month(), c.day(), c.hour(), c.minute(), c.second()));
    if (context.latest.has_value() && time > *context.latest + absl::Hours(24)) continue;
    const auto distance = [&](absl::Time t) { return absl::AbsDuration(t - *context.near); };
    if (!best.has_value() || distance(time) < distance(*best)) best = time;
  }
  return best;
}

}  // namespace galen::log_scan
