#ifndef BENCH_EVAL_SUITE_ABLATION_H_
#define BENCH_EVAL_SUITE_ABLATION_H_

#include <string>

namespace galen::eval {

// The parts of the method that are enabled; bench/eval/suite/README.md explains each part for each
// metric.
struct Ablation {
  std::string name = "all";
  bool retrieval = true;  // past incidents, the catalogue of checks
  bool diagram = true;    // propositions are criticised and refined (Diagram of Thought)
  bool selfplay = true;   // the answer is reviewed once by its author
};

// The result of one question.
struct Answer {
  bool right = false;
  std::string given;  // for people: the answer, and for a wrong one also the right one
};

}  // namespace galen::eval

#endif  // BENCH_EVAL_SUITE_ABLATION_H_
