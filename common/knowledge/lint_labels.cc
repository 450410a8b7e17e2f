#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/knowledge/lint.h"
#include "common/knowledge/words.h"

namespace galen::knowledge {
namespace {

bool IsLabelCharacter(char c) {
  return absl::ascii_isupper(static_cast<unsigned char>(c)) ||
         absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

bool IsLabelName(absl::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), IsLabelCharacter) &&
         !absl::StartsWith(name, ".") && !absl::EndsWith(name, ".") &&
         !absl::StrContains(name, "..");
}

// "Xid 48" is an effect in words, GPU.MEMORY.X is meant as a label.
bool LooksLikeLabel(absl::string_view text) {
  return IsLabelName(text) && absl::StrContains(text, '.');
}

void LintName(LintContext& context, const v1::Label& label) {
  if (!IsLabelName(label.label())) {
    context.Error(label.source(), absl::StrCat("label ", label.label(), " is not a label name"),
                  "write MAIN.SUB.DETAIL in upper case, digits and underscores");
    return;
  }
  if (label.parent().empty()) {
    if (!absl::StrContains(label.label(), '.')) return;
    context.Error(label.source(), absl::StrCat("label ", label.label(), " has no parent"),
                  "name its parent");
    return;
  }
  if (!context.labels.contains(label.parent())) {
    context.Error(label.source(),
                  absl::StrCat("label ", label.label(), " has the unknown parent ", label.parent()),
                  Suggest(label.parent(), context.label_names, "add the parent as a label"));
  }
  const std::string start = absl::StrCat(label.parent(), ".");
  if (!absl::StartsWith(label.label(), start)) {
    context.Error(label.source(),
                  absl::StrCat("label ", label.label(), " does not start with its parent's name ",
                               label.parent()),
                  absl::StrCat("start it with ", start, " or correct the parent"));
  } else if (absl::StrContains(label.label().substr(start.size()), '.')) {
    context.Error(
        label.source(),
        absl::StrCat("label ", label.label(), " skips a level below its parent ", label.parent()),
        "give it the label in between as parent");
  }
}

// Every cycle is reported once, at its first label.
void LintCycles(LintContext& context) {
  absl::flat_hash_set<std::string> done;
  for (const v1::Label& start : context.base.labels()) {
    std::vector<std::string> path;
    absl::flat_hash_set<std::string> on_path;
    const v1::Label* at = &start;
    while (at != nullptr && !done.contains(at->label()) && on_path.insert(at->label()).second) {
      path.push_back(at->label());
      const auto parent = context.labels.find(at->parent());
      at = parent == context.labels.end() ? nullptr : parent->second;
    }
    if (at != nullptr && !done.contains(at->label())) {
      const auto first = std::find(path.begin(), path.end(), at->label());
      context.Error(at->source(),
                    absl::StrCat("label ", at->label(), " is its own ancestor: ",
                                 absl::StrJoin(first, path.end(), " -> "), " -> ", at->label()),
                    "correct one of the parents");
    }
    done.insert(path.begin(), path.end());
  }
}

void LintReferences(LintContext& context, const v1::Label& label, absl::string_view key,
                    const google::protobuf::RepeatedPtrField<std::string>& names,
                    bool words_allowed) {
  for (const std::string& name : names) {
    if (context.labels.contains(name)) {
      if (name == label.label()) {
        context.Error(label.source(), absl::StrCat("label ", name, " names itself in ", key),
                      "remove it there");
      }
      continue;
    }
    const std::string text =
        absl::StrCat("label ", label.label(), " names the unknown label ", name, " in ", key);
    const std::string remedy =
        Suggest(name, context.label_names, "add the label, or correct the name");
    const std::string main(name.substr(0, name.find('.')));
    if (LooksLikeLabel(name) && context.labels.contains(main)) {
      context.Error(label.source(), text, remedy);
    } else if (LooksLikeLabel(name) || !words_allowed) {
      context.Warning(label.source(), text, remedy);
    }
  }
}

// The `log` of a `with` must name an existing label or signal.
void LintLogCondition(LintContext& context, const std::string& who, const v1::Rule& with) {
  const bool known =
      context.labels.contains(with.log()) ||
      std::any_of(context.base.signals().begin(), context.base.signals().end(),
                  [&](const v1::SignalPattern& signal) { return signal.id() == with.log(); });
  if (known) return;
  context.Error(with.source(), absl::StrCat(who, " looks in logs for the unknown ", with.log()),
                Suggest(with.log(), context.label_names, "name a label or the id of a signal"));
}

void LintRule(LintContext& context, const v1::Label& label, const v1::Rule& rule) {
  const std::string who = absl::StrCat("rule of ", label.label());
  const v1::SourceRef& at = rule.has_source() ? rule.source() : label.source();
  for (const v1::Rule& with : rule.with()) {
    if (with.log().empty()) {
      LintRule(context, label, with);
    } else {
      LintLogCondition(context, who, with);
    }
  }
  const auto check = context.checks.find(rule.check());
  if (check == context.checks.end()) {
    context.Error(at, absl::StrCat(who, " names the unknown check ", rule.check()),
                  Suggest(rule.check(), context.check_names, "add the check to this file"));
    return;
  }
  std::vector<absl::string_view> findings;
  for (const v1::FindingSpec& spec : check->second->findings()) {
    if (spec.name() == rule.finding()) {
      LintCondition(context, rule, *check->second, spec, who);
      return;
    }
    findings.push_back(spec.name());
  }
  context.Error(at,
                absl::StrCat(who, " is over the finding ", rule.finding(), ", which check ",
                             rule.check(), " does not emit"),
                Suggest(rule.finding(), findings, "add the finding to the check"));
}

bool SameCondition(const v1::Rule& a, const v1::Rule& b) {
  if (a.with_size() > 0 || b.with_size() > 0) return false;
  return std::forward_as_tuple(a.check(), a.finding(), a.op(), a.value()) ==
         std::forward_as_tuple(b.check(), b.finding(), b.op(), b.value());
}

// A repeated condition counts once, and one that both confirms and refutes says nothing.
void LintRepeatedRules(LintContext& context, const v1::Label& label) {
  std::vector<std::pair<const v1::Rule*, bool>> seen;  // and whether it confirms
  const auto look = [&](const v1::Rule& rule, bool confirms) {
    for (const auto& [earlier, earlier_confirms] : seen) {
      if (!SameCondition(*earlier, rule)) continue;
      const std::string what =
          absl::StrCat("rule of ", label.label(), " over ", rule.check(), " ", rule.finding());
      context.Error(rule.has_source() ? rule.source() : label.source(),
                    confirms == earlier_confirms
                        ? absl::StrCat(what, " is defined twice")
                        : absl::StrCat(what, " confirms and refutes with the same condition"),
                    absl::StrCat("remove one; the first is in line ", earlier->source().line()));
      return;
    }
    seen.emplace_back(&rule, confirms);
  };
  for (const v1::Rule& rule : label.confirm()) look(rule, true);
  for (const v1::Rule& rule : label.refute()) look(rule, false);
}

void LintLeaf(LintContext& context, const v1::Label& label) {
  const std::string who = absl::StrCat("label ", label.label());
  if (label.confirm().empty()) {
    context.Error(label.source(), absl::StrCat(who, " is a leaf without a rule that confirms it"),
                  "add `confirm:` with a condition on a finding");
  }
  context.RequireWord(label.source(), who, "owner", label.owner(), Owners(), false);
  context.RequireWord(label.source(), who, "severity", label.severity(), Severities(), false);
  context.RequireWord(label.source(), who, "prior", label.prior(), Priors(), false);
}

void LintInner(LintContext& context, const v1::Label& label) {
  const std::string who = absl::StrCat("label ", label.label());
  if (!label.confirm().empty() || !label.refute().empty()) {
    context.Error(label.source(), absl::StrCat(who, " has children and rules of its own"),
                  "move the rules to a leaf: only leaves are judged");
  }
  context.RequireWord(label.source(), who, "owner", label.owner(), Owners(), true);
  context.RequireWord(label.source(), who, "severity", label.severity(), Severities(), true);
  context.RequireWord(label.source(), who, "prior", label.prior(), Priors(), true);
}

bool IsNumber(absl::string_view value) {
  double number = 0;
  return value == "unlimited" || value == "none" || absl::SimpleAtod(value, &number);
}

// May this value be compared with a finding of this type at all?
bool Fits(const v1::Check& check, const v1::FindingSpec& finding, absl::string_view value) {
  for (const v1::FindingSpec& other : check.findings()) {
    if (other.name() == value) return true;
  }
  if (Knows(ReferenceWords(), value)) return true;
  if (finding.type() == "bool") return value == "true" || value == "false";
  if (finding.type() == "int" || finding.type() == "float") return IsNumber(value);
  return true;
}

bool IsOrdering(v1::Rule::Op op) {
  return op == v1::Rule::LT || op == v1::Rule::LE || op == v1::Rule::GT || op == v1::Rule::GE;
}

}  // namespace

void LintTree(LintContext& context) {
  LintDuplicates(context, "label", context.base.labels(),
                 [](const v1::Label& label) { return label.label(); });
  for (const v1::Label& label : context.base.labels()) LintName(context, label);
  LintCycles(context);
}

void LintLabels(LintContext& context) {
  for (const v1::Label& label : context.base.labels()) {
    if (label.title().empty()) {
      context.Error(label.source(), absl::StrCat("label ", label.label(), " has no title"),
                    "add `title:` with a few words");
    }
    if (IsLeaf(label)) {
      LintLeaf(context, label);
    } else {
      LintInner(context, label);
    }
    for (const std::string& check : label.first_checks()) {
      if (context.checks.contains(check)) continue;
      context.Error(label.source(),
                    absl::StrCat("label ", label.label(), " names the unknown check ", check,
                                 " in first_checks"),
                    Suggest(check, context.check_names, "add the check, or correct the name"));
    }
    for (const v1::Rule& rule : label.confirm()) LintRule(context, label, rule);
    for (const v1::Rule& rule : label.refute()) LintRule(context, label, rule);
    LintRepeatedRules(context, label);
    LintReferences(context, label, "confused_with", label.confused_with(), false);
    LintReferences(context, label, "secondary_effects", label.secondary_effects(), true);
  }
}

void LintCondition(LintContext& context, const v1::Rule& rule, const v1::Check& check,
                   const v1::FindingSpec& finding, absl::string_view who) {
  const v1::SourceRef& at = rule.has_source() ? rule.source() : check.source();
  const std::string where = absl::StrCat(who, " over ", check.name(), " ", finding.name());
  const bool list = rule.op() == v1::Rule::IN || rule.op() == v1::Rule::NOT_IN;
  const std::vector<std::string> values =
      list ? std::vector<std::string>(absl::StrSplit(rule.value(), ',', absl::SkipWhitespace()))
           : std::vector<std::string>{rule.value()};
  if (rule.op() == v1::Rule::OP_UNSPECIFIED) {
    context.Error(at, absl::StrCat(where, " has no operator"),
                  absl::StrCat("use one of: ", absl::StrJoin(Texts(OpWords()), ", ")));
    return;
  }
  if (list && values.empty()) {
    context.Error(at, absl::StrCat(where, " compares with an empty list"),
                  "name at least one value");
    return;
  }
  if (rule.value().empty()) {
    context.Error(at, absl::StrCat(where, " has no value"), "add `value:`; none means empty");
    return;
  }
  if (IsOrdering(rule.op()) && (finding.type() == "bool" || finding.type() == "event")) {
    context.Error(at, absl::StrCat(where, " orders a finding of type ", finding.type()),
                  "use == or !=");
  }
  if (rule.op() == v1::Rule::CONTAINS || rule.op() == v1::Rule::LACKS) return;
  for (const std::string& value : values) {
    const absl::string_view word = absl::StripAsciiWhitespace(value);
    if (Fits(check, finding, word)) continue;
    context.Error(
        at,
        absl::StrCat(where, " compares a finding of type ", finding.type(), " with \"", word, "\""),
        "write a value of that type, expected, or another finding of the check");
  }
}

}  // namespace galen::knowledge
