#include "services/conclusion/citations.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/reasoner/entry.h"

namespace galen::conclusion {
namespace {

using galen::v1::Cause;
using galen::v1::CheckResult;
using galen::v1::Evidence;
using galen::v1::Report;
using galen::v1::Signal;

constexpr size_t kMaxNamed = 8;
constexpr size_t kMaxLimits = 20;

Evidence OfCheck(const CheckResult& result) {
  Evidence evidence;
  evidence.set_id(result.id());
  evidence.set_kind("check");
  evidence.set_text(result.told().empty()
                        ? result.message()
                        : absl::StrCat(result.message(), " (as ", result.told(), " gave it)"));
  evidence.set_source(result.told());
  evidence.set_excerpt(result.excerpt());
  evidence.mutable_subject()->set_node(result.node());
  for (const auto& finding : result.findings()) {
    if (!finding.abnormal()) continue;
    *evidence.mutable_subject() = finding.subject();
    if (evidence.subject().node().empty()) evidence.mutable_subject()->set_node(result.node());
    break;
  }
  return evidence;
}

Evidence OfSignal(const Signal& signal) {
  Evidence evidence;
  evidence.set_id(signal.id());
  evidence.set_kind("signal");
  evidence.set_text(signal.meaning().empty() ? signal.signal() : signal.meaning());
  evidence.set_excerpt(signal.excerpt());
  evidence.set_source(signal.source());
  evidence.set_line(signal.first_line());
  evidence.mutable_subject()->set_node(signal.node());
  return evidence;
}

Evidence OfIncident(const knowledge::Knowledge& knowledge, const std::string& id) {
  Evidence evidence;
  evidence.set_id(id);
  evidence.set_kind("incident");
  const absl::string_view name = absl::StripPrefix(id, kIncidentPrefix);
  evidence.set_text(absl::StrCat("past incident ", name));
  for (const auto& incident : knowledge.base().incidents()) {
    if (incident.id() != name) continue;
    evidence.set_text(absl::StrCat("past incident: ", incident.title()));
    evidence.set_source(incident.reference());
    break;
  }
  return evidence;
}

std::string Names(const std::set<std::string>& names) {
  std::vector<std::string> shown(names.begin(), names.end());
  if (shown.size() <= kMaxNamed) return absl::StrJoin(shown, ", ");
  const size_t more = shown.size() - kMaxNamed;
  shown.resize(kMaxNamed);
  return absl::StrCat(absl::StrJoin(shown, ", "), " and ", more, " more");
}

}  // namespace

void FillEvidence(const knowledge::Knowledge& knowledge, const galen::v1::EvidenceSet& evidence,
                  Report& report) {
  absl::flat_hash_map<absl::string_view, const CheckResult*> results;
  for (const CheckResult& result : evidence.results()) results[result.id()] = &result;
  absl::flat_hash_map<absl::string_view, const Signal*> signals;
  for (const Signal& signal : evidence.summary().signals()) signals[signal.id()] = &signal;
  std::set<std::string> cited;
  const auto cite_ids = [&](const auto& ids) {
    for (const std::string& id : ids) {
      if (!cited.insert(id).second) continue;
      if (const auto it = results.find(id); it != results.end()) {
        *report.add_evidence() = OfCheck(*it->second);
      } else if (const auto found = signals.find(id); found != signals.end()) {
        *report.add_evidence() = OfSignal(*found->second);
      } else if (absl::StartsWith(id, kIncidentPrefix)) {
        *report.add_evidence() = OfIncident(knowledge, id);
      }
    }
  };
  const auto cite = [&](const Cause& cause) {
    cite_ids(cause.evidence_ids());
    cite_ids(cause.opposing_ids());
  };
  if (report.has_primary_cause()) cite(report.primary_cause());
  if (report.has_presumed_cause()) cite(report.presumed_cause());
  for (const auto* causes : {&report.other_causes(), &report.secondary_effects(),
                             &report.suspects(), &report.ruled_out(), &report.undecided()}) {
    for (const Cause& cause : *causes) cite(cause);
  }
}

galen::v1::CheckCounts CountChecks(const galen::v1::EvidenceSet& evidence) {
  galen::v1::CheckCounts counts;
  for (const CheckResult& result : evidence.results()) {
    switch (result.status()) {
      case CheckResult::PASS:
        counts.set_pass(counts.pass() + 1);
        break;
      case CheckResult::FAIL:
        counts.set_fail(counts.fail() + 1);
        break;
      case CheckResult::SKIPPED:
        counts.set_skipped(counts.skipped() + 1);
        break;
      default:
        counts.set_error(counts.error() + 1);
        break;
    }
  }
  return counts;
}

std::vector<std::string> Limits(const galen::v1::EvidenceSet& evidence) {
  struct Group {
    std::set<std::string> checks;
    std::set<std::string> nodes;
  };
  // Errors first: they ought to have run.
  std::map<std::pair<bool, std::string>, Group> groups;
  for (const CheckResult& result : evidence.results()) {
    if (result.status() == CheckResult::PASS || result.status() == CheckResult::FAIL) continue;
    // A message that names its own check or node counts as the same message for the next one.
    std::string why = result.message();
    if (!result.check().empty()) absl::StrReplaceAll({{result.check(), "it"}}, &why);
    if (!result.node().empty()) absl::StrReplaceAll({{result.node(), "the node"}}, &why);
    Group& group = groups[{result.status() == CheckResult::SKIPPED, why}];
    group.checks.insert(result.check());
    group.nodes.insert(result.node());
  }
  std::vector<std::string> limits(evidence.summary().notes().begin(),
                                  evidence.summary().notes().end());
  for (const auto& [key, group] : groups) {
    const auto& [skipped, why] = key;
    if (limits.size() == kMaxLimits) {
      limits.push_back("More checks gave no answer, for other reasons");
      break;
    }
    limits.push_back(
        absl::StrCat(group.checks.size(), group.checks.size() == 1 ? " check " : " checks ",
                     skipped ? "skipped" : "with an error", " on ", Names(group.nodes), " (",
                     Names(group.checks), ")", why.empty() ? "" : absl::StrCat(": ", why)));
  }
  return limits;
}

std::string LeftOut(const knowledge::Knowledge& knowledge, const galen::v1::EvidenceSet& evidence) {
  if (evidence.results().empty()) return "";
  std::set<absl::string_view> asked;
  for (const CheckResult& result : evidence.results()) asked.insert(result.check());
  std::set<std::string> left;
  for (const knowledge::v1::Check& check : knowledge.base().checks()) {
    if (check.off() || asked.count(check.name()) > 0) continue;
    if (reasoner::IsAskedByItself(knowledge, check.name())) left.insert(check.name());
  }
  if (left.empty()) return "";
  return absl::StrCat(left.size(), left.size() == 1 ? " check was" : " checks were",
                      " not run, since little pointed to them (", Names(left),
                      "); strategy exhaustive runs all");
}

}  // namespace galen::conclusion
