#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/base/proto_time.h"
#include "common/knowledge/lint.h"
#include "common/knowledge/words.h"

// Well-formed entries that cannot be meant: they would never take effect, or repeat another one.
namespace galen::knowledge {
namespace {

using Names = google::protobuf::RepeatedPtrField<std::string>;

void LintTwice(LintContext& context, const v1::SourceRef& at, absl::string_view who,
               absl::string_view key, const Names& names) {
  std::set<absl::string_view> seen;
  for (const std::string& name : names) {
    if (seen.insert(name).second) continue;
    context.Error(at, absl::StrCat(who, " names ", name, " twice in ", key), "remove one");
  }
}

void LintLabelSense(LintContext& context, const v1::Label& label) {
  const std::string who = absl::StrCat("label ", label.label());
  LintTwice(context, label.source(), who, "confused_with", label.confused_with());
  LintTwice(context, label.source(), who, "secondary_effects", label.secondary_effects());
  LintTwice(context, label.source(), who, "first_checks", label.first_checks());
  LintTwice(context, label.source(), who, "symptoms", label.symptoms());
  for (const std::string& alias : label.aliases()) {
    if (!context.labels.contains(alias)) continue;
    context.Error(label.source(), absl::StrCat(who, " has the alias ", alias, ", which is a label"),
                  "remove the alias, or that label");
  }
  for (const v1::Rule& rule : label.refute()) {
    if (!rule.context()) continue;
    context.Error(rule.has_source() ? rule.source() : label.source(),
                  absl::StrCat("rule of ", label.label(), " over ", rule.check(), " ",
                               rule.finding(), " refutes and is marked as context"),
                  "remove `context`: it is for rules that confirm");
  }
  if (!label.children().empty()) return;
  if (!label.first_checks().empty()) {
    context.Error(label.source(),
                  absl::StrCat(who, " is a leaf, and its first_checks are never run"),
                  "remove them: what its rules name is run");
  }
  const bool reachable =
      std::any_of(label.confirm().begin(), label.confirm().end(), [&](const v1::Rule& rule) {
        const auto check = context.checks.find(rule.check());
        return check == context.checks.end() || !check->second->intrusive();
      });
  if (!label.confirm().empty() && !reachable) {
    context.Warning(label.source(),
                    absl::StrCat(who,
                                 " cannot be confirmed: all checks of its rules are intrusive, "
                                 "which no diagnosis runs by itself"),
                    "add a rule over a check that loads nothing");
  }
}

// The default must be what a caller would be allowed to set.
void LintDefault(LintContext& context, const v1::Check& check, const v1::Parameter& parameter) {
  const std::string& value = parameter.default_value();
  if (value.empty()) return;
  const auto refuse = [&](absl::string_view why, absl::string_view remedy) {
    context.Error(check.source(),
                  absl::StrCat("parameter ", parameter.name(), " of check ", check.name(),
                               " has the default \"", value, "\", which ", why),
                  std::string(remedy));
  };
  if (parameter.type() == "int" || parameter.type() == "float") {
    double number = 0;
    if (!absl::SimpleAtod(value, &number)) return refuse("is not a number", "write a number");
    if ((parameter.has_min() && number < parameter.min()) ||
        (parameter.has_max() && number > parameter.max())) {
      refuse("lies outside its bounds", "correct the default or the bounds");
    }
  } else if (parameter.type() == "bool" && value != "true" && value != "false") {
    refuse("is not a bool", "write true or false");
  } else if (!parameter.choices().empty() &&
             std::find(parameter.choices().begin(), parameter.choices().end(), value) ==
                 parameter.choices().end()) {
    refuse("is none of its choices",
           absl::StrCat("use one of: ", absl::StrJoin(parameter.choices(), ", ")));
  }
}

void LintCheckSense(LintContext& context, const v1::Check& check) {
  for (const v1::Parameter& parameter : check.parameters()) LintDefault(context, check, parameter);
  LintTwice(context, check.source(), absl::StrCat("check ", check.name()), "needs", check.needs());
  if (check.has_cost() && check.has_time_limit() &&
      ToDuration(check.time_limit()) < ToDuration(check.cost())) {
    context.Error(check.source(),
                  absl::StrCat("check ", check.name(), " may take less than it costs"),
                  "raise `time_limit:`, or correct `cost:`");
  }
}

void LintSamePattern(LintContext& context) {
  std::map<std::string, const v1::SignalPattern*> seen;
  for (const v1::SignalPattern& signal : context.base.signals()) {
    const auto [earlier, added] = seen.emplace(signal.pattern(), &signal);
    if (added || earlier->second->id() == signal.id()) continue;
    context.Error(
        signal.source(),
        absl::StrCat("signal ", signal.id(), " has the pattern of signal ", earlier->second->id()),
        absl::StrCat("remove one and give the other all labels; the first is in ",
                     earlier->second->source().file(), ":", earlier->second->source().line()));
  }
}

}  // namespace

void LintSense(LintContext& context) {
  for (const v1::Label& label : context.base.labels()) LintLabelSense(context, label);
  for (const v1::Check& check : context.base.checks()) LintCheckSense(context, check);
  LintSamePattern(context);
}

}  // namespace galen::knowledge
