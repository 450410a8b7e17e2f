#ifndef TESTS_SCENARIOS_STUDIES_H_
#define TESTS_SCENARIOS_STUDIES_H_

#include <optional>
#include <string>

#include "tests/scenarios/plan.h"

namespace galen::scenarios {

// Anomalies that are harmless. Each takes a node of its own, which is cleared.
struct Decoys {
  bool hot_node = false;                          // higher temperatures, steady
  bool warm_gpu = false;                          // of one GPU
  bool old_port = false;                          // a counter that once rose, and rests
  std::optional<Span> congestion = std::nullopt;  // CNPs, everywhere
};
void AddDecoys(Plan& plan, Random rng, const Decoys& decoys);

// The studies of single machines and of storage, and where nothing is wrong. False: no such one.
bool DisturbMachine(const std::string& study, Plan& plan);

}  // namespace galen::scenarios

#endif  // TESTS_SCENARIOS_STUDIES_H_
