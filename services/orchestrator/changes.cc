#include "services/orchestrator/changes.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "services/orchestrator/supplied_evidence.h"

namespace galen::orchestrator {
namespace {

using v1::Change;
using v1::CheckResult;
using v1::Verdict;

// Most changes of each kind: a report is read by people.
constexpr std::size_t kMostOfAKind = 6;
// Least change of probability worth a line; a cause that is ruled out was unlikely before.
constexpr double kWorthALine = 0.05;

std::string Standing(const Verdict& verdict) {
  const std::string sure = absl::StrFormat("%.0f %%", std::floor(verdict.probability() * 100));
  switch (verdict.outcome()) {
    case Verdict::CONFIRMED:
      return absl::StrCat("confirmed (", sure, ")");
    case Verdict::REJECTED:
      return "ruled out";
    default:
      return absl::StrCat("open (", sure, ")");
  }
}

std::string NameOf(const v1::Hypothesis& hypothesis) {
  return hypothesis.title().empty() ? hypothesis.label() : hypothesis.title();
}

void AddVerdicts(const State& state, std::vector<Change>& changes) {
  std::vector<std::pair<double, Change>> found;
  for (const TrackedHypothesis& tracked : state.hypotheses) {
    const v1::Hypothesis& now = tracked.hypothesis;
    if (!now.has_verdict()) continue;
    const bool confirmed = now.verdict().outcome() == Verdict::CONFIRMED;
    Change change;
    change.set_kind(Change::VERDICT);
    change.set_label(now.label());
    double moved = 0;
    if (!tracked.before.has_value()) {
      // A cause without an earlier verdict is worth a line only if it is confirmed.
      if (!confirmed) continue;
      moved = 1;
      change.set_text(absl::StrCat(NameOf(now), " is ", Standing(now.verdict()),
                                   "; it had not been looked at before"));
    } else {
      const Verdict& before = *tracked.before;
      moved = std::abs(now.verdict().probability() - before.probability());
      const bool was_confirmed = before.outcome() == Verdict::CONFIRMED;
      if (confirmed == was_confirmed && moved < kWorthALine) continue;
      if (confirmed != was_confirmed) moved += 1;
      change.set_text(absl::StrCat(NameOf(now), " is ", Standing(now.verdict()), "; it was ",
                                   Standing(before)));
    }
    for (const v1::Reason& reason : now.verdict().reasons()) {
      for (const std::string& id : reason.evidence_ids()) change.add_evidence_ids(id);
    }
    found.emplace_back(moved, std::move(change));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (found.size() > kMostOfAKind) found.resize(kMostOfAKind);
  for (auto& [moved, change] : found) changes.push_back(std::move(change));
}

std::string Said(const CheckResult& result) {
  return absl::StrCat(result.status() == CheckResult::PASS ? "passes" : "fails", ": ",
                      result.message());
}

void AddResults(const State& state, std::vector<Change>& changes) {
  const std::string source = absl::StrCat("feedback/", state.dialogue.size());
  std::size_t added = 0;
  for (const auto& [id, result] : state.evidence) {
    if (added == kMostOfAKind) return;
    if (!IsDefinite(*result)) continue;
    const auto earlier = state.evidence_before.find(id);
    const bool known = earlier != state.evidence_before.end() && IsDefinite(*earlier->second);
    const bool told = result->told() == source;
    const bool otherwise = known && earlier->second->status() != result->status();
    const bool of_answer = told && !known;
    if (!otherwise && !of_answer) continue;
    Change& change = changes.emplace_back();
    change.set_kind(Change::RESULT);
    change.add_evidence_ids(id);
    change.set_text(absl::StrCat(id, told ? ", by what was given, " : " now ", Said(*result)));
    if (otherwise) absl::StrAppend(change.mutable_text(), "; before: ", earlier->second->message());
    ++added;
  }
}

void AddContradictions(const State& state, std::vector<Change>& changes) {
  std::size_t added = 0;
  for (const auto& [id, told] : state.supplied_results) {
    const auto machine = state.results.find(id);
    if (machine == state.results.end()) continue;
    for (std::string& text : MergeSupplied(*machine->second, *told, IsLive(state)).contradictions) {
      if (added++ == kMostOfAKind) return;
      Change& change = changes.emplace_back();
      change.set_kind(Change::CONTRADICTION);
      change.add_evidence_ids(id);
      change.set_text(std::move(text));
    }
  }
}

}  // namespace

std::vector<Change> ChangesOf(const State& state) {
  std::vector<Change> changes;
  if (state.round.number == 1) return changes;
  AddVerdicts(state, changes);
  AddContradictions(state, changes);
  AddResults(state, changes);
  if (changes.empty()) {
    Change& change = changes.emplace_back();
    change.set_kind(Change::NOTHING);
    change.set_text(
        "it was read, and every check and cause stands as before: nothing in it is known to speak "
        "for or against a cause");
  }
  return changes;
}

}  // namespace galen::orchestrator
