#ifndef BENCH_EVAL_METRICS_BASE_RATES_H_
#define BENCH_EVAL_METRICS_BASE_RATES_H_

#include <string>
#include <vector>

#include "common/knowledge/knowledge.h"
#include "galen/eval/v1/eval.pb.h"

namespace galen::eval {

// The frequency of each observation in incidents with another cause or without one, over the cases
// whose results have `observed`. All functions are pure.
class BaseRates {
 public:
  // `results` are those of `cases`, in the same order. Keeps no reference.
  BaseRates(const knowledge::Knowledge& knowledge, const std::vector<v1::Case>& cases,
            const std::vector<v1::CaseResult>& results);

  // The rates over all cases, by name.
  std::vector<knowledge::v1::BaseRate> All() const;
  // The rates over the cases from other sources than that case's, by name.
  std::vector<knowledge::v1::BaseRate> Without(const v1::Case& a_case) const;

 private:
  // The contribution of one case.
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
