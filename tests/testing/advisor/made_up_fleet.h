#ifndef TESTS_TESTING_ADVISOR_MADE_UP_FLEET_H_
#define TESTS_TESTING_ADVISOR_MADE_UP_FLEET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/advisor/learning/run_record.h"

namespace galen::testing {

struct FleetShape {
  std::size_t archetypes = 8;
  std::size_t stacks = 4;  // of each archetype; two of them behave alike
  std::size_t contexts = 8;
  std::size_t nodes = 400;
  // Workloads (archetype and stack) that fail more on one context than both explain, and by what
  // factor.
  std::size_t mismatches = 0;
  double mismatch_factor = 5;
  // Signs that precede failures, of the kSigns that are followed, and the factor of a level.
  std::size_t build_ups = 0;
  double build_up_factor = 3;
  std::size_t lemons = 0;  // nodes that fail `lemon_factor` times as often
  double lemon_factor = 25;
};

// Recorded runs of a synthetic fleet. Even if nothing is planted:
// - archetypes, versions, contexts, numbers of GPUs and months fail with rates of their own (by up
//   to a factor of 3 each), and all of these multiply: so a frequent failure is not a mismatch by
//   itself;
// - which workload runs where, how large and when is far from even, so that rates that are not
// matched would mislead;
// - signs come and go, some on some contexts more than on others, and raise nothing;
// - a fifth of the runs is stopped by its owner.
// The numbers are ours, not measured. Equal shapes and seeds give equal fleets.
class MadeUpFleet {
 public:
  static constexpr std::size_t kSigns = 8;

  MadeUpFleet(const FleetShape& shape, std::uint64_t seed);
  advisor::RunRecord Next();

  struct Planted {
    std::size_t archetype;
    std::size_t stack;
    std::size_t context;
  };
  const std::vector<Planted>& mismatches() const { return mismatches_; }
  const std::set<std::size_t>& build_ups() const { return build_ups_; }
  const std::set<std::string>& lemons() const { return lemons_; }
  static std::string Archetype(std::size_t i);
  static std::string Stack(std::size_t i);
  static std::string Context(std::size_t i);

 private:
  double Uniform() { return std::uniform_real_distribution<double>()(random_); }
  std::size_t Pick(const std::vector<double>& weights);

  const FleetShape shape_;
  std::mt19937_64 random_;
  std::vector<double> archetype_rate_, context_rate_, month_rate_, scale_rate_;
  std::vector<std::vector<double>> stack_rate_, context_weights_, stack_weights_;
  std::vector<std::vector<double>> sign_rate_;  // by context
  std::vector<std::string> nodes_;
  std::vector<Planted> mismatches_;
  std::set<std::size_t> build_ups_;
  std::set<std::string> lemons_;
};

}  // namespace galen::testing

#endif  // TESTS_TESTING_ADVISOR_MADE_UP_FLEET_H_
