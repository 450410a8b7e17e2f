#include "common/reasoner/llm/llm_reasoner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/borrowed_evidence.h"
#include "common/base/status_macros.h"
#include "common/reasoner/llm/case_text.h"
#include "common/reasoner/llm/forms.h"
#include "common/reasoner/llm/section.h"
#include "common/reasoner/retrieve.h"

namespace galen::reasoner::llm {
namespace {

using galen::v1::Reasoned;

constexpr std::size_t kDraftBytes = 1200;
// Number of causes offered to a model.
constexpr std::size_t kOfferedLeaves = 24;

// Stores the account of a question in its answer, unless the model was not needed.
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
                         const incident_history::Store* confirmed)
    : knowledge_(knowledge),
      rules_(rules),
      confirmed_(confirmed),
      asker_(knowledge, model),
      investigator_(knowledge, rules, asker_),
      history_(model.embedding == nullptr ? nullptr
                                          : std::make_unique<const EmbeddedHistory>(
                                                knowledge, *model.embedding, model.cancellation)),
      learned_(Learned(knowledge)),
      name_(absl::StrCat(rules.name(), " with ", asker_.ModelOf("investigate"))) {}

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
  return rules_.Summarize(question, deadline);
}

absl::StatusOr<v1::RankAnswer> LlmReasoner::RankChildren(const v1::RankQuestion& question,
                                                         absl::Time deadline) const {
  return rules_.RankChildren(question, deadline);
}

absl::StatusOr<v1::HistoryAnswer> LlmReasoner::Past(const v1::HistoryQuestion& question,
                                                    absl::Time deadline) const {
  if (history_ == nullptr) return rules_.ProposeFromHistory(question, deadline);
  Reasoned embedded;
  std::string query = QueryText(question.incident(), question.evidence());
  if (asker_.redactor() != nullptr) {
    std::map<std::string, int> counts;
    query = asker_.redactor()->Redact(query, counts);
  }
  std::optional<std::vector<incident_history::Hit>> hits =
      history_->Search(query, kCandidates, question.spending(), deadline, embedded);
  v1::HistoryAnswer answer;
  if (hits.has_value()) {
    std::vector<incident_history::Hit> by_words =
        learned_.Search(query, question.tenant(), kCandidates);
    if (confirmed_ != nullptr) {
      for (incident_history::Hit& hit : SearchConfirmed(*confirmed_, query, kCandidates).hits) {
        by_words.push_back(std::move(hit));
      }
    }
    for (incident_history::Hit& hit : by_words) {
      const auto same = std::find_if(
          hits->begin(), hits->end(),
          [&](const incident_history::Hit& one) { return one.document.id == hit.document.id; });
      if (same == hits->end()) {
        hits->push_back(std::move(hit));
      } else if (same->similarity < hit.similarity) {
        *same = std::move(hit);
      }
    }
    if (!by_words.empty()) {
      std::stable_sort(hits->begin(), hits->end(),
                       [](const incident_history::Hit& a, const incident_history::Hit& b) {
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
  return Past(question, deadline);
}

absl::StatusOr<v1::ScreenAnswer> LlmReasoner::Screen(const v1::ScreenQuestion& question,
                                                     absl::Time deadline) const {
  return rules_.Screen(question, deadline);
}

absl::StatusOr<v1::PresumeAnswer> LlmReasoner::Presume(const v1::PresumeQuestion& question,
                                                       absl::Time deadline) const {
  const int wanted = std::max(question.max_causes(), 1);
  BorrowedEvidence<v1::PresumeQuestion> wider(question.evidence());
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
  return rules_.Judge(question, deadline);
}

absl::StatusOr<v1::CritiqueAnswer> LlmReasoner::Critique(const v1::CritiqueQuestion& question,
                                                         absl::Time deadline) const {
  return rules_.Critique(question, deadline);
}

absl::StatusOr<v1::ExploreAnswer> LlmReasoner::Explore(const v1::ExploreQuestion& question,
                                                       absl::Time deadline) const {
  return rules_.Explore(question, deadline);
}

absl::StatusOr<v1::ConcludeAnswer> LlmReasoner::Conclude(const v1::ConcludeQuestion& question,
                                                         absl::Time deadline) const {
  return rules_.Conclude(question, deadline);
}

absl::StatusOr<v1::InvestigateAnswer> LlmReasoner::Investigate(
    const v1::InvestigateQuestion& question, absl::Time deadline) const {
  return investigator_.Take(question, deadline);
}

}  // namespace galen::reasoner::llm
