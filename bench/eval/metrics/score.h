#ifndef BENCH_EVAL_METRICS_SCORE_H_
#define BENCH_EVAL_METRICS_SCORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "galen/eval/v1/eval.pb.h"

namespace galen::eval {

// Hits and misses of labels, and what follows from them. A share of nothing is 0.
struct Counts {
  int true_positives = 0;
  int false_positives = 0;
  int false_negatives = 0;

  double Precision() const;
  double Recall() const;
  double F1() const;  // 2TP / (2TP + FP + FN)
};

enum class Verdict {
  kRight,
  kWrong,      // something was named that is not a cause, or not every cause
  kAbstained,  // there is a cause, and nothing was named
  kFailed,     // the case could not be diagnosed
};

// "right", "wrong", "abstained", "failed".
absl::string_view VerdictName(Verdict verdict);

// The outcome of one case.
struct CaseScore {
  Verdict verdict = Verdict::kWrong;
  // Labels that were named rightly (as the answer spells them), wrongly, and not at all.
  std::vector<std::string> hits;
  std::vector<std::string> wrong;
  std::vector<std::string> missed;
};

// Compares the causes that a report names, the primary one and the others, with the answer. A label
// of `labels_acceptable` counts as a true one. One of `labels_secondary` is wrong as the primary
// cause; beside a right one it counts neither way. A case without a cause, or with one outside the
// taxonomy, is right exactly when nothing is named. In a case that failed, every cause is missed.
// Pure.
CaseScore ScoreCase(const v1::Case& a_case, const v1::CaseResult& result);

// The same for the primary cause alone: other named causes count neither way, so that a case with
// several causes is right with one of them. Pure.
CaseScore ScorePrimary(const v1::Case& a_case, const v1::CaseResult& result);

// True when a leaf of the taxonomy names the cause.
inline bool HasCause(const v1::Case& a_case) {
  return !a_case.labels().empty() && !a_case.outside();
}

// "GPU" of "GPU.MEMORY.UNCORRECTABLE_ECC".
absl::string_view MainCategory(absl::string_view label);

// F1 over leaves of a set of cases.
struct F1Scores {
  int cases = 0;
  Counts micro;
  double macro = 0;  // mean of the leaves' F1 over every leaf that is true or named somewhere
  int leaves = 0;
};
F1Scores ScoreLeaves(absl::Span<const CaseScore* const> scores);
// The same as it is reported.
v1::LeafScores ToLeafScores(absl::Span<const CaseScore* const> scores);

// The interval with the middle 95 % of micro and of macro F1 over `draws` bootstrap samples of the
// cases (drawn with replacement; the percentile interval). The same seed gives the same interval.
// Zeros without cases. Pure.
struct Interval {
  double low = 0;
  double high = 0;
};
struct F1Intervals {
  Interval micro;
  Interval macro;
};
F1Intervals Resample(absl::Span<const CaseScore* const> scores, std::int64_t seed, int draws);

}  // namespace galen::eval

#endif  // BENCH_EVAL_METRICS_SCORE_H_
