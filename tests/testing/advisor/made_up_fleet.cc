#include "tests/testing/advisor/made_up_fleet.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"

namespace galen::testing {
namespace {

using advisor::Ending;
using advisor::Episode;
using advisor::RunRecord;

constexpr std::size_t kMonths = 6;
constexpr double kBase = 0.004;  // failures an hour

}  // namespace

std::string MadeUpFleet::Archetype(std::size_t i) { return absl::StrFormat("%032x", 0xa000 + i); }
std::string MadeUpFleet::Stack(std::size_t i) { return absl::StrFormat("%032x", 0xb000 + i); }
std::string MadeUpFleet::Context(std::size_t i) {
  return absl::StrCat("gpu=G", i, " nic=N", i % 3);
}

MadeUpFleet::MadeUpFleet(const FleetShape& shape, std::uint64_t seed)
    : shape_(shape), random_(seed) {
  const auto factors = [this](std::size_t n) {
    std::vector<double> made(n);
    for (double& each : made) each = std::exp((Uniform() - 0.5) * 2 * std::log(3.0) / 2);
    return made;
  };
  const auto weights = [this](std::size_t n) {
    std::vector<double> made(n);
    for (double& each : made) each = 0.25 + Uniform();
    return made;
  };
  archetype_rate_ = factors(shape.archetypes);
  context_rate_ = factors(shape.contexts);
  month_rate_ = factors(kMonths);
  scale_rate_ = {0.5, 1, 1.7, 3};
  for (std::size_t a = 0; a < shape.archetypes; ++a) {
    stack_rate_.push_back(factors(shape.stacks));
    context_weights_.push_back(weights(shape.contexts));
    stack_weights_.push_back(weights(shape.stacks));
  }
  for (std::size_t c = 0; c < shape.contexts; ++c) {
    sign_rate_.push_back({});
    for (std::size_t s = 0; s < kSigns; ++s) sign_rate_.back().push_back(0.001 + 0.008 * Uniform());
  }
  for (std::size_t i = 0; i < shape.nodes; ++i) nodes_.push_back(absl::StrFormat("node-%04d", i));
  // At most one mismatch for each workload and context, so that the rows and columns of each are
  // undisturbed.
  for (int tries = 0; mismatches_.size() < shape.mismatches && tries < 10'000; ++tries) {
    const Planted planted{random_() % shape.archetypes, random_() % shape.stacks,
                          random_() % shape.contexts};
    const bool clashes =
        std::any_of(mismatches_.begin(), mismatches_.end(), [&](const Planted& other) {
          return other.archetype == planted.archetype || other.context == planted.context;
        });
    if (!clashes) mismatches_.push_back(planted);
  }
  while (build_ups_.size() < std::min(shape.build_ups, kSigns))
    build_ups_.insert(random_() % kSigns);
  while (lemons_.size() < std::min(shape.lemons, shape.nodes)) {
    lemons_.insert(nodes_[random_() % nodes_.size()]);
  }
}

std::size_t MadeUpFleet::Pick(const std::vector<double>& weights) {
  double sum = 0;
  for (const double weight : weights) sum += weight;
  double at = Uniform() * sum;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if ((at -= weights[i]) < 0) return i;
  }
  return weights.size() - 1;
}

RunRecord MadeUpFleet::Next() {
  RunRecord run;
  const std::size_t a = random_() % shape_.archetypes;
  const std::size_t s = Pick(stack_weights_[a]);
  const std::size_t c = Pick(context_weights_[a]);
  // Some archetypes have more large runs than others.
  const std::size_t scale = Pick(
      {2.0, 1.0, 0.3 + 0.2 * static_cast<double>(a % 4), 0.1 + 0.1 * static_cast<double>(a % 3)});
  const std::size_t month = random_() % kMonths;
  run.archetype = Archetype(a);
  run.stack = Stack(a * shape_.stacks + s);
  run.context = Context(c);
  run.start = absl::UnixEpoch() + absl::Hours(24 * 30 * month + random_() % 700);
  run.gpus = std::int64_t{1} << (3 * scale);
  run.planned_hours =
      std::vector<double>{2, 12, 48}[Pick({1, 1, 0.5 + 0.2 * static_cast<double>(c % 3)})];
  // Machines of a context, a few of them.
  const std::size_t per_context = std::max<std::size_t>(1, nodes_.size() / shape_.contexts);
  const std::size_t count = std::min<std::size_t>({per_context, std::size_t{1} << scale, 4});
  for (std::size_t i = 0, first = random_() % per_context; i < count; ++i) {
    run.nodes.push_back(nodes_[(c * per_context + (first + i) % per_context) % nodes_.size()]);
  }
  const bool mismatched =
      std::any_of(mismatches_.begin(), mismatches_.end(), [&](const Planted& planted) {
        return planted.archetype == a && planted.stack == s && planted.context == c;
      });
  double rate = kBase * archetype_rate_[a] * stack_rate_[a][s] * context_rate_[c] *
                month_rate_[month] * scale_rate_[scale];
  if (mismatched) rate *= shape_.mismatch_factor;
  std::vector<double> blame;
  double worst = 0;
  for (const std::string& node : run.nodes) {
    blame.push_back(lemons_.contains(node) ? shape_.lemon_factor : 1);
    worst += blame.back();
  }
  rate *= worst / static_cast<double>(count);
  const double stopped_at = Uniform() < 0.2 ? Uniform() * run.planned_hours : run.planned_hours;
  run.ending = stopped_at < run.planned_hours ? Ending::kStopped : Ending::kCompleted;
  // Signs rise by a level at a time; each rise ends an episode.
  Episode episode;
  double at = 0;
  for (;;) {
    double rises = 0;
    std::vector<double> by_sign(kSigns, 0);
    for (std::size_t i = 0; i < kSigns; ++i) {
      if (episode.signs[i] < 3) by_sign[i] = sign_rate_[c][i];
      rises += by_sign[i];
    }
    double hazard = rate;
    for (const std::size_t i : build_ups_) {
      hazard *= std::pow(shape_.build_up_factor, episode.signs[i]);
    }
    const double wait = -std::log(1 - Uniform()) / (rises + hazard);
    episode.begin = at;
    if (at + wait >= stopped_at) {
      episode.end = run.hours = stopped_at;
      run.episodes.push_back(episode);
      break;
    }
    at += wait;
    episode.end = at;
    run.episodes.push_back(episode);
    if (Uniform() * (rises + hazard) < hazard) {
      run.ending = Ending::kFailed;
      run.hours = at;
      run.node = run.nodes[Pick(blame)];
      break;
    }
    ++episode.signs[Pick(by_sign)];
  }
  run.behaviour_known = true;
  for (std::size_t i = 0; i < run.behaviour.size(); ++i) {
    // The first two versions of an archetype behave alike, others do not.
    const double own = s < 2 ? 0 : 0.4 * static_cast<double>(s);
    run.behaviour[i] = own + 0.1 * (Uniform() - 0.5);
  }
  return run;
}

}  // namespace galen::testing
