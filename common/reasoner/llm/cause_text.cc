#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/text.h"
#include "common/reasoner/entry.h"
#include "common/reasoner/llm/section.h"
#include "common/reasoner/llm/turn_text.h"

namespace galen::reasoner::llm {
namespace {

// Minimum probability of a cause to be listed; the first ones are always listed.
constexpr double kShare = 0.01;
constexpr std::size_t kLeastLeaves = 3;
constexpr std::size_t kExplainedLeaves = 3;
constexpr std::size_t kReasons = 2;  // for a cause, and against it
constexpr std::size_t kReasonBytes = 200;
constexpr std::size_t kAskedLeaves = 8;  // whose checks are offered
constexpr std::size_t kPlaceBytes = 200;
constexpr std::size_t kPastBytes = 420;
constexpr std::size_t kMostOfSection = 16 * 1024;

}  // namespace

std::size_t ListedCauses(const Told& told) {
  std::size_t count = 0;
  for (const galen::v1::Verdict& verdict : told.ranked) {
    if (count >= told.sizes.causes) break;
    if (count >= kLeastLeaves && verdict.probability() < kShare) break;
    ++count;
  }
  return count;
}

std::string ChecksText(const Told& told) {
  if (!CanRunChecks(told)) return "No check can run for this incident.\n";
  std::set<absl::string_view> ran;
  for (const galen::v1::CheckResult& result : told.question.evidence().results()) {
    if (!told.fresh.contains(result.id())) ran.insert(result.check());
  }
  std::vector<absl::string_view> names;
  std::set<absl::string_view> named;
  const std::size_t leaves = std::min(told.ranked.size(), kAskedLeaves);
  for (std::size_t i = 0; i < leaves; ++i) {
    const knowledge::v1::Label* const label = told.knowledge.FindLabel(told.ranked[i].label());
    if (label == nullptr) continue;
    for (const std::string& name : told.knowledge.ChecksFor(*label)) {
      const knowledge::v1::Check* const check = told.knowledge.FindCheck(name);
      if (check == nullptr || check->off() || ran.contains(name)) continue;
      if (names.size() == told.sizes.checks || !IsAskedByItself(told.knowledge, name)) continue;
      if (named.insert(check->name()).second) names.push_back(check->name());
    }
  }
  return Section(TextKind::kRule, {{"name", "checks of these causes that nobody has tried"}},
                 names.empty() ? "none" : absl::StrJoin(names, ", "), kMostOfSection);
}

std::string CausesText(const Told& told) {
  std::string text;
  for (std::size_t i = 0; i < ListedCauses(told); ++i) {
    const galen::v1::Verdict& verdict = told.ranked[i];
    const knowledge::v1::Label* const label = told.knowledge.FindLabel(verdict.label());
    absl::StrAppend(&text, text.empty() ? "" : "\n", verdict.label(), ": ",
                    label == nullptr ? "" : label->title(), " (",
                    absl::StrFormat("%.1f %%", 100 * verdict.probability()),
                    verdict.outcome() == galen::v1::Verdict::CONFIRMED  ? ", confirmed"
                    : verdict.outcome() == galen::v1::Verdict::REJECTED ? ", rejected"
                                                                        : "",
                    ")");
  }
  std::map<absl::string_view, std::string> places;  // of signals, by id
  for (const galen::v1::Signal& signal : told.question.evidence().summary().signals()) {
    places[signal.id()] = absl::StrCat(signal.source(), " line ", signal.first_line());
  }
  std::string facts;
  std::set<std::string> told_facts;
  for (std::size_t i = 0; i < std::min(told.ranked.size(), kExplainedLeaves); ++i) {
    for (const auto direction : {galen::v1::Reason::SUPPORTS, galen::v1::Reason::OPPOSES}) {
      std::size_t count = 0;
      for (const galen::v1::Reason& reason : told.ranked[i].reasons()) {
        if (reason.direction() != direction) continue;
        std::string where;
        if (!reason.evidence_ids().empty()) {
          const std::string& id = reason.evidence_ids(0);
          const auto place = places.find(id);
          where = absl::StrCat(" [", place == places.end() ? id : place->second, "]");
        }
        std::string fact =
            absl::StrCat(told.ranked[i].label(),
                         direction == galen::v1::Reason::SUPPORTS ? ", for: " : ", against: ",
                         CleanText(reason.text(), kReasonBytes), CleanText(where, kPlaceBytes));
        // Two known messages in one line are one reason.
        if (!told_facts.insert(fact).second || ++count > kReasons) continue;
        absl::StrAppend(&facts, facts.empty() ? "" : "\n", fact);
      }
    }
  }
  std::string all =
      Section(TextKind::kRule, {{"name", "likeliest causes by the built-in reasoner"}}, text,
              kMostOfSection);
  if (!facts.empty()) {
    absl::StrAppend(
        &all, Section(TextKind::kFormula, {{"name", "what speaks for and against them"}}, facts,
                      kMostOfSection));
  }
  return all;
}

std::string PastText(const knowledge::Knowledge& knowledge, const v1::HistoryAnswer& past,
                     const TextSizes& sizes) {
  std::map<absl::string_view, const knowledge::v1::PastIncident*> known;
  for (const auto& incident : knowledge.base().incidents()) known[incident.id()] = &incident;
  std::string text;
  std::size_t count = 0;
  for (const v1::HistoryAnswer::Cause& cause : past.causes()) {
    if (++count > sizes.past) break;
    std::string told = cause.reason();
    for (const std::string& id : cause.incidents()) {
      const auto incident = known.find(id);
      if (incident == known.end()) continue;
      absl::StrAppend(&told, ". ", CleanText(incident->second->description(), 220));
      if (!incident->second->resolution().empty()) {
        absl::StrAppend(&told, " Cured by: ", CleanText(incident->second->resolution(), 120));
      }
      break;
    }
    absl::StrAppend(
        &text, Section(TextKind::kPlain,
                       {{"name", "a past incident of another day"}, {"cause", cause.label()}}, told,
                       kPastBytes));
  }
  return text.empty() ? "None is similar.\n" : text;
}

}  // namespace galen::reasoner::llm
