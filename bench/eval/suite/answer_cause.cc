#include "bench/eval/suite/answer_cause.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/eval/corpus/leave_out.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "services/summarization/summarizer.h"

namespace galen::eval {
namespace {

constexpr absl::Duration kLongestQuestion = absl::Minutes(2);
// As docs/reasoner.md gives a presumption.
constexpr double kSimilarWeight = 4;
constexpr int kSimilarCauses = 20;

std::unique_ptr<const knowledge::Knowledge> WithoutIncidents(
    const knowledge::Knowledge& knowledge) {
  knowledge::v1::KnowledgeBase base = knowledge.base();
  base.clear_incidents();
  return std::make_unique<const knowledge::Knowledge>(std::move(base));
}

galen::v1::Incident IncidentFor(const std::string& text, const std::string& log) {
  galen::v1::Incident incident;
  incident.set_description(text);
  if (!log.empty()) {
    galen::v1::LogSource& source = *incident.add_logs();
    source.set_path("job.log");
    source.set_content(log);
  }
  return incident;
}

// The knowledge without the incidents that the question must not see: its own source, and
// near-duplicates.
std::shared_ptr<const knowledge::Knowledge> HistoryFor(
    const Question& question, const std::shared_ptr<const knowledge::Knowledge>& knowledge) {
  v1::Case a_case;
  a_case.set_id(question.id);
  a_case.set_source(question.source);
  a_case.set_description(question.text);
  knowledge::v1::KnowledgeBase kept;
  *kept.mutable_incidents() = knowledge->base().incidents();
  if (LeaveOut(a_case, question.text, {}, *kept.mutable_incidents()).empty()) return knowledge;
  knowledge::v1::KnowledgeBase base = knowledge->base();
  *base.mutable_incidents() = kept.incidents();
  return std::make_shared<const knowledge::Knowledge>(std::move(base));
}

}  // namespace

CauseAnswerer::CauseAnswerer(std::shared_ptr<const knowledge::Knowledge> knowledge,
                             const log_scan::Scanner& scanner,
                             std::optional<reasoner::llm::Model> model)
    : knowledge_(std::move(knowledge)),
      scanner_(scanner),
      model_(model),
      rules_(*knowledge_),
      bare_(WithoutIncidents(*knowledge_)),
      bare_rules_(*bare_) {}

absl::StatusOr<Answer> CauseAnswerer::Find(const Question& question,
                                           const Ablation& ablation) const {
  for (const std::string& choice : question.choices) {
    const knowledge::v1::Label* label = knowledge_->FindLabel(choice);
    if (label == nullptr || !knowledge::IsLeaf(*label)) {
      return absl::InvalidArgumentError(
          absl::StrCat("question ", question.id, ": choice ", choice,
                       " is no leaf of the taxonomy; name one, or give the knowledge that has it"));
    }
  }
  const absl::Time deadline = absl::Now() + kLongestQuestion;
  const galen::v1::Incident incident = IncidentFor(question.text, question.log);
  const SystemClock clock;
  const summarization::Summarizer summarizer(scanner_, bare_rules_, clock, {});
  summarization::v1::SummarizeRequest asked;
  *asked.mutable_incident() = incident;
  GALEN_ASSIGN_OR_RETURN(const summarization::v1::SummarizeResponse summary,
                         summarizer.Summarize(asked, deadline));
  galen::v1::EvidenceSet evidence;
  *evidence.mutable_summary() = summary.summary();

  reasoner::v1::RankQuestion order;
  for (const std::string& choice : question.choices) {
    const knowledge::v1::Label& label = *knowledge_->FindLabel(choice);
    reasoner::v1::Choice& offered = *order.add_choices();
    offered.set_label(choice);
    offered.set_title(label.title());
    offered.set_description(label.description());
    offered.set_leaf(true);
  }
  *order.mutable_incident() = incident;
  *order.mutable_evidence() = evidence;
  GALEN_ASSIGN_OR_RETURN(const reasoner::v1::RankAnswer ranked,
                         bare_rules_.RankChildren(order, deadline));
  std::map<std::string, double> beliefs;  // log-odds
  for (const auto& each : ranked.ranked()) {
    beliefs[each.label()] = std::log(std::max(each.probability(), 1e-6));
  }

  const std::shared_ptr<const knowledge::Knowledge> seen = HistoryFor(question, knowledge_);
  std::unique_ptr<const reasoner::BuiltinReasoner> own;
  if (seen != knowledge_) own = std::make_unique<const reasoner::BuiltinReasoner>(*seen);
  const reasoner::BuiltinReasoner& history = own != nullptr ? *own : rules_;
  if (ablation.retrieval) {
    reasoner::v1::HistoryQuestion similar;
    *similar.mutable_incident() = incident;
    *similar.mutable_evidence() = evidence;
    similar.set_max_causes(kSimilarCauses);
    GALEN_ASSIGN_OR_RETURN(const reasoner::v1::HistoryAnswer past,
                           history.ProposeFromHistory(similar, deadline));
    for (const auto& cause : past.causes()) {
      const auto belief = beliefs.find(cause.label());
      if (belief != beliefs.end()) belief->second += kSimilarWeight * cause.probability();
    }
  }
  std::string chosen = question.choices.front();
  for (const std::string& choice : question.choices) {
    if (beliefs[choice] > beliefs[chosen]) chosen = choice;
  }
  if (model_.has_value()) {
    const reasoner::BuiltinReasoner& rules = ablation.retrieval ? history : bare_rules_;
    const reasoner::llm::LlmReasoner with_model(*seen, rules, *model_);
    reasoner::v1::PresumeQuestion presume;
    *presume.mutable_choices() = order.choices();
    *presume.mutable_incident() = incident;
    *presume.mutable_evidence() = evidence;
    presume.set_max_causes(static_cast<int>(question.choices.size()));
    GALEN_ASSIGN_OR_RETURN(const reasoner::v1::PresumeAnswer presumed,
                           with_model.Presume(presume, deadline));
    if (presumed.has_reasoned() && presumed.reasoned().fallback() == galen::v1::Reasoned::NONE &&
        presumed.causes_size() > 0) {
      chosen = presumed.causes(0).label();
    }
  }
  Answer answer;
  answer.right = chosen == question.answer;
  answer.given = chosen;
  if (!answer.right) absl::StrAppend(&answer.given, "; right is ", question.answer);
  return answer;
}

}  // namespace galen::eval
