#ifndef SERVICES_ADVISOR_LEARNING_RUN_RECORD_H_
#define SERVICES_ADVISOR_LEARNING_RUN_RECORD_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace galen::advisor {

// Maximum number of followed signs (knowledge/advisor/buildup.yaml).
inline constexpr std::size_t kMostSigns = 16;
// For each sign 0: not seen, 1: seen, 2: strong, 3: extreme.
using Signs = std::array<std::uint8_t, kMostSigns>;

enum class Ending {
  kCompleted,
  kStopped,  // by who started it, or for reasons that are nobody's fault: what would have come is
             // not known
  kFailed,
};

// A part of a run in which the signs did not change.
struct Episode {
  double begin = 0;  // hours since the start
  double end = 0;
  Signs signs{};
};

// How a workload behaves on healthy machines, whatever its outcome: logarithms of the provider's
// measurements per GPU (power share, bytes sent, bytes of memory, host's share). Versions of an
// archetype are compared by it.
inline constexpr std::size_t kBehaviours = 4;
// No natural logarithm of a measurement is further from 0.
inline constexpr double kMostBehaviour = 100;

// A completed run. Everything is learned from these.
struct RunRecord {
  std::string archetype;  // token (signature.h)
  std::string stack;      // token
  std::string context;    // text (context.h)
  absl::Time start;
  std::int64_t gpus = 1;
  double planned_hours = 0;  // as requested; 0: unknown
  double hours = 0;          // as it lasted
  Ending ending = Ending::kCompleted;
  std::string node;  // of a failure: the machine that it is attributed to; "": unknown
  std::vector<std::string> nodes;  // all machines that it ran on, at most kMostNodes count
  std::vector<Episode> episodes;   // in order; none: no signs were followed
  bool behaviour_known = false;
  std::array<double, kBehaviours> behaviour{};
};
inline constexpr std::size_t kMostNodes = 4096;
inline constexpr std::size_t kMostEpisodes = 1024;

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_LEARNING_RUN_RECORD_H_
