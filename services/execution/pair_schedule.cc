#include "services/execution/pair_schedule.h"

#include <algorithm>

namespace galen::execution {
namespace {

std::size_t CeilLog2(std::size_t n) {
  std::size_t log = 0;
  while ((std::size_t{1} << log) < n) ++log;
  return log;
}

std::pair<std::string, std::string> Ordered(const std::string& a, const std::string& b) {
  return a < b ? std::make_pair(a, b) : std::make_pair(b, a);
}

}  // namespace

PairSchedule::PairSchedule(std::vector<std::string> nodes)
    : nodes_(std::move(nodes)), max_rounds_(2 + CeilLog2(nodes_.size())) {
  for (const std::string& node : nodes_) verdicts_[node] = Verdict::kUndecided;
}

std::vector<PairSchedule::Pair> PairSchedule::Next() {
  if (rounds_ >= max_rounds_) return {};
  std::vector<Pair> pairs = PairUp();
  if (pairs.empty()) return pairs;
  ++rounds_;
  for (const Pair& pair : pairs) tested_.insert(Ordered(pair.a, pair.b));
  return pairs;
}

std::vector<PairSchedule::Pair> PairSchedule::PairUp() {
  const std::vector<std::string> suspects = Nodes(Verdict::kUndecided);
  const std::vector<std::string> clear = Nodes(Verdict::kClear);
  std::vector<Pair> pairs;
  std::set<std::string> used;
  const auto may = [&](const std::string& a, const std::string& b) {
    return a != b && !left_.contains(a) && !left_.contains(b) && !used.contains(a) &&
           !used.contains(b) && !tested_.contains(Ordered(a, b));
  };
  const auto pair_up = [&](const std::string& a, const std::string& b) {
    used.insert(a);
    used.insert(b);
    pairs.push_back({a, b});
  };
  // With a cleared node, so that the outcome is the suspect's own.
  for (const std::string& suspect : suspects) {
    for (const std::string& partner : clear) {
      if (!may(suspect, partner)) continue;
      pair_up(suspect, partner);
      break;
    }
    if (used.size() >= 2 * clear.size()) break;
  }
  // The others among themselves: two sound ones that meet are cleared, and help in the next round.
  const std::size_t distance = std::size_t{1} << rounds_;
  for (const std::size_t least : {distance, std::size_t{1}}) {
    for (std::size_t i = 0; i < suspects.size(); ++i) {
      for (std::size_t j = i + least; j < suspects.size() && !used.contains(suspects[i]); ++j) {
        if (may(suspects[i], suspects[j])) pair_up(suspects[i], suspects[j]);
      }
    }
  }
  return pairs;
}

void PairSchedule::Tell(const Pair& pair, bool fine) {
  Verdict& a = verdicts_[pair.a];
  Verdict& b = verdicts_[pair.b];
  if (fine) {
    a = b = Verdict::kClear;
  } else if (a == Verdict::kClear) {
    b = Verdict::kBad;
  } else if (b == Verdict::kClear) {
    a = Verdict::kBad;
  }
}

PairSchedule::Verdict PairSchedule::VerdictOf(const std::string& node) const {
  const auto found = verdicts_.find(node);
  return found == verdicts_.end() ? Verdict::kUndecided : found->second;
}

std::vector<std::string> PairSchedule::Nodes(Verdict verdict) const {
  std::vector<std::string> nodes;
  for (const std::string& node : nodes_) {
    if (verdicts_.at(node) == verdict) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace galen::execution
