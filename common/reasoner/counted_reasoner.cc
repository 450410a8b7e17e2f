#include "common/reasoner/counted_reasoner.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/time/clock.h"

namespace galen::reasoner {
namespace {

constexpr std::array<absl::string_view, ReasonerNumbers::kQuestions> kQuestionNames = {
    "summarize", "rank",     "screen",  "history",  "presume",
    "judge",     "critique", "explore", "conclude", "investigate"};
constexpr std::array<absl::string_view, ReasonerNumbers::kBys> kByNames = {"rules", "model",
                                                                           "none"};

// A model counts as the answerer if it was asked and its answer was accepted.
template <typename Answer>
ReasonerNumbers::By ByOf(const absl::StatusOr<Answer>& answer) {
  if (!answer.ok()) return ReasonerNumbers::kNone;
  return answer->has_reasoned() && answer->reasoned().fallback() == galen::v1::Reasoned::NONE
             ? ReasonerNumbers::kModel
             : ReasonerNumbers::kRules;
}
// These questions never go to a model.
ReasonerNumbers::By ByOf(const absl::StatusOr<v1::SummarizeAnswer>& answer) {
  return answer.ok() ? ReasonerNumbers::kRules : ReasonerNumbers::kNone;
}
ReasonerNumbers::By ByOf(const absl::StatusOr<v1::ScreenAnswer>& answer) {
  return answer.ok() ? ReasonerNumbers::kRules : ReasonerNumbers::kNone;
}
ReasonerNumbers::By ByOf(const absl::StatusOr<v1::JudgeAnswer>& answer) {
  return answer.ok() ? ReasonerNumbers::kRules : ReasonerNumbers::kNone;
}

template <typename Ask>
auto Counted(ReasonerNumbers& numbers, ReasonerNumbers::Question question, Ask ask) {
  const absl::Time begun = absl::Now();
  auto answer = ask();
  numbers.Count(question, ByOf(answer), absl::Now() - begun);
  return answer;
}

}  // namespace

void ReasonerNumbers::Count(Question question, By by, absl::Duration took) {
  OfQuestion& numbers = questions_[question];
  numbers.calls[by].Add();
  numbers.times.Add(took);
}

std::vector<prometheus::MetricFamily> ReasonerNumbers::Collect() const {
  prometheus::MetricFamily calls = metrics::FamilyOf(metrics::kReasonerCalls);
  prometheus::MetricFamily seconds = metrics::FamilyOf(metrics::kReasonerSeconds);
  for (std::size_t question = 0; question < kQuestions; ++question) {
    const OfQuestion& numbers = questions_[question];
    std::uint64_t all = 0;
    for (const metrics::Counter& counter : numbers.calls) all += counter.value();
    if (all == 0) continue;  // a question of another service
    for (std::size_t by = 0; by < kBys; ++by) {
      metrics::AddTo(calls, {{"question", kQuestionNames[question]}, {"by", kByNames[by]}},
                     static_cast<double>(numbers.calls[by].value()));
    }
    metrics::AddTo(seconds, {{"question", kQuestionNames[question]}}, numbers.times.Copy());
  }
  return {std::move(calls), std::move(seconds)};
}

ReasonerNumbers& ProcessReasonerNumbers() {
  static ReasonerNumbers& numbers = *new ReasonerNumbers();
  return numbers;
}

std::shared_ptr<const prometheus::Collectable> ProcessReasonerMetrics() {
  return metrics::SourceOf([] { return ProcessReasonerNumbers().Collect(); });
}

absl::StatusOr<v1::SummarizeAnswer> CountedReasoner::Summarize(
    const v1::SummarizeQuestion& question, absl::Time deadline) const {
  return Counted(numbers_, ReasonerNumbers::kSummarize,
                 [&] { return counted_.Summarize(question, deadline); });
}

absl::StatusOr<v1::RankAnswer> CountedReasoner::RankChildren(const v1::RankQuestion& question,
                                                             absl::Time deadline) const {
  return Counted(numbers_, ReasonerNumbers::kRank,
                 [&] { return counted_.RankChildren(question, deadline); });
}

absl::StatusOr<v1::ScreenAnswer> CountedReasoner::Screen(const v1::ScreenQuestion& question,
                                                         absl::Time deadline) const {
  return Counted(numbers_, ReasonerNumbers::kScreen,
                 [&] { return counted_.Screen(question, deadline); });
}

absl::StatusOr<v1::HistoryAnswer> CountedReasoner::ProposeFromHistory(
    const v1::HistoryQuestion& question, absl::Time deadline) const {
  return Counted(numbers_, ReasonerNumbers::kHistory,
                 [&] { return counted_.ProposeFromHistory(question, deadline); });
}

absl::StatusOr<v1::PresumeAnswer> CountedReasoner::Presume(const v1::PresumeQuestion& question,
                                                           absl::Time deadline) const {
  return Counted(numbers_, ReasonerNumbers::kPresume,
                 [&] { return counted_.Presume(question, deadline); });
}

absl::StatusOr<v1::JudgeAnswer> CountedReasoner::Judge(const v1::JudgeQuestion& question,
                                                       absl::Time deadline) const {
  return Counted(numbers_, ReasonerNumbers::kJudge,
                 [&] { return counted_.Judge(question, deadline); });
}

absl::StatusOr<v1::CritiqueAnswer> CountedReasoner::Critique(const v1::CritiqueQuestion& question,
                                                             absl::Time deadline) const {
  return Counted(numbers_, ReasonerNumbers::kCritique,
                 [&] { return counted_.Critique(question, deadline); });
}

absl::StatusOr<v1::ExploreAnswer> CountedReasoner::Explore(const v1::ExploreQuestion& question,
                                                           absl::Time deadline) const {
  return Counted(numbers_, ReasonerNumbers::kExplore,
                 [&] { return counted_.Explore(question, deadline); });
}

absl::StatusOr<v1::ConcludeAnswer> CountedReasoner::Conclude(const v1::ConcludeQuestion& question,
                                                             absl::Time deadline) const {
  return Counted(numbers_, ReasonerNumbers::kConclude,
                 [&] { return counted_.Conclude(question, deadline); });
}

absl::StatusOr<v1::InvestigateAnswer> CountedReasoner::Investigate(
    const v1::InvestigateQuestion& question, absl::Time deadline) const {
  return Counted(numbers_, ReasonerNumbers::kInvestigate,
                 [&] { return counted_.Investigate(question, deadline); });
}

}  // namespace galen::reasoner
