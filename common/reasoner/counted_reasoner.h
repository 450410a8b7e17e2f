#ifndef COMMON_REASONER_COUNTED_REASONER_H_
#define COMMON_REASONER_COUNTED_REASONER_H_

#include <array>
#include <memory>

#include "common/observability/metrics/numbers.h"
#include "common/observability/metrics/registry.h"
#include "common/reasoner/reasoner.h"

namespace galen::reasoner {

// Counts questions by answering reasoner, and their durations. Thread-safe.
class ReasonerNumbers {
 public:
  enum Question {
    kSummarize,
    kRank,
    kScreen,
    kHistory,
    kPresume,
    kJudge,
    kCritique,
    kExplore,
    kConclude,
    kInvestigate,
    kQuestions
  };
  enum By { kRules, kModel, kNone, kBys };

  void Count(Question question, By by, absl::Duration took);
  std::vector<prometheus::MetricFamily> Collect() const;

 private:
  static constexpr std::array<double, 12> kBounds = {0.0005, 0.001, 0.005, 0.01, 0.05, 0.1,
                                                     0.5,    1,     5,     10,   30,   60};
  struct OfQuestion {
    std::array<metrics::Counter, kBys> calls;
    metrics::Times<kBounds.size()> times{kBounds};
  };
  std::array<OfQuestion, kQuestions> questions_;
};

// The numbers of this process; they live until it ends.
ReasonerNumbers& ProcessReasonerNumbers();
// As a collectable for the metrics registry of the process.
std::shared_ptr<const prometheus::Collectable> ProcessReasonerMetrics();

// Counts the answers of another reasoner. Both arguments must outlive it.
class CountedReasoner final : public Reasoner {
 public:
  CountedReasoner(const Reasoner& counted, ReasonerNumbers& numbers)
      : counted_(counted), numbers_(numbers) {}

  absl::string_view name() const override { return counted_.name(); }
  absl::StatusOr<v1::SummarizeAnswer> Summarize(const v1::SummarizeQuestion& question,
                                                absl::Time deadline) const override;
  absl::StatusOr<v1::RankAnswer> RankChildren(const v1::RankQuestion& question,
                                              absl::Time deadline) const override;
  absl::StatusOr<v1::ScreenAnswer> Screen(const v1::ScreenQuestion& question,
                                          absl::Time deadline) const override;
  absl::StatusOr<v1::HistoryAnswer> ProposeFromHistory(const v1::HistoryQuestion& question,
                                                       absl::Time deadline) const override;
  absl::StatusOr<v1::PresumeAnswer> Presume(const v1::PresumeQuestion& question,
                                            absl::Time deadline) const override;
  absl::StatusOr<v1::JudgeAnswer> Judge(const v1::JudgeQuestion& question,
                                        absl::Time deadline) const override;
  absl::StatusOr<v1::CritiqueAnswer> Critique(const v1::CritiqueQuestion& question,
                                              absl::Time deadline) const override;
  absl::StatusOr<v1::ExploreAnswer> Explore(const v1::ExploreQuestion& question,
                                            absl::Time deadline) const override;
  absl::StatusOr<v1::ConcludeAnswer> Conclude(const v1::ConcludeQuestion& question,
                                              absl::Time deadline) const override;
  bool investigates() const override { return counted_.investigates(); }
  absl::StatusOr<v1::InvestigateAnswer> Investigate(const v1::InvestigateQuestion& question,
                                                    absl::Time deadline) const override;

 private:
  const Reasoner& counted_;
  ReasonerNumbers& numbers_;
};

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_COUNTED_REASONER_H_
