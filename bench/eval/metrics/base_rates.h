#ifndef BENCH_EVAL_METRICS_BASE_RATES_H_
#define BENCH_EVAL_METRICS_BASE_RATES_H_

#include <string>
#include <vector>

#include "common/knowledge/knowledge.h"
#include "galen/eval/v1/eval.pb.h"

namespace galen::eval {

// How often each observation is seen in incidents with another cause, or without one, of cases
// whose results have `observed`. All functions are pure.
class BaseRates {
 public:
  // `results` are those of `cases`, in the same order. Keeps no reference.
  BaseRates(const knowledge::Knowledge& knowledge, const std::vector<v1::Case>& cases,
            const std::vector<v1::CaseResult>& results);

  // Of all cases, by name.
  std::vector<knowledge::v1::BaseRate> All() const;
  // Of the cases of another source than that one, by name.
  std::vector<knowledge::v1::BaseRate> Without(const v1::Case& a_case) const;

 private:
  // What one case adds.
  struct Share {
    std::string id;
    std::string source;  // its page; "" when none is named
    std::vector<v1::Observed> observed;
  };
  template <typename Counts>
  std::vector<knowledge::v1::BaseRate> Sum(const Counts& counts) const;

  std::vector<Share> shares_;
};

// A knowledge file with these rates.
std::string BaseRatesYaml(const std::vector<knowledge::v1::BaseRate>& rates);

}  // namespace galen::eval

#endif  // BENCH_EVAL_METRICS_BASE_RATES_H_
