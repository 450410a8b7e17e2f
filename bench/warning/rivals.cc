#include "bench/warning/rivals.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace galen::bench {
namespace {

constexpr int kQuiet = 360;  // minutes
constexpr int kWarmUp = 10;
constexpr float kHour = 60;
constexpr std::size_t kTooMany = 2000;

}  // namespace

Rival::Rival(How how) : how_(how) {
  const std::array<float, kLevels> deviations = {2, 2.5F, 3, 3.5F, 4,  4.5F, 5,
                                                 6, 7,    8, 10,   12, 16,   24};
  const bool plain = how == How::kThreshold;
  const auto add = [&](const char* name, std::array<float, kLevels> levels, bool low) {
    metrics_.push_back({name, plain ? levels : deviations, low});
  };
  add("power", {330, 310, 300, 290, 280, 270, 260, 240, 220, 200, 180, 160, 140, 120}, true);
  add("clock", {1395, 1380, 1365, 1350, 1320, 1290, 1260, 1200, 1140, 1080, 1000, 900, 800, 600},
      true);
  add("temperature", {64, 66, 68, 70, 72, 74, 76, 78, 80, 82, 84, 86, 88, 90}, false);
  add("ecc", {0.1F, 0.5F, 1, 2, 4, 6, 8, 10, 15, 20, 30, 50, 100, 200}, false);
  add("nvlink", {0.01F, 0.1F, 0.5F, 0.9F, 1.5F, 2, 3, 4, 5, 6, 8, 10, 15, 20}, false);
  add("retransmissions", {10, 30, 60, 100, 150, 200, 250, 300, 400, 500, 700, 1000, 2000, 4000},
      false);
  add("memory available",
      {0.55F, 0.5F, 0.45F, 0.4F, 0.35F, 0.3F, 0.25F, 0.2F, 0.15F, 0.1F, 0.08F, 0.05F, 0.03F, 0.01F},
      true);
  add("io pressure",
      {0.03F, 0.05F, 0.08F, 0.1F, 0.12F, 0.15F, 0.2F, 0.25F, 0.3F, 0.35F, 0.4F, 0.5F, 0.6F, 0.7F},
      false);
  add("throughput of prediction",
      {1.04F, 1.02F, 1, 0.99F, 0.98F, 0.97F, 0.95F, 0.93F, 0.9F, 0.85F, 0.8F, 0.7F, 0.6F, 0.5F},
      true);
  subjects_.resize(metrics_.size());
  lists_.resize(metrics_.size());
}

void Rival::Take(std::size_t m, std::size_t at, float value, std::int32_t group, int node,
                 const Watched& now) {
  Subject& subject = subjects_[m][at];
  if (subject.group != group) {
    subject = {};
    subject.group = group;
  }
  ++subject.minutes;
  const Metric& metric = metrics_[m];
  std::uint8_t passed = 0;
  if (!std::isnan(value) && subject.minutes > kWarmUp) {
    float against = metric.low ? -value : value;
    if (how_ == How::kMovingAverage) {
      const float deviation =
          std::sqrt(std::max(subject.square - subject.mean * subject.mean, 1e-12F)) +
          1e-3F * std::fabs(subject.mean) + 1e-6F;
      against = (metric.low ? subject.mean - value : value - subject.mean) / deviation;
      const bool known = subject.seen >= 30;
      ++subject.seen;
      const float over = std::min(static_cast<float>(subject.seen), kHour);
      subject.mean += (value - subject.mean) / over;
      subject.square += (value * value - subject.square) / over;
      if (!known) against = -1e9F;
    }
    const bool negative = metric.low && how_ == How::kThreshold;
    while (passed < kLevels &&
           against >= (negative ? -metric.levels[passed] : metric.levels[passed])) {
      ++passed;
    }
  } else if (std::isnan(value)) {
    return;  // unknown: neither passed nor not
  }
  const auto minute = now.fleet().minute();
  subject.passed[static_cast<std::size_t>(subject.at++ % kFor)] =
      passed;  // the last that were known
  std::uint8_t least = passed;
  for (const std::uint8_t each : subject.passed) least = std::min(least, each);
  if (least == 0 || now.planned[static_cast<std::size_t>(node)]) return;
  const bool of_job = metric.name == "throughput of prediction";
  for (std::size_t level = 0; level < least; ++level) {
    List& list = lists_[m][level];
    if (list.last.empty()) list.last.assign(now.planned.size(), -kQuiet);
    int& last = list.last[static_cast<std::size_t>(node)];
    if (minute - last >= kQuiet && list.told.size() < kTooMany) {
      list.told.push_back({minute, of_job ? -1 : node,
                           now.fleet().node_jobs()[static_cast<std::size_t>(node)], metric.name});
    }
    last = minute;
  }
}

void Rival::Step(const Watched& now) {
  const testing::MadeUpFleet& fleet = now.fleet();
  const std::size_t gpus = fleet.power().size();
  const std::size_t nodes = fleet.node_jobs().size();
  for (std::size_t m = 0; m < subjects_.size(); ++m) subjects_[m].resize(m < 5 ? gpus : nodes);
  const auto per_node = static_cast<int>(gpus / nodes);
  const std::array<const std::vector<float>*, 5> of_gpu = {
      &fleet.power(), &fleet.clock(), &fleet.temperature(), &now.ecc, &now.nvlink};
  for (std::size_t m = 0; m < of_gpu.size(); ++m) {
    for (std::size_t i = 0; i < gpus; ++i) {
      if (m < 3 && !(fleet.utilization()[i] >= 80)) continue;
      Take(m, i, (*of_gpu[m])[i], fleet.gpu_jobs()[i], static_cast<int>(i) / per_node, now);
    }
  }
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto node = static_cast<int>(i);
    const std::int32_t job = fleet.node_jobs()[i];
    Take(5, i, now.retransmissions[i], job, node, now);
    Take(6, i, fleet.memory_available()[i], job, node, now);
    Take(7, i, fleet.io_pressure()[i], job, node, now);
    if (fleet.job_ids()[i] >= 0) {
      Take(8, i, fleet.throughput()[i] / fleet.predicted_low()[i], fleet.job_ids()[i], node, now);
    }
  }
}

Telling With(const Rival& run, const Telling& truth, const std::vector<std::size_t>& levels) {
  Telling telling = truth;
  std::vector<Told> all;
  for (std::size_t m = 0; m < levels.size(); ++m) {
    if (levels[m] >= kLevels) continue;
    const std::vector<Told>& told = run.told(m, levels[m]);
    all.insert(all.end(), told.begin(), told.end());
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Told& a, const Told& b) { return a.minute < b.minute; });
  telling.told.clear();
  std::map<int, int> nodes;
  std::map<int, int> jobs;
  for (const Told& each : all) {
    const auto lately = [&](const std::map<int, int>& last, int key, int within) {
      const auto at = last.find(key);
      return key >= 0 && at != last.end() && each.minute - at->second < within;
    };
    // The same machine; machines of one job that begin together; a job with an alarm on one of its
    // machines.
    const bool again =
        lately(nodes, each.node, kQuiet) || lately(jobs, each.job, each.node < 0 ? kQuiet : 30);
    if (each.node >= 0) nodes[each.node] = each.minute;
    if (each.job >= 0 && !again) jobs[each.job] = each.minute;
    if (!again) telling.told.push_back(each);
  }
  return telling;
}

std::vector<std::size_t> Choose(const std::vector<Rival>& runs, const std::vector<Telling>& truths,
                                double most_false) {
  std::vector<std::size_t> levels(runs.front().metrics().size(), kLevels);
  const auto score_of = [&](const std::vector<std::size_t>& chosen) {
    Score score;
    for (std::size_t i = 0; i < runs.size(); ++i) AddScore(With(runs[i], truths[i], chosen), score);
    return score;
  };
  int best = 0;
  for (;;) {
    std::vector<std::size_t> next = levels;
    double gain = 0;
    int reached = best;
    const int now_false = score_of(levels).false_alarms;
    for (std::size_t m = 0; m < levels.size(); ++m) {
      for (std::size_t level = 0; level < levels[m]; ++level) {
        std::vector<std::size_t> tried = levels;
        tried[m] = level;
        const Score score = score_of(tried);
        if (score.false_alarms > most_false) continue;
        const int before = score.All().before;
        const double each = (before - best) / (0.5 + std::max(0, score.false_alarms - now_false));
        if (before > best && each > gain) {
          gain = each;
          next = tried;
          reached = before;
        }
      }
    }
    if (gain <= 0) return levels;
    levels = next;
    best = reached;
  }
}

}  // namespace galen::bench
