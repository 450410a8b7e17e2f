#include "common/reasoner/explore.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/reasoner/explained.h"
#include "common/reasoner/questions.h"
#include "common/reasoner/wording.h"

namespace galen::reasoner {
namespace {

using galen::v1::Hypothesis;
using galen::v1::Reason;
using galen::v1::Signal;
using galen::v1::Suggestion;
using galen::v1::Verdict;
using knowledge::v1::Label;

constexpr size_t kMaxSignals = 3;
constexpr size_t kMaxUndecided = 4;
constexpr size_t kMaxLookAlikes = 3;
constexpr int kMaxSteps = 6;

// Turns "gpu.ecc@n1: skipped, ..." into a step that names the data to collect.
std::string Collect(const knowledge::Knowledge& knowledge, absl::string_view missing) {
  const std::vector<absl::string_view> parts = absl::StrSplit(missing, absl::MaxSplits(": ", 1));
  const std::vector<absl::string_view> id = absl::StrSplit(parts[0], absl::MaxSplits('@', 1));
  const knowledge::v1::Check* check = knowledge.FindCheck(id[0]);
  if (check == nullptr) return std::string(missing);
  std::string text = absl::StrCat("Collect \"", check->title(), "\"");
  if (id.size() == 2) absl::StrAppend(&text, " on ", id[1]);
  if (check->reads_size() > 0) {
    absl::StrAppend(&text, ": ", absl::StrJoin(check->reads(), ", "));
  }
  if (check->intrusive()) absl::StrAppend(&text, " (loads the device: drain it first)");
  if (parts.size() == 2) absl::StrAppend(&text, "; it was ", parts[1]);
  return text;
}

void AddSignals(const Case& the_case, const v1::ExploreQuestion& question,
                v1::ExploreAnswer& answer) {
  const std::vector<const Hypothesis*> confirmed = Confirmed(the_case.knowledge, question.judged());
  std::set<absl::string_view> told;
  std::vector<const Signal*> open;
  for (const Signal& signal : the_case.evidence.summary().signals()) {
    if (signal.strength() < galen::v1::STRONG) continue;
    const bool explained = std::any_of(confirmed.begin(), confirmed.end(), [&](const auto* each) {
      return Explains(the_case, *the_case.knowledge.FindLabel(each->label()), signal);
    });
    if (!explained && told.insert(signal.signal()).second) open.push_back(&signal);
  }
  std::stable_sort(open.begin(), open.end(),
                   [](const Signal* a, const Signal* b) { return a->strength() > b->strength(); });
  for (size_t i = 0; i < std::min(open.size(), kMaxSignals); ++i) {
    const Signal& signal = *open[i];
    Suggestion& suggestion = *answer.add_suggestions();
    suggestion.set_title(
        absl::StrCat("A message that no confirmed cause explains: ",
                     signal.meaning().empty() ? signal.signal() : signal.meaning()));
    suggestion.set_rationale(absl::StrCat(Describe(signal), ": ", signal.excerpt()));
    for (const std::string& name : signal.labels()) {
      const Label* leaf = the_case.knowledge.FindLabel(name);
      if (leaf == nullptr || suggestion.steps_size() == kMaxSteps) continue;
      suggestion.add_steps(absl::StrCat("It can come from ", leaf->title(), " (", name, ")"));
    }
  }
}

std::vector<const Hypothesis*> Undecided(const knowledge::Knowledge& knowledge,
                                         const v1::ExploreQuestion& question) {
  std::vector<const Hypothesis*> undecided;
  for (const Hypothesis& each : question.judged()) {
    if (each.has_verdict() && each.verdict().outcome() == Verdict::INCONCLUSIVE &&
        knowledge.FindLabel(each.label()) != nullptr) {
      undecided.push_back(&each);
    }
  }
  std::stable_sort(undecided.begin(), undecided.end(),
                   [](const Hypothesis* a, const Hypothesis* b) {
                     return a->verdict().probability() > b->verdict().probability();
                   });
  return undecided;
}

void AddUndecided(const Case& the_case, const std::vector<const Hypothesis*>& undecided,
                  v1::ExploreAnswer& answer) {
  for (size_t i = 0; i < std::min(undecided.size(), kMaxUndecided); ++i) {
    const Hypothesis& hypothesis = *undecided[i];
    const Label& leaf = *the_case.knowledge.FindLabel(hypothesis.label());
    Suggestion& suggestion = *answer.add_suggestions();
    suggestion.set_title(absl::StrCat("Decide whether it is: ", leaf.title()));
    std::string rationale = leaf.description();
    for (const Reason& reason : hypothesis.verdict().reasons()) {
      if (reason.direction() == Reason::SUPPORTS) {
        rationale = absl::StrCat("Speaks for it: ", reason.text());
        break;
      }
    }
    suggestion.set_rationale(rationale);
    std::set<std::string> told;
    for (const std::string& missing : hypothesis.verdict().missing()) {
      if (suggestion.steps_size() == kMaxSteps) break;
      std::string step = Collect(the_case.knowledge, missing);
      if (told.insert(step).second) suggestion.add_steps(std::move(step));
    }
  }
}

void AddLookAlikes(const Case& the_case, const v1::ExploreQuestion& question,
                   const std::vector<const Hypothesis*>& undecided, v1::ExploreAnswer& answer) {
  std::set<absl::string_view> told;
  size_t added = 0;
  for (const Hypothesis* hypothesis : undecided) {
    const Label& leaf = *the_case.knowledge.FindLabel(hypothesis->label());
    for (const std::string& name : leaf.confused_with()) {
      const Label* other = the_case.knowledge.FindLabel(name);
      if (added == kMaxLookAlikes) return;
      if (other == nullptr || WasJudged(question.judged(), name) || !told.insert(name).second) {
        continue;
      }
      Suggestion& suggestion = *answer.add_suggestions();
      suggestion.set_title(absl::StrCat("Consider a look-alike: ", other->title()));
      suggestion.set_rationale(
          absl::StrCat("Easily taken for ", leaf.title(), ": ", other->description()));
      for (const knowledge::v1::Rule& rule : other->confirm()) {
        if (suggestion.steps_size() == kMaxSteps) break;
        suggestion.add_steps(absl::StrCat("Look for: ", rule.observation()));
      }
      ++added;
    }
  }
}

}  // namespace

v1::ExploreAnswer Explore(const Case& the_case, const v1::ExploreQuestion& question) {
  v1::ExploreAnswer answer;
  AddSignals(the_case, question, answer);
  const std::vector<const Hypothesis*> undecided = Undecided(the_case.knowledge, question);
  AddUndecided(the_case, undecided, answer);
  AddLookAlikes(the_case, question, undecided, answer);
  if (the_case.evidence.summary().signals().empty()) {
    Suggestion& suggestion = *answer.add_suggestions();
    suggestion.set_title("Say more about the incident");
    suggestion.set_rationale("No known message was found in the description or in a log");
    suggestion.add_steps("Add the job's log from all ranks, not of rank 0 alone");
    suggestion.add_steps("Add the kernel log of the nodes under suspicion");
    suggestion.add_steps("Name the nodes, when it began, and what changed before");
  }
  AddQuestions(the_case, question, answer);
  return answer;
}

}  // namespace galen::reasoner
