#ifndef SERVICES_CLI_EVAL_METRICS_SCORE_H_
#define SERVICES_CLI_EVAL_METRICS_SCORE_H_

#include <map>
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
  kWrong,      // something was confirmed that is not the cause
  kAbstained,  // there is a cause, and nothing was confirmed
};

// How one case came out.
struct CaseScore {
  Verdict verdict = Verdict::kWrong;
  // Labels that were named rightly (as the answer spells them), wrongly, and not at all.
  std::vector<std::string> hits;
  std::vector<std::string> wrong;
  std::vector<std::string> missed;
};

// Scores the causes that a report names against the answer: the primary one and those beside it.
// A label of `labels_acceptable` stands for a true one. One of `labels_secondary` is wrong as the
// primary cause; beside a right one it counts neither way. A case without a cause, or with one that
// no `known_leaf` names, is right exactly when nothing is confirmed. A case that failed with an
// error counts as nothing confirmed, and is never right. Pure.
CaseScore ScoreCase(const v1::Case& a_case, const v1::CaseResult& result);

// True when there is nothing to find.
inline bool HasNoCause(const v1::Case& a_case) { return a_case.labels().empty(); }

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

}  // namespace galen::eval

#endif  // SERVICES_CLI_EVAL_METRICS_SCORE_H_
