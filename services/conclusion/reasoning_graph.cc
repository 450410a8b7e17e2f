#include "services/conclusion/reasoning_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace galen::conclusion {
namespace {

using galen::v1::Hypothesis;
using galen::v1::ReasoningStep;
using galen::v1::Verdict;

constexpr absl::string_view kCritique = "critique";
constexpr absl::string_view kSummary = "summary";

ReasoningStep Step(std::string id, ReasoningStep::Kind kind, std::string text,
                   const std::string& label) {
  ReasoningStep step;
  step.set_id(std::move(id));
  step.set_kind(kind);
  step.set_text(std::move(text));
  step.set_label(label);
  return step;
}

absl::string_view Word(Verdict::Outcome outcome) {
  switch (outcome) {
    case Verdict::CONFIRMED:
      return "confirmed";
    case Verdict::REJECTED:
      return "rejected";
    default:
      return "undecided";
  }
}

ReasoningStep Verification(const Hypothesis& hypothesis, const std::string& proposition) {
  const Verdict& verdict = hypothesis.verdict();
  std::string text(Word(verdict.outcome()));
  if (verdict.reasons_size() > 0) absl::StrAppend(&text, ": ", verdict.reasons(0).text());
  if (verdict.reasons_size() == 0 && verdict.missing_size() > 0) {
    absl::StrAppend(&text, ", missing ", verdict.missing(0));
  }
  ReasoningStep step = Step(absl::StrCat("verification/", hypothesis.label()),
                            ReasoningStep::VERIFICATION, std::move(text), hypothesis.label());
  step.add_parents(proposition);
  std::set<std::string> seen;
  for (const auto& reason : verdict.reasons()) {
    for (const std::string& id : reason.evidence_ids()) {
      if (seen.insert(id).second) step.add_evidence_ids(id);
    }
  }
  return step;
}

// The question behind the hypotheses of that origin.
absl::string_view QuestionOf(Hypothesis::Origin origin) {
  switch (origin) {
    case Hypothesis::MODEL:
      return "investigate";
    case Hypothesis::DIRECT:
      return "presume";
    default:
      return "";
  }
}

}  // namespace

ModelSteps StepsByQuestion(
    const google::protobuf::RepeatedPtrField<galen::v1::Reasoned>& reasoned) {
  ModelSteps steps;
  for (const galen::v1::Reasoned& each : reasoned) {
    auto& of_question = steps[each.question()];
    of_question.insert(of_question.end(), each.steps().begin(), each.steps().end());
  }
  return steps;
}

std::vector<ReasoningStep> MakeReasoning(const v1::ConcludeRequest& request,
                                         const galen::v1::Report& report, const ModelSteps& model) {
  std::vector<ReasoningStep> steps;
  // Adds a model's steps for that question and returns its last step; "" if there is none.
  std::map<std::string, std::string> last_thought;
  const auto thought = [&](const std::string& question, const std::vector<std::string>& above) {
    const auto known = last_thought.find(question);
    if (known != last_thought.end()) return known->second;
    std::string last;
    if (const auto found = model.find(question); found != model.end()) {
      for (const ReasoningStep& step : found->second) {
        steps.push_back(step);
        if (step.parents().empty()) {
          for (const std::string& id : above) steps.back().add_parents(id);
        }
        last = step.id();
      }
    }
    last_thought[question] = last;
    return last;
  };
  std::vector<std::string> open;  // the basis of the summary
  std::set<std::string> verified;
  std::set<std::string> proposed;
  const auto add = [&](const Hypothesis& hypothesis, absl::string_view parent) {
    if (!proposed.insert(hypothesis.label()).second) return;
    const std::string id = absl::StrCat("proposition/", hypothesis.label());
    std::string asked;
    if (parent.empty()) asked = thought(std::string(QuestionOf(hypothesis.origin())), {});
    ReasoningStep& proposition = steps.emplace_back(
        Step(id, ReasoningStep::PROPOSITION, hypothesis.reason(), hypothesis.label()));
    if (!parent.empty()) proposition.add_parents(std::string(parent));
    if (!asked.empty()) proposition.add_parents(asked);
    if (!hypothesis.has_verdict()) {
      open.push_back(id);
      return;
    }
    steps.push_back(Verification(hypothesis, id));
    open.push_back(steps.back().id());
    verified.insert(hypothesis.label());
  };
  for (const Hypothesis& each : request.hypotheses()) {
    if (each.origin() != Hypothesis::CRITIQUE) add(each, "");
  }
  const bool criticised =
      std::any_of(request.hypotheses().begin(), request.hypotheses().end(),
                  [](const Hypothesis& each) { return each.origin() == Hypothesis::CRITIQUE; });
  if (criticised) {
    ReasoningStep& critique = steps.emplace_back(
        Step(std::string(kCritique), ReasoningStep::CRITIQUE,
             "evidence that no confirmed cause explains points to causes not tested yet", ""));
    for (const std::string& id : open) critique.add_parents(id);
    for (const Hypothesis& each : request.hypotheses()) {
      if (each.origin() == Hypothesis::CRITIQUE) add(each, kCritique);
    }
  }
  for (const galen::v1::Cause& effect : report.secondary_effects()) {
    ReasoningStep& refinement =
        steps.emplace_back(Step(absl::StrCat("refinement/", effect.label()),
                                ReasoningStep::REFINEMENT, effect.explanation(), effect.label()));
    for (const std::string& label : {effect.explained_by(), effect.label()}) {
      if (verified.contains(label)) refinement.add_parents(absl::StrCat("verification/", label));
    }
    *refinement.mutable_evidence_ids() = effect.evidence_ids();
    open.push_back(refinement.id());
  }
  // An investigation that confirmed nothing.
  if (last_thought.count("investigate") == 0) {
    if (const std::string last = thought("investigate", open); !last.empty()) open.push_back(last);
  }
  const galen::v1::Cause& named =
      report.has_primary_cause() ? report.primary_cause() : report.presumed_cause();
  ReasoningStep& summary = steps.emplace_back(
      Step(std::string(kSummary), ReasoningStep::SUMMARY, report.headline(), named.label()));
  for (const std::string& id : open) summary.add_parents(id);
  *summary.mutable_evidence_ids() = named.evidence_ids();
  return steps;
}

}  // namespace galen::conclusion
