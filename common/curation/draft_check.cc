#include "common/curation/draft_check.h"

#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/curation/condition.h"
#include "common/curation/description.h"
#include "common/curation/find_check.h"

namespace galen::curation {
namespace {

using knowledge::v1::KnowledgeBase;
using knowledge::v1::Rule;

constexpr char kNumberGroup[] = R"((-?[0-9]+(?:\.[0-9]+)?))";
constexpr std::size_t kMostTitle = 80;
constexpr double kExact = 9007199254740992;  // 2^53
constexpr std::int64_t kFileCostNanos = 100'000'000;

std::string Spaced(absl::string_view text) {
  std::vector<std::string> words;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    words.push_back(RE2::QuoteMeta(re2::StringPiece(word.data(), word.size())));
  }
  return absl::StrJoin(words, R"([ \t]+)");
}

// Patterns that may take the value out of the text, the most careful first.
std::vector<std::string> PatternsFor(const std::string& field, const std::string& section,
                                     int column, bool bracketed, const Condition& condition,
                                     bool critique) {
  const std::string value = condition.number ? kNumberGroup : R"re("?([^\n"]*?)"?)re";
  const std::string end = condition.number ? "" : R"([ \t]*$)";
  std::vector<std::string> patterns;
  if (bracketed) {
    patterns.push_back(R"(\[([^\]\n]+)\])");
    return patterns;
  }
  const std::string key = Spaced(field);
  if (column != 0) {
    const std::string word = condition.number ? kNumberGroup : R"((\S+))";
    const std::string start =
        field.empty() ? R"(\A\s*)" : absl::StrCat(R"(^[ \t]*)", key, R"([ \t]*[:=]?[ \t]*)");
    // The name itself is the first column of its line where it is a word of it.
    const int skip = field.empty() ? column - 1 : column - 2;
    if (column < 0) {
      patterns.push_back(
          absl::StrCat(field.empty() ? R"(\A)" : absl::StrCat(R"(^[ \t]*)", key), R"([^\n]*?)",
                       condition.number ? R"((-?[0-9.]+))" : R"((\S+))", R"([ \t]*$)"));
      return patterns;
    }
    patterns.push_back(
        absl::StrCat(start, absl::StrCat(R"((?:\S+[ \t]+){)", std::max(skip, 0), "}"), word));
    if (!field.empty()) {
      patterns.push_back(
          absl::StrCat(start, absl::StrCat(R"((?:\S+[ \t]+){)", column - 1, "}"), word));
    }
    return patterns;
  }
  if (field.empty()) {
    patterns.push_back(condition.number ? absl::StrCat(R"(\A\s*)", kNumberGroup)
                                        : R"(\A\s*([^\n]*?)\s*$)");
    patterns.push_back(value);
    return patterns;
  }
  const std::string below = section.empty() ? "" : absl::StrCat("(?s:", Spaced(section), ".*?)");
  const std::string careful = absl::StrCat(section.empty() ? R"(^[ \t]*["']?)" : R"(\b)", key,
                                           R"(["']?[ \t]*[:=]?[ \t]*)", value, end);
  const std::string between = absl::StrCat(R"(\b)", key, R"(\b["']?[^\n0-9-]*)", value, end);
  const std::string loose =
      absl::StrCat(key, condition.number ? R"([^\n]*?)" : R"([ \t]*[:=]?[ \t]*)", value, end);
  if (critique)
    patterns = {below + careful, below + between, below + loose, careful, between};
  else
    patterns = {loose, careful};
  return patterns;
}

// What bound is meant in the unit of the source: "8 GiB" where it counts in kB.
std::string InUnitOf(absl::string_view shown, const std::string& field,
                     const std::string& description, const Condition& condition) {
  static const auto factor = [](absl::string_view unit) -> double {
    if (unit == "k" || unit == "kb" || unit == "kib") return 1;
    if (unit == "mb" || unit == "mib") return 1024;
    if (unit == "gb" || unit == "gib") return 1024.0 * 1024;
    if (unit == "tb" || unit == "tib") return 1024.0 * 1024 * 1024;
    return 0;
  };
  const double said = factor(condition.unit);
  if (said == 0) return condition.value;
  std::string unit;
  const std::string line =
      absl::StrCat("(?im:", Spaced(field), R"([^\n]*?[0-9]\s*(kib|kb|mib|mb|gib|gb|tib|tb)\b))");
  if (field.empty() ||
      !RE2::PartialMatch(re2::StringPiece(shown.data(), shown.size()), line, &unit)) {
    if (!RE2::PartialMatch(
            description,
            R"((?i)\b(?:counts? in|in|given in|unit is|written in|measured in)\s+(kib|kb|mib|mb|gib|gb)\b)",
            &unit)) {
      return condition.value;
    }
  }
  const double counted = factor(absl::AsciiStrToLower(unit));
  double value = 0;
  if (counted == 0 || !absl::SimpleAtod(condition.value, &value)) return condition.value;
  const double bound = value * said / counted;
  // In plain digits: six significant ones would round it.
  if (bound == std::floor(bound) && std::abs(bound) < kExact) {
    return absl::StrCat(static_cast<std::int64_t>(bound));
  }
  return absl::StrFormat("%.12g", bound);
}

enum class Trial { kNoValue, kAgrees, kContradicts };

// What the drafted finding would say of the shown output.
Trial Try(const std::string& pattern, const Condition& condition, const std::string& bound,
          const ShownOutput& shown) {
  RE2::Options quiet(RE2::Quiet);
  const RE2 compiled(absl::StrCat("(?m:", pattern, ")"), quiet);
  if (!compiled.ok()) return Trial::kNoValue;
  bool faulty = false;
  if (condition.presence) {
    const bool there = RE2::PartialMatch(shown.text, compiled);
    faulty = there == (condition.fault == Rule::EQ);
  } else {
    std::string found;
    if (!RE2::PartialMatch(shown.text, compiled, &found)) return Trial::kNoValue;
    absl::StripAsciiWhitespace(&found);
    if (condition.number) {
      double value = 0;
      double limit = 0;
      if (!absl::SimpleAtod(found, &value) || !absl::SimpleAtod(bound, &limit))
        return Trial::kNoValue;
      switch (condition.fault) {
        case Rule::GT:
          faulty = value > limit;
          break;
        case Rule::GE:
          faulty = value >= limit;
          break;
        case Rule::LT:
          faulty = value < limit;
          break;
        case Rule::LE:
          faulty = value <= limit;
          break;
        case Rule::NE:
          faulty = value != limit;
          break;
        default:
          faulty = value == limit;
      }
    } else {
      const bool same = absl::EqualsIgnoreCase(found, condition.value);
      faulty = same == (condition.fault == Rule::EQ);
    }
  }
  return faulty == shown.faulty ? Trial::kAgrees : Trial::kContradicts;
}

// "site.mem_available"
std::string NameOf(const std::string& field, const Source& source) {
  std::string from = field;
  if (from.empty()) {
    from = source.file.empty() ? absl::StrJoin(source.command, "_")
                               : source.file.substr(source.file.rfind('/') + 1);
  }
  std::string slug;
  for (const char c : absl::AsciiStrToLower(from)) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c));
    if (plain)
      slug += c;
    else if (!slug.empty() && slug.back() != '_')
      slug += '_';
  }
  while (!slug.empty() && slug.back() == '_') slug.pop_back();
  if (slug.size() > 40) slug.resize(40);
  return slug.empty() ? "value" : slug;
}

absl::StatusOr<CheckDraft> CallOf(const KnowledgeBase& base, const std::string& description,
                                  const Drafting& drafting) {
  const knowledge::v1::Check* found =
      drafting.retrieval ? FindCheckByWords(base, description) : nullptr;
  if (found == nullptr) {
    return absl::InvalidArgumentError(
        "description: names neither a file nor a command, and no check of the catalogue does what "
        "it "
        "asks; write the path, or the command in `marks`");
  }
  CheckDraft draft;
  draft.call = found->name();
  draft.parameters = ParametersFrom(*found, description);
  draft.remarks.push_back(absl::StrCat(found->name(), " does it already: ", found->title()));
  return draft;
}

}  // namespace

absl::StatusOr<CheckDraft> DraftCheck(const KnowledgeBase& base, const CheckRequest& request,
                                      const Drafting& drafting) {
  const std::string& description = request.description;
  if (description.size() > kMostDescriptionBytes) {
    return absl::InvalidArgumentError(absl::StrCat("description: ", description.size(),
                                                   " bytes; at most ", kMostDescriptionBytes));
  }
  if (request.shown.has_value() && request.shown->text.size() > kMostShownBytes) {
    return absl::InvalidArgumentError(absl::StrCat("shown output: ", request.shown->text.size(),
                                                   " bytes; at most ", kMostShownBytes));
  }
  const std::vector<Quoted> quoted = QuotedIn(description);
  const Source source = SourceIn(base, description, quoted);
  if (source.none()) return CallOf(base, description, drafting);
  std::optional<Condition> condition = ReadCondition(description, drafting.critique);
  if (!condition.has_value()) {
    return absl::InvalidArgumentError(
        "description: says of no value when it is a fault; write \"must be at least 8\", or \"a "
        "fault when it is above 90\"");
  }
  const std::string section = drafting.critique ? SectionIn(description, quoted) : "";
  std::vector<Quoted> fields = quoted;
  if (!section.empty()) {
    fields.erase(std::remove_if(fields.begin(), fields.end(),
                                [&](const Quoted& each) { return each.text == section; }),
                 fields.end());
  }
  const std::string lower = absl::AsciiStrToLower(description);
  CheckDraft draft;
  std::string field;
  std::vector<std::string> patterns;
  std::string bound = condition->value;
  if (condition->presence) {
    for (const Quoted& each : quoted) {
      if (each.text != source.words && each.at >= condition->at) {
        field = each.text;
        break;
      }
    }
    patterns = {RE2::QuoteMeta(field)};
    if (drafting.critique)
      patterns.insert(patterns.begin(),
                      absl::StrCat(R"((?:^|[^\w]))", RE2::QuoteMeta(field), R"((?:[^\w]|$))"));
  } else {
    field = FieldIn(fields, source.words, *condition);
    static const RE2* const kBracketed = new RE2(
        R"(\b(?:in (?:square )?brackets|bracketed|between (?:square )?brackets|selected (?:one|entry|word|mode|value|setting|scheduler))\b)");
    patterns = PatternsFor(field, section, ColumnIn(lower), RE2::PartialMatch(lower, *kBracketed),
                           *condition, drafting.critique);
    if (drafting.critique && condition->number) {
      bound = InUnitOf(request.shown.has_value() ? request.shown->text : "", field, description,
                       *condition);
      if (bound != condition->value) {
        draft.remarks.push_back(absl::StrCat(condition->value, " ", condition->unit, " is ", bound,
                                             " in the unit of the source"));
      }
    }
  }
  std::string chosen = patterns.front();
  if (drafting.self_check && request.shown.has_value()) {
    std::optional<std::string> contradicted;
    bool agreed = false;
    for (const std::string& pattern : patterns) {
      const Trial trial = Try(pattern, *condition, bound, *request.shown);
      if (trial == Trial::kAgrees) {
        chosen = pattern;
        agreed = true;
        break;
      }
      if (trial == Trial::kContradicts && !contradicted.has_value()) contradicted = pattern;
    }
    if (!agreed && contradicted.has_value()) {
      // The value is found, and the machine's state is known: the condition was misread.
      chosen = *contradicted;
      condition->fault = Opposite(condition->fault);
      draft.remarks.push_back(
          "the shown output contradicted the condition as read, so it is turned round");
    }
  }
  const std::string name = NameOf(field, source);
  knowledge::v1::Check& check = draft.check;
  check.set_name(absl::StrCat("site.", name));
  std::string title = description.substr(0, description.find('\n'));
  if (title.size() > kMostTitle) title.resize(kMostTitle);
  check.set_title(title);
  check.set_kind(knowledge::v1::Check::EXTRACT);
  check.set_file(source.file);
  for (const std::string& word : source.command) check.add_command(word);
  if (source.command.empty())
    check.mutable_cost()->set_nanos(kFileCostNanos);
  else
    check.mutable_cost()->set_seconds(1);
  static const RE2* const kInJob =
      new RE2(R"(\b(?:in|inside|within|of) the (?:job|container)(?:'s)?\b|\bas the job sees\b)");
  check.set_in_job(RE2::PartialMatch(lower, *kInJob));
  knowledge::v1::FindingSpec& finding = *check.add_findings();
  finding.set_name(
      absl::ascii_isdigit(static_cast<unsigned char>(name[0])) ? absl::StrCat("v_", name) : name);
  finding.set_subject("node");
  finding.set_pattern(chosen);
  Rule& abnormal = *finding.mutable_abnormal();
  abnormal.set_op(condition->fault);
  if (condition->presence) {
    finding.set_type("bool");
    abnormal.set_op(Rule::EQ);
    abnormal.set_value(condition->fault == Rule::EQ ? "true" : "false");
  } else {
    finding.set_type(condition->number ? "float" : "text");
    abnormal.set_value(bound);
  }
  return draft;
}

}  // namespace galen::curation
