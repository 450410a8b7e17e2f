#ifndef COMMON_REASONER_EXPECTED_BITS_H_
#define COMMON_REASONER_EXPECTED_BITS_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "common/knowledge/knowledge.h"

namespace galen::reasoner {

// The information about the causes that the reading of one source is expected to give. A leaf is
// its place in RuleIndex::leaves(). All functions are pure.

// Probability of each leaf, then that of "none of them"; all sum to 1.
using Shares = std::vector<double>;

// A possible observation, by its name, and the leaves that it would support.
struct MaySee {
  std::string text;
  double otherwise = 1;  // probability with another cause
  struct For {
    std::size_t leaf;
    double if_cause;
    double weight;
  };
  std::vector<For> leaves;

  // Adds a leaf; of two additions of one leaf the weightier counts.
  void Add(const For& added);
};

// One source to read on one machine, with all its possible observations.
struct Readable {
  std::string what;  // "nvidia-smi nvlink -s", "logs/*"; for a test: the check
  std::string node;
  std::vector<const knowledge::v1::Check*> checks;
  std::map<std::string, MaySee> signs;       // by name
  std::map<std::size_t, double> if_nothing;  // by leaf: log of odds if nothing is seen
};

// Scaled to a sum of 1.
Shares Normalized(Shares shares);

// The shares after the sign was seen, and after the reading showed nothing.
Shares AfterSign(const MaySee& sign, Shares shares);
Shares AfterNothing(const Readable& reading, Shares shares);

// The probability that the sign is seen.
double ProbabilityOf(const MaySee& sign, const Shares& shares);

// The most that the sign would raise the probability of a leaf.
double MostRaised(const MaySee& sign, const Shares& shares);

// The mutual information of the cause and the observation: one of the signs, or nothing. The
// probability of seeing nothing with a cause follows from the odds that nothing would subtract;
// otherwise a sign is seen, those of the cause by their own probability.
double ExpectedBits(const Readable& reading, const Shares& shares);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_EXPECTED_BITS_H_
