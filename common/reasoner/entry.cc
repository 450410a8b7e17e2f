#include "common/reasoner/entry.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace galen::reasoner {
namespace {

using galen::v1::CheckResult;
using galen::v1::Finding;
using knowledge::Truth;
using knowledge::v1::FindingSpec;
using knowledge::v1::Rule;

// A finding with the rule's name, and the truth of the rule for it.
struct Reading {
  const Finding* finding;
  Truth truth;
};

std::vector<Reading> Read(const Rule& rule, const CheckResult& result) {
  std::vector<Reading> readings;
  for (const Finding& finding : result.findings()) {
    if (finding.name() != rule.finding()) continue;
    readings.push_back({&finding, knowledge::Compare(rule, finding, result)});
  }
  return readings;
}

bool IsEvent(const knowledge::Knowledge& knowledge, const Rule& rule) {
  const FindingSpec* spec = knowledge.FindFinding(rule.check(), rule.finding());
  return spec != nullptr && spec->type() == "event";
}

// The truth of the rule for a log without such an event.
Truth CompareAbsentEvent(const Rule& rule, const CheckResult& result) {
  Finding none;
  none.set_name(rule.finding());
  none.set_text_value("");
  return knowledge::Compare(rule, none, result);
}

void Collect(const std::vector<Reading>& readings, Truth truth, Entry& entry) {
  for (const Reading& reading : readings) {
    if (reading.truth == truth) entry.findings.push_back(reading.finding);
  }
}

// Evaluates the common part of both kinds of rules; false: the truth is already decided.
bool Begin(const knowledge::Knowledge& knowledge, const EvidenceView& evidence,
           absl::string_view node, Entry& entry, std::vector<Reading>& readings) {
  const Rule& rule = *entry.rule;
  entry.result = evidence.Find(rule.check(), node);
  if (entry.result == nullptr || !Ran(*entry.result)) {
    entry.untold = &rule;
    return false;
  }
  readings = Read(rule, *entry.result);
  if (!readings.empty()) return true;
  if (IsEvent(knowledge, rule)) entry.truth = CompareAbsentEvent(rule, *entry.result);
  if (entry.truth == Truth::kUnknown) entry.untold = &rule;
  return false;
}

// Whether a finding that satisfies the rule is a fault. An event that merely differs from a certain
// code is not a fault: such a rule means that the code is absent, and holds only if no event has
// it.
bool NamesAFault(const Rule& rule, const Finding& finding) {
  if (!finding.has_event_value()) return true;
  return (rule.op() == Rule::NE && rule.value() == "none") || rule.op() == Rule::EQ ||
         rule.op() == Rule::IN || rule.op() == Rule::CONTAINS;
}

bool Any(const std::vector<Reading>& readings, Truth truth) {
  return std::any_of(readings.begin(), readings.end(),
                     [&](const Reading& reading) { return reading.truth == truth; });
}

Entry EvaluateOwnConfirm(const knowledge::Knowledge& knowledge, const Rule& rule,
                         const EvidenceView& evidence, absl::string_view node) {
  Entry entry;
  entry.rule = &rule;
  std::vector<Reading> readings;
  if (!Begin(knowledge, evidence, node, entry, readings)) return entry;
  for (const Truth truth : {Truth::kTrue, Truth::kUnknown, Truth::kFalse}) {
    if (!Any(readings, truth)) continue;
    entry.truth = truth;
    Collect(readings, truth, entry);
    break;
  }
  if (entry.truth == Truth::kUnknown) entry.untold = &rule;
  return entry;
}

Entry EvaluateOwnRefute(const knowledge::Knowledge& knowledge, const Rule& rule,
                        const EvidenceView& evidence, absl::string_view node) {
  Entry entry;
  entry.rule = &rule;
  std::vector<Reading> readings;
  if (!Begin(knowledge, evidence, node, entry, readings)) return entry;
  for (const Reading& reading : readings) {
    if (reading.truth == Truth::kTrue &&
        IsAbnormal(knowledge, rule.check(), *reading.finding, *entry.result) &&
        NamesAFault(rule, *reading.finding)) {
      entry.findings.push_back(reading.finding);
    }
  }
  if (!entry.findings.empty()) {
    entry.truth = Truth::kTrue;
    return entry;
  }
  for (const Truth truth : {Truth::kFalse, Truth::kUnknown, Truth::kTrue}) {
    if (!Any(readings, truth)) continue;
    entry.truth = truth;
    Collect(readings, truth, entry);
    break;
  }
  if (entry.truth == Truth::kUnknown) entry.untold = &rule;
  return entry;
}

// True for a check that reads only logs.
bool LogsOnly(const knowledge::Knowledge& knowledge, absl::string_view name) {
  const knowledge::v1::Check* check = knowledge.FindCheck(name);
  return check != nullptr && ReadsOnlyLogs(*check);
}

Truth EvaluateLog(const Rule& with, const EvidenceView& evidence) {
  const auto& signals = evidence.summary().signals();
  const bool said = std::any_of(signals.begin(), signals.end(), [&](const auto& signal) {
    if (signal.where() == galen::v1::DESCRIPTION) return false;
    if (signal.signal() == with.log()) return true;
    return signal.labels_size() == 1 && signal.labels(0) == with.log() &&
           signal.strength() == galen::v1::DECISIVE && signal.role() != galen::v1::SECONDARY;
  });
  return said ? Truth::kTrue : Truth::kFalse;
}

Truth EvaluateWith(const knowledge::Knowledge& knowledge, const Rule& with,
                   const EvidenceView& evidence, absl::string_view node) {
  if (!with.log().empty()) return EvaluateLog(with, evidence);
  const Truth here = EvaluateConfirm(knowledge, with, evidence, node).truth;
  if (here == Truth::kTrue || !LogsOnly(knowledge, with.check())) return here;
  for (const std::string& other : evidence.nodes()) {
    if (EvaluateConfirm(knowledge, with, evidence, other).truth == Truth::kTrue) {
      return Truth::kTrue;
    }
  }
  return here;
}

// Whether the rule and its condition are about devices of the same kind: then the condition must
// hold for the same device. A slow GPU and another untuned GPU are not a slow untuned GPU.
bool IsOfTheSameDevice(const knowledge::Knowledge& knowledge, const Rule& rule, const Rule& with) {
  const FindingSpec* const own = knowledge.FindFinding(rule.check(), rule.finding());
  const FindingSpec* const its = knowledge.FindFinding(with.check(), with.finding());
  return own != nullptr && its != nullptr && !own->subject().empty() && own->subject() != "node" &&
         own->subject() == its->subject();
}

Truth OfDevice(const std::vector<Reading>& readings, const galen::v1::Device& device) {
  Truth truth = Truth::kUnknown;
  for (const Reading& reading : readings) {
    const galen::v1::Device& subject = reading.finding->subject();
    const bool same = !subject.pci_address().empty() && !device.pci_address().empty()
                          ? subject.pci_address() == device.pci_address()
                          : subject.device() == device.device();
    if (!same || reading.truth == Truth::kUnknown) continue;
    if (reading.truth == Truth::kTrue) return Truth::kTrue;
    truth = Truth::kFalse;
  }
  return truth;
}

// Keeps in `entry` the findings of devices on which the condition holds. `all`: it must hold for
// each.
Truth EvaluateOnDevices(const Rule& with, const EvidenceView& evidence, absl::string_view node,
                        bool all, Entry& entry) {
  const CheckResult* const result = evidence.Find(with.check(), node);
  if (result == nullptr || !Ran(*result)) return Truth::kUnknown;
  const std::vector<Reading> readings = Read(with, *result);
  std::vector<const Finding*> holds;
  std::size_t unknown = 0;
  for (const Finding* const finding : entry.findings) {
    const Truth truth = OfDevice(readings, finding->subject());
    if (truth == Truth::kTrue) holds.push_back(finding);
    if (truth == Truth::kUnknown) ++unknown;
  }
  const bool fails = all ? holds.size() + unknown < entry.findings.size() : holds.empty();
  if (fails && (all || unknown == 0)) return Truth::kFalse;
  if (fails || (all && unknown > 0)) return Truth::kUnknown;
  entry.findings = std::move(holds);
  return Truth::kTrue;
}

// Reduces the truth of a rule by the truth of its conditions.
void ApplyConditions(const knowledge::Knowledge& knowledge, const EvidenceView& evidence,
                     absl::string_view node, bool all, Entry& entry) {
  for (const Rule& with : entry.rule->with()) {
    if (entry.truth != Truth::kTrue) return;
    const bool by_device = !entry.findings.empty() && with.log().empty() &&
                           IsOfTheSameDevice(knowledge, *entry.rule, with);
    entry.truth = by_device ? EvaluateOnDevices(with, evidence, node, all, entry)
                            : EvaluateWith(knowledge, with, evidence, node);
    if (entry.truth == Truth::kUnknown) entry.untold = &with;
  }
}

}  // namespace

std::string Missing(const Entry& entry, const EvidenceView& evidence, absl::string_view node) {
  if (entry.untold == nullptr) return "";
  const std::string id = absl::StrCat(entry.untold->check(), "@", node);
  const CheckResult* result = evidence.Find(entry.untold->check(), node);
  if (result == nullptr) return absl::StrCat(id, ": not run");
  if (!Ran(*result)) {
    const absl::string_view status =
        result->status() == CheckResult::SKIPPED ? "skipped" : "gave an error";
    if (result->message().empty()) return absl::StrCat(id, ": ", status);
    return absl::StrCat(id, ": ", status, ", ", result->message());
  }
  return absl::StrCat(id, ": ran without telling ", entry.untold->finding());
}

bool SeesSign(const knowledge::Knowledge& knowledge, const Rule& rule, const EvidenceView& evidence,
              absl::string_view node) {
  return EvaluateOwnConfirm(knowledge, rule, evidence, node).truth == Truth::kTrue;
}

Entry EvaluateConfirm(const knowledge::Knowledge& knowledge, const Rule& rule,
                      const EvidenceView& evidence, absl::string_view node) {
  Entry entry = EvaluateOwnConfirm(knowledge, rule, evidence, node);
  ApplyConditions(knowledge, evidence, node, /*all=*/false, entry);
  return entry;
}

bool IsOnSome(const EvidenceView& evidence, const Entry& entry) {
  if (entry.truth != Truth::kTrue || entry.result == nullptr) return false;
  return std::any_of(
      evidence.results().begin(), evidence.results().end(), [&](const CheckResult* result) {
        if (result->check() != entry.rule->check()) return false;
        return std::any_of(
            result->findings().begin(), result->findings().end(), [&](const Finding& finding) {
              return finding.name() == entry.rule->finding() && !finding.has_event_value() &&
                     knowledge::Compare(*entry.rule, finding, *result) == Truth::kFalse;
            });
      });
}

Entry EvaluateRefute(const knowledge::Knowledge& knowledge, const Rule& rule,
                     const EvidenceView& evidence, absl::string_view node) {
  Entry entry = EvaluateOwnRefute(knowledge, rule, evidence, node);
  ApplyConditions(knowledge, evidence, node, /*all=*/true, entry);
  return entry;
}

Entry EvaluateRefuteByPart(const knowledge::Knowledge& knowledge, const Rule& rule,
                           const EvidenceView& evidence, absl::string_view node) {
  Entry entry;
  entry.rule = &rule;
  const CheckResult* const result = evidence.Find(rule.check(), node);
  // A result of a part is skipped, with what the part tells.
  if (result == nullptr || result->status() != CheckResult::SKIPPED || rule.with_size() > 0) {
    return entry;
  }
  for (const Reading& reading : Read(rule, *result)) {
    if (reading.finding->value_case() == Finding::VALUE_NOT_SET) continue;
    if (reading.truth != Truth::kTrue ||
        IsAbnormal(knowledge, rule.check(), *reading.finding, *result)) {
      return entry;
    }
    entry.findings.push_back(reading.finding);
  }
  if (entry.findings.empty()) return entry;
  entry.truth = Truth::kTrue;
  entry.result = result;
  return entry;
}

bool ReadsOnlyLogs(const knowledge::v1::Check& check) {
  return !check.reads().empty() &&
         std::all_of(check.reads().begin(), check.reads().end(),
                     [](const std::string& read) { return absl::StartsWith(read, "logs/"); });
}

bool IsGeneral(absl::string_view check) { return absl::StartsWith(check, "history."); }

bool IsAskedByItself(const knowledge::Knowledge& knowledge, absl::string_view name) {
  if (IsGeneral(name)) return false;
  const knowledge::v1::Check* check = knowledge.FindCheck(name);
  return check != nullptr && !check->intrusive() && check->kind() != knowledge::v1::Check::PROMQL &&
         std::find(check->needs().begin(), check->needs().end(), "prometheus") ==
             check->needs().end();
}

double CostSeconds(const knowledge::Knowledge& knowledge, absl::string_view check) {
  const knowledge::v1::Check* declared = knowledge.FindCheck(check);
  if (declared == nullptr) return 0;
  return static_cast<double>(declared->cost().seconds()) +
         static_cast<double>(declared->cost().nanos()) * 1e-9;
}

bool IsAbnormal(const knowledge::Knowledge& knowledge, absl::string_view check,
                const Finding& finding, const CheckResult& result) {
  if (finding.abnormal()) return true;
  const FindingSpec* spec = knowledge.FindFinding(check, finding.name());
  return spec != nullptr && spec->abnormal().op() != Rule::OP_UNSPECIFIED &&
         knowledge::Compare(spec->abnormal(), finding, result) == Truth::kTrue;
}

Grade GradeOf(const knowledge::Knowledge& knowledge, const Finding& finding,
              const CheckResult& result) {
  if (IsGeneral(result.check())) return Grade::kContext;
  if (finding.has_event_value() || IsAbnormal(knowledge, result.check(), finding, result)) {
    return Grade::kEvidence;
  }
  const knowledge::v1::Check* check = knowledge.FindCheck(result.check());
  if (check == nullptr) return Grade::kContext;
  const bool declares_limits = std::any_of(
      check->findings().begin(), check->findings().end(),
      [](const FindingSpec& spec) { return spec.abnormal().op() != Rule::OP_UNSPECIFIED; });
  return declares_limits ? Grade::kContext : Grade::kEvidence;
}

}  // namespace galen::reasoner
