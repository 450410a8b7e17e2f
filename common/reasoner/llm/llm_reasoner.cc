#include "common/reasoner/llm/llm_reasoner.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/lent_evidence.h"
#include "common/base/status_macros.h"
#include "common/reasoner/llm/case_text.h"
#include "common/reasoner/llm/forms.h"
#include "common/reasoner/llm/section.h"
#include "common/reasoner/retrieve.h"
#include "common/spending/spending.h"

namespace galen::reasoner::llm {
namespace {

using galen::v1::Reasoned;
using galen::v1::Verdict;

constexpr std::size_t kDraftBytes = 1200;
// A child that the rules give this share of belief is searched first whatever a model says.
constexpr double kSure = 0.7;
// Causes that are offered where a model may choose.
constexpr int kOfferedCauses = 5;
constexpr std::size_t kOfferedLeaves = 10;
// An open verdict below this is not worth a question.
constexpr double kWorthAWord = 0.2;

// Keeps the account of a question with its answer, but for one that was not needed.
template <typename Answer>
Answer With(Answer answer, const Reasoned& reasoned) {
  if (reasoned.fallback() != Reasoned::NOT_NEEDED) *answer.mutable_reasoned() = reasoned;
  return answer;
}

std::string DraftText(const Json& draft) {
  return Section(TextKind::kPlain, {{"name", "draft"}}, Dump(draft), kDraftBytes);
}

template <typename Causes>
void Keep(Causes& causes, int most) {
  if (causes.size() > most) causes.DeleteSubrange(most, causes.size() - most);
}

std::vector<const knowledge::v1::PastIncident*> Learned(const knowledge::Knowledge& knowledge) {
  std::vector<const knowledge::v1::PastIncident*> learned;
  for (const auto& incident : knowledge.base().incidents()) {
    if (incident.has_tenant_texts()) learned.push_back(&incident);
  }
  return learned;
}

}  // namespace

LlmReasoner::LlmReasoner(const knowledge::Knowledge& knowledge, const Reasoner& rules, Model model,
                         const retrieval::Store* confirmed)
    : knowledge_(knowledge),
      rules_(rules),
      confirmed_(confirmed),
      asker_(knowledge, model),
      history_(model.embedding == nullptr ? nullptr
                                          : std::make_unique<const EmbeddedHistory>(
                                                knowledge, *model.embedding, model.cancellation)),
      learned_(Learned(knowledge)),
      name_(absl::StrCat(rules.name(), " with ", asker_.ModelOf("conclude"))) {}

template <typename Q>
Asker::Question LlmReasoner::Begin(absl::string_view name, const Q& question,
                                   const galen::v1::EvidenceSet& evidence, Form form) const {
  Asker::Question asked;
  asked.name = std::string(name);
  asked.case_text = absl::StrCat(IncidentText(question.incident(), evidence.summary()),
                                 EvidenceText(knowledge_, evidence));
  asked.slots["draft"] = DraftText(form.draft);
  asked.schema = std::move(form.schema);
  asked.spending = question.spending();
  return asked;
}

template <typename Answer, typename Take>
Answer LlmReasoner::Taken(const Asker::Question& asked, Answer answer, Take take,
                          absl::Time deadline) const {
  const Reasoned reasoned = asker_.Ask(
      asked,
      [&](const Json& json) -> absl::Status {
        GALEN_ASSIGN_OR_RETURN(answer, take(json));
        return absl::OkStatus();
      },
      deadline);
  return With(std::move(answer), reasoned);
}

absl::StatusOr<v1::SummarizeAnswer> LlmReasoner::Summarize(const v1::SummarizeQuestion& question,
                                                           absl::Time deadline) const {
  GALEN_ASSIGN_OR_RETURN(v1::SummarizeAnswer draft, rules_.Summarize(question, deadline));
  std::set<std::string> categories;
  for (const auto* label : knowledge_.Children("")) categories.insert(label->label());
  galen::v1::EvidenceSet evidence;
  *evidence.mutable_summary() = question.found();
  return Taken(
      Begin("summarize", question, evidence, SummarizeForm(categories, draft)), draft,
      [&](const Json& json) { return TakeSummarize(json, categories); }, deadline);
}

absl::StatusOr<v1::RankAnswer> LlmReasoner::RankChildren(const v1::RankQuestion& question,
                                                         absl::Time deadline) const {
  GALEN_ASSIGN_OR_RETURN(v1::RankAnswer draft, rules_.RankChildren(question, deadline));
  google::protobuf::RepeatedPtrField<v1::Choice> open;
  double most = 0;
  for (const v1::RankAnswer::Ranked& ranked : draft.ranked()) {
    if (ranked.pruned()) continue;
    most = std::max(most, ranked.probability());
    for (const v1::Choice& choice : question.choices()) {
      if (choice.label() == ranked.label()) *open.Add() = choice;
    }
  }
  if (open.size() < 2 || most >= kSure) return draft;
  // Offered in an order that is not the draft's, so that the same choices read the same each time.
  std::sort(open.begin(), open.end(),
            [](const v1::Choice& a, const v1::Choice& b) { return a.label() < b.label(); });
  Asker::Question asked = Begin("rank", question, question.evidence(), RankForm(draft));
  asked.slots["choices"] = ChoicesText(open);
  return Taken(
      asked, draft, [&](const Json& json) { return TakeRank(json, draft); }, deadline);
}

absl::StatusOr<v1::HistoryAnswer> LlmReasoner::Past(const v1::HistoryQuestion& question,
                                                    absl::Time deadline) const {
  if (history_ == nullptr) return rules_.ProposeFromHistory(question, deadline);
  Reasoned embedded;
  const std::string query = QueryText(question.incident(), question.evidence());
  std::optional<std::vector<retrieval::Hit>> hits =
      history_->Search(query, kCandidates, question.spending(), deadline, embedded);
  v1::HistoryAnswer answer;
  if (hits.has_value()) {
    std::vector<retrieval::Hit> by_words = learned_.Search(query, question.tenant(), kCandidates);
    if (confirmed_ != nullptr) {
      for (retrieval::Hit& hit : SearchConfirmed(*confirmed_, query, kCandidates)) {
        by_words.push_back(std::move(hit));
      }
    }
    for (retrieval::Hit& hit : by_words) {
      const auto same = std::find_if(hits->begin(), hits->end(), [&](const retrieval::Hit& one) {
        return one.document.id == hit.document.id;
      });
      if (same == hits->end()) {
        hits->push_back(std::move(hit));
      } else if (same->similarity < hit.similarity) {
        *same = std::move(hit);
      }
    }
    if (!by_words.empty()) {
      std::stable_sort(hits->begin(), hits->end(),
                       [](const retrieval::Hit& a, const retrieval::Hit& b) {
                         return a.similarity > b.similarity;
                       });
    }
    answer = CausesOf(knowledge_, *std::move(hits), question);
  } else {
    GALEN_ASSIGN_OR_RETURN(answer, rules_.ProposeFromHistory(question, deadline));
  }
  if (embedded.fallback() != Reasoned::NOT_NEEDED) *answer.mutable_embedded() = embedded;
  return answer;
}

absl::StatusOr<v1::HistoryAnswer> LlmReasoner::ProposeFromHistory(
    const v1::HistoryQuestion& question, absl::Time deadline) const {
  const int wanted = std::max(question.max_causes(), 1);
  LentEvidence<v1::HistoryQuestion> wider(question.evidence());
  *wider->mutable_incident() = question.incident();
  wider->set_max_causes(std::max(wanted, kOfferedCauses));
  wider->set_tenant(question.tenant());
  *wider->mutable_spending() = question.spending();
  GALEN_ASSIGN_OR_RETURN(const v1::HistoryAnswer offered, Past(*wider, deadline));
  v1::HistoryAnswer answer = offered;
  Keep(*answer.mutable_causes(), wanted);
  if (offered.causes_size() <= 1) return answer;
  Asker::Question asked =
      Begin("history", question, question.evidence(), HistoryForm(offered, wanted));
  spending::Add(offered.embedded(), asked.spending);
  asked.slots["choices"] = ChoicesText(knowledge_, offered);
  answer = Taken(
      asked, std::move(answer),
      [&](const Json& json) { return TakeHistory(json, offered, wanted); }, deadline);
  if (offered.has_embedded()) *answer.mutable_embedded() = offered.embedded();
  return answer;
}

absl::StatusOr<v1::ScreenAnswer> LlmReasoner::Screen(const v1::ScreenQuestion& question,
                                                     absl::Time deadline) const {
  return rules_.Screen(question, deadline);
}

absl::StatusOr<v1::PresumeAnswer> LlmReasoner::Presume(const v1::PresumeQuestion& question,
                                                       absl::Time deadline) const {
  const int wanted = std::max(question.max_causes(), 1);
  LentEvidence<v1::PresumeQuestion> wider(question.evidence());
  *wider->mutable_incident() = question.incident();
  *wider->mutable_choices() = question.choices();
  wider->set_max_causes(std::max(wanted, static_cast<int>(kOfferedLeaves)));
  wider->set_tenant(question.tenant());
  GALEN_ASSIGN_OR_RETURN(const v1::PresumeAnswer offered, rules_.Presume(*wider, deadline));
  v1::PresumeAnswer answer = offered;
  Keep(*answer.mutable_causes(), wanted);
  if (offered.causes_size() <= 1) return answer;
  google::protobuf::RepeatedPtrField<v1::Choice> choices;
  for (const v1::PresumeAnswer::Cause& cause : offered.causes()) {
    for (const v1::Choice& choice : question.choices()) {
      if (choice.label() == cause.label()) *choices.Add() = choice;
    }
  }
  Asker::Question asked =
      Begin("presume", question, question.evidence(), PresumeForm(offered, wanted));
  asked.slots["choices"] = ChoicesText(choices);
  return Taken(
      asked, std::move(answer),
      [&](const Json& json) { return TakePresume(json, offered, wanted); }, deadline);
}

absl::StatusOr<v1::JudgeAnswer> LlmReasoner::Judge(const v1::JudgeQuestion& question,
                                                   absl::Time deadline) const {
  GALEN_ASSIGN_OR_RETURN(v1::JudgeAnswer answer, rules_.Judge(question, deadline));
  const Citable citable = ShownIds(question.evidence());
  if (citable.empty()) return answer;
  const std::string model = asker_.ModelOf("judge");
  galen::v1::Spending spending = question.spending();
  for (Verdict& verdict : *answer.mutable_verdicts()) {
    if (verdict.outcome() != Verdict::INCONCLUSIVE || verdict.probability() < kWorthAWord) continue;
    Asker::Question asked = Begin("judge", question, question.evidence(), JudgeForm(citable));
    asked.spending = spending;
    asked.slots["hypothesis"] = HypothesisText(knowledge_, verdict);
    const Verdict draft = verdict;
    const Reasoned reasoned = asker_.Ask(
        asked,
        [&](const Json& json) -> absl::Status {
          GALEN_ASSIGN_OR_RETURN(verdict, TakeJudge(json, draft, citable, model));
          return absl::OkStatus();
        },
        deadline);
    if (reasoned.fallback() == Reasoned::NOT_NEEDED) continue;
    spending::Add(reasoned, spending);
    *answer.add_reasoned() = reasoned;
  }
  return answer;
}

absl::StatusOr<v1::CritiqueAnswer> LlmReasoner::Critique(const v1::CritiqueQuestion& question,
                                                         absl::Time deadline) const {
  GALEN_ASSIGN_OR_RETURN(v1::CritiqueAnswer draft, rules_.Critique(question, deadline));
  // What may be tested besides: what the rules add, what a message points to, what history knows.
  std::set<std::string> judged;
  bool confirmed = false;
  for (const galen::v1::Hypothesis& each : question.judged()) {
    judged.insert(each.label());
    confirmed |= each.verdict().outcome() == Verdict::CONFIRMED;
  }
  std::vector<std::string> candidates(draft.labels().begin(), draft.labels().end());
  for (const galen::v1::Signal& signal : question.evidence().summary().signals()) {
    candidates.insert(candidates.end(), signal.labels().begin(), signal.labels().end());
  }
  LentEvidence<v1::HistoryQuestion> history(question.evidence());
  *history->mutable_incident() = question.incident();
  history->set_max_causes(kOfferedCauses);
  GALEN_ASSIGN_OR_RETURN(const v1::HistoryAnswer past,
                         rules_.ProposeFromHistory(*history, deadline));
  for (const v1::HistoryAnswer::Cause& cause : past.causes()) candidates.push_back(cause.label());
  std::set<std::string> choices;
  google::protobuf::RepeatedPtrField<v1::Choice> offered;
  for (const std::string& name : candidates) {
    const knowledge::v1::Label* const label = knowledge_.FindLabel(name);
    if (label == nullptr || !knowledge::IsLeaf(*label) || judged.count(name) > 0) continue;
    if (choices.size() == kOfferedLeaves || !choices.insert(name).second) continue;
    v1::Choice& choice = *offered.Add();
    choice.set_label(label->label());
    choice.set_title(label->title());
  }
  if (choices.empty() && (confirmed || question.judged().empty())) return draft;
  Asker::Question asked =
      Begin("critique", question, question.evidence(), CritiqueForm(draft, choices));
  asked.slots["judged"] = JudgedText(question.judged());
  asked.slots["choices"] = ChoicesText(offered);
  const std::string model = asker_.ModelOf("critique");
  return Taken(
      asked, draft, [&](const Json& json) { return TakeCritique(json, draft, choices, model); },
      deadline);
}

absl::StatusOr<v1::ExploreAnswer> LlmReasoner::Explore(const v1::ExploreQuestion& question,
                                                       absl::Time deadline) const {
  GALEN_ASSIGN_OR_RETURN(v1::ExploreAnswer draft, rules_.Explore(question, deadline));
  Asker::Question asked = Begin("explore", question, question.evidence(), ExploreForm());
  asked.slots["judged"] = JudgedText(question.judged());
  const std::string model = asker_.ModelOf("explore");
  return Taken(
      asked, draft, [&](const Json& json) { return TakeExplore(json, draft, model); }, deadline);
}

absl::StatusOr<v1::ConcludeAnswer> LlmReasoner::Conclude(const v1::ConcludeQuestion& question,
                                                         absl::Time deadline) const {
  GALEN_ASSIGN_OR_RETURN(v1::ConcludeAnswer draft, rules_.Conclude(question, deadline));
  if (draft.primary_label().empty()) return draft;
  const Citable citable = ShownIds(question.evidence());
  Asker::Question asked =
      Begin("conclude", question, question.evidence(), ConcludeForm(citable, draft));
  asked.slots["judged"] = JudgedText(question.judged());
  Summing summing;
  Reasoned reasoned = asker_.Ask(
      asked,
      [&](const Json& json) -> absl::Status {
        GALEN_ASSIGN_OR_RETURN(summing, TakeConclude(json, citable));
        return absl::OkStatus();
      },
      deadline);
  if (reasoned.fallback() == Reasoned::NONE) {
    galen::v1::ReasoningStep& step = *reasoned.add_steps();
    step.set_id(absl::StrCat("model/conclude/summary/",
                             question.spending().answered().count("conclude") > 0
                                 ? question.spending().answered().at("conclude") + 1
                                 : 1));
    step.set_kind(galen::v1::ReasoningStep::SUMMARY);
    step.set_text(summing.text);
    step.set_label(draft.primary_label());
    step.set_model(reasoned.model());
    for (const std::string& id : summing.evidence_ids) step.add_evidence_ids(id);
    if (reasoned.steps_size() > 1) step.add_parents(reasoned.steps(reasoned.steps_size() - 2).id());
  }
  return With(std::move(draft), reasoned);
}

}  // namespace galen::reasoner::llm
