#ifndef SERVICES_ADVISOR_LEARNING_LEARNER_H_
#define SERVICES_ADVISOR_LEARNING_LEARNER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "services/advisor/learning/faults.h"
#include "services/advisor/learning/life_counts.h"
#include "services/advisor/learning/matched_pairs.h"
#include "services/advisor/learning/proportional_hazards.h"
#include "services/advisor/learning/run_record.h"
#include "services/advisor/learning/versions_alike.h"

// Learns from recorded runs, in one pass and bounded memory.
namespace galen::advisor {

// Numbers for texts, from 0, as many as there is room for.
class Names {
 public:
  explicit Names(std::size_t most) : most_(most) {}
  // Nothing if the text is new and there is no room.
  std::optional<std::uint32_t> Number(absl::string_view text);
  std::optional<std::uint32_t> Find(absl::string_view text) const;
  // Whether Number() would return one.
  bool HasRoomFor(absl::string_view text) const {
    return texts_.size() < most_ || numbers_.contains(text);
  }
  const std::string& Text(std::uint32_t number) const { return texts_[number]; }
  std::size_t size() const { return texts_.size(); }

 private:
  const std::size_t most_;
  absl::flat_hash_map<std::string, std::uint32_t> numbers_;
  std::vector<std::string> texts_;
};

// A combination that fails more than its parts explain: one of an archetype and a context, however
// many versions of the archetype carry it.
struct LearnedMismatch {
  // Depends only on archetype and context, so that it is the same whenever it is learned, from
  // whatever versions: a revoked pattern does not warn again when more runs show another version.
  std::string id;
  std::string archetype;
  std::vector<std::string> stacks;  // the versions that carry it, sorted
  std::string context;
  Mismatch evidence;  // of the version, or the versions together, that show it most clearly
};

struct LearnedBuildUp {
  std::string id;
  std::size_t sign = 0;
  HazardModel::Sign evidence;
};

// The machines of a run in the model of the hazard: the number of their context, and how many.
std::uint32_t MachinesOf(std::uint32_t context, std::int64_t gpus);

// The learned model, as a value: readers share it while the next one is made.
struct Learned {
  std::int64_t runs = 0;
  std::int64_t left_out = 0;  // of matching, because there was no room
  double q = 0;               // the false-discovery rate at which the patterns were selected
  std::size_t tested_pairs = 0;
  std::size_t tested_signs = 0;
  std::vector<double> sign_p;               // of each of these
  std::vector<LearnedMismatch> mismatches;  // most significant first
  // Significant, but most failures are of one machine; likewise.
  std::vector<LearnedMismatch> of_one_node;
  std::vector<LearnedBuildUp> build_ups;
  std::optional<HazardModel> hazard;  // with the effects of the build-ups alone
  std::string no_hazard;              // the reason if there is none
  absl::flat_hash_map<std::string, std::uint32_t> contexts;  // to the number in `hazard`
  absl::flat_hash_map<std::string, std::uint32_t>
      workloads;  // "archetype stack" to the number in `hazard`
  std::vector<FleetHistory::Lemon> lemons;
};

struct LearnerOptions {
  double q = 0.05;
  std::size_t most_cells = 1 << 18;  // of each kind of counts
  std::size_t most_names = 1 << 16;  // of workloads, and of contexts
  std::size_t most_nodes = 1 << 17;
  double epoch_days = 30;  // within which runs are matched
  double tolerance = 0.1;  // GroupAlike()
  PairOptions pairs;
  FitOptions fit;
};

// Takes runs one by one, in any order. Not thread-safe. The same runs in the same order give the
// same result.
class Learner {
 public:
  explicit Learner(LearnerOptions options = {});
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  // INVALID_ARGUMENT for an invalid run, with the reason; nothing of it is counted.
  absl::Status Add(const RunRecord& run);
  Learned Learn() const;
  std::int64_t runs() const { return runs_; }
  const FleetHistory& fleet() const { return fleet_; }

 private:
  struct Workload {
    std::uint32_t archetype = 0;
    Behaviour behaviour;
  };
  // The sub-archetype of each workload: the number of its first member.
  std::vector<std::uint32_t> Groups() const;
  LearnedMismatch Describe(const Mismatch& mismatch, bool together,
                           const std::vector<std::uint32_t>& groups,
                           const std::vector<RunCounts::Cell>& cells) const;

  const LearnerOptions options_;
  Names archetypes_;
  Names workload_names_;  // "archetype stack"
  Names contexts_;
  std::vector<Workload> workloads_;
  RunCounts counts_;
  LifeCounts lives_;
  LifeCounts unfollowed_;  // of runs whose signs were not followed
  FleetHistory fleet_;
  std::int64_t runs_ = 0;
  std::int64_t unnamed_ = 0;
};

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_LEARNING_LEARNER_H_
