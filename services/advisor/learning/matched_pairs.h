#ifndef SERVICES_ADVISOR_LEARNING_MATCHED_PAIRS_H_
#define SERVICES_ADVISOR_LEARNING_MATCHED_PAIRS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

// Which workloads fail on which hardware, as a quasi-experiment (QED; Krishnan and Sitaraman,
// "Video Stream Quality Impacts Viewer Behavior", IMC 2012; named for this by Benson, section 5.1):
// runs are paired that are equal in all but the property under test, and the pairs in which one run
// failed are counted.
namespace galen::advisor {

// The properties that paired runs share: number of GPUs, planned duration, time. Small numbers.
struct Stratum {
  std::uint8_t scale = 0;
  std::uint8_t plan = 0;
  std::uint16_t epoch = 0;
};

// Counts of runs. Outcomes are yes or no, so pairs can be made from counts alone: one pass,
// whatever the number of runs.
class RunCounts {
 public:
  // Maximum of cells (workload, context, stratum): 40 bytes each. When they are used up, epochs are
  // merged two by two; runs that still have no room are left out and counted.
  explicit RunCounts(std::size_t most_cells = 1 << 18) : most_cells_(most_cells) {}

  // `node`: the machine that a failure is attributed to, 0 unknown.
  void Add(std::uint32_t workload, std::uint32_t context, Stratum stratum, bool failed,
           std::uint64_t node);

  std::int64_t runs() const { return runs_; }
  std::int64_t left_out() const { return left_out_; }
  std::size_t cells() const { return cells_.size(); }

  struct Cell {
    std::uint32_t workload = 0;
    std::uint32_t context = 0;
    std::uint32_t stratum = 0;
    std::int64_t runs = 0;
    std::int64_t failed = 0;
    std::uint64_t node = 0;  // that may have most failures (Boyer and Moore's vote)
    std::int64_t votes = 0;  // at least this many more failures are of `node` than of all others
  };
  // In a fixed order.
  std::vector<Cell> Cells() const;

 private:
  struct Counted {
    std::uint32_t runs = 0;
    std::uint32_t failed = 0;
    std::uint64_t node = 0;
    std::uint32_t votes = 0;
  };
  bool MergeEpochs();

  const std::size_t most_cells_;
  absl::flat_hash_map<std::uint64_t, Counted> cells_;
  int epoch_shift_ = 0;
  std::int64_t runs_ = 0;
  std::int64_t left_out_ = 0;
};

// The result of comparing pairs, for a workload on a context.
struct Contrast {
  std::int64_t pairs = 0;
  std::int64_t only_treated = 0;  // pairs in which only the run here failed
  std::int64_t only_control = 0;  // pairs in which only the other one failed
  double p = 1;                   // sign test, exact, one-sided
};

struct Mismatch {
  std::uint32_t workload = 0;
  std::uint32_t context = 0;
  std::int64_t runs = 0;
  std::int64_t failed = 0;
  double expected = 0;  // expected failures if workload and context were each as bad as elsewhere
  Contrast elsewhere;   // the same workload on other contexts
  Contrast others;      // other workloads on the same context
  double p_interaction = 1;
  double p = 1;  // the largest of the three: all have to be significant
  // Most failures are of one machine: examine it, not the context.
  bool one_node = false;
};

struct PairOptions {
  std::uint64_t seed = 1;  // of the draws of partners
  // Cells with fewer runs are not tested. (The number of failures must not matter: tests that are
  // chosen by their outcome find too much.)
  std::int64_t least_runs = 20;
  // Groups of workloads that are tested together (versions that behave alike); empty: none.
  std::function<std::uint32_t(std::uint32_t workload)> group;
};

// Each workload on each context with enough runs, most significant first. A mismatch is that a
// workload fails on a context more than it does elsewhere, and more than others do there, and more
// than both together explain: a workload that fails everywhere, or a context on which everything
// fails, is not a mismatch. The p-values are of these hypotheses as they are; multiple testing is
// the caller's (statistics.h). Equal counts and seeds give equal results.
std::vector<Mismatch> FindMismatches(const RunCounts& counts, const PairOptions& options = {});

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_LEARNING_MATCHED_PAIRS_H_
