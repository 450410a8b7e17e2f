#include "bench/eval/metrics/dialogue.h"

#include <algorithm>

#include "bench/eval/metrics/score.h"

namespace galen::eval {
namespace {

constexpr int kRounds = 2;

bool IsConfirmed(const v1::DialogueRound& round) {
  return round.has_primary() && !round.primary().presumed();
}

bool IsRight(const v1::Case& a_case, const v1::DialogueRound& round) {
  v1::CaseResult result;
  *result.mutable_primary() = round.primary();
  return IsConfirmed(round) && ScorePrimary(a_case, result).verdict == Verdict::kRight;
}

}  // namespace

v1::DialogueScores ScoreDialogue(const std::vector<v1::Case>& cases,
                                 const std::vector<v1::CaseResult>& results) {
  v1::DialogueScores scores;
  for (int i = 0; i < kRounds; ++i) {
    scores.add_solved(0);
    scores.add_wrong(0);
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto& rounds = results[i].rounds();
    if (rounds.empty()) continue;
    scores.set_cases(scores.cases() + 1);
    if (IsConfirmed(rounds[0])) continue;
    scores.set_open(scores.open() + 1);
    for (const v1::DialogueRound& round : rounds) {
      scores.set_questions(scores.questions() + round.asked_size());
      scores.set_answered(scores.answered() + round.answered());
    }
    for (int number = 0; number < kRounds; ++number) {
      // A confirmed diagnosis asks no more questions: its last round also counts for the later
      // ones.
      const v1::DialogueRound& stands = rounds[std::min(number + 1, rounds.size() - 1)];
      if (!IsConfirmed(stands)) continue;
      if (IsRight(cases[i], stands)) {
        scores.set_solved(number, scores.solved(number) + 1);
      } else {
        scores.set_wrong(number, scores.wrong(number) + 1);
      }
    }
  }
  return scores;
}

}  // namespace galen::eval
