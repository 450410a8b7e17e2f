#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/knowledge/lint.h"
#include "common/knowledge/words.h"
#include "re2/re2.h"

namespace galen::knowledge {
namespace {

// "gpu.ecc": an area and a name, so that an evidence id reads well and holds no "@" or "/".
bool IsCheckName(absl::string_view name) {
  static const LazyRE2 kName = {R"([a-z][a-z0-9_]*(\.[a-z0-9_]+)+)"};
  return RE2::FullMatch(re2::StringPiece(name.data(), name.size()), *kName);
}

void LintFinding(LintContext& context, const v1::Check& check, const v1::FindingSpec& finding) {
  const std::string who = absl::StrCat("finding ", finding.name(), " of check ", check.name());
  context.RequireWord(check.source(), who, "type", finding.type(), FindingTypes(), false);
  if (finding.subject().empty()) {
    context.Error(check.source(), absl::StrCat(who, " has no subject"),
                  "say what the value belongs to: node, gpu, nic, port, mount, ...");
  }
  if (finding.has_abnormal()) {
    LintCondition(context, finding.abnormal(), check, finding,
                  absl::StrCat("limit of check ", check.name()));
  }
  if (check.kind() != v1::Check::EXTRACT) {
    if (!finding.pattern().empty()) {
      context.Error(check.source(), absl::StrCat(who, " has a pattern, and the check reads none"),
                    "remove it, or make the check `kind: extract`");
    }
    return;
  }
  const RE2 pattern(finding.pattern(), RE2::Quiet);
  if (finding.pattern().empty()) {
    context.Error(check.source(), absl::StrCat(who, " has no pattern"),
                  "add `pattern:` with one group that is the value");
  } else if (!pattern.ok()) {
    context.Error(check.source(),
                  absl::StrCat(who, " has a pattern that does not compile: ", pattern.error()),
                  "correct the RE2 syntax");
  } else if (pattern.NumberOfCapturingGroups() != 1 &&
             !(finding.type() == "bool" && pattern.NumberOfCapturingGroups() == 0)) {
    context.Error(
        check.source(),
        absl::StrCat(who, " has a pattern with ", pattern.NumberOfCapturingGroups(), " groups"),
        "use exactly one group for the value, and (?:...) for others");
  }
}

void LintSourceOfText(LintContext& context, const v1::Check& check) {
  const std::string who = absl::StrCat("check ", check.name());
  const bool reads = !check.command().empty() || !check.file().empty();
  if (check.kind() != v1::Check::EXTRACT) {
    if (reads) {
      context.Error(check.source(), absl::StrCat(who, " names a command or file to read"),
                    "remove it, or make the check `kind: extract`");
    }
    return;
  }
  if (!reads) {
    context.Error(check.source(), absl::StrCat(who, " reads nothing"),
                  "add `command: [program, argument]` or `file: /path`");
  } else if (!check.command().empty() && !check.file().empty()) {
    context.Error(check.source(), absl::StrCat(who, " names both a command and a file"),
                  "keep one of them");
  }
}

void LintParameters(LintContext& context, const v1::Check& check) {
  absl::flat_hash_map<std::string, int> names;
  for (const v1::Parameter& parameter : check.parameters()) {
    const std::string who =
        absl::StrCat("parameter ", parameter.name(), " of check ", check.name());
    if (++names[parameter.name()] == 2) {
      context.Error(check.source(), absl::StrCat(who, " is defined twice"),
                    "remove one or rename it");
    }
    context.RequireWord(check.source(), who, "type", parameter.type(), ParameterTypes(), false);
    const bool number = parameter.type() == "int" || parameter.type() == "float";
    if (number &&
        (!parameter.has_min() || !parameter.has_max() || parameter.min() > parameter.max())) {
      context.Error(check.source(), absl::StrCat(who, " has no bounds"),
                    "add `min:` and `max:`; a number needs both");
    }
    if (!number && (parameter.has_min() || parameter.has_max())) {
      context.Error(check.source(), absl::StrCat(who, " has bounds, but is not a number"),
                    "remove them, or list `choices:`");
    }
  }
}

void LintExec(LintContext& context, const v1::Check& check) {
  const std::string who = absl::StrCat("check ", check.name());
  if (check.kind() != v1::Check::EXEC) {
    if (check.has_exec()) {
      context.Error(check.source(), absl::StrCat(who, " names a program to run"),
                    "remove `exec:`, or make the check `kind: exec`");
    }
    return;
  }
  if (check.exec().argv().empty()) {
    context.Error(check.source(), absl::StrCat(who, " names no program"),
                  "add `exec: {argv: [program, argument], time: 30s, output: json_lines}`");
  }
  if (!check.exec().has_time_limit() || check.exec().time_limit().seconds() < 0 ||
      check.exec().time_limit().nanos() < 0) {
    context.Error(check.source(), absl::StrCat(who, " has no time limit"),
                  "add `time:` to `exec:`; then the program and all it started are killed");
  }
}

// Each trial, a variant of the environment in which a program runs again (docs/exec.md), becomes a
// finding of the check.
void LintTrials(LintContext& context, const v1::Check& check) {
  if (check.kind() != v1::Check::EXEC) return;
  static const LazyRE2 kSetting = {R"((?s)[A-Za-z_][A-Za-z0-9_]*=.*)"};
  for (const v1::CheckDatum& datum : check.data()) {
    const std::string who = absl::StrCat("trial ", datum.name(), " of check ", check.name());
    const bool declared =
        std::any_of(check.findings().begin(), check.findings().end(), [&](const auto& finding) {
          return finding.name() == datum.name() && finding.type() == "bool";
        });
    if (!declared) {
      context.Error(check.source(), absl::StrCat(who, " is not a bool finding of the check"),
                    "declare it below `findings:`");
    }
    for (const std::string& text : datum.texts()) {
      if (RE2::FullMatch(text, *kSetting)) continue;
      context.Error(check.source(), absl::StrCat(who, " sets \"", text, "\""),
                    "write NAME=value, as `env` takes it");
    }
    if (datum.texts().empty()) {
      context.Error(check.source(), absl::StrCat(who, " sets nothing"),
                    "add `texts: [NAME=value]`");
    }
  }
}

void LintComparisons(LintContext& context, const v1::Check& check) {
  const auto declares = [&](const std::string& name) {
    return std::any_of(check.findings().begin(), check.findings().end(),
                       [&](const v1::FindingSpec& finding) { return finding.name() == name; });
  };
  for (const v1::Comparison& comparison : check.comparisons()) {
    const std::string who =
        absl::StrCat("comparison ", comparison.finding(), " of check ", check.name());
    context.RequireWord(check.source(), who, "how", comparison.how(), ComparisonWords(), false);
    for (const std::string& name : {comparison.finding(), comparison.of(), comparison.within()}) {
      if (name.empty()) continue;
      if (declares(name)) continue;
      context.Error(
          check.source(),
          absl::StrCat(who, " names finding ", name, ", which the check does not declare"),
          "declare it below `findings:`");
    }
  }
}

void LintData(LintContext& context, const v1::Check& check) {
  for (const v1::CheckDatum& datum : check.data()) {
    const std::string who = absl::StrCat("datum ", datum.name(), " of check ", check.name());
    const int values = (datum.has_number() ? 1 : 0) + (datum.texts().empty() ? 0 : 1) +
                       (datum.pattern().empty() ? 0 : 1);
    if (values != 1) {
      context.Error(check.source(), absl::StrCat(who, " has ", values, " values"),
                    "give it one of `number:`, `texts:` and `pattern:`");
    }
    if (datum.pattern().empty()) continue;
    const RE2 pattern(datum.pattern(), RE2::Quiet);
    if (pattern.ok()) continue;
    context.Error(check.source(),
                  absl::StrCat(who, " has a pattern that does not compile: ", pattern.error()),
                  "correct it; RE2 has no look-around and no back references");
  }
}

// A check of earlier failures needs the period and the spacing of the failures that it counts.
void LintHistory(LintContext& context, const v1::Check& check) {
  if (check.kind() != v1::Check::HISTORY) return;
  const auto number = [&](absl::string_view name) {
    for (const v1::CheckDatum& datum : check.data()) {
      if (datum.name() == name) return datum.number();
    }
    return 0.0;
  };
  if (number("days") > 0 && number("hours_apart") >= 0 &&
      number("days") * 24 > number("hours_apart")) {
    return;
  }
  context.Error(check.source(),
                absl::StrCat("check ", check.name(), " does not say which failures it counts"),
                "add `data: [{name: days, number: 90}, {name: hours_apart, number: 24}]`");
}

}  // namespace

void LintChecks(LintContext& context) {
  LintDuplicates(context, "check", context.base.checks(),
                 [](const v1::Check& check) { return check.name(); });
  for (const v1::Check& check : context.base.checks()) {
    const std::string who = absl::StrCat("check ", check.name());
    if (!IsCheckName(check.name())) {
      context.Error(check.source(), absl::StrCat(who, " is not a check name"),
                    "write area.name in lower case, digits and underscores");
    }
    if (check.kind() == v1::Check::KIND_UNSPECIFIED) {
      context.Error(check.source(), absl::StrCat(who, " has no kind"),
                    Suggest("", Texts(KindWords())));
    }
    if (!check.has_cost()) {
      context.Error(check.source(), absl::StrCat(who, " has no cost"),
                    "add `cost:` with the time it takes on one node, such as 500ms");
    } else if (check.cost().seconds() < 0 || check.cost().nanos() < 0) {
      context.Error(check.source(), absl::StrCat(who, " has a negative cost"),
                    "write the time it takes on one node");
    }
    for (const std::string& need : check.needs()) {
      context.RequireWord(check.source(), who, "need", need, Needs(), false);
    }
    if (check.findings().empty()) {
      context.Error(check.source(), absl::StrCat(who, " emits no finding"),
                    "add `findings:`; a check without them decides nothing");
    }
    absl::flat_hash_map<std::string, int> names;
    for (const v1::FindingSpec& finding : check.findings()) {
      if (++names[finding.name()] == 2) {
        context.Error(check.source(),
                      absl::StrCat("finding ", finding.name(), " of ", who, " is defined twice"),
                      "remove one or rename it");
      }
      LintFinding(context, check, finding);
    }
    if (!check.occupies().empty()) {
      context.RequireWord(check.source(), who, "device kind", check.occupies(), OccupiedKinds(),
                          false);
    }
    LintSourceOfText(context, check);
    LintParameters(context, check);
    LintExec(context, check);
    LintTrials(context, check);
    LintComparisons(context, check);
    LintData(context, check);
    LintHistory(context, check);
  }
}

}  // namespace galen::knowledge
