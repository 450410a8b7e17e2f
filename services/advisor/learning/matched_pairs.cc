#include "services/advisor/learning/matched_pairs.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "services/advisor/learning/statistics.h"

namespace galen::advisor {
namespace {

// 12 bits of stratum in addition to the epoch (4 scale, 4 plan), 10 of epoch, 23 of workload and of
// context each.
constexpr std::uint32_t kEpochs = 1 << 10;
constexpr std::uint64_t kNames = 1 << 23;

std::uint64_t KeyOf(std::uint32_t workload, std::uint32_t context, std::uint32_t stratum) {
  return (std::uint64_t{workload} << 41) | (std::uint64_t{context} << 18) | stratum;
}

std::uint32_t StratumOf(std::uint32_t scale, std::uint32_t plan, std::uint32_t epoch) {
  return (std::min(scale, 15U) << 14) | (std::min(plan, 15U) << 10) | std::min(epoch, kEpochs - 1);
}

// Our own generator, so that draws are the same everywhere (splitmix64; Steele et al., 2014).
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Below `bound`, evenly to 1 in 2^32.
  std::int64_t Below(std::int64_t bound) {
    return static_cast<std::int64_t>(((Next() >> 32) * static_cast<std::uint64_t>(bound)) >> 32);
  }
  // The number of marked ones among `taken` of `all`.
  std::int64_t Marked(std::int64_t taken, std::int64_t marked, std::int64_t all) {
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < taken && marked > 0; ++i, --all) {
      if (Below(all) < marked) {
        ++found;
        --marked;
      }
    }
    return found;
  }

 private:
  std::uint64_t state_;
};

struct Count {
  std::int64_t runs = 0;
  std::int64_t failed = 0;
  Count& operator+=(const Count& more) {
    runs += more.runs;
    failed += more.failed;
    return *this;
  }
  Count operator-(const Count& less) const { return {runs - less.runs, failed - less.failed}; }
};

// Pairs each run of the smaller side with one of the larger, drawn without replacement.
void Pair(const Count& treated, const Count& control, Draws& draws, Contrast& contrast) {
  const std::int64_t pairs = std::min(treated.runs, control.runs);
  if (pairs <= 0) return;
  const std::int64_t failed_here = draws.Marked(pairs, treated.failed, treated.runs);
  const std::int64_t failed_there = draws.Marked(pairs, control.failed, control.runs);
  const std::int64_t both = draws.Marked(failed_here, failed_there, pairs);
  contrast.pairs += pairs;
  contrast.only_treated += failed_here - both;
  contrast.only_control += failed_there - both;
}

void Test(Contrast& contrast) {
  contrast.p =
      BinomialUpperTail(contrast.only_treated, contrast.only_treated + contrast.only_control, 0.5);
}

// Sums that are looked up by (key, stratum).
using Sums = absl::flat_hash_map<std::uint64_t, Count>;
std::uint64_t SumKey(std::uint32_t what, std::uint32_t stratum) {
  return (std::uint64_t{what} << 32) | stratum;
}

// Whether the cell is worse than its row and its column explain: the log of its odds relative to
// those of the row elsewhere, of others in the column and of others elsewhere, with Woolf's
// standard error.
double Interaction(const Count& cell, const Count& row, const Count& column, const Count& rest) {
  double difference = 0;
  double variance = 0;
  const auto add = [&](const Count& count, double sign) {
    const double failed = static_cast<double>(count.failed) + 0.5;
    const double fine = static_cast<double>(count.runs - count.failed) + 0.5;
    difference += sign * std::log(failed / fine);
    variance += 1 / failed + 1 / fine;
  };
  add(cell, 1);
  add(row, -1);
  add(column, -1);
  add(rest, 1);
  return NormalUpperTail(difference / std::sqrt(variance));
}

struct Pool {
  Count cell, row, column, rest;
  Contrast elsewhere, others;
  double expected = 0;
  std::uint64_t node = 0;
  std::int64_t votes = 0;
};

// Boyer and Moore's votes of two parts can be merged.
void Vote(std::uint64_t node, std::int64_t votes, Pool& pool) {
  if (node == 0 || votes == 0) return;
  if (pool.node == node) {
    pool.votes += votes;
  } else if (votes > pool.votes) {
    pool.node = node;
    pool.votes = votes - pool.votes;
  } else {
    pool.votes -= votes;
  }
}

double Rate(const Count& count) {
  return (static_cast<double>(count.failed) + 0.5) / (static_cast<double>(count.runs) + 1);
}

}  // namespace

void RunCounts::Add(std::uint32_t workload, std::uint32_t context, Stratum stratum, bool failed,
                    std::uint64_t node) {
  ++runs_;
  if (workload >= kNames || context >= kNames) {
    ++left_out_;
    return;
  }
  const auto key = [&] {
    return KeyOf(workload, context,
                 StratumOf(stratum.scale, stratum.plan, stratum.epoch >> epoch_shift_));
  };
  auto it = cells_.find(key());
  while (it == cells_.end() && cells_.size() >= most_cells_ && MergeEpochs()) {
    it = cells_.find(key());
  }
  if (it == cells_.end()) {
    if (cells_.size() >= most_cells_) {
      ++left_out_;
      return;
    }
    it = cells_.try_emplace(key()).first;
  }
  Counted& cell = it->second;
  ++cell.runs;
  if (!failed) return;
  ++cell.failed;
  // (A failure without a known machine counts against every machine.)
  if (cell.votes == 0) {
    cell.node = node;
    cell.votes = node == 0 ? 0 : 1;
  } else if (cell.node == node) {
    ++cell.votes;
  } else {
    --cell.votes;
  }
}

bool RunCounts::MergeEpochs() {
  if ((kEpochs >> epoch_shift_) <= 1) return false;
  ++epoch_shift_;
  absl::flat_hash_map<std::uint64_t, Counted> merged;
  for (const auto& [key, cell] : cells_) {
    const std::uint64_t epoch = (key & (kEpochs - 1)) >> 1;
    Counted& to = merged[(key & ~std::uint64_t{kEpochs - 1}) | epoch];
    to.runs += cell.runs;
    to.failed += cell.failed;
    Pool vote;
    vote.node = to.node;
    vote.votes = to.votes;
    Vote(cell.node, cell.votes, vote);
    to.node = vote.node;
    to.votes = static_cast<std::uint32_t>(vote.votes);
  }
  cells_ = std::move(merged);
  return true;
}

std::vector<RunCounts::Cell> RunCounts::Cells() const {
  std::vector<Cell> cells;
  cells.reserve(cells_.size());
  for (const auto& [key, cell] : cells_) {
    cells.push_back({static_cast<std::uint32_t>(key >> 41),
                     static_cast<std::uint32_t>((key >> 18) & (kNames - 1)),
                     static_cast<std::uint32_t>(key & 0x3ffff), cell.runs, cell.failed, cell.node,
                     cell.votes});
  }
  std::sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) {
    return std::tie(a.workload, a.context, a.stratum) < std::tie(b.workload, b.context, b.stratum);
  });
  return cells;
}

std::vector<Mismatch> FindMismatches(const RunCounts& counts, const PairOptions& options) {
  std::vector<RunCounts::Cell> cells = counts.Cells();
  if (options.group) {
    for (RunCounts::Cell& cell : cells) cell.workload = options.group(cell.workload);
    std::stable_sort(cells.begin(), cells.end(), [](const auto& a, const auto& b) {
      return std::tie(a.workload, a.context, a.stratum) <
             std::tie(b.workload, b.context, b.stratum);
    });
  }
  Sums rows;
  Sums columns;
  Sums strata;
  for (const RunCounts::Cell& cell : cells) {
    const Count count{cell.runs, cell.failed};
    rows[SumKey(cell.workload, cell.stratum)] += count;
    columns[SumKey(cell.context, cell.stratum)] += count;
    strata[cell.stratum] += count;
  }
  std::vector<Mismatch> found;
  for (std::size_t begin = 0; begin < cells.size();) {
    std::size_t end = begin;
    Pool pool;
    const std::uint32_t workload = cells[begin].workload;
    const std::uint32_t context = cells[begin].context;
    // Draws depend on the cell alone: other tests do not change the result.
    Draws draws(options.seed ^ (std::uint64_t{workload} << 32) ^ context);
    while (end < cells.size() && cells[end].workload == workload && cells[end].context == context) {
      Count cell;
      const std::uint32_t stratum = cells[end].stratum;
      for (; end < cells.size() && cells[end].workload == workload &&
             cells[end].context == context && cells[end].stratum == stratum;
           ++end) {
        cell += {cells[end].runs, cells[end].failed};
        Vote(cells[end].node, cells[end].votes, pool);
      }
      const Count row = rows[SumKey(workload, stratum)] - cell;
      const Count column = columns[SumKey(context, stratum)] - cell;
      const Count rest = strata[stratum] - row - column - cell;
      pool.cell += cell;
      pool.row += row;
      pool.column += column;
      pool.rest += rest;
      Pair(cell, row, draws, pool.elsewhere);
      Pair(cell, column, draws, pool.others);
    }
    begin = end;
    if (pool.cell.runs < options.least_runs) continue;
    Mismatch mismatch;
    mismatch.workload = workload;
    mismatch.context = context;
    mismatch.runs = pool.cell.runs;
    mismatch.failed = pool.cell.failed;
    mismatch.elsewhere = pool.elsewhere;
    mismatch.others = pool.others;
    Test(mismatch.elsewhere);
    Test(mismatch.others);
    mismatch.p_interaction = Interaction(pool.cell, pool.row, pool.column, pool.rest);
    mismatch.expected = static_cast<double>(pool.cell.runs) *
                        std::min(1.0, Rate(pool.row) * Rate(pool.column) / Rate(pool.rest));
    mismatch.p = std::max({mismatch.elsewhere.p, mismatch.others.p, mismatch.p_interaction});
    mismatch.one_node = 2 * pool.votes > pool.cell.failed;
    found.push_back(mismatch);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Mismatch& a, const Mismatch& b) { return a.p < b.p; });
  return found;
}

}  // namespace galen::advisor
