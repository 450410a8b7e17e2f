#include "bench/eval/suite/drafts/trial.h"

#include <re2/re2.h>

#include <cmath>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/eval/suite/drafts/value_pattern.h"

namespace galen::drafts {
namespace {

using knowledge::v1::Rule;

constexpr double kExact = 9007199254740992;  // 2^53

// The number of KiB in a unit; 0 if it is not a unit of memory. Sources that say kB count in KiB,
// like /proc/meminfo.
double KibOf(absl::string_view unit) {
  if (unit == "k" || unit == "kb" || unit == "kib") return 1;
  if (unit == "mb" || unit == "mib") return 1024;
  if (unit == "gb" || unit == "gib") return 1024.0 * 1024;
  if (unit == "tb" || unit == "tib") return 1024.0 * 1024 * 1024;
  return 0;
}

bool Compares(double value, Rule::Op op, double limit) {
  switch (op) {
    case Rule::GT:
      return value > limit;
    case Rule::GE:
      return value >= limit;
    case Rule::LT:
      return value < limit;
    case Rule::LE:
      return value <= limit;
    case Rule::NE:
      return value != limit;
    default:
      return value == limit;
  }
}

// In plain digits: six significant ones would lose precision.
std::string Digits(double bound) {
  if (bound == std::floor(bound) && std::abs(bound) < kExact) {
    return absl::StrCat(static_cast<std::int64_t>(bound));
  }
  return absl::StrFormat("%.12g", bound);
}

Trial Judged(bool faulty, const ShownOutput& shown) {
  return faulty == shown.faulty ? Trial::kAgrees : Trial::kContradicts;
}

}  // namespace

Trial Try(const std::string& pattern, const Condition& condition, const std::string& bound,
          const ShownOutput& shown) {
  const RE2 compiled(absl::StrCat("(?m:", pattern, ")"), RE2::Quiet);
  if (!compiled.ok()) return Trial::kNoValue;
  if (condition.presence) {
    const bool there = RE2::PartialMatch(shown.text, compiled);
    return Judged(there == (condition.fault == Rule::EQ), shown);
  }
  std::string found;
  if (!RE2::PartialMatch(shown.text, compiled, &found)) return Trial::kNoValue;
  absl::StripAsciiWhitespace(&found);
  if (!condition.number) {
    const bool same = absl::EqualsIgnoreCase(found, condition.value);
    return Judged(same == (condition.fault == Rule::EQ), shown);
  }
  double value = 0;
  double limit = 0;
  if (!absl::SimpleAtod(found, &value) || !absl::SimpleAtod(bound, &limit)) return Trial::kNoValue;
  return Judged(Compares(value, condition.fault, limit), shown);
}

std::string BoundInUnitOf(absl::string_view shown, const std::string& field,
                          const std::string& lower, const Condition& condition,
                          const DescriptionWords& words) {
  const double said = KibOf(condition.unit);
  if (said == 0) return condition.value;
  std::string unit;
  // "MemFree:  1024 kB".
  const std::string line = absl::StrCat("(?im:", SpacedPattern(field),
                                        R"([^\n]*?[0-9]\s*(kib|kb|mib|mb|gib|gb|tib|tb)\b))");
  const bool shows = !field.empty() &&
                     RE2::PartialMatch(re2::StringPiece(shown.data(), shown.size()), line, &unit);
  if (!shows && !RE2::PartialMatch(lower, *words.counted_in, &unit)) return condition.value;
  const double counted = KibOf(absl::AsciiStrToLower(unit));
  double value = 0;
  if (counted == 0 || !absl::SimpleAtod(condition.value, &value)) return condition.value;
  return Digits(value * said / counted);
}

}  // namespace galen::drafts
