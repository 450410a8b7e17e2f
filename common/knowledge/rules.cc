#include "common/knowledge/rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/knowledge/words.h"

namespace galen::knowledge {
namespace {

using galen::v1::CheckResult;
using galen::v1::Finding;
using v1::Rule;

enum class Order { kLess, kEqual, kGreater, kUnequal };

Truth FromBool(bool value) { return value ? Truth::kTrue : Truth::kFalse; }

Truth Not(Truth truth) {
  if (truth == Truth::kUnknown) return truth;
  return FromBool(truth == Truth::kFalse);
}

bool IsNone(absl::string_view text) { return text.empty() || absl::EqualsIgnoreCase(text, "none"); }

// "17", "1e-12", "unlimited", and the number that a text such as "400 Gb/s" starts with.
std::optional<double> ParseNumber(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (absl::EqualsIgnoreCase(text, "unlimited")) return std::numeric_limits<double>::infinity();
  double value = 0;
  const absl::from_chars_result parsed =
      absl::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = parsed.ptr == text.data() + text.size() || *parsed.ptr == ' ';
  if (parsed.ec != std::errc() || !whole || std::isnan(value)) return std::nullopt;
  return value;
}

// The parts of "535.161.08", "v2.21.5-1", "12.4"; nothing when the text is not a version.
std::vector<absl::string_view> VersionParts(absl::string_view text) {
  absl::ConsumePrefix(&text, "v");
  const bool dotted = absl::StrContains(text, ".");
  if (!dotted || !absl::ascii_isdigit(static_cast<unsigned char>(text[0]))) return {};
  const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '+' || c == '~' || c == '_';
  });
  if (!plain) return {};
  return absl::StrSplit(text, absl::ByAnyChar(".-+~_"));
}

Order ComparePart(absl::string_view a, absl::string_view b) {
  uint64_t left = 0;
  uint64_t right = 0;
  if (absl::SimpleAtoi(a, &left) && absl::SimpleAtoi(b, &right)) {
    if (left == right) return Order::kEqual;
    return left < right ? Order::kLess : Order::kGreater;
  }
  const int order = a.compare(b);
  if (order == 0) return Order::kEqual;
  return order < 0 ? Order::kLess : Order::kGreater;
}

Order CompareVersions(const std::vector<absl::string_view>& a,
                      const std::vector<absl::string_view>& b) {
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    // "12.4" and "12.4.0" are the same release.
    const absl::string_view left = i < a.size() ? a[i] : "0";
    const absl::string_view right = i < b.size() ? b[i] : "0";
    if (const Order order = ComparePart(left, right); order != Order::kEqual) return order;
  }
  return Order::kEqual;
}

Order CompareNumbers(double a, double b) {
  if (a == b) return Order::kEqual;
  const double tolerance = 1e-9 * std::max(std::abs(a), std::abs(b));
  if (std::isfinite(tolerance) && std::abs(a - b) <= tolerance) return Order::kEqual;
  return a < b ? Order::kLess : Order::kGreater;
}

// "xid48" and "48" name the same event.
absl::string_view EventCode(absl::string_view code) {
  absl::string_view number = code;
  const bool stripped = absl::ConsumePrefix(&number, "xid") || absl::ConsumePrefix(&number, "Xid");
  const bool digits = !number.empty() && std::all_of(number.begin(), number.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
  return stripped && digits ? number : code;
}

// The order of the finding and a literal; nothing when the two cannot be compared.
std::optional<Order> CompareTo(const Finding& finding, absl::string_view literal) {
  const bool none = IsNone(literal);
  switch (finding.value_case()) {
    case Finding::kBoolValue: {
      bool wanted = false;
      if (none || !absl::SimpleAtob(literal, &wanted)) return std::nullopt;
      return finding.bool_value() == wanted ? Order::kEqual : Order::kUnequal;
    }
    case Finding::kIntValue:
    case Finding::kDoubleValue: {
      if (none) return Order::kUnequal;
      const std::optional<double> wanted = ParseNumber(literal);
      if (!wanted.has_value()) return std::nullopt;
      return CompareNumbers(finding.value_case() == Finding::kIntValue
                                ? static_cast<double>(finding.int_value())
                                : finding.double_value(),
                            *wanted);
    }
    case Finding::kEventValue: {
      const absl::string_view code = EventCode(finding.event_value().code());
      if (none) return IsNone(code) ? Order::kEqual : Order::kUnequal;
      return absl::EqualsIgnoreCase(code, EventCode(literal)) ? Order::kEqual : Order::kUnequal;
    }
    case Finding::kTextValue: {
      const absl::string_view text = absl::StripAsciiWhitespace(finding.text_value());
      if (none) return IsNone(text) ? Order::kEqual : Order::kUnequal;
      const auto left = VersionParts(text);
      const auto right = VersionParts(literal);
      if (!left.empty() && !right.empty()) return CompareVersions(left, right);
      const std::optional<double> a = ParseNumber(text);
      const std::optional<double> b = ParseNumber(literal);
      if (a.has_value() && b.has_value()) return CompareNumbers(*a, *b);
      return absl::EqualsIgnoreCase(text, literal) ? Order::kEqual : Order::kUnequal;
    }
    case Finding::VALUE_NOT_SET:
      return std::nullopt;
  }
  return std::nullopt;
}

// Does one of the words of `name` say `word`, as in rate_expected_gbps?
bool HasWord(absl::string_view name, absl::string_view word) {
  for (absl::string_view part : absl::StrSplit(name, '_')) {
    if (part == word) return true;
  }
  return false;
}

// The finding of the same subject, else that of the node as a whole, else the only one there is.
const Finding* ForSubject(const std::vector<const Finding*>& findings, const Finding& finding) {
  for (absl::string_view device :
       {absl::string_view(finding.subject().device()), absl::string_view()}) {
    for (const Finding* other : findings) {
      if (other->subject().device() == device) return other;
    }
  }
  return findings.size() == 1 ? findings.front() : nullptr;
}

// The finding that `value` refers to: the one of that name, or for a word such as "expected" the
// one that says it in its name. nullptr when there is none.
const Finding* Referred(absl::string_view value, const Finding& finding,
                        const CheckResult& result) {
  std::vector<const Finding*> named;
  std::vector<const Finding*> saying;
  const bool reference = Knows(ReferenceWords(), value);
  for (const Finding& other : result.findings()) {
    if (other.name() == finding.name()) continue;
    if (other.name() == value) named.push_back(&other);
    if (reference && HasWord(other.name(), value)) saying.push_back(&other);
  }
  return ForSubject(named.empty() ? saying : named, finding);
}

// A number, a truth value, "ACTIVE": no finding has such a name.
bool IsLiteral(absl::string_view value) {
  return value.empty() || !absl::ascii_islower(static_cast<unsigned char>(value.front())) ||
         value == "true" || value == "false" || value == "none";
}

// The literal that the rule's value stands for; nothing when a reference cannot be resolved.
std::optional<std::string> Resolve(absl::string_view value, const Finding& finding,
                                   const CheckResult& result) {
  if (IsLiteral(value)) return std::string(value);
  const bool reference = Knows(ReferenceWords(), value);
  if (reference && !finding.expected().empty()) return finding.expected();
  if (const Finding* other = Referred(value, finding, result); other != nullptr) {
    if (other->value_case() == Finding::VALUE_NOT_SET) return std::nullopt;
    return ValueText(*other);
  }
  if (reference) return std::nullopt;
  return std::string(value);
}

bool ContainsIgnoreCase(absl::string_view text, absl::string_view part) {
  return absl::StrContains(absl::AsciiStrToLower(text), absl::AsciiStrToLower(part));
}

Truth Contains(const Finding& finding, absl::string_view value) {
  if (ContainsIgnoreCase(ValueText(finding), value)) return Truth::kTrue;
  return FromBool(finding.value_case() == Finding::kEventValue &&
                  ContainsIgnoreCase(finding.event_value().text(), value));
}

Truth IsIn(const Finding& finding, absl::string_view list) {
  bool comparable = false;
  for (absl::string_view item : absl::StrSplit(list, ',', absl::SkipWhitespace())) {
    const std::optional<Order> order = CompareTo(finding, absl::StripAsciiWhitespace(item));
    if (order == Order::kEqual) return Truth::kTrue;
    comparable = comparable || order.has_value();
  }
  return comparable ? Truth::kFalse : Truth::kUnknown;
}

Truth Holds(Rule::Op op, std::optional<Order> order) {
  if (!order.has_value()) return Truth::kUnknown;
  if (op == Rule::EQ) return FromBool(*order == Order::kEqual);
  if (op == Rule::NE) return FromBool(*order != Order::kEqual);
  if (*order == Order::kUnequal) return Truth::kUnknown;  // has no order
  switch (op) {
    case Rule::LT:
      return FromBool(*order == Order::kLess);
    case Rule::LE:
      return FromBool(*order != Order::kGreater);
    case Rule::GT:
      return FromBool(*order == Order::kGreater);
    case Rule::GE:
      return FromBool(*order != Order::kLess);
    default:
      return Truth::kUnknown;
  }
}

}  // namespace

Truth Compare(const v1::Rule& rule, const Finding& finding, const CheckResult& result) {
  if (finding.value_case() == Finding::VALUE_NOT_SET) return Truth::kUnknown;
  switch (rule.op()) {
    case Rule::CONTAINS:
      return Contains(finding, rule.value());
    case Rule::LACKS:
      return Not(Contains(finding, rule.value()));
    case Rule::IN:
      return IsIn(finding, rule.value());
    case Rule::NOT_IN:
      return Not(IsIn(finding, rule.value()));
    default:
      break;
  }
  const std::optional<std::string> value = Resolve(rule.value(), finding, result);
  if (!value.has_value()) return Truth::kUnknown;
  return Holds(rule.op(), CompareTo(finding, *value));
}

std::string ValueText(const Finding& finding) {
  switch (finding.value_case()) {
    case Finding::kBoolValue:
      return finding.bool_value() ? "true" : "false";
    case Finding::kIntValue:
      return absl::StrCat(finding.int_value());
    case Finding::kDoubleValue:
      return absl::StrCat(finding.double_value());
    case Finding::kTextValue:
      return IsNone(finding.text_value()) ? "none" : finding.text_value();
    case Finding::kEventValue:
      return IsNone(finding.event_value().code()) ? "none" : finding.event_value().code();
    case Finding::VALUE_NOT_SET:
      return "unknown";
  }
  return "unknown";
}

}  // namespace galen::knowledge
