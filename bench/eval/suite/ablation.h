#ifndef BENCH_EVAL_SUITE_ABLATION_H_
#define BENCH_EVAL_SUITE_ABLATION_H_

#include <string>

namespace galen::eval {

// Which parts of the method answer; bench/eval/suite/README.md says what each is in each metric.
struct Ablation {
  std::string name = "all";
  bool retrieval = true;  // past incidents, the catalogue of checks
  bool diagram = true;    // propositions are criticised and refined (Diagram of Thought)
  bool selfplay = true;   // the answer is looked at once more by whoever gave it
};

// What came of one question.
struct Answer {
  bool right = false;
  std::string given;  // for people: what was answered, and for a wrong one what was right
};

}  // namespace galen::eval

#endif  // BENCH_EVAL_SUITE_ABLATION_H_
