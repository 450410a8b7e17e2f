#ifndef TESTS_TESTING_REASONER_FAKE_REASONER_H_
#define TESTS_TESTING_REASONER_FAKE_REASONER_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "common/reasoner/reasoner.h"

namespace galen::testing {

// A reasoner that gives the answers that the test sets, for any question; Judge by label, with an
// empty verdict on the label for others. Keeps the last question of each kind.
class FakeReasoner final : public reasoner::Reasoner {
 public:
  absl::string_view name() const override { return "fake"; }

  absl::StatusOr<reasoner::v1::SummarizeAnswer> Summarize(const reasoner::v1::SummarizeQuestion&,
                                                          absl::Time) const override {
    return summarize;
  }
  absl::StatusOr<reasoner::v1::RankAnswer> RankChildren(const reasoner::v1::RankQuestion& question,
                                                        absl::Time) const override {
    last_rank = question;
    return rank;
  }
  absl::StatusOr<reasoner::v1::ScreenAnswer> Screen(const reasoner::v1::ScreenQuestion& question,
                                                    absl::Time) const override {
    last_screen = question;
    return screen;
  }
  absl::StatusOr<reasoner::v1::HistoryAnswer> ProposeFromHistory(
      const reasoner::v1::HistoryQuestion& question, absl::Time) const override {
    last_history = question;
    return history;
  }
  absl::StatusOr<reasoner::v1::PresumeAnswer> Presume(const reasoner::v1::PresumeQuestion& question,
                                                      absl::Time) const override {
    last_presume = question;
    return presume;
  }
  absl::StatusOr<reasoner::v1::JudgeAnswer> Judge(const reasoner::v1::JudgeQuestion& question,
                                                  absl::Time) const override {
    reasoner::v1::JudgeAnswer answer;
    for (const std::string& label : question.labels()) {
      galen::v1::Verdict& verdict = *answer.add_verdicts();
      verdict.set_label(label);
      const auto it = verdicts.find(label);
      if (it == verdicts.end()) continue;
      if (!it->second.ok()) return it->second.status();
      verdict = *it->second;
    }
    return answer;
  }
  absl::StatusOr<reasoner::v1::CritiqueAnswer> Critique(const reasoner::v1::CritiqueQuestion&,
                                                        absl::Time) const override {
    return critique;
  }
  absl::StatusOr<reasoner::v1::ExploreAnswer> Explore(const reasoner::v1::ExploreQuestion&,
                                                      absl::Time) const override {
    return explore;
  }
  absl::StatusOr<reasoner::v1::ConcludeAnswer> Conclude(const reasoner::v1::ConcludeQuestion&,
                                                        absl::Time) const override {
    return conclude;
  }

  absl::StatusOr<reasoner::v1::SummarizeAnswer> summarize = reasoner::v1::SummarizeAnswer();
  absl::StatusOr<reasoner::v1::RankAnswer> rank = reasoner::v1::RankAnswer();
  absl::StatusOr<reasoner::v1::ScreenAnswer> screen = reasoner::v1::ScreenAnswer();
  absl::StatusOr<reasoner::v1::HistoryAnswer> history = reasoner::v1::HistoryAnswer();
  absl::StatusOr<reasoner::v1::PresumeAnswer> presume = reasoner::v1::PresumeAnswer();
  std::map<std::string, absl::StatusOr<galen::v1::Verdict>> verdicts;
  absl::StatusOr<reasoner::v1::CritiqueAnswer> critique = reasoner::v1::CritiqueAnswer();
  absl::StatusOr<reasoner::v1::ExploreAnswer> explore = reasoner::v1::ExploreAnswer();
  absl::StatusOr<reasoner::v1::ConcludeAnswer> conclude = reasoner::v1::ConcludeAnswer();

  mutable reasoner::v1::RankQuestion last_rank;
  mutable reasoner::v1::ScreenQuestion last_screen;
  mutable reasoner::v1::HistoryQuestion last_history;
  mutable reasoner::v1::PresumeQuestion last_presume;
};

}  // namespace galen::testing

#endif  // TESTS_TESTING_REASONER_FAKE_REASONER_H_
