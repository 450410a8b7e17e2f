#include "bench/eval/metrics/naming.h"

#include <algorithm>
#include <map>
#include <string>

#include "bench/eval/metrics/calibration.h"

namespace galen::eval {
namespace {

constexpr int kNamed = 3;

template <typename List>
bool Has(const List& list, const std::string& text) {
  return std::any_of(list.begin(), list.end(), [&](const auto& entry) { return entry == text; });
}

bool IsRight(const v1::Case& a_case, const std::string& label) {
  return Has(a_case.labels(), label) || Has(a_case.labels_acceptable(), label);
}

// The labels in the order in which a report names them, each once.
std::vector<std::string> Named(const v1::CaseResult& result) {
  std::vector<std::string> named;
  const auto add = [&](const v1::NamedCause& cause) {
    if (static_cast<int>(named.size()) < kNamed && !Has(named, cause.label())) {
      named.push_back(cause.label());
    }
  };
  if (result.has_primary()) add(result.primary());
  for (const v1::NamedCause& other : result.others()) add(other);
  for (const v1::NamedCause& suspect : result.suspects()) add(suspect);
  return named;
}

void Count(int (v1::Naming::*get)() const, void (v1::Naming::*set)(int), bool is,
           v1::Naming& naming) {
  if (is) (naming.*set)((naming.*get)() + 1);
}

}  // namespace

std::vector<v1::Naming> ScoreNaming(const std::vector<v1::Case>& cases,
                                    const std::vector<v1::CaseResult>& results,
                                    const std::vector<CaseScore>& scores) {
  std::vector<v1::Naming> all;
  std::map<std::string, std::size_t> places;
  std::vector<std::vector<Belief>> beliefs;
  std::vector<std::vector<const CaseScore*>> of_corpus;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const v1::Case& a_case = cases[i];
    const v1::CaseResult& result = results[i];
    const auto [place, added] = places.emplace(a_case.corpus(), all.size());
    if (added) {
      all.emplace_back().set_corpus(a_case.corpus());
      beliefs.emplace_back();
      of_corpus.emplace_back();
    }
    v1::Naming& naming = all[place->second];
    const std::vector<std::string> named = Named(result);
    const bool first = HasCause(a_case) && !named.empty() && IsRight(a_case, named.front());
    const bool among =
        HasCause(a_case) && std::any_of(named.begin(), named.end(), [&](const std::string& label) {
          return IsRight(a_case, label);
        });
    const bool presumed = result.primary().presumed();
    const bool confirmed = result.has_primary() && !presumed;
    // A case without a cause may still accept a presumed one.
    const bool right =
        result.has_primary() && !a_case.outside() && IsRight(a_case, result.primary().label());
    const bool convicted = confirmed && !scores[i].wrong.empty();
    using N = v1::Naming;
    Count(&N::cases, &N::set_cases, true, naming);
    Count(&N::with_cause, &N::set_with_cause, HasCause(a_case), naming);
    Count(&N::first, &N::set_first, first, naming);
    Count(&N::among_three, &N::set_among_three, among, naming);
    Count(&N::confirmed_right, &N::set_confirmed_right, confirmed && right, naming);
    Count(&N::presumed_right, &N::set_presumed_right, presumed && right, naming);
    Count(&N::rightly_silent, &N::set_rightly_silent, !HasCause(a_case) && !result.has_primary(),
          naming);
    Count(&N::presumed_wrongly, &N::set_presumed_wrongly, presumed && !right, naming);
    Count(&N::convicted_wrongly, &N::set_convicted_wrongly, convicted, naming);
    Count(&N::convicted_never, &N::set_convicted_never,
          convicted &&
              std::any_of(scores[i].wrong.begin(), scores[i].wrong.end(),
                          [&](const std::string& label) { return Has(a_case.never(), label); }),
          naming);
    naming.set_artefacts(naming.artefacts() + result.artefacts());
    naming.set_unread_artefacts(naming.unread_artefacts() + result.unread_artefacts());
    of_corpus[place->second].push_back(&scores[i]);
    if (result.has_primary()) {
      beliefs[place->second].push_back({result.primary().probability(), right});
    } else if (!result.suspects().empty()) {
      const v1::NamedCause& suspect = result.suspects(0);
      beliefs[place->second].push_back(
          {suspect.probability(), HasCause(a_case) && IsRight(a_case, suspect.label())});
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    *all[i].mutable_leaves() = ToLeafScores(of_corpus[i]);
    all[i].set_calibration_error(Calibrate(beliefs[i]).error());
  }
  return all;
}

}  // namespace galen::eval
