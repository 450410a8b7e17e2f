#include "services/conclusion/suspects.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "common/reasoner/entry.h"

namespace galen::conclusion {
namespace {

using galen::v1::Signal;

constexpr std::size_t kMostSuspects = 3;
constexpr std::size_t kMostLines = 3;
// A message that fits more causes than this says that something is wrong, and not what.
constexpr int kMostShared = 6;

struct Suspect {
  const knowledge::v1::Label* label = nullptr;
  std::vector<const Signal*> signals;  // the strongest first
};

// Smaller is stronger.
auto Order(const Signal& signal) {
  return std::tuple(-static_cast<int>(signal.strength()), signal.role() != galen::v1::PRIMARY,
                    signal.labels_size(), signal.first_line());
}

// A person's words are a guess, and may deny what they name. What a program prints stays its
// message where a person quotes it.
bool IsGuess(const knowledge::Knowledge& knowledge, const Signal& signal) {
  if (signal.where() != galen::v1::DESCRIPTION) return false;
  const knowledge::v1::SignalPattern* pattern = knowledge.FindSignal(signal.signal());
  return pattern == nullptr || std::find(pattern->where().begin(), pattern->where().end(),
                                         galen::v1::DESCRIPTION) != pattern->where().end();
}

// A cause that only names how failures look, and of which logs alone tell.
bool NamesALookOfLogs(const knowledge::Knowledge& knowledge, const galen::v1::Cause& cause) {
  const knowledge::v1::Label* label = knowledge.FindLabel(cause.label());
  if (label == nullptr || !label->residual()) return false;
  return std::all_of(cause.evidence_ids().begin(), cause.evidence_ids().end(),
                     [&](const std::string& id) {
                       const std::string check = id.substr(0, id.find('@'));
                       const knowledge::v1::Check* known = knowledge.FindCheck(check);
                       return known == nullptr || reasoner::ReadsOnlyLogs(*known);
                     });
}

}  // namespace

void FillSuspects(const knowledge::Knowledge& knowledge, const v1::ConcludeRequest& request,
                  galen::v1::Report& report) {
  if (report.has_primary_cause()) return;
  std::set<std::string> rejected;
  for (const galen::v1::Hypothesis& each : request.hypotheses()) {
    if (each.verdict().outcome() == galen::v1::Verdict::REJECTED) rejected.insert(each.label());
  }
  std::map<std::string, Suspect> by_label;
  for (const Signal& signal : request.evidence().summary().signals()) {
    if (signal.strength() < galen::v1::STRONG || signal.labels_size() > kMostShared ||
        IsGuess(knowledge, signal)) {
      continue;
    }
    for (const std::string& name : signal.labels()) {
      const knowledge::v1::Label* label = knowledge.FindLabel(name);
      if (label == nullptr || rejected.contains(name)) continue;
      Suspect& suspect = by_label[name];
      suspect.label = label;
      suspect.signals.push_back(&signal);
    }
  }
  std::vector<Suspect> suspects;
  for (auto& [name, suspect] : by_label) {
    std::stable_sort(suspect.signals.begin(), suspect.signals.end(),
                     [](const Signal* a, const Signal* b) { return Order(*a) < Order(*b); });
    suspects.push_back(std::move(suspect));
  }
  std::stable_sort(suspects.begin(), suspects.end(), [](const Suspect& a, const Suspect& b) {
    return std::tuple(a.label->residual(), Order(*a.signals.front())) <
           std::tuple(b.label->residual(), Order(*b.signals.front()));
  });
  for (const Suspect& suspect : suspects) {
    if (static_cast<std::size_t>(report.suspects_size()) == kMostSuspects) break;
    galen::v1::Cause& cause = *report.add_suspects();
    cause.set_label(suspect.label->label());
    cause.set_title(suspect.label->title());
    cause.set_owner(suspect.label->owner());
    cause.set_mitigation(suspect.label->mitigation());
    std::size_t lines = 0;
    for (const Signal* signal : suspect.signals) {
      if (++lines > kMostLines) break;
      cause.add_evidence_ids(signal->id());
      if (!signal->node().empty() && cause.devices().empty())
        cause.add_devices()->set_node(signal->node());
    }
  }
}

void PresumeSuspect(const knowledge::Knowledge& knowledge, const v1::ConcludeRequest& request,
                    galen::v1::Report& report) {
  if (report.has_primary_cause() || report.suspects().empty()) return;
  if (report.has_presumed_cause() && !NamesALookOfLogs(knowledge, report.presumed_cause())) return;
  // The strongest message of its own that a suspect has.
  const auto own = [&](const galen::v1::Cause& cause) {
    int strength = 0;
    for (const Signal& signal : request.evidence().summary().signals()) {
      if (signal.labels_size() != 1 || signal.labels(0) != cause.label()) continue;
      if (IsGuess(knowledge, signal) || signal.role() != galen::v1::PRIMARY) continue;
      strength = std::max(strength, static_cast<int>(signal.strength()));
    }
    return strength;
  };
  const galen::v1::Cause& first = report.suspects(0);
  const knowledge::v1::Label* label = knowledge.FindLabel(first.label());
  const int strength = own(first);
  if (label == nullptr || label->residual() || strength < galen::v1::STRONG) return;
  for (int i = 1; i < report.suspects_size(); ++i) {
    const knowledge::v1::Label* other = knowledge.FindLabel(report.suspects(i).label());
    if (other != nullptr && !other->residual() && own(report.suspects(i)) >= strength) return;
  }
  *report.mutable_presumed_cause() = first;
  report.mutable_presumed_cause()->set_probability(strength == galen::v1::DECISIVE ? 0.6 : 0.5);
}

}  // namespace galen::conclusion
