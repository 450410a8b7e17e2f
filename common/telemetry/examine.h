#ifndef COMMON_TELEMETRY_EXAMINE_H_
#define COMMON_TELEMETRY_EXAMINE_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/series/peers.h"
#include "common/telemetry/discovery.h"
#include "common/telemetry/rules.h"
#include "common/telemetry/source.h"

namespace galen::telemetry {

// What the numbers of an incident's window say, in the words of the checks telemetry.* of the
// catalogue: which value is abnormal is for the catalogue to say.

struct Window {
  absl::Time start;
  absl::Time end;
  absl::Duration step = absl::Seconds(15);
  // A sample speaks for so long: four of the usual intervals between two.
  absl::Duration most_age = absl::Minutes(1);
};

// Nothing: it was looked for, and could not be told.
using Value = std::variant<std::monostate, bool, double, std::string>;

struct Observation {
  std::string finding;
  Place place;
  Value value;
  std::string why;  // of what is unknown; else what it rests on, where that helps
};

struct Examination {
  std::vector<Observation> observations;
  std::vector<Answer> answers;       // what was asked, when, of whom; without samples
  std::vector<std::string> remarks;  // ghosts, resets, what is incomplete
  bool complete = true;
};

// All: NOT_FOUND when the source has nothing to look at, which says nothing about the machines;
// INVALID_ARGUMENT the window; and the errors of a source.

struct GpuHealthOptions {
  // Phases of the clock that a GPU spends in other than its highest count as a drop when they last
  // so many points.
  std::size_t shortest = 4;
  // A value of a metric that is never constant, standing still for so many points while those of
  // others move, is a ghost.
  std::size_t ghost = 20;
};

// telemetry.gpu_health: clock_drop_pct (from the level that the GPU held before, or that its peers
// hold), temp_peak_c, power_spread_w. Stretches that a hung collector repeats are left out, and
// remarked on.
absl::StatusOr<Examination> ExamineGpuHealth(Source& source, const Rules& rules,
                                             const Window& window, const GpuHealthOptions& options,
                                             const Call& call);

// telemetry.ecc_rate: correctable_per_s, uncorrectable_delta, of each GPU. Growth within the window
// alone: what a counter stood at before says nothing.
absl::StatusOr<Examination> ExamineEccRate(Source& source, const Rules& rules, const Window& window,
                                           const Call& call);

// telemetry.retransmits: retransmit_rate of each port, outlier_host: the node whose ports' sum
// differs from that of its peers, or "none"; unknown with too few nodes to compare.
absl::StatusOr<Examination> ExamineRetransmits(Source& source, const Rules& rules,
                                               const Window& window,
                                               const series::PeerOptions& options,
                                               const Call& call);

// telemetry.link_events: flaps of each port: how often its link went down within the window.
absl::StatusOr<Examination> ExamineLinkEvents(Source& source, const Rules& rules,
                                              const Window& window, const Call& call);

// telemetry.step_time: slow_ratio of each rank (its median over that of the median rank),
// slow_rank: the one that peers tell apart, follows_node: the node that all slow ranks are on,
// decay_over_time: steps take longer and longer.
absl::StatusOr<Examination> ExamineStepTime(Source& source, const Rules& rules,
                                            const Window& window,
                                            const series::PeerOptions& options, const Call& call);

}  // namespace galen::telemetry

#endif  // COMMON_TELEMETRY_EXAMINE_H_
