#include "common/reasoner/llm/case_text.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/text.h"
#include "common/reasoner/evidence_view.h"
#include "common/reasoner/llm/section.h"
#include "common/reasoner/wording.h"

namespace galen::reasoner::llm {
namespace {

using galen::v1::CheckResult;
using galen::v1::Finding;
using galen::v1::Signal;

// Sizes in bytes, chosen so that a question takes at most about 1500 tokens.
constexpr std::size_t kDescription = 1000;
constexpr std::size_t kEnvironment = 200;
constexpr std::size_t kExcerpt = 160;
constexpr std::size_t kFeedback = 400;
constexpr std::size_t kResult = 240;
constexpr std::size_t kRuleText = 160;
constexpr std::size_t kSignals = 6;
constexpr std::size_t kResults = 6;
constexpr std::size_t kFindings = 2;
constexpr int kFeedbacks = 3;

// Signals by strength, each known message once; among equals the earliest.
std::vector<const Signal*> ShownSignals(const galen::v1::Summary& summary) {
  std::vector<const Signal*> shown;
  for (const Signal& signal : summary.signals()) {
    const bool known = std::any_of(shown.begin(), shown.end(), [&](const Signal* other) {
      return other->signal() == signal.signal();
    });
    if (!known) shown.push_back(&signal);
  }
  std::stable_sort(shown.begin(), shown.end(),
                   [](const Signal* a, const Signal* b) { return a->strength() > b->strength(); });
  shown.resize(std::min(shown.size(), kSignals));
  return shown;
}

std::vector<const CheckResult*> ShownResults(const EvidenceView& view) {
  std::vector<const CheckResult*> shown;
  for (const CheckResult* result : view.results()) {
    if (result->status() == CheckResult::FAIL && shown.size() < kResults) shown.push_back(result);
  }
  return shown;
}

absl::string_view StrengthWord(galen::v1::Strength strength) {
  if (strength == galen::v1::DECISIVE) return "decisive";
  return strength == galen::v1::STRONG ? "strong" : "weak";
}

// The file name of a path: the directories are private to the site.
std::string LastPart(absl::string_view path) {
  const std::size_t cut = path.rfind('/');
  return CleanText(cut == absl::string_view::npos ? path : path.substr(cut + 1), 60);
}

std::string EnvironmentLine(const galen::v1::Incident& incident) {
  std::vector<std::string> parts;
  const auto& environment = incident.environment();
  const auto add = [&](absl::string_view name, const std::string& value) {
    if (!value.empty()) parts.push_back(absl::StrCat(name, ": ", CleanText(value, 40)));
  };
  add("gpu", environment.gpu());
  add("driver", environment.driver());
  add("cuda", environment.cuda());
  add("nic", environment.nic());
  add("framework", incident.workload().framework());
  return absl::StrJoin(parts, "; ");
}

std::string ResultText(const knowledge::Knowledge& knowledge, const CheckResult& result) {
  std::vector<std::string> texts;
  std::size_t abnormal = 0;
  for (const Finding& finding : result.findings()) {
    if (!finding.abnormal()) continue;
    if (++abnormal <= kFindings) texts.push_back(Describe(knowledge, finding, result.node()));
  }
  if (texts.empty()) return result.message();
  if (abnormal > kFindings) texts.push_back(absl::StrCat(abnormal - kFindings, " more"));
  return absl::StrJoin(texts, "; ");
}

}  // namespace

std::string IncidentText(const galen::v1::Incident& incident, const galen::v1::Summary& summary) {
  std::string text =
      Section(TextKind::kPlain, {{"name", "report"}}, incident.description(), kDescription);
  if (const std::string line = EnvironmentLine(incident); !line.empty()) {
    absl::StrAppend(&text, Section(TextKind::kCode, {{"name", "environment"}}, line, kEnvironment));
  }
  int number = 0;
  for (const Signal* signal : ShownSignals(summary)) {
    absl::StrAppend(&text, Section(TextKind::kLog,
                                   {{"id", absl::StrCat("s", ++number)},
                                    {"of", LastPart(signal->source())},
                                    {"times", absl::StrCat(signal->count())},
                                    {"worth", std::string(StrengthWord(signal->strength()))}},
                                   signal->excerpt(), kExcerpt));
  }
  return text;
}

std::string EvidenceText(const knowledge::Knowledge& knowledge,
                         const galen::v1::EvidenceSet& evidence) {
  std::string text;
  const int skipped = std::max(0, evidence.feedback_size() - kFeedbacks);
  for (int i = skipped; i < evidence.feedback_size(); ++i) {
    absl::StrAppend(&text, Section(TextKind::kPlain, {{"name", "said later"}}, evidence.feedback(i),
                                   kFeedback));
  }
  const EvidenceView view(evidence);
  const std::vector<const CheckResult*> shown = ShownResults(view);
  int number = 0;
  for (const CheckResult* result : shown) {
    absl::StrAppend(&text, Section(TextKind::kFormula,
                                   {{"id", absl::StrCat("c", ++number)}, {"of", result->check()}},
                                   ResultText(knowledge, *result), kResult));
  }
  if (view.results().empty()) return text;
  int failed = 0;
  int passed = 0;
  for (const CheckResult* result : view.results()) {
    if (result->status() == CheckResult::FAIL) ++failed;
    if (result->status() == CheckResult::PASS) ++passed;
  }
  const int total = static_cast<int>(view.results().size());
  absl::StrAppend(&text, "Checks that failed: ", failed, ", ", shown.size(),
                  " of them shown; passed: ", passed, "; gave no answer: ", total - failed - passed,
                  ".\n");
  return text;
}

std::string CategoriesText(const knowledge::Knowledge& knowledge) {
  std::string text;
  for (const knowledge::v1::Label* label : knowledge.Children("")) {
    absl::StrAppend(
        &text, Section(TextKind::kRule, {{"name", label->label()}}, label->title(), kRuleText));
  }
  return text;
}

std::string ChoicesText(const google::protobuf::RepeatedPtrField<v1::Choice>& choices) {
  std::string text;
  for (const v1::Choice& choice : choices) {
    absl::StrAppend(
        &text, Section(TextKind::kRule, {{"name", choice.label()}}, choice.title(), kRuleText));
  }
  return text;
}

}  // namespace galen::reasoner::llm
