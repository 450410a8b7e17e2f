#include "services/conclusion/system_review.h"

#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace galen::conclusion {
namespace {

using galen::v1::CheckResult;
using galen::v1::SystemReview;

constexpr std::size_t kMostNames = 8;
constexpr int kMostEvidence = 64;

std::string Some(const std::set<std::string>& names) {
  std::vector<std::string> some;
  for (const std::string& name : names) {
    if (some.size() == kMostNames) {
      some.push_back(absl::StrCat(names.size() - kMostNames, " more"));
      break;
    }
    some.push_back(name);
  }
  return absl::StrJoin(some, ", ");
}

std::string Nodes(std::size_t count) {
  return absl::StrCat(count, count == 1 ? " node" : " nodes");
}

struct Looked {
  std::vector<std::string> checks;
  // Nodes by the results of the checks.
  std::set<std::string> failed;
  std::set<std::string> unanswered;
  std::set<std::string> silent_checks;
  std::string why;
  std::set<std::string> untold;  // findings that are unknown for some node
  std::vector<std::string> evidence_of_failure;
  std::vector<std::string> evidence;
};

// Whether something that could have been abnormal is known to be normal. Adds what is unknown.
bool LookedAt(const knowledge::Knowledge& knowledge, const CheckResult& result,
              std::set<std::string>& untold) {
  bool looked = false;
  for (const galen::v1::Finding& finding : result.findings()) {
    const knowledge::v1::FindingSpec* const spec =
        knowledge.FindFinding(result.check(), finding.name());
    if (spec == nullptr || spec->abnormal().op() == knowledge::v1::Rule::OP_UNSPECIFIED) continue;
    const bool known = finding.value_case() != galen::v1::Finding::VALUE_NOT_SET;
    looked = looked || known;
    if (!known) untold.insert(finding.name());
  }
  return looked;
}

SystemReview::Family FamilyOf(const std::string& name, const Looked& looked, std::size_t nodes) {
  SystemReview::Family family;
  family.set_name(name);
  family.set_title(name);
  const std::vector<std::string>* cited = &looked.evidence;
  if (!looked.failed.empty()) {
    family.set_state(SystemReview::FAULTY);
    family.set_text(absl::StrCat("abnormal on ", looked.failed.size(), " of ", Nodes(nodes), " (",
                                 Some(looked.failed), ")"));
    cited = &looked.evidence_of_failure;
  } else if (!looked.unanswered.empty()) {
    family.set_state(SystemReview::UNKNOWN);
    family.set_text(absl::StrCat("no answer of ", Some(looked.silent_checks), " on ",
                                 looked.unanswered.size(), " of ", Nodes(nodes),
                                 looked.why.empty() ? "" : ": ", looked.why));
  } else {
    family.set_state(SystemReview::CLEAN);
    family.set_text(absl::StrCat("nothing abnormal on ", Nodes(nodes), " (",
                                 absl::StrJoin(looked.checks, ", "), ")",
                                 looked.untold.empty() ? "" : "; not told: ", Some(looked.untold)));
  }
  for (const std::string& id : *cited) {
    if (family.evidence_ids_size() == kMostEvidence) break;
    family.add_evidence_ids(id);
  }
  return family;
}

}  // namespace

SystemReview ReviewSystem(const knowledge::Knowledge& knowledge,
                          const galen::v1::EvidenceSet& evidence) {
  std::vector<std::string> order;
  std::map<std::string, Looked> families;
  std::map<std::string, std::string> family_of;
  for (const knowledge::v1::Check& check : knowledge.base().checks()) {
    if (check.family().empty() || check.off()) continue;
    const auto [at, added] = families.try_emplace(check.family());
    if (added) order.push_back(check.family());
    at->second.checks.push_back(check.name());
    family_of[check.name()] = check.family();
  }
  std::map<std::pair<std::string, std::string>, const CheckResult*> results;  // check and node
  std::set<std::string> nodes;
  bool ran = false;
  for (const CheckResult& result : evidence.results()) {
    if (!family_of.contains(result.check())) continue;
    results[{result.check(), result.node()}] = &result;
    nodes.insert(result.node());
    ran = ran || result.status() == CheckResult::PASS || result.status() == CheckResult::FAIL;
  }
  SystemReview review;
  if (!ran) return review;
  bool clean = true;
  bool faulty = false;
  for (const std::string& name : order) {
    Looked& looked = families[name];
    for (const std::string& check : looked.checks) {
      for (const std::string& node : nodes) {
        const auto found = results.find({check, node});
        const CheckResult* const result = found == results.end() ? nullptr : found->second;
        if (result != nullptr && result->status() == CheckResult::FAIL) {
          looked.failed.insert(node);
          looked.evidence_of_failure.push_back(result->id());
        } else if (result != nullptr && result->status() == CheckResult::PASS &&
                   LookedAt(knowledge, *result, looked.untold)) {
          looked.evidence.push_back(result->id());
        } else {
          looked.unanswered.insert(node);
          looked.silent_checks.insert(check);
          if (looked.why.empty() && result != nullptr) looked.why = result->message();
        }
      }
    }
    *review.add_families() = FamilyOf(name, looked, nodes.size());
    clean = clean && review.families().rbegin()->state() == SystemReview::CLEAN;
    faulty = faulty || review.families().rbegin()->state() == SystemReview::FAULTY;
  }
  review.set_state(clean    ? SystemReview::CLEAN
                   : faulty ? SystemReview::FAULTY
                            : SystemReview::UNKNOWN);
  return review;
}

std::string FineSystem(const SystemReview& review) {
  if (review.state() != SystemReview::CLEAN) return "";
  std::vector<std::string> names;
  for (const SystemReview::Family& family : review.families()) names.push_back(family.title());
  return absl::StrCat("The system is fine: ", absl::StrJoin(names, ", "),
                      " were examined on every node over the window, and nothing is abnormal");
}

}  // namespace galen::conclusion
